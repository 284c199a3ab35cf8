# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The vendors' compilers on an emitted file, and what they say of its kernels.

`compile(source, gpu, folder)` gives {"kernels": {name: {...}}, "faults": [...]}: of each kernel its registers a thread and the
matrix instructions in each innermost loop that has some; as faults spills, stack frames, local memory, the messages by
which ptxas says that it serialised or repaired something, writes of registers that a product in flight reads, and every other
warning."""
import pathlib
import re
import shutil
import subprocess
import sys

import cache
import in_flight
import lost_signs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from gencode import gencode  # noqa: E402

# What of ROCm's headers emitted files use, for machines without them.
HIP_HEADERS = pathlib.Path(__file__).resolve().parents[2] / "emulator/shim"


def find(gpu):
    """The compiler for a GPU (an object of `tkc arch --json`), or None."""
    if gpu["amd"]:
        return shutil.which("clang++-22") or shutil.which("clang++")
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def version(compiler):
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


def command(gpu, source, folder):
    compiler = find(gpu)
    if gpu["amd"]:
        return [compiler, "-x", "hip", "-std=c++20", "-O3", f"--offload-arch={gpu['name']}", "--cuda-device-only", "-S", "-nogpulib",
                "-nogpuinc", "-I", str(HIP_HEADERS), "-Rpass-analysis=kernel-resource-usage", str(source), "-o", f"{folder}/code.s"]
    return [compiler, "-std=c++20", "-O3", *gencode(gpu["name"]), "-Xptxas", "-v", "-cubin", "--keep", "--keep-dir", str(folder), str(source),
            "-o", f"{folder}/code.cubin"]


def compile(source, gpu, folder):
    line = command(gpu, source, folder)
    run = subprocess.run(line, capture_output=True, text=True)
    if run.returncode < 0:
        raise cache.Interrupted({"kernels": {}, "faults": [f"signal {-run.returncode} ended {line[0]}"]})
    if run.returncode != 0:
        return {"kernels": {}, "faults": [f"{line[0]} refused it: {run.stderr.strip()[:2000]}"]}
    if gpu["amd"]:
        return read_amd(run.stderr, (folder / "code.s").read_text())
    return read_nvidia(run.stderr, next(folder.glob("*.ptx")).read_text())


def complaints(source, gpu, side):
    """What Clang says of a standalone file for a GPU, its `host` or its `device` side: errors and the warnings of -Wall and -Wshadow. It
    wants no toolkit: CUDA's headers are the emulator's."""
    clang = shutil.which("clang++-22") or shutil.which("clang++")
    line = [clang, "-std=c++20", "-fsyntax-only", "-Wall", "-Wshadow", "-nogpuinc", "-nogpulib", f"--offload-arch={gpu['name']}", f"--cuda-{side}-only",
            "-I", str(HIP_HEADERS), "-include", "stdlib.h"]
    text = pathlib.Path(source).read_text()
    if gpu["amd"]:
        line += ["-x", "hip"]
    else:
        line += ["-x", "cuda", "--cuda-path=/nowhere", "-Xclang", "-target-sdk-version=12.8", "-include", "tkc_emulator_prelude.h",
                 "-Wno-unknown-cuda-version"] + (["-Xclang", "-target-feature", "-Xclang", "+ptx88"] if side == "device" else [])
        text = text.replace('"C"(', '"i"(')  # operands of asm that Clang lacks (emulator/Frontend.cpp)
    run = subprocess.run([*line, "-"], input=text, capture_output=True, text=True)
    return re.findall(r"^.*(?:error|warning): .*$", run.stderr, re.M)


def complaints_of_nvcc(source, gpu):
    """What nvcc and its host compiler say of a standalone file for a GPU of NVIDIA, with -Wall and -Wshadow. Only the launchers are of
    interest: kernels are compiled without optimisation, and not assembled."""
    line = [find(gpu), "-std=c++20", "-c", *gencode(gpu["name"], code="compute"), "-Xcicc", "-O0", "-Xcompiler", "-Wall,-Wshadow", str(source),
            "-o", "/dev/null"]
    run = subprocess.run(line, capture_output=True, text=True)
    said = re.findall(r"^.*(?:error|warning): .*$", run.stderr, re.M)
    return said or [run.stderr.strip()] * (run.returncode != 0)


def read_nvidia(messages, ptx):
    kernels, faults, name = {}, [], "?"
    for line in messages.splitlines():
        if found := re.search(r"Compiling entry function '(\w+)'|Function properties for (\w+)", line):
            name = found[1] or found[2]
        elif re.search(r"\b[1-9]\d* bytes (stack frame|spill)", line) or re.search(r"[1-9]\d* bytes lmem", line):
            faults.append(f"{plain(name)}: {line.strip()}")
        elif re.search(r"serializ|C7508|C7517|C7519", line, re.I):
            faults.append(f"{plain(name)}: {line.strip()}")
        elif re.search(r"\bwarning\b.*:", line):
            faults.append(line.strip())
        elif found := re.search(r"Used (\d+) registers", line):
            kernels[plain(name)] = {"registers": int(found[1])}
    for part in ptx.split(".entry ")[1:]:
        name, body = re.match(r"\w+", part)[0], part
        if early := in_flight.overwritten(body):
            faults.append(f"{plain(name)}: writes what a product in flight reads: {early[0]}")
        if lost_signs.TARGET.search(ptx) and (signs := lost_signs.dropped(body)):
            faults.append(f"{plain(name)}: ptxas may drop a sign: {signs[0]}")
        if plain(name) in kernels:
            kernels[plain(name)]["loops"] = loops(body, r"^(\$L\w+):", r"\bbra(?:\.uni)?\s+(\$L\w+)",
                                                  r"\b(?:wgmma\.mma_async|mma\.sync|tcgen05\.mma)\b")
    return {"kernels": kernels, "faults": faults}


def read_amd(messages, assembly):
    kernels, faults, name = {}, [], "?"
    for line in messages.splitlines():
        if found := re.search(r"Function Name: (\w+)", line):
            name = plain(found[1])
            kernels[name] = {}
        elif found := re.search(r"\b(VGPRs|AGPRs): (\d+)", line):
            kernels[name]["registers"] = kernels[name].get("registers", 0) + int(found[2])
        elif found := re.search(r"Occupancy \[waves/SIMD\]: (\d+)", line):
            kernels[name]["waves"] = int(found[1])
        elif re.search(r"\bwarning:", line):
            faults.append(line.strip())
        elif re.search(r"(?:ScratchSize \[bytes/lane\]|VGPRs Spill|SGPRs Spill): [1-9]", line):
            faults.append(f"{name}: {line.split('remark: ')[-1].split(' [-R')[0].strip()}")
    for name, body in re.findall(r"^(\w+):\s*; @\w+\n(.*?)\n\.Lfunc_end", assembly, re.S | re.M):
        if plain(name) in kernels:
            kernels[plain(name)]["loops"] = loops(body, r"^(\.LBB\w+):", r"\bs_c?branch\w*\s+(\.LBB\w+)", r"\bv_s?mfmac?_")
    return {"kernels": kernels, "faults": faults}


def plain(name):
    """What the source calls the kernel: of a mangled name the last identifier before the parameters."""
    nested = name.startswith("_ZN")
    at, last = 3 if nested else 2, name
    while name.startswith("_Z") and (found := re.match(r"\d+", name[at:])):
        at += len(found[0])
        last = name[at:at + int(found[0])]
        at += len(last)
        if not nested:
            break
    return last


def loops(body, label, branch, matrix):
    """Matrix instructions of each innermost loop that has some, in the order of the text."""
    places, ranges, products = {}, [], []
    for number, line in enumerate(body.splitlines()):
        if found := re.match(label, line):
            places[found[1]] = number
        if re.search(matrix, line):
            products.append(number)
        if (found := re.search(branch, line)) and found[1] in places:
            ranges.append((places[found[1]], number))
    held = {span: sum(span[0] <= at <= span[1] for at in products) for span in ranges}
    inner = [span for span in held if held[span] and not any(
        other != span and held[other] and span[0] <= other[0] and other[1] <= span[1] for other in held)]
    return [held[span] for span in sorted(inner)]
