#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that a change of the compiler's structure changes nothing of what it prints.

    test/random/unchanged.py --tkc BEFORE/tkc -o before.hashes
    test/random/unchanged.py --tkc AFTER/tkc --against before.hashes

Compiles every kernel file of the library and of test/language, and random kernels one by one, for every GPU. A line of the output is a
file, with a hash for each GPU of what tkc printed: the emitted file, messages and the exit status. With --against, the files and GPUs
that differ are printed, and the exit status is 1 if there are any. A random kernel has schedule keys of its own for each GPU, drawn by
the seed, but for those that save memory. `--random 100` is for a quick look: only the first 100 random kernels are compiled. The library's
files come from the checkout of this script, so that both compilers read the same.

test/golden/emitted.hashes is such an output, for the library and the first random kernels. A test compares it with what tkc prints now,
so that no change of emitted code goes unnoticed. Where a change is meant, read what became of an emitted file or two, and write the
hashes anew: test/golden/emitted.test has the command."""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/random/fuzz"))

import keys  # noqa: E402
from choices import Choices  # noqa: E402
from generate import make  # noqa: E402
from trials import Tool, Trial  # noqa: E402

FOLDERS = ("kernels", "test/language")


def compiled(tkc, path, gpu):
    """A hash of what tkc says of a file, in which paths count by the file's name alone."""
    run = subprocess.run([tkc, path.name, "--arch", gpu], cwd=path.parent, capture_output=True)
    return hashlib.sha256(b"%d\0%s\0%s" % (run.returncode, run.stdout, run.stderr)).hexdigest()[:8]


def of_library(tkc, gpus, folders):
    """(name, function that gives the hash) of each file and GPU."""
    for path in sorted({path for folder in folders for path in (ROOT / folder).rglob("*.tk")}):
        for gpu in gpus:
            yield (str(path.relative_to(ROOT)), gpu), lambda path=path, gpu=gpu: compiled(tkc, path, gpu)


def of_random(tkc, gpus, offers, seed, count, folder):
    def one(number, gpu):
        name = f"k{number}"
        kernel = make(Choices(f"{seed}/{number}"), name)
        chosen = keys.draw(random.Random(f"{seed}/{number}/{gpu}"), offers[gpu], kernel, savings=0)
        path = folder / f"{name}-{gpu}.tk"
        path.write_text(Trial(name, kernel.text(), chosen).source())
        return compiled(tkc, path, gpu)

    for number in range(count):
        for gpu in gpus:
            yield (f"random/{seed}/{number}", gpu), lambda number=number, gpu=gpu: one(number, gpu)


def hashes(options):
    """{(name, gpu): hash}"""
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(options.tkc, folder)
        gpus = keys.gpus(tool)
        offers = {gpu: keys.offered(tool, gpu) for gpu in gpus}
        jobs = [*of_library(options.tkc, gpus, options.folders), *of_random(options.tkc, gpus, offers, options.seed, options.random, pathlib.Path(folder))]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            return dict(zip((name for name, _ in jobs), pool.map(lambda job: job[1](), jobs)))


def written(found):
    """A line a file: its name, and GPU=HASH for each GPU."""
    lines = {}
    for (name, gpu), value in found.items():
        lines.setdefault(name, [name]).append(f"{gpu}={value}")
    return "".join(" ".join(line) + "\n" for line in lines.values())


def recorded(text):
    """What `written` wrote."""
    return {(name, gpu): value for name, *values in map(str.split, text.splitlines()) for gpu, value in (each.split("=") for each in values)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tkc", type=pathlib.Path, required=True)
    parser.add_argument("--seed", default="1", help="of the random kernels: any word")
    parser.add_argument("--random", type=int, default=2000, help="random kernels")
    parser.add_argument("--folders", nargs="*", default=FOLDERS, help="of kernels, in this checkout")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--against", type=pathlib.Path, metavar="FILE", help="an earlier output")
    parser.add_argument("-o", dest="output", type=pathlib.Path, metavar="FILE", help="where the lines go")
    options = parser.parse_args()
    options.tkc = pathlib.Path(shutil.which(options.tkc) or options.tkc).resolve()  # it runs in other folders
    found = hashes(options)
    if options.output:
        options.output.write_text(written(found))
    if not options.against:
        return 0
    before = recorded(options.against.read_text())
    differing = [place for place, value in found.items() if before.get(place) != value]
    for place in differing:
        print(f"{'differs' if place in before else 'is new'}: {' for '.join(place)}")
    print(f"{len(found) - len(differing)} of {len(found)} compilations print what they printed")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
