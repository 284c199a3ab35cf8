#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kernel for every architecture: compiles what tkc emits with the vendors' compilers, and runs the cases on the emulator.

    test/targets/targets.py --tkc build/dev/tkc/tkc [--all] [--arch NAME…] [-o FOLDER] [FILE.tk…]

Writes FOLDER/targets.md (tables), targets.json, and targets-*.xml (JUnit). What went in decides whether something is done again:
results are kept in $TKC_CACHE (~/.cache/tkc). Without --all a covering subset: on each architecture one specialisation and one case in
six of each kernel, others on other architectures; without --arch, architectures whose kernels are built alike by turns, and one of these
kinds each day (turns.py; --day says another): each file is emulated every day, each kernel compiled every second day. Fails on spills to memory, stack frames, local memory, on what ptxas serialised or
repaired, on writes of registers that a product in flight reads (in_flight.py), on negations that lose their sign (lost_signs.py), on whatever the emulator finds, and on bank conflicts
in loops and superfluous products, of the first case of each kernel (without --all or --arch, of a quarter of the files each day, on one
architecture).
Spills that known-spills.txt lists are counted and shown apart; known-counts.txt lists conflicts and products."""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import xml.sax.saxutils as xml

import cache
import compilers
import counts
import in_flight
import lost_signs
import turns

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "test"))

from library import kernel_files  # noqa: E402

Spec = collections.namedtuple("Spec", "file kernel settings")
COUNTED_EVERY, COMPILED_EVERY = 4, 2  # days


def tkc(options, *arguments):
    return subprocess.run([options.tkc, *map(str, arguments)], capture_output=True, text=True)


def specialisations(options, file):
    """Those of every kernel of a file: {kernel: [Spec]}."""
    found = collections.defaultdict(list)
    run = tkc(options, file, "--emit=tile")
    if run.returncode != 0:
        sys.exit(f"tkc {file} --emit=tile\n{run.stderr}")
    for name, types, rest in re.findall(r"^func @(\w+)(?:<(.*?)>)?\(.*?\)(?: where (.*?))?(?: given .*?)? \{$", run.stdout, re.M):
        fixed = [item for item in (types + ", " + rest).split(", ") if item and not item.startswith("tune ")]
        spec = Spec(file, name, tuple(item.replace(" ", "") for item in fixed))
        if spec not in found[name]:
            found[name].append(spec)
    return found


def set_options(spec):
    return [part for setting in spec.settings for part in ("--set", setting)]


def compile_one(options, store, spec, gpu):
    """One specialisation with the vendor's compiler: {"faults", "kernels", "threads", "shared"}, and whether it was known."""
    chosen = [spec.file, "--kernel", spec.kernel, *set_options(spec), "--arch", gpu["name"]]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source = folder / ("code.hip" if gpu["amd"] else "code.cu")
        run = tkc(options, *chosen, "--standalone", "-o", source)
        if run.returncode != 0:
            return {"kernels": {}, "faults": [run.stderr.strip()[:2000]]}, False
        plan = re.search(r"^  threads (\d+) cluster \d+ shared (\d+)", tkc(options, *chosen, "--emit=plan").stdout, re.M)
        key = cache.digest("compile", source, " ".join(compilers.command(gpu, "", "")), compilers.version(compilers.find(gpu)),
                           *(pathlib.Path(module.__file__) for module in (compilers, in_flight, lost_signs)))
        result, known = store.remembered(key, lambda: compilers.compile(source, gpu, folder))
        result = judged(result)
        if plan:
            result["threads"], result["shared"] = int(plan[1]), int(plan[2])
        return result, known


def judged(result):
    """Without what costs no memory traffic, which becomes a note. AMD's compiler keeps scalar registers that it lacks in lanes of vector
    registers: an instruction each way. Where these are too few as well, it takes scratch memory, and says how much."""
    scratch = {fault.split(":")[0] for fault in result["faults"] if "ScratchSize" in fault}
    notes = [fault for fault in result["faults"] if "SGPRs Spill" in fault and fault.split(":")[0] not in scratch]
    return {**result, "faults": [fault for fault in result["faults"] if fault not in notes], "notes": notes}


def run_written(options, store, chosen, key_of, run, is_kept):
    """What `run(program)` makes of the program that `tkc CHOSEN` writes into a folder, and whether it was known. The program is written
    first, as it is what a result is known by; but where the cache began empty nothing can be known, and tkc, which plans again when it
    runs a program, is called once. Of what a full run does not end well with nothing is kept then."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"

        def key():
            return key_of(cache.digest_folder(program, leaving_out=("results", "errors")))

        if store.began_empty:
            try:
                result = run(program)
            except cache.Interrupted as interrupted:
                return interrupted.result, False
            if is_kept(result):
                store.keep(key(), result)
            return result, False
        if tkc(options, *chosen, "--build-only", "-o", program).returncode != 0:
            # A case that has no program, of a kernel that this GPU cannot have, is named in the results of a full run.
            return run(program), False
        return store.remembered(key(), lambda: run(program))


def emulate_one(options, store, file, gpu, sample, emulator):
    """The cases of a file on the emulator: {"cases": [{"kernel", "case", "passed", "message"}]}, and whether it was known."""
    chosen = ["test", file, "--target=emulator", "--arch", gpu["name"], "--sample", sample]
    refused = {"kernel": file.stem, "case": "", "passed": False}

    def run(program):
        results = program.parent / "results.json"
        done = tkc(options, *chosen, "-o", program, "--json", results)
        if done.returncode < 0 or not results.exists():  # another time it may end, or have what it lacked: so this is not kept
            ended = f"signal {-done.returncode} ended it" if done.returncode < 0 else f"exit status {done.returncode}"
            raise cache.Interrupted({"cases": [{**refused, "message": (done.stderr.strip() or ended)[:2000]}]})
        return {"cases": json.loads(results.read_text())["cases"]}

    return run_written(options, store, chosen, lambda program: cache.digest("emulate", program, emulator, gpu["name"]), run,
                       lambda result: all(case["passed"] for case in result["cases"]))


def count_one(options, store, file, gpu, emulator):
    """What the emulator counts in the first case of each kernel of a file, which is one of whole tiles: counts.summary, or None where
    nothing ran; and whether it was known."""
    chosen = ["test", file, "--target=emulator", "--arch", gpu["name"], "--sample", "0/1000000"]

    def run(program):
        counted = program.parent / "counts.json"
        tkc(options, *chosen, "-o", program, "--counts", counted)
        return counts.summary(json.loads(counted.read_text()), file) if counted.exists() else None

    return run_written(options, store, chosen,
                       lambda program: cache.digest("count", program, emulator, pathlib.Path(counts.__file__), gpu["name"]), run,
                       lambda result: result is not None)


def blocks_at_once(result, kernel, gpu):
    """Blocks of a kernel that fit a multiprocessor of NVIDIA's (registers are given to warps in units of 256)."""
    threads, registers = result["threads"], kernel["registers"]
    warps = -(-threads // 32)
    by_registers = gpu["registers_per_multiprocessor"] // (warps * (-(-registers * 32 // 256) * 256))
    by_shared = gpu["shared_bytes_per_multiprocessor"] // (result["shared"] + 1024)
    return min(by_registers, by_shared, gpu["threads_per_multiprocessor"] // (warps * 32))


class Progress:
    """A line that says how far it is; none where nobody watches."""

    def __init__(self, total):
        self.done, self.known, self.total = 0, 0, total

    def step(self, known):
        self.done += 1
        self.known += known
        if sys.stderr.isatty():
            print(f"\r{self.done} of {self.total}, {self.known} known", end="\n" if self.done == self.total else "", file=sys.stderr,
                  flush=True)


def known_spills():
    """Lines `ARCHITECTURE KERNEL SETTINGS…  # why` of known-spills.txt, each a pattern for both; # alone begins a comment."""
    lines = (line.split("#")[0].split() for line in (pathlib.Path(__file__).parent / "known-spills.txt").read_text().splitlines())
    return [(words[0], " ".join(words[1:])) for words in lines if words]


def is_known(known, name, spec, faults):
    """Whether all that is wrong is a listed spill, or a listed wait of ptxas."""
    return all(re.search("spill|stack frame|lmem|Scratch|C7517", fault, re.I) for fault in faults) and any(
        fnmatch.fnmatch(name, gpu) and fnmatch.fnmatch(title(spec), pattern) for gpu, pattern in known)


def title(spec):
    return " ".join([spec.kernel, *spec.settings])


def timed(job):
    begun = time.monotonic()
    return job(), time.monotonic() - begun


def time_table(seconds, longest=30):
    """What took longest, so that who finds the tests slow knows where to begin."""
    lines = ["| seconds | | | GPU |", "|---|---|---|---|"]
    for (kind, (what, name)), taken in sorted(seconds.items(), key=lambda item: -item[1])[:longest]:
        lines.append(f"| {taken:.1f} | {kind} | {title(what) if kind == 'compile' else what.stem} | {name} |")
    sums = collections.Counter()
    for (kind, _), taken in seconds.items():
        sums[kind] += taken
    return [*lines, "", "All together: " + ", ".join(f"{kind} {taken:.0f} s" for kind, taken in sums.items()) + "."]


def resource_table(compiled, gpus):
    lines = ["| kernel | GPU | registers | shared KiB | threads | at once | matrix instructions in a loop | |",
             "|---|---|---|---|---|---|---|---|"]
    by_name = {gpu["name"]: gpu for gpu in gpus}
    for (spec, name), (result, _) in sorted(compiled.items(), key=lambda item: (str(item[0][0]), item[0][1])):
        fault = "; ".join([*result["faults"], *result.get("notes", [])])[:200].replace("\n", " ").replace("|", "/")
        for kernel in list(result["kernels"].values())[:1] or [{}]:
            at_once = ""
            if "waves" in kernel:
                at_once = f"{kernel['waves']} waves a SIMD"
            elif "threads" in result and "registers" in kernel:
                at_once = f"{blocks_at_once(result, kernel, by_name[name])} blocks"
            shared = f"{result['shared'] / 1024:.0f}" if "shared" in result else ""
            loop = ", ".join(map(str, kernel.get("loops", [])))
            lines.append(f"| {title(spec)} | {name} | {kernel.get('registers', '')} | {shared} | {result.get('threads', '')} | {at_once} | "
                         f"{loop} | {fault} |")
    return lines


def case_table(emulated, gpus):
    names = [gpu["name"] for gpu in gpus]
    counts = collections.defaultdict(lambda: [0, 0])
    for (file, name), (result, _) in emulated.items():
        for case in result["cases"]:
            count = counts[file.stem, case["kernel"], name]
            count[0] += case["passed"]
            count[1] += 1
    rows = sorted({key[:2] for key in counts})
    lines = [f"| file | kernel | {' | '.join(names)} |", "|---|---|" + "---|" * len(names)]
    for file, kernel in rows:
        cells = [f"{counts[file, kernel, name][0]} of {counts[file, kernel, name][1]}" if (file, kernel, name) in counts else "" for name in names]
        lines.append(f"| {file} | {kernel} | {' | '.join(cells)} |")
    totals = [[sum(count[i] for key, count in counts.items() if key[2] == name) for i in (0, 1)] for name in names]
    lines.append("| | all | " + " | ".join(f"{passed} of {total}" for passed, total in totals) + " |")
    return lines


def junit(suite, cases):
    """`cases`: (class, name, what is wrong or '', why it did not run or '')."""
    lines = [f'<testsuite name="{suite}">']
    for group, name, wrong, skipped in cases:
        inside = f"<failure message={xml.quoteattr(wrong[:1000])}/>" if wrong else ""
        inside = f"<skipped message={xml.quoteattr(skipped)}/>" if skipped else inside
        lines.append(f"<testcase classname={xml.quoteattr(group)} name={xml.quoteattr(name)}>{inside}</testcase>")
    return "\n".join([*lines, "</testsuite>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE.tk")
    parser.add_argument("--tkc", required=True)
    parser.add_argument("--all", action="store_true", help="every specialisation and every case")
    parser.add_argument("--arch", nargs="*", help="these architectures only")
    parser.add_argument("--only", choices=["compile", "emulate"], help="one half of it")
    parser.add_argument("--day", type=int, default=turns.today(), metavar="N", help="whose turn it is: the number that a run says at its end")
    parser.add_argument("-o", dest="output", type=pathlib.Path, default=pathlib.Path("."), help="folder of the results")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    files = options.files or kernel_files(root)
    store = cache.Cache(cache.default_folder())
    known_gpus = [gpu for gpu in json.loads(tkc(options, "arch", "--json").stdout) if gpu["compiles"]]
    gpus = [gpu for gpu in known_gpus if not options.arch or gpu["name"] in options.arch]

    by_turns = not options.all and not options.arch
    jobs, compiled = [], []
    for file in files if options.only != "emulate" else []:
        for kernel, specs in specialisations(options, file).items():
            for gpu in gpus:
                if not compilers.find(gpu):
                    compiled.append((gpu["name"], kernel, "", "no compiler for it here"))
                    continue
                if by_turns and gpu not in turns.of_the_day(kernel, gpus, options.day, COMPILED_EVERY):
                    continue
                for spec in specs if options.all else [specs[(known_gpus.index(gpu) + turns.number(kernel)) % len(specs)]]:
                    jobs.append(("compile", (spec, gpu["name"]), lambda spec=spec, gpu=gpu: compile_one(options, store, spec, gpu)))
    if options.only != "compile":
        emulator = cache.digest_folder(root / "emulator")
        for file in files:
            for gpu in gpus:
                sample = "0/1" if options.all else f"{known_gpus.index(gpu)}/6"
                if not by_turns or (turns.is_day(file.stem, options.day, COUNTED_EVERY) and gpu == turns.chosen(file.stem, gpus)):
                    jobs.append(("count", (file, gpu["name"]), lambda file=file, gpu=gpu: count_one(options, store, file, gpu, emulator)))
                if not by_turns or gpu in turns.of_the_day(file.stem, gpus, options.day):
                    jobs.append(("emulate", (file, gpu["name"]),
                                 lambda file=file, gpu=gpu, sample=sample: emulate_one(options, store, file, gpu, sample, emulator)))

    results, seconds = {"compile": {}, "emulate": {}, "count": {}}, {}
    progress = Progress(len(jobs))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(timed, job): (kind, key) for kind, key, job in jobs}
        for future in concurrent.futures.as_completed(running):
            kind, key = running[future]
            results[kind][key], seconds[kind, key] = future.result()
            progress.step(results[kind][key][1])

    known, spills = known_spills(), 0
    for (spec, name), (result, _) in results["compile"].items():
        listed = bool(result["faults"]) and is_known(known, name, spec, result["faults"])
        spills += listed
        faults = "; ".join(result["faults"])
        compiled.append((name, title(spec), "" if listed else faults, f"known: {faults}" if listed else ""))
    emulated = [(name, f"{file.stem} {case['kernel']} {case['case']}", "" if case["passed"] else case["message"] or "wrong", "")
                for (file, name), (result, _) in results["emulate"].items() for case in result["cases"]]
    summaries = {(file.stem, name): found for (file, name), (found, _) in results["count"].items() if found}
    listed = counts.known()
    counted = [(name, stem, "; ".join(counts.faults(found, stem, name, listed)), "") for (stem, name), found in summaries.items()]
    for kind, cases in (("compile", compiled), ("emulate", emulated), ("count", counted)):
        if options.only in (None, kind) or (kind, options.only) == ("count", "emulate"):
            (options.output / f"targets-{kind}.xml").write_text(junit(f"targets-{kind}", sorted(cases)))
    text = ["# Every case on the emulator", "", *case_table(results["emulate"], gpus), "",
            "# Shared memory and products, as the emulator counts them", "", *counts.table(summaries), "",
            "# What the compilers say", "",
            *resource_table(results["compile"], gpus), "",
            "# What took longest", "", *time_table(seconds), ""]
    (options.output / "targets.md").write_text("\n".join(text))
    (options.output / "targets.json").write_text(json.dumps(
        [{"file": spec.file.stem, "kernel": spec.kernel, "settings": spec.settings, "arch": name, **result}
         for (spec, name), (result, _) in results["compile"].items()] +
        [{"file": file.stem, "arch": name, **result} for (file, name), (result, _) in results["emulate"].items()], indent=1))
    wrong = [case for case in compiled + emulated + counted if case[2]]
    for group, name, message, _ in sorted(wrong):
        print(f"{group}: {name}: {message}")
    print(f"{len(results['compile'])} specialisations compiled, {len(emulated)} cases emulated, {len(wrong)} wrong, "
          f"{spills} known to spill; {progress.known} of {len(jobs)} "
          f"known from before{f'; day {options.day}' if by_turns else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
