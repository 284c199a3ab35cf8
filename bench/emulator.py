#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long the emulator takes, on two cores: GEMM 256×256×256 in bf16, attention forward of B = 1, H = 2, N = 256, D = 64.

    bench/emulator.py --tkc build/release/tkc/tkc [--arch NAME…]

Prints a table. `executes` is the processors' time of one launch, halved; `all of it` that of the process from its start, with
compilation. Time of processors, not of the clock, as machines are shared; both kernels keep two cores busy. Fails where a launch
takes more than 2 s or all of it more than 6."""
import argparse
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[1]
CASES = {"GEMM": ("gemm", "gemm", "T = bf16; M = 256; N = 256; K = 256;"),
         "attention": ("attention", "attn_fwd", "B = 1; H = 2; G = 2; N = 256; L = 256; D = 64; scale = 0.125;")}
CORES = 2
CALLS = 6  # of a program that times a case: one to check, two to warm up, three
LIMITS = {"executes": 2.0, "all of it": 6.0}


def processor_time(command, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{run.stdout}{run.stderr}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(tkc, what, arch, folder):
    stem, kernel, sizes = CASES[what]
    text = (root / "kernels" / f"{stem}.tk").read_text()
    text = re.sub(r"^(case|bench) \w+ \{.*?\}", "", text, flags=re.M | re.S) + f"\ncase {kernel} {{ {sizes} }}\n"
    file = folder / f"{stem}.tk"
    file.write_text(text)
    command = [tkc, "test", str(file), "--target=emulator", f"--arch={arch}", "-o", str(folder), "--build-only"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(made.stderr)
    program = next(folder.glob("test.*"))
    emulate = [str(pathlib.Path(tkc).with_name("tkc-emulate")), "--arch", arch, "--workers", str(CORES), str(program), "--"]
    once = processor_time([*emulate, "--once"], folder) / CORES
    often = processor_time(emulate, folder) / CORES
    return {"executes": (often - once) / (CALLS - 1), "all of it": once}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tkc", required=True)
    parser.add_argument("--arch", nargs="*")
    options = parser.parse_args()
    tkc = str(pathlib.Path(options.tkc).resolve())
    known = json.loads(subprocess.run([tkc, "arch", "--json"], capture_output=True, text=True, check=True).stdout)
    columns = [f"{what} {part}" for what in CASES for part in LIMITS]
    print(f"| GPU | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    slow = []
    for arch in options.arch or [gpu["name"] for gpu in known if gpu["compiles"]]:
        cells = []
        for what in CASES:
            with tempfile.TemporaryDirectory() as folder:
                taken = measure(tkc, what, arch, pathlib.Path(folder))
            slow += [f"{arch}: {what} {part} {taken[part]:.2f} s" for part, most in LIMITS.items() if taken[part] > most]
            cells += [f"{taken[part]:.2f} s" for part in LIMITS]
        print(f"| {arch} | {' | '.join(cells)} |", flush=True)
    if slow:
        sys.exit("too slow: " + "; ".join(slow))


if __name__ == "__main__":
    main()
