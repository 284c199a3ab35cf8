#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of a kernel's plan on the emulator: what the plan verifier refuses misbehaves there, what it lets pass does not.

    test/targets/mutants.py --build build/dev [--arch NAME] [--orders N] KERNEL.tk NAME [tkmutant's --tune, --size, --case, --step…]
    test/targets/mutants.py --build build/dev --list test/targets/mutants.txt

Prints a line for each mutant and the sum: found, passed though the verifier refuses it, and the reverse. The verifier looks at all
sizes and all orders, the emulator at one case in a few orders, so the second number is not 0; the third must be. A list has a line
`ARCHITECTURE FILE KERNEL OPTIONS…` for each run."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def misbehaves(emulator, program, arch, orders):
    """What the emulator says in the first of some orders of threads in which the program goes wrong, or ''."""
    for order in range(orders):
        try:
            run = subprocess.run([emulator, f"--seed={order}", "--arch", arch, "--workers", "1", "test.cu", "--", "--once"], cwd=program,
                                 capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return "does not end"
        if run.returncode != 0 or '"passed": true' not in run.stdout:
            return (run.stderr or run.stdout or f"exit status {run.returncode}").strip().splitlines()[0][:240]
    return ""


def examine(options, arch, file, kernel, more):
    """Whether all is well with the mutants of one plan."""
    emulator = (options.build / "tkc/tkc-emulate").resolve()
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([options.build / "test/tools/tkmutant", file, "--kernel", kernel, "--arch", arch, "-o", folder, *more],
                              capture_output=True, text=True)
        if made.returncode != 0:
            sys.exit(made.stderr or f"{kernel} for {arch} has nothing to change")
        mutants = [json.loads(line) for line in made.stdout.splitlines()]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            said = list(pool.map(lambda mutant: misbehaves(emulator, f"{folder}/{mutant['number']}", arch, options.orders), mutants))
    found = not_seen = wrong = 0
    for mutant, report in zip(mutants, said):
        refused = bool(mutant["refused"])
        found += refused and bool(report)
        not_seen += refused and not report
        wrong += not refused and bool(report)
        verdict = "found" if refused and report else "not seen" if refused else "WRONGLY LET PASS" if report else "harmless"
        print(f"{mutant['change']}: {verdict}: {report or mutant['refused'] or mutant['harmless']}")
    print(f"{kernel} for {arch}: {len(mutants)} mutants: {found} refused and found, {not_seen} refused and not seen, "
          f"{len(mutants) - found - not_seen - wrong} harmless, {wrong} let pass and found", flush=True)
    return wrong == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--list", type=pathlib.Path)
    parser.add_argument("file", nargs="?")
    parser.add_argument("kernel", nargs="?")
    options, more = parser.parse_known_args()
    if not options.list:
        return 0 if examine(options, options.arch, options.file, options.kernel, more) else 1
    lines = (line.split("#")[0].split() for line in options.list.read_text().splitlines())
    return 0 if all([examine(options, line[0], line[1], line[2], line[3:]) for line in lines if line]) else 1


if __name__ == "__main__":
    sys.exit(main())
