#!/usr/bin/env python3
"""Compiles a .cu file with nvcc and fails on what ptxas says when a kernel is not what was planned:
    nvcc-clean.py [--arch=sm_90a] FILE.cu -o OUT [nvcc options…]
Fails on spills, on "serialized" wgmma pipelines, and on the messages by which ptxas ignores setmaxnreg (C7508) or repairs
waits and fences of wgmma (C7517, C7519), which loses their overlap. Prints the registers of each kernel."""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from gencode import gencode  # noqa: E402

options = sys.argv[1:]
arch = options.pop(0).removeprefix("--arch=") if options[0].startswith("--arch=") else "sm_90a"
command = ["nvcc", "-std=c++20", *gencode(arch), "-Xptxas", "-v", *options]
result = subprocess.run(command, capture_output=True, text=True)
if result.returncode != 0:
    sys.exit(f"{' '.join(command)}\n{result.stderr}")

faults, kernel = [], "?"
for line in result.stderr.splitlines():
    if compiling := re.search(r"Compiling entry function '(\w+)'|Function properties for (\w+)", line):
        kernel = compiling[1] or compiling[2]
    if re.search(r"\b[1-9]\d* bytes spill (stores|loads)", line) or re.search(r"serializ|C7508|C7517|C7519", line, re.I):
        faults.append(f"{kernel}: {line.strip()}")
    elif used := re.search(r"Used (\d+) registers.*", line):
        print(f"{kernel}: {used[0]}")
if faults:
    sys.exit("\n".join(faults))
print("clean")
