"""check-rules.py ROOT: names every message of the verifiers that no test has; a test has the whole message, with its
arguments filled in."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
verifiers = {
    "tile IR": ([root / "ir/Verifier.cpp", root / "ir/VerifierTypes.cpp"], "test/ir"),
    "plan IR": (sorted((root / "ir/plan/verify").glob("*.cpp")), "test/plan"),
}
# A message is a string of several words; the parts of a long one stand below each other.
literal = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*"((?:[^"\\\n]|\\.)*)")*')


def messages(path):
    text = re.sub(r"^\s*(//.*|#include.*)$", "", path.read_text(), flags=re.M)
    for found in literal.finditer(text):
        message = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', found[0]))
        if message.count(" ") >= 2:
            yield message


def is_quoted(message, tests):
    """Whether a line of the tests has the message with something filled in."""
    parts = [re.escape(part) for part in re.split(r"\{\d*\}", message)]
    return re.search("[^\\n]*?".join(parts), tests) is not None


beyond_text = (root / "test/unit/VerifierTest.cpp").read_text()
for name, (files, folder) in verifiers.items():
    tests = "\n".join(path.read_text() for path in sorted((root / folder).rglob("*"))
                      if path.suffix in {".tkir", ".tkplan", ".test"}) + beyond_text
    rules = [(path.name, message) for path in files for message in messages(path)]
    for file, message in rules:
        if not is_quoted(message, tests):
            print(f"no test breaks the rule of {name} in {file}: {message}")
    print(f"{name}: more than thirty rules" if len(rules) > 30 else f"{name}: only {len(rules)} rules")
