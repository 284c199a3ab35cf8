#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""assemble.py [--write] FILE: whether ptxas takes each instruction of the file for the GPUs that the file says, and no others."""
import pathlib
import re
import subprocess
import sys
import tempfile

GPUS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a"]
HEAD = """.version 9.0
.target {}
.address_size 64
.visible .entry k() {{
.reg .b8 b<10>; .reg .b16 h<10>; .reg .b32 r<10>; .reg .b64 d<10>; .reg .b128 q<5>; .reg .f32 f<10>; .reg .f64 g<10>; .reg .pred p;
"""


def refused(gpu, instructions, folder):
    """Those that ptxas does not take. It stops at the first phase with errors, so what it refused is left out the next time."""
    wrong = set()
    while True:
        left = [text for text in instructions if text not in wrong]
        head = HEAD.format(gpu)
        source = folder / "probe.ptx"
        source.write_text(head + "\n".join(left) + "\nret;\n}\n")
        run = subprocess.run(["ptxas", f"-arch={gpu}", source, "-o", "/dev/null"], capture_output=True, text=True)
        if run.returncode == 0:
            return wrong
        found = {left[int(line) - head.count("\n") - 1] for line in re.findall(r"line (\d+); error", run.stderr)}
        if not found:
            sys.exit(run.stderr)
        wrong |= found


def main():
    path = pathlib.Path(sys.argv[-1])
    lines = path.read_text().splitlines()
    comments = [line for line in lines if line.startswith("#")]
    listed = dict(reversed(line.split(":", 1)) for line in lines if not line.startswith("#"))
    instructions = [text.strip() for text in listed]
    with tempfile.TemporaryDirectory() as folder:
        without = {gpu: refused(gpu, instructions, pathlib.Path(folder)) for gpu in GPUS}
    found = {text: " ".join(gpu for gpu in GPUS if text not in without[gpu]) for text in instructions}
    if "--write" in sys.argv:
        path.write_text("\n".join(comments + [f"{gpus + ':':52}{text}" for text, gpus in found.items()]) + "\n")
        return 0
    wrong = [text for text in listed if found[text.strip()] != listed[text]]
    for text in wrong:
        print(f"{text.strip()} ptxas takes it for {found[text.strip()] or 'none'}, listed: {listed[text]}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
