"""Cuts a random kernel with a product down while it has one: reduce-products.py FOLDER-OF-THE-GENERATOR."""
import sys

sys.path.insert(0, sys.argv[1])
from choices import Choices
from generate import make
from reduce import reduce


def shows(taken):
    choices = Choices(replay=taken)
    return (choices.taken, choices.spans) if " @ " in make(choices, "k0").text() else None


first = next(choices for choices in (Choices(f"reduce/{number}") for number in range(100)) if make(choices, "k0").text().count(" @ ") > 2)
text = make(Choices(replay=reduce(first.taken, first.spans, shows, 2000)), "k0").text()
print(text, f"lines: {len(text.partition('reference')[0].splitlines())}", sep="\n")
