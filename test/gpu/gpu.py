#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels on an NVIDIA GPU, beside their references, and a sample of them under compute-sanitizer.

    test/gpu/gpu.py --tkc build/release/tkc/tkc --seed S --count N [--sanitize M] [--library [FILE…]] [--arch NAME] [-o FOLDER]

Every second kernel has random keys of schedules, of every three one has dims 16 times as large, so that rings turn and copies are the
copy engine's. Kernels are compiled as users compile them, on all cores, and every case runs beside its reference. M of the kernels run
under memcheck, racecheck, initcheck and synccheck, too. Where racecheck reports a kernel, its program runs once more with arrivals and waits of every thread
(every_thread.py): a report that is gone then counts as mistaken. `--library` adds the cases of kernels/, or of other files. The GPU, nvcc and compute-sanitizer are
all that is needed beside tkc.

FOLDER/log.jsonl has a line for each kernel and each sanitizer; from it the same command goes on after an interrupt, or after --seconds.
FOLDER/found has the kernels that failed, each with the command that shows it. The table counts kernels; the exit status is 1 where one
is wrong, faults, hangs, does not compile, or has a report of a sanitizer."""
import argparse
import collections
import contextlib
import concurrent.futures
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "test/random/fuzz")]

import keys  # noqa: E402
import seeds  # noqa: E402
import trials  # noqa: E402
from choices import Choices  # noqa: E402
from generate import make  # noqa: E402
from gpu_program import SANITIZERS, Program  # noqa: E402
from library import kernel_files  # noqa: E402
from trials import Tool, Trial  # noqa: E402

KERNELS = 8         # of a file: nvcc reads the runtime once for all of them
DRAWS = 8           # of keys, until one is not refused
LARGE = 16
VERDICTS = ("passed", "refused", "wrong", "fault", "hang", "uncompilable", "internal", "slow")
GROUPS = ("default keys", "random keys", "default keys, large", "random keys, large", "library")


class Log:
    """What is known of all kernels: the file of the log, and what it says. The main thread alone writes it, so that after an interrupt, which
    ends the programs of all threads, nothing more is written."""

    def __init__(self, folder, seed):
        self.path, self.found, self.seed = folder / "log.jsonl", folder / "found", seed
        self.found.mkdir(parents=True, exist_ok=True)
        self.entries = []
        if self.path.exists():
            self.entries = [entry for entry in map(json.loads, self.path.read_text().splitlines()) if entry["seed"] == seed]
        self.done = {(entry["file"], entry["kernel"]) for entry in self.entries if "tool" not in entry}

    def passed(self):
        """The keys of each random kernel that passed."""
        return {entry["kernel"]: entry["keys"] for entry in self.entries if entry["verdict"] == "passed" and entry.get("group") not in (None, "library")}

    def sanitized(self):
        return {(entry["file"], entry["kernel"], entry["tool"]) for entry in self.entries if "tool" in entry}

    def write(self, file):
        """What became of a file, at once: after an interrupt it is either done or begun again."""
        entries = [{"seed": self.seed, "file": file.name, **entry} for entry in file.entries]
        self.entries += entries
        for name, text in file.kept.items():
            (self.found / name).write_text(text)
        with self.path.open("a") as log:
            log.write("".join(json.dumps(entry) + "\n" for entry in entries))

    def failures(self):
        return sum(entry["verdict"] not in ("passed", "refused", "clean", "mistaken", "unavailable") for entry in self.entries)

    def table(self):
        rows = [("", "kernels", *VERDICTS, "cases passed", "cases failed")]
        for group in GROUPS:
            own = [entry for entry in self.entries if entry.get("group") == group]
            counts = collections.Counter(entry["verdict"] for entry in own)
            if own:
                rows.append((group, len(own), *(counts[verdict] for verdict in VERDICTS), sum(entry["passed"] for entry in own),
                             sum(entry["failed"] for entry in own)))
        rows.append(("all", *(sum(row[at] for row in rows[1:]) for at in range(1, len(rows[0])))))
        verdicts = ("clean", "mistaken", "reported", "slow", "unavailable")
        sanitized = [("", "kernels", *verdicts)]
        for tool in SANITIZERS:
            counts = collections.Counter(entry["verdict"] for entry in self.entries if entry.get("tool") == tool)
            if counts:
                sanitized.append((tool, sum(counts.values()), *(counts[verdict] for verdict in verdicts)))
        print(columns(rows) + ("\n" + columns(sanitized) if len(sanitized) > 1 else ""))
        for entry in sorted(self.entries, key=lambda entry: entry["verdict"]):
            if entry["verdict"] not in ("passed", "clean"):
                print(f"{entry['verdict']}: {entry['kernel']}{' ' + entry['tool'] if 'tool' in entry else ''}: {' '.join(entry['said'].split())[:200]}")


def columns(rows):
    widths = [max(len(str(row[at])) for row in rows) for at in range(len(rows[0]))]
    return "".join("  ".join([str(row[0]).ljust(widths[0]), *(str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:]))]) + "\n" for row in rows)


class Kernel:
    """A kernel of the file that is tried: its text, the group that it counts for, and what became of it."""

    def __init__(self, name, group, draws, text_of):
        self.name, self.group, self.draws, self.text_of = name, group, draws, text_of
        self.trial = None       # with the keys that were not refused
        self.verdict, self.said, self.passed, self.failed, self.refusals = None, "", 0, 0, 0

    def entry(self, seconds):
        return {"kernel": self.name, "group": self.group, "keys": self.trial.keys if self.trial else {}, "verdict": self.verdict, "passed": self.passed,
                "failed": self.failed, "refusals": self.refusals, "seconds": seconds, "said": self.said[:1000]}

    def end(self, verdict, said, passed=0, failed=1):
        self.verdict, self.said, self.passed, self.failed = verdict, said, passed, failed


class File:
    """Kernels that are compiled together."""

    def __init__(self, session, name):
        self.session, self.options, self.name = session, session.options, name
        self.entries, self.kept = [], {}    # of the log; of FOLDER/found
        self.seconds = collections.Counter()    # of the steps

    def all(self):
        with tempfile.TemporaryDirectory(prefix="tkc-gpu-", dir=self.options.scratch) as folder:
            self.tool = Tool(self.options.tkc, folder, self.options.limit)
            self.kernels = self.make()
            with self.timed("keys"):
                self.choose_keys()
            self.run([kernel for kernel in self.kernels if kernel.verdict is None], pathlib.Path(folder) / "program")
        self.record()
        return self

    def record(self):
        seconds = {step: round(passed, 1) for step, passed in self.seconds.items()}
        for kernel in self.kernels:
            self.entries.append(kernel.entry(seconds))
            if kernel.verdict not in ("passed", "refused"):
                self.keep(kernel, kernel.verdict, kernel.said)

    @contextlib.contextmanager
    def timed(self, step):
        begun = time.monotonic()
        yield
        self.seconds[step] += time.monotonic() - begun

    def choose_keys(self):
        """The first keys that each kernel is not refused with."""
        left = list(self.kernels)
        for draw in range(DRAWS):
            for kernel in left:
                kernel.trial = Trial(kernel.name, kernel.text_of(), kernel.draws[min(draw, len(kernel.draws) - 1)])
            outcomes, _ = trials.compile_all(self.tool, [kernel.trial for kernel in left], self.options.arch)
            for kernel in left:
                if kernel.name in outcomes and outcomes[kernel.name].verdict != "refused":
                    kernel.end(outcomes[kernel.name].verdict, outcomes[kernel.name].said)
            left = [kernel for kernel in left if kernel.name in outcomes and kernel.verdict is None]
            for kernel in left:
                kernel.refusals += 1
                if draw + 1 >= len(kernel.draws):
                    kernel.end("refused", outcomes[kernel.name].said)
            left = [kernel for kernel in left if kernel.verdict is None]
            if not left:
                return

    def run(self, kernels, folder):
        """Builds one program of the kernels and runs their cases."""
        if not kernels:
            return
        program, status, said = self.build(kernels, folder)
        if program is None and len(kernels) == 1:
            verdict = "slow" if status is None else "uncompilable" if "nvcc refused" in said else "refused" if status == 1 else "internal"
            kernels[0].end(verdict, said)
        elif program is None:
            middle = len(kernels) // 2
            self.run(kernels[:middle], folder.with_name(folder.name + "a"))
            self.run(kernels[middle:], folder.with_name(folder.name + "b"))
        else:
            self.run_program(kernels, program)

    def run_program(self, kernels, program):
        with self.session.gpu, self.timed("run"):
            results = program.run(program.cases, self.options.hang)
        for kernel in kernels:
            self.judge(kernel, program, results)

    def build(self, kernels, folder):
        if self.session.is_stopped:
            raise KeyboardInterrupt
        path = self.write(kernels)
        with self.timed("build"):
            status, said = self.tool.run("test", path, "--weak", "--target=gpu", "--arch", self.options.arch, "--build-only", "-o", folder)
        return Program(folder) if (folder / "run").exists() else None, status, said

    def write(self, kernels):
        return self.tool.write([kernel.trial for kernel in kernels])[0]

    def judge(self, kernel, program, results):
        """Of its cases the first that failed; those that are not in the program were refused."""
        own = [(program.cases[number][1], *results[number]) for number in program.of(kernel.name)]
        bad = [(verdict, f"{case}: {message}") for case, verdict, message in own if verdict != "passed"]
        missing = len(re.findall(rf"^case {kernel.name}\b", kernel.trial.text, re.M)) - len(own)
        passed = len(own) - len(bad)
        if bad:
            kernel.end(*bad[0], passed, len(bad))
        elif missing > 0:
            kernel.end("refused", f"{missing} cases have no plan", passed, 0)
        else:
            kernel.end("passed", "", passed, 0)

    def keep(self, kernel, verdict, said):
        name = f"{verdict}-{self.session.seed}-{kernel.name}.tk"
        tool = f"; compute-sanitizer --tool {verdict} D/run --once" if verdict in SANITIZERS else ""
        self.kept[name] = f"{self.command(name, kernel)}{tool}\n// {' '.join(said.split())[:400]}\n{kernel.trial.source()}"

    def command(self, name, kernel):
        return f"// tkc test {name} --target=gpu --arch {self.options.arch} -o D"


class RandomFile(File):
    """The kernels of a file have numbers of their own, whatever the file's size; the number says how each is made."""

    def make(self):
        return [self.random(number) for number in self.numbers()]

    def numbers(self):
        """Of the kernels that the log does not have yet."""
        first = int(self.name) * KERNELS
        return [number for number in range(first, min(first + KERNELS, self.options.count)) if (self.name, f"k{number}") not in self.session.log.done]

    def is_done(self):
        return not self.numbers()

    def random(self, number):
        scale = LARGE if number % 3 == 2 else 1
        name = f"k{number}"
        made = make(Choices(f"{self.session.seed}/{number}"), name, scale)
        group = ("random keys" if number % 2 else "default keys") + (", large" if scale > 1 else "")
        draws = [{}, {"allow_upcast": 1}]
        if number % 2:
            drawn = random.Random(f"{self.session.seed}/{number}/keys")
            some = (keys.draw(drawn, self.session.offers, made) for _ in range(8 * DRAWS))
            draws = [{"allow_upcast": 1} | draw for draw in some if set(draw) - {"allow_upcast"}][:DRAWS]
        return Kernel(name, group, draws, made.text)


class SanitizedKernel(RandomFile):
    """One of the random kernels that passed, with the keys that it had, under compute-sanitizer."""

    def make(self):
        number = int(self.name)
        made = self.random(number)
        made.draws = [self.session.log.passed()[made.name]]
        return [made]

    def missing(self):
        """The tools that it has not been under."""
        return [tool for tool in SANITIZERS if (self.name, f"k{self.name}", tool) not in self.session.log.sanitized()]

    def is_done(self):
        return not self.missing()

    def run_program(self, kernels, program):
        kernel, = kernels
        for tool in self.missing():
            begun = time.monotonic()
            verdict, said = self.sanitize(program, tool, kernel)
            self.entries.append({"kernel": kernel.name, "tool": tool, "verdict": verdict, "seconds": round(time.monotonic() - begun, 1), "said": said})
            if verdict == "reported":
                self.keep(kernel, tool, said)

    def sanitize(self, program, tool, kernel):
        with self.session.gpu:
            verdict, said = program.sanitize(tool, program.of(kernel.name), self.options.limit)
        if tool == "racecheck" and verdict == "reported":
            changed = program.where_every_thread_arrives(self.options.arch, self.options.limit)
            with self.session.gpu:
                if changed.sanitize(tool, changed.of(kernel.name), self.options.limit)[0] == "clean":
                    return "mistaken", said
        return verdict, said

    def record(self):
        """What its cases do is in the log already."""


class LibraryFile(File):
    """A file of the library, as it is."""

    def make(self):
        text = (ROOT / self.name).read_text()
        return [Kernel(name, "library", [{}], lambda: text) for name in dict.fromkeys(re.findall(r"^case (\w+)", text, re.M))]

    def choose_keys(self):
        for kernel in self.kernels:
            kernel.trial = Trial(kernel.name, kernel.text_of())

    def write(self, kernels):
        return ROOT / self.name

    def run(self, kernels, folder):
        program, status, said = self.build(kernels, folder)
        if program:
            return self.run_program(kernels, program)
        for kernel in kernels:
            kernel.end("slow" if status is None else "uncompilable" if "nvcc refused" in said else "internal", said)

    def is_done(self):
        return any(name == self.name for name, _ in self.session.log.done)

    def command(self, name, kernel):
        return f"// tkc test {self.name} --target=gpu --arch {self.options.arch} --filter {kernel.name} -o D"


def show(text):
    """How far it is, where somebody watches."""
    if sys.stderr.isatty():
        print(f"\r{text}", end="\x1b[K", file=sys.stderr, flush=True)


class Session:
    """What all files share."""

    def __init__(self, options):
        self.options, self.seed = options, options.seed
        self.log = Log(options.output, options.seed)
        self.gpu = threading.Semaphore(options.processes)       # processes that use the GPU at a time
        self.end, self.is_stopped = time.monotonic() + options.seconds, False
        with tempfile.TemporaryDirectory() as folder:
            self.offers = keys.offered(Tool(options.tkc, folder), options.arch)

    def files(self):
        """Those of the library first, since these take longest."""
        whole = [str(path.relative_to(ROOT)) for path in kernel_files(ROOT)]
        library = [LibraryFile(self, name) for name in (whole if self.options.library == [] else map(os.path.abspath, self.options.library or ()))]
        some = [RandomFile(self, str(number)) for number in range(-(-self.options.count // KERNELS))]
        return [file for file in library + some if not file.is_done()]

    def sanitized(self):
        """So many of those that passed, in an order that the seed says."""
        passed = sorted(self.log.passed())
        random.Random(f"{self.seed}/sanitized").shuffle(passed)
        return [file for file in (SanitizedKernel(self, name[1:]) for name in passed[:self.options.sanitize]) if not file.is_done()]

    def one(self, file):
        return file.all() if time.monotonic() < self.end and not self.is_stopped else None

    def run(self):
        """Whether all is done. Sanitizers come last, since they take longest."""
        return self.run_all(self.files()) and self.run_all(self.sanitized())

    def run_all(self, files):
        """Whether all of these are done."""
        begun, done = time.monotonic(), 0
        pool = concurrent.futures.ThreadPoolExecutor(self.options.jobs)
        try:
            for future in concurrent.futures.as_completed([pool.submit(self.one, file) for file in files]):
                if future.result():
                    self.log.write(future.result())
                    done += 1
                    show(f"{done} of {len(files)} files, {self.log.failures()} failures, {time.monotonic() - begun:.0f} s")
        except KeyboardInterrupt:
            self.is_stopped = True
        finally:
            pool.shutdown(cancel_futures=True)
            show("")
        return done == len(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tkc", required=True)
    parser.add_argument("--seed", default="1", help="any word; `fresh` takes one from the clock")
    parser.add_argument("--count", type=int, default=100, help="random kernels")
    parser.add_argument("--sanitize", type=int, default=0, metavar="M", help="of them, under compute-sanitizer")
    parser.add_argument("--library", nargs="*", metavar="FILE", help="the library's cases, too, or those of these files")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--seconds", type=float, default=1e9, help="begins no new file after this time")
    parser.add_argument("--limit", type=int, default=240, help="seconds that a command may take")
    parser.add_argument("--hang", type=int, default=60, help="seconds after which a case hangs")
    parser.add_argument("--processes", type=int, default=16, help="that use the GPU at a time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--scratch", type=pathlib.Path, help="a folder for programs, which take some megabytes each")
    parser.add_argument("-o", dest="output", type=pathlib.Path, default=pathlib.Path("build/gpu"), metavar="FOLDER")
    options = parser.parse_args()
    options.seed = seeds.seed_of(options.seed)
    print(f"{options.count} random kernels for {options.arch}, seed {options.seed}", flush=True)
    session = Session(options)
    done = session.run()
    session.log.table()
    if not done:
        print("not all files are done; the same command goes on")
    return 1 if session.log.failures() or not done else 0


if __name__ == "__main__":
    sys.exit(main())
