#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks a GPU what it does where a rule of docs/hardware-rules.md is broken.

    test/gpu/probe.py [--arch NAME] [NAME…]

Builds test/emulator/Inputs/hardware_rules.cu with nvcc and runs each rule, or those that are named, in a process of its own, since a fault
ends the context. A line is a rule and what became of it: "no error" where the GPU does not notice. The emulator's answers are in
test/emulator/hardware-rules.test."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))

from gencode import gencode  # noqa: E402

SOURCE = ROOT / "test/emulator/Inputs/hardware_rules.cu"


def answer(program, name, seconds):
    try:
        done = subprocess.run([program, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"{name}: no answer within {seconds} s"
    return done.stdout.strip() or f"{name}: ends with status {done.returncode} and says nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--seconds", type=int, default=20, help="after which a rule's kernel hangs")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "rules"
        subprocess.run(["nvcc", "-std=c++20", *gencode(options.arch), "-I", ROOT / "runtime/include", SOURCE, "-o", program], check=True)
        for name in options.names or re.findall(r'^  (?:RUN\((\w+)\)|launch\("(\w+)")', SOURCE.read_text(), re.M):
            print(answer(program, name if isinstance(name, str) else name[0] or name[1], options.seconds), flush=True)


if __name__ == "__main__":
    sys.exit(main())
