#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of the planner's and the printers' sources: would the tests notice if one of them were the next commit?

    test/random/source_mutants.py --seed S [--count 60] [--share K/N] [--build FOLDER] [-o FOLDER]
    test/random/source_mutants.py --undo COMMIT..COMMIT [--build FOLDER] [-o FOLDER]

A mutant changes one line of backends/plan, backends/schedule or backends/emit: operands swapped, a number or a comparison off by one, a cast or a
statement dropped, a name of a neighbouring line. It is built in a worktree of its own, which is made once and stays. One that does
not compile is drawn again; one that changes no byte of what tkc emits for the library, the tests and random kernels is counted
apart. The others run through the parts of ./check in turn, until one fails. With --undo, the mutants are the commits of the range
with their changes of sources taken back while their tests stay; where later commits stand on such a change, the tests of the
commit look at the sources of its parent. The output folder has mutants.jsonl, a line for each; the same command goes on where it
was interrupted. Prints how many were found, by which part, and each survivor with its change."""
import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "test"))

from library import kernel_files  # noqa: E402

SOURCES = ("backends/plan", "backends/schedule", "backends/emit")
UNDONE = ("backends", "emulator", "frontend", "harness", "ir", "runtime", "support", "tkc")


# ---- what a line may become: each gives (kind, new line)s

def swapped_operands(line, _):
    for found in re.finditer(r"\(([\w.>-]+(?:\(\))?), ([\w.>-]+(?:\(\))?)\)", line):
        if found[1] != found[2]:
            yield "operands swapped", line[:found.start()] + f"({found[2]}, {found[1]})" + line[found.end():]


def off_by_one(line, _):
    for found in re.finditer(r"(?<![\w.\"])(\d+)(?![\w.\"])", line):
        yield "number off by one", line[:found.start()] + str(int(found[1]) + 1) + line[found.end():]
    for old, new in ((" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "), (" && ", " || "),
                     (" || ", " && "), (" + ", " - "), (" - ", " + ")):
        for found in re.finditer(re.escape(old), line):
            yield "operator", line[:found.start()] + new + line[found.end():]


def dropped(line, _):
    for found in re.finditer(r"static_cast<[\w:]+>\(([^()]*)\)", line):
        yield "cast dropped", line[:found.start()] + f"({found[1]})" + line[found.end():]
    if re.fullmatch(r"\s*(?!return|break|continue|using|case|else|const auto|auto )[\w.>-]+(?: = [^=].*|\(.*\));", line):
        yield "statement dropped", re.match(r"\s*", line)[0] + ";"


def stale_name(line, neighbours):
    for found in re.finditer(r"\b[a-z][A-Za-z]{2,}\b(?!\()", line):
        for name in neighbours:
            if name != found[0]:
                yield "stale name", line[:found.start()] + name + line[found.end():]


def candidates(path):
    """Every change of a file: (kind, number of the line from 0, new line)."""
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        if re.match(r"\s*(//|#|/\*|\*|namespace|using|class|struct|template|$)", line):
            continue
        around = lines[max(0, number - 3):number] + lines[number + 1:number + 4]
        names = sorted({name for other in around for name in re.findall(r"\b[a-z][A-Za-z]{2,}\b(?!\()", other.split("//")[0])})
        for change in (swapped_operands, off_by_one, dropped, stale_name):
            for kind, new in change(line, names):
                yield kind, number, new


class Tree:
    """A worktree in which one mutant at a time stands."""

    def __init__(self, folder):
        self.folder, self.build = folder, folder / "build/dev"
        if not folder.exists():
            subprocess.run(["git", "worktree", "add", "--detach", "--quiet", folder, "HEAD"], cwd=root, check=True)
            self.run(["cmake", "--preset", "dev"], check=True)

    def surroundings(self):
        return {"cwd": self.folder, "text": True, "env": {**os.environ, "CCACHE_BASEDIR": str(self.folder), "CCACHE_NOHASHDIR": "1"}}

    def run(self, command, **more):
        return subprocess.run(command, capture_output=True, **self.surroundings(), **more)

    def start(self, command):
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **self.surroundings())

    def git(self, *arguments):
        return self.run(["git", *arguments], check=True).stdout

    def make(self):
        return self.run(["cmake", "--build", "--preset", "dev", "--parallel", str(os.cpu_count())]).returncode == 0

    @property
    def tkc(self):
        return self.build / "tkc/tkc"


def emitted(tree, inputs, gpus, before=None):
    """A hash of what tkc says of each file for each GPU, exit status and messages with it; ends at the first that is not as before."""

    def one(job):
        file, gpu = job
        try:
            run = subprocess.run([tree.tkc, file, "--arch", gpu, "--standalone"], capture_output=True, timeout=60)
            return hashlib.sha256(run.stdout + run.stderr + bytes([run.returncode & 255])).hexdigest()
        except subprocess.TimeoutExpired:
            return "timeout"

    jobs, hashes, together = [(file, gpu) for file in inputs for gpu in gpus], [], 4 * os.cpu_count()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for begin in range(0, len(jobs), together):
            hashes += pool.map(one, jobs[begin:begin + together])
            if before is not None and hashes != before[:len(hashes)]:
                break
    return hashes


def parts(tree, output, without):
    """What looks at a mutant, the cheapest first: (name, command)."""
    tests, fuzz = tree.build / "test", tree.folder / "test/random/fuzz/fuzz.py"
    lit = ["lit-22", "-q", "--max-failures=1", f"-j{os.cpu_count()}"]
    no_hashes = "--filter-out=golden/emitted"       # these are a part of their own, which can be left out
    random_kernels = [sys.executable, fuzz, "--tkc", tree.tkc, "--avoid-known", "--attempts", "0", "--jobs", str(os.cpu_count())]
    every = [
        ("unit tests", [tests / "unit/tkc_unit_tests", "--gtest_brief=1"]),
        ("tests of the front end and of golden files", [*lit, no_hashes, tests / "golden", tests / "passes", tests / "errors", tests / "ir"]),
        ("tests of emitted code", [*lit, tests / "emit"]),
        ("random kernels", [*random_kernels, "--seed", "check", "--files", "8", "-o", output / "fixed"]),
        ("random kernels", [*random_kernels, "--seed", "date", "--files", "1000", "--seconds", "75", "-o", output / "date"]),
        ("tests of plans", [*lit, tests / "plan"]),
        ("the hashes of emitted code", [*lit, tests / "golden/emitted.test"]),
        ("tests of the language", [*lit, tests / "language"]),
        ("other tests", [*lit, no_hashes, tests]),
        ("targets", [sys.executable, tree.folder / "test/targets/targets.py", "--tkc", tree.tkc, "-o", output / "targets"]),
    ]
    return [part for part in every if part[0] not in without]


def fails(tree, command):
    """Whether a part fails; random kernels end at the first that is wrong."""
    with tree.start(command) as process:
        for line in process.stdout:
            if line.startswith("found: "):
                process.kill()
                return True
    return process.returncode != 0


def examine(tree, parts, output):
    """Who finds the mutant that stands in the tree."""
    for name, command in parts:
        for folder in ("fixed", "date"):
            shutil.rmtree(output / folder, ignore_errors=True)
        if fails(tree, command):
            return name
    return "nobody"


class Log:
    """The mutants of a run: what became of each."""

    def __init__(self, path):
        self.path = path
        self.entries = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def add(self, entry):
        self.entries.append(entry)
        with self.path.open("a") as out:
            out.write(json.dumps(entry) + "\n")
        print(f"{entry['place']}: {entry['kind']}: {entry['found']} ({entry['seconds']} s)", flush=True)

    def summary(self):
        counts = collections.Counter(entry["found"] for entry in self.entries)
        for found, count in counts.most_common():
            print(f"{count:4} {found}")
        for entry in self.entries:
            if entry["found"] == "nobody":
                print(f"survives: {entry['place']}: {entry['kind']}\n  - {entry['was']}\n  + {entry['is']}")
        changed = sum(count for found, count in counts.items() if found not in (SAME, INVALID))
        print(f"{changed - counts['nobody']} of {changed} that change what is emitted are found")
        return 1 if counts["nobody"] else 0


SAME, INVALID = "changes nothing that is emitted", "does not compile"


def inputs_of(tree, options):
    """Random kernels, the tests' and the library's."""
    files = []
    for number in range(4):
        files.append(options.output / f"random-{number}.tk")
        files[-1].write_text(tree.run([sys.executable, "test/random/fuzz/generate.py", f"{options.seed}-{number}", "12"], check=True).stdout)
    return files + kernel_files(tree.folder) + sorted((tree.folder / "test/language").glob("*.tk"))


def draw_mutants(tree, options, log):
    gpus = [gpu["name"] for gpu in json.loads(tree.run([tree.tkc, "arch", "--json"]).stdout) if gpu["compiles"]]
    inputs = inputs_of(tree, options)
    before = emitted(tree, inputs, gpus)
    changes = collections.defaultdict(list)
    for path in sorted(path for folder in SOURCES for path in (tree.folder / folder).rglob("*.cpp")):
        for kind, number, new in candidates(path):
            changes[kind].append((path.relative_to(tree.folder), number, new))
    draw, every = random.Random(options.seed), parts(tree, options.output, options.without)
    share, shares = map(int, options.share.split("/"))
    for drawn in itertools.count():
        if sum(entry["found"] != INVALID for entry in log.entries) >= options.count:
            return
        kind = draw.choice(sorted(changes))
        path, number, new = draw.choice(changes[kind])
        if drawn % shares != share or drawn // shares < len(log.entries):
            continue
        place, begin = tree.folder / path, time.monotonic()
        text = place.read_text()
        lines = text.splitlines()
        old, lines[number] = lines[number], new
        place.write_text("\n".join(lines) + "\n")
        try:
            found = INVALID if not tree.make() else SAME if emitted(tree, inputs, gpus, before) == before else examine(tree, every, options.output)
        finally:
            place.write_text(text)
        log.add({"kind": kind, "place": f"{path}:{number + 1}", "was": old.strip(), "is": new.strip(), "found": found,
                 "seconds": round(time.monotonic() - begin)})


def own_tests(tree, commit):
    """The tests that a commit changed: what lit and the unit tests have of them."""
    changed = tree.git("diff", "--name-only", "--diff-filter=d", f"{commit}~1", commit, "--", "test").split()
    lit = [tree.build / path for path in changed if path.endswith((".test", ".tk", ".tkir", ".tkplan")) and "Inputs/" not in path]
    return [("its own tests", ["lit-22", "-q", f"-j{os.cpu_count()}", *lit])] * bool(lit) + \
        [("its own tests", [tree.build / "test/unit/tkc_unit_tests", "--gtest_brief=1"])] * any(path.startswith("test/unit") for path in changed)


def undo(tree, options, log):
    """Each commit of the range that changes sources, taken back where no later one stands on it, else looked at in its own time."""
    head = tree.git("rev-parse", "HEAD").strip()
    done = {entry["place"] for entry in log.entries}
    for commit in tree.git("rev-list", "--reverse", options.undo).split():
        title = tree.git("log", "-1", "--format=%h %s", commit).strip()
        patch = tree.git("diff", "--binary", f"{commit}~1", commit, "--", *UNDONE)
        if not patch or title in done:
            continue
        begin, kind = time.monotonic(), "undone"
        try:
            if tree.run(["git", "apply", "--reverse", "--3way", "-"], input=patch).returncode == 0 and tree.make():
                found = examine(tree, parts(tree, options.output, options.without), options.output)
            else:
                kind = "its tests beside the sources of its parent"
                tree.git("reset", "--quiet", "--hard", commit)
                tests = own_tests(tree, commit)
                if not tree.make() or examine(tree, tests, options.output) != "nobody":
                    sys.exit(f"{title}: its own tests fail")
                tree.git("checkout", "--quiet", "--no-overlay", f"{commit}~1", "--", *UNDONE)
                found = examine(tree, tests, options.output) if tree.make() else "its tests do not compile"
        finally:
            tree.git("reset", "--quiet", "--hard", head)
        log.add({"kind": kind, "place": title, "was": "", "is": "", "found": found, "seconds": round(time.monotonic() - begin)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default="1", help="any word")
    parser.add_argument("--count", type=int, default=60, help="mutants that compile")
    parser.add_argument("--share", default="0/1", metavar="K/N", help="every Nth of the drawn mutants from the Kth on: N processes with trees and outputs of their own")
    parser.add_argument("--undo", metavar="COMMIT..COMMIT")
    parser.add_argument("--without", nargs="*", default=[], metavar="PART", help="parts that are left out, such as `targets`, which take ten minutes")
    parser.add_argument("--build", type=pathlib.Path, default=root / "build/mutants", help="the worktree")
    parser.add_argument("-o", dest="output", type=pathlib.Path, default=root / "build/mutants-results", metavar="FOLDER")
    options = parser.parse_args()
    options.output = options.output.resolve()
    options.output.mkdir(parents=True, exist_ok=True)
    tree, log = Tree(options.build.resolve()), Log(options.output / "mutants.jsonl")
    if not tree.make():
        sys.exit("the sources do not build as they are")
    # Of several processes the first one looks at the tests as they are.
    if options.share.startswith("0/") and not log.entries and (failing := examine(tree, parts(tree, options.output, options.without), options.output)) != "nobody":
        sys.exit(f"{failing} fail without a change, so that nothing can be said of mutants")
    undo(tree, options, log) if options.undo else draw_mutants(tree, options, log)
    return log.summary()


if __name__ == "__main__":
    sys.exit(main())
