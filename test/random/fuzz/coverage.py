#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which lines of the planner and of the printers random kernels reach.

    test/random/fuzz/coverage.py --build [--seed S] [--files N] [--seconds T] -o FOLDER

`--build` makes build/coverage/tkc/tkc, which counts the lines that run (minutes; the preset is `coverage`); `--tkc` names another such one.
Each file of random kernels is compiled for every GPU, each kernel with keys of its own, as fuzz.py does it, and those that compile are written in
other ways, too: with the runtime inlined, instrumented, as a header, as a plan, with the planner's decisions, for
several GPUs at once. No kernel runs.

What ran is added up in FOLDER/profiles, so the same command with other seeds reaches more; `--files 0` only reports. Lines of headers and sources
count alike, and so do those of refusals and of what a plan that is wrong would meet. FOLDER/unreached.txt has every line that was not reached."""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import keys
import seeds
from choices import Choices
from generate import make
from trials import ROOT, Tool, Trial, compile_all

PARTS = ("backends/plan", "backends/schedule", "backends/emit")
WAYS = (["--standalone"], ["--instrument"], ["--emit=header"], ["--emit=plan"], ["--explain-plan"])


def build():
    for command in (["cmake", "--preset", "coverage"], ["cmake", "--build", "--preset", "coverage", "--target", "tkc/tkc"]):
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


class File:
    """The kernels of one file, compiled for every GPU."""

    def __init__(self, options, number, offers, folder):
        self.random, self.offers, self.tool = random.Random(f"{options.seed}/{number}"), offers, Tool(options.tkc, folder)
        names = [f"k{index}" for index in range(options.kernels)]
        self.kernels = {name: make(Choices(f"{options.seed}/{number}/{index}"), name) for index, name in enumerate(names)}

    def compile(self):
        compiled = 0
        for arch, offers in self.offers.items():
            chosen = [Trial(name, kernel.text(), keys.draw(self.random, offers, kernel)) for name, kernel in self.kernels.items()]
            refused, left = compile_all(self.tool, chosen, arch)
            again = [Trial(trial.name, trial.text, {"allow_upcast": 1}) for trial in chosen if trial.name in refused]
            left += compile_all(self.tool, again, arch)[1]
            if left:
                path, _ = self.tool.write(left)
                self.tool.run(path, "--arch", arch, *self.random.choice(WAYS), "-o", self.tool.folder / "other")
            compiled += len(left)
        self.for_several()
        return compiled

    def for_several(self):
        """One file for several GPUs, of a language."""
        language = self.random.choice((False, True))
        gpus = [arch for arch in self.offers if arch.startswith("gfx") == language]
        chosen = ",".join(self.random.sample(gpus, min(self.random.choice((2, 3)), len(gpus))))
        for name, kernel in self.kernels.items():
            path, _ = self.tool.write([Trial(name, kernel.text(), {"allow_upcast": 1})])
            self.tool.run(path, "--arch", chosen, "-o", self.tool.folder / "several")


def one_file(options, number, offers, end):
    if time.monotonic() > end:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return File(options, number, offers, folder).compile()


def merged(options):
    """The profile of all that ran."""
    path = options.output / "merged.profdata"
    profiles = [str(profile) for profile in (options.output / "profiles").glob("*.profraw")]
    subprocess.run(["llvm-profdata-22", "merge", "-sparse", *profiles, "-o", path], check=True)
    return path


def lines_of(options):
    """{file: {line: how often}} of the parts."""
    command = ["llvm-cov-22", "export", "-format=lcov", "-skip-functions", f"-instr-profile={merged(options)}", str(options.tkc)]
    command += [str(ROOT / part) for part in PARTS]
    found, file = collections.defaultdict(dict), None
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        if line.startswith("SF:"):
            file = str(pathlib.Path(line[3:]).relative_to(ROOT))
        elif line.startswith("DA:"):
            at, count = line[3:].split(",")[:2]
            found[file][int(at)] = int(count)
    return found


def report(lines, unreached):
    """Prints how many lines ran, of each part and of each file with others, and writes these out."""
    with unreached.open("w") as out:
        for part in PARTS:
            files = {file: counts for file, counts in lines.items() if file.startswith(part + "/")}
            total, missed = sum(map(len, files.values())), 0
            print(f"{part}:")
            for file, counts in sorted(files.items()):
                never = [line for line, count in sorted(counts.items()) if count == 0]
                missed += len(never)
                if never:
                    print(f"  {file:40} {len(never):4} of {len(counts):4} lines not reached")
                    text = (ROOT / file).read_text().splitlines()
                    out.writelines(f"{file}:{line}: {text[line - 1]}\n" for line in never)
            print(f"{part}: {total - missed} of {total} lines reached, {100 * (total - missed) / max(total, 1):.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="store_true", help="build tkc with counters first")
    parser.add_argument("--tkc", type=pathlib.Path, default=ROOT / "build/coverage/tkc/tkc")
    parser.add_argument("--seed", default="fresh", help="a word, or `fresh`")
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no file after so many")
    parser.add_argument("--kernels", type=int, default=24, help="of a file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-o", dest="output", type=pathlib.Path, required=True, metavar="FOLDER")
    options = parser.parse_args()
    options.seed = seeds.seed_of(options.seed)
    if options.build:
        build()
    (options.output / "profiles").mkdir(parents=True, exist_ok=True)
    # Processes add to what others counted before.
    os.environ["LLVM_PROFILE_FILE"] = str(options.output.resolve() / "profiles" / "%4m.profraw")
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(options.tkc, folder)
        offers = {gpu: keys.offered(tool, gpu) for gpu in keys.gpus(tool)}
    end = time.monotonic() + options.seconds
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        numbers = range(options.first, options.first + options.files)
        compiled = list(pool.map(lambda number: one_file(options, number, offers, end), numbers))
    print(f"random kernels, seed {options.seed}: {sum(1 for count in compiled if count)} files, {sum(compiled)} kernels compiled for a GPU")
    report(lines_of(options), options.output / "unreached.txt")


if __name__ == "__main__":
    sys.exit(main())
