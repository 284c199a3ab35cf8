#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels with random schedules on random GPUs, against their references.

    test/random/fuzz/fuzz.py --tkc build/dev/tkc/tkc [--seed S] [--files N] [--seconds T] [--arch NAME…] [-o FOLDER]

A file has twelve kernels of up to five cases; each runs on the interpreter, and for one GPU with keys of its own on the emulator in a
random order. A trial is a kernel, a GPU, keys and a case. What is refused is counted by reason, with an example of each, and apart: with default keys, of types
that the GPU lacks, with other keys. What is wrong is cut down and written to FOLDER/found. Every kernel at every place is a line of
FOLDER/trials.jsonl, with the numbers of its cases; from it the same command goes on. A seed may be any word, a commit's hash among them."""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import random
import re
import sys
import tempfile
import threading
import time
import xml.sax.saxutils as xml

import keys
import known
import reduce
import seeds
import trials
from choices import Choices
from generate import make
from trials import Outcome, Tool, Trial

KERNELS = 12
FINDINGS = ("wrong", "race", "uncompilable", "internal", "invalid", "slow", "fault")


class Run:
    """What is known of all trials: counts, refusals, what was found."""

    def __init__(self, options):
        self.options, self.lock = options, threading.Lock()
        self.counts, self.refusals, self.seen, self.failures = collections.Counter(), collections.Counter(), collections.Counter(), []
        self.examples = {}      # of each kind of refusal: where, and seed/file/kernel
        self.found, self.log = options.output / "found", options.output / "trials.jsonl"
        self.found.mkdir(parents=True, exist_ok=True)
        self.done = set()
        if self.log.exists():
            for entry in map(json.loads, self.log.read_text().splitlines()):
                self.done.add((entry["seed"], entry["file"]))
                self.count(entry, Outcome(entry["verdict"], entry.get("said", ""), entry["passed"], entry["failed"]))
        with tempfile.TemporaryDirectory() as folder:
            tool = Tool(options.tkc, folder)
            self.gpus = options.arch or keys.gpus(tool)
            self.offers = {gpu: keys.offered(tool, gpu) for gpu in self.gpus}

    def count(self, entry, outcome):
        self.counts[entry["where"], outcome.verdict] += outcome.failed
        self.counts[entry["where"], "passed"] += outcome.passed
        if outcome.verdict == "refused":
            why = trials.refusal(entry["keys"], outcome.said), trials.reason(outcome.said)
            self.refusals[why] += 1
            self.examples.setdefault(why, f"{entry['where']} {entry['seed']}/{entry['file']}/{entry['kernel']}")

    def write(self, entries):
        """The trials of a file, at once: after an interrupt a file is either done or begun again."""
        with self.lock:
            for entry, outcome in entries:
                self.count(entry, outcome)
            with self.log.open("a") as log:
                log.write("".join(json.dumps(entry) + "\n" for entry, _ in entries))

    def is_new(self, group, most):
        with self.lock:
            self.seen[group] += 1
            return self.seen[group] <= most

    def keep(self, finding, text, said):
        """Writes what was found, but for another with the same text."""
        if not self.is_new("text " + re.sub(r"\d+", "", text.partition("reference")[0]), 1):
            return
        path = self.found / f"{finding.outcome.verdict}-{finding.place.name}-{finding.seed}-{finding.number}-{finding.kernel}.tk"
        path.write_text(f"// {finding.place.command()}: {' '.join(said.split())[:300]}\n{text}")
        with self.lock:
            self.failures.append((path.name, said))
            print(f"found: {path}: {' '.join(said.split())[:200]}", flush=True)

    def summary(self):
        for (where, verdict), number in sorted((+self.counts).items()):
            print(f"{where:16} {verdict:13} {number}")
        totals = collections.Counter()
        for (where, verdict), number in self.counts.items():
            place = where if where == "interpreter" else where.partition("-")[2] or "emulator"
            totals[place, verdict] += number
        for place in sorted({place for place, _ in totals}):
            verdicts = {verdict: number for (other, verdict), number in totals.items() if other == place and number}
            print(f"all of {place}: {sum(verdicts.values())} trials, " + ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items())))
        for group in ("default keys", "type that the GPU lacks", "with keys"):
            reasons = [(why, number) for (of, why), number in self.refusals.most_common() if of == group]
            print(f"refused, {group}: {sum(number for _, number in reasons)}")
            for why, number in reasons:
                print(f"  {number:4}  {why}\n        {self.examples[group, why]}")

    def junit(self, path):
        """Where trials ran, as test cases."""
        bad = {where for (where, verdict), _ in self.counts.items() if verdict in FINDINGS}
        cases = []
        for where in sorted({where for where, _ in self.counts}):
            said = "; ".join(f"{name}: {text}" for name, text in self.failures) or "see the log"
            failure = f"<failure message={xml.quoteattr(said[:2000])}/>" if where in bad else ""
            cases.append(f"<testcase classname=\"random\" name=\"{where}\">{failure}</testcase>")
        path.write_text(f"<testsuite name=\"random\">{''.join(cases)}</testsuite>\n")


class Place:
    """Where a kernel goes: the interpreter, tkc for a GPU (`-compiled`), Clang's front end after it (`-syntax`), or the emulator."""

    def __init__(self, name, arch=None, order=0):
        self.name, self.arch, self.order = name, arch, order

    def command(self):
        if self.name == "interpreter":
            return "tkc test FILE"
        if self.name.endswith("-compiled"):
            return f"tkc FILE --arch {self.arch}"
        if self.name.endswith("-syntax"):
            return f"tkc FILE --arch {self.arch} --standalone, and Clang"
        return f"tkc test FILE {' '.join(trials.on_emulator(self.arch, self.order))}"

    def run(self, tool, chosen):
        """{name: Outcome}"""
        if self.name == "interpreter":
            return trials.interpret(tool, chosen)
        outcomes, left = trials.compile_all(tool, chosen, self.arch)
        return outcomes | self.run_compiled(tool, left)

    def run_compiled(self, tool, left):
        if self.name.endswith("-compiled"):
            return {trial.name: Outcome("passed", "", 1, 0) for trial in left}
        if self.name.endswith("-syntax"):
            return trials.check_syntax(tool, left, self.arch)
        return trials.emulate(tool, left, self.arch, self.order)


Finding = collections.namedtuple("Finding", "seed number kernel place outcome")


class File:
    """The trials of one file of kernels."""

    def __init__(self, run, number, folder):
        self.run, self.options, self.number, self.tool = run, run.options, number, Tool(run.options.tkc, folder, run.options.limit)
        self.random = random.Random(f"{self.options.seed}/{number}")
        self.entries, self.made, self.kernels = [], {}, {}

    def all(self):
        for index in range(self.options.kernels):
            choices = Choices(f"{self.options.seed}/{self.number}/{index}")
            name = f"k{index}"
            self.kernels[name], self.made[name] = make(choices, name), choices
        good = [Trial(name, kernel.text()) for name, kernel in self.kernels.items()]
        options = self.random.choice(([], ["--passes"], ["--padded"]))
        interpreted = trials.interpret(self.tool, good, *options)
        self.record(Place("interpreter"), [(trial, interpreted[trial.name]) for trial in good])
        good = [trial for trial in good if interpreted[trial.name].verdict == "passed"]
        if not self.options.interpreter:
            for _ in range(self.options.syntax):
                arch = self.random.choice(self.run.gpus)
                self.on_gpu(Place(f"{arch}-syntax", arch), good)
            for _ in range(self.options.emulations):
                arch = self.random.choice(self.run.gpus)
                self.on_gpu(Place(arch, arch, self.random.randrange(1000)), good)
            for _ in range(self.options.compilations):
                arch = self.random.choice(self.run.gpus)
                self.on_gpu(Place(f"{arch}-compiled", arch), good)
        self.run.write(self.entries)

    def on_gpu(self, place, good):
        """Kernels with keys of their own; where these are refused, without them."""
        chosen = [Trial(trial.name, trial.text, keys.draw(self.random, self.run.offers[place.arch], self.kernels[trial.name])) for trial in good]
        outcomes, left = trials.compile_all(self.tool, chosen, place.arch)
        refused, again = [], []
        for trial in chosen:
            outcome = outcomes.get(trial.name)
            if outcome and outcome.verdict == "refused" and set(trial.keys) - {"allow_upcast"}:
                refused.append((Trial(trial.name, trial.text, trial.keys), outcome))
                trial.keys = {"allow_upcast": 1}
                again.append(trial)
        if again:
            more, compiled = trials.compile_all(self.tool, again, place.arch)
            outcomes = {name: outcome for name, outcome in outcomes.items() if name not in {trial.name for trial in again}} | more
            left += compiled
        outcomes |= place.run_compiled(self.tool, left)
        self.record(place, refused + [(trial, outcomes[trial.name]) for trial in chosen if trial.name in outcomes])

    def record(self, place, outcomes):
        for trial, outcome in outcomes:
            entry = {"seed": self.options.seed, "file": self.number, "kernel": trial.name, "where": place.name, "order": place.order, "keys": trial.keys,
                     "verdict": outcome.verdict, "passed": outcome.passed, "failed": outcome.failed}
            if outcome.said:
                entry["said"] = outcome.said[:600]
            self.entries.append((entry, outcome))
            if outcome.verdict in FINDINGS:
                self.cut_down(place, trial, outcome)

    # -- findings

    def cut_down(self, place, trial, outcome):
        """Makes what was found smaller, and keeps it."""
        like = trials.signature(outcome)
        if not self.run.is_new(f"{like} {family(place.arch)}", self.options.repeats):
            return
        print(f"{place.name}: {self.options.seed}/{self.number}/{trial.name}: {' '.join(outcome.said.split())[:200]}", flush=True)
        finding = Finding(self.options.seed, self.number, trial.name, place, outcome)
        choices, chosen, said, text = self.made[trial.name], trial.keys, outcome.said, trial.source()
        if self.options.attempts and outcome.verdict != "slow":
            for key in list(chosen):
                fewer = {other: value for other, value in chosen.items() if other != key}
                if self.shows(place, choices.taken, trial.name, fewer, like):
                    chosen = fewer
            taken = reduce.reduce(choices.taken, choices.spans, lambda taken: self.shows(place, taken, trial.name, chosen, like), self.options.attempts)
            small = Trial(trial.name, make(Choices(replay=taken), trial.name).text(), chosen)
            again = self.outcome(place, small)
            if trials.signature(again) == like:
                said, text = again.said, small.source()
        self.run.keep(finding, text, said)

    def outcome(self, place, trial):
        if place.name == "interpreter":
            outcomes = [trials.interpret(self.tool, [trial], *options)[trial.name] for options in ([], ["--padded"])]
            return next((outcome for outcome in outcomes if outcome.verdict != "passed"), outcomes[0])
        if trials.interpret(self.tool, [trial])[trial.name].verdict != "passed":
            return Outcome("unlike", "")
        return place.run(self.tool, [trial]).get(trial.name, Outcome("unlike", ""))

    def shows(self, place, taken, name, chosen, like):
        choices = Choices(replay=taken)
        trial = Trial(name, make(choices, name).text(), chosen)
        return (choices.taken, choices.spans) if trials.signature(self.outcome(place, trial)) == like else None


def family(arch):
    return {None: "interpreter"}.get(arch, "amd" if str(arch).startswith("gfx") else {"sm_8": "ampere", "sm_9": "hopper"}.get(str(arch)[:4], str(arch)[:5]))


def one_file(run, number, end):
    if time.monotonic() < end and (run.options.seed, number) not in run.done:
        with tempfile.TemporaryDirectory(prefix="tkc-random-") as folder:
            File(run, number, folder).all()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tkc", required=True)
    parser.add_argument("--seed", default="1", help="any word; `date` is today's, `fresh` one from the clock")
    parser.add_argument("--first", type=int, default=0, help="the first file")
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--kernels", type=int, default=KERNELS, help="of a file")
    parser.add_argument("--seconds", type=float, default=1e9, help="begins no new file after this time")
    parser.add_argument("--limit", type=int, default=240, help="seconds of a processor that one command may take")
    parser.add_argument("--arch", nargs="*", help="these GPUs only")
    parser.add_argument("--interpreter", action="store_true", help="the interpreter only")
    parser.add_argument("--syntax", type=int, default=1, help="GPUs a file for Clang's front end alone")
    parser.add_argument("--emulations", type=int, default=1, help="GPUs a file for the emulator")
    parser.add_argument("--compilations", type=int, default=5, help="GPUs a file for tkc alone, which takes a tenth of the emulator's time")
    parser.add_argument("--attempts", type=int, default=150, help="to make a finding smaller; 0 leaves it as it is")
    parser.add_argument("--repeats", type=int, default=4, help="findings that look alike which are cut down")
    parser.add_argument("--avoid-known", action="store_true", help="leaves out what known.py lists")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--junit", type=pathlib.Path)
    parser.add_argument("-o", dest="output", type=pathlib.Path, required=True, metavar="FOLDER")
    options = parser.parse_args()
    options.seed = time.strftime("%Y-%m-%d") if options.seed == "date" else seeds.seed_of(options.seed)
    known.avoided.update(known.OPEN if options.avoid_known else ())
    print(f"random kernels, seed {options.seed}", flush=True)
    run, end = Run(options), time.monotonic() + options.seconds
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda number: one_file(run, number, end), range(options.first, options.first + options.files)))
    run.summary()
    if options.junit:
        run.junit(options.junit)
    return 1 if any(verdict in FINDINGS for _, verdict in run.counts) else 0


if __name__ == "__main__":
    sys.exit(main())
