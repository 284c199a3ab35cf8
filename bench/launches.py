#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a launch costs the CPU, in nanoseconds, queued without waiting: by the C entry, by the function for tvm-ffi,
from Python, and by PyTorch and Triton. Needs a GPU, nvcc, PyTorch, apache-tvm-ffi, and tkc (TKC_COMPILER).

    bench/launches.py [--headers NAME=FOLDER]...     other versions of runtime/include, to compare with this one
"""

import argparse
import concurrent.futures
import ctypes
import shutil
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402

import tkc  # noqa: E402
from tkc import _devices, _paths, _tool, _toolchain  # noqa: E402

#: One kernel of the simplest kind, and one with tensor maps, much shared memory and as many blocks as run at once.
TEXT = """
kernel add(x: f32[N], y: f32[N], out z: f32[N]) { parallel i in tiles(N, 256) { z[i] = x[i] + y[i]; } }
kernel product(a: f16[M, K], b: f16[K, N], out c: f16[M, N]) {
  tune BM = 128, BN = 128, BK = 64;
  parallel m in tiles(M, BM), n in tiles(N, BN) {
    var acc = zeros(BM, BN);
    for k in tiles(K, BK) { acc += a[m, k] @ b[k, n]; }
    c[m, n] = acc;
  }
}
"""


class Tensor(ctypes.Structure):
    """tk_tensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("rank", ctypes.c_int32),
        ("type_code", ctypes.c_uint8), ("type_bits", ctypes.c_uint8), ("type_lanes", ctypes.c_uint16),
        ("dims", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


def in_c(tensors):
    def one(x):
        dims, strides = ((ctypes.c_int64 * x.dim())(*of) for of in (x.shape, x.stride()))
        return Tensor(x.data_ptr(), 2, x.device.index, x.dim(), 2, x.element_size() * 8, 1, dims, strides, 0)

    return (Tensor * len(tensors))(*map(one, tensors))


def median(round_ns, rounds=15):
    """Of rounds that are each short enough for the queue of launches."""
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        times.append(round_ns())
    torch.cuda.synchronize()
    return sorted(times)[rounds // 2]


CALLS = 200


def of_python(statement, **names):
    """Of a statement, whose loop takes some 10 ns."""
    timer = timeit.Timer(statement, globals=names)
    timer.timeit(CALLS)
    return median(lambda: timer.timeit(CALLS) / CALLS * 1e9)


def build(folder, arch, versions):
    """Shared objects of both kernels, one for each version of the headers, and the loops that call them."""
    file, cu, functions = folder / "launches.tk", folder / "launches.cu", folder / "launches.ffi.cpp"
    file.write_text(TEXT)
    _tool.tkc([str(file), "--arch", arch, "-o", str(cu)])
    _tool.tkc([str(file), "--arch", arch, "--emit=ffi", "-o", str(functions)])
    ffi = [word for one in _toolchain.ffi_folders() for word in ("-I", one)]
    nvcc = _toolchain.nvcc()
    base = [nvcc.program, "-std=c++20", "-O3", "-shared", "-Xcompiler", "-fPIC", *nvcc.flags, *ffi]
    outputs = {name: folder / f"{name}.so" for name in versions}
    jobs = [
        [*base, *_toolchain._targets(arch), "-I", str(headers), str(cu), str(functions), "-o", str(outputs[name])]
        for name, headers in versions.items()
    ]
    loops = folder / "loops.so"
    jobs.append([*base, "-I", str(_paths.headers()), str(ROOT / "bench" / "launches.cu"), "-o", str(loops)])
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(_tool.run, jobs))
    import tvm_ffi  # noqa: F401  # its library has what the functions need

    loops = ctypes.CDLL(str(loops))
    for name in ("entry_ns", "function_ns"):
        getattr(loops, name).restype = ctypes.c_double
    return {name: ctypes.CDLL(str(path)) for name, path in outputs.items()}, loops


def of_c(loop, *arguments):
    loop(*arguments, CALLS)
    result = median(lambda: loop(*arguments, CALLS))
    if result < 0:
        sys.exit("a call failed")
    return result


def of_triton(tensors):
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit
    def add(x, y, z, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    return of_python("launch(x, y, z, 256, BLOCK=256)", launch=add[(1,)], **dict(zip("xyz", tensors)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", action="append", default=[], metavar="NAME=FOLDER")
    options = parser.parse_args()
    versions = {"these headers": _paths.headers(), **dict(one.split("=", 1) for one in options.headers)}
    arch = _toolchain.arch_for(_devices.capability(0))
    folder = Path(tempfile.mkdtemp())
    try:
        libraries, loops = build(folder, arch, versions)
        module = tkc.load(TEXT)
        module.compile(arch)
        show(measured(libraries, loops, module))
    finally:
        shutil.rmtree(folder)


def measured(libraries, loops, module):
    """Nanoseconds by what is called and by kernel."""
    generator = torch.Generator("cuda").manual_seed(0)
    x, y = (torch.rand(256, device="cuda", generator=generator) for _ in range(2))
    a, b = (torch.rand(128, 128, device="cuda", generator=generator).half() for _ in range(2))
    cases = {"add": (x, y, torch.zeros_like(x)), "product": (a, b, torch.zeros_like(a))}
    right = {"add": x + y, "product": a @ b}

    rows = {}
    for kernel, tensors in cases.items():
        given = in_c(tensors)
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        for name, library in libraries.items():
            tensors[2].zero_()
            rows[f"C entry, {name}", kernel] = of_c(loops.entry_ns, getattr(library, kernel), given, stream)
            assert torch.allclose(tensors[2], right[kernel], rtol=1e-2), (kernel, name)
            rows[f"function for tvm-ffi, called from C, {name}", kernel] = of_c(
                loops.function_ns, getattr(library, "__tvm_ffi_" + kernel), given
            )
        call, out = getattr(module, kernel), tensors[2]
        call(*tensors[:2], out=out)
        (function, _) = next(iter(call._functions.values()))
        names = {**dict(zip("xyz", tensors)), "call": call, "function": function}
        rows["the same, called from Python", kernel] = of_python("function(x, y, z)", **names)
        rows["tkc from Python, out=", kernel] = of_python("call(x, y, out=z)", **names)
        # Without what is before it: Python's own call of the object.
        rows["the same, by the object in C++", kernel] = of_python("served(x, y, out=z)", served=call.func, **names)
        rows["tkc from Python, allocated", kernel] = of_python("call(x, y)", **names)
        names["call"] = {"add": torch.add, "product": torch.mm}[kernel]
        rows["PyTorch, out=", kernel] = of_python("call(x, y, out=z)", **names)
        rows["PyTorch, allocated", kernel] = of_python("call(x, y)", **names)
        like = {"dtype": out.dtype, "device": out.device}
        names = {"torch": torch, "z": out, "shape": out.shape, "strides": out.stride(), **like}
        options = "dtype=dtype, device=device"
        rows["torch.empty", kernel] = of_python(f"torch.empty(shape, {options})", **names)
        rows["torch.empty_strided", kernel] = of_python(f"torch.empty_strided(shape, strides, {options})", **names)
        rows["torch.empty_like", kernel] = of_python("torch.empty_like(z)", **names)
    rows["Triton", "add"] = of_triton(cases["add"])
    return rows


def show(rows):
    kernels = ("add", "product")
    gpu = torch.cuda.get_device_name()
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True
    )
    print(f"{gpu}, driver {driver.stdout.split()[:1]}, torch {torch.__version__}, nanoseconds a call")
    print(f"{'':60} " + " ".join(f"{kernel:>8}" for kernel in kernels))
    for name in dict.fromkeys(name for name, _ in rows):
        words = [rows.get((name, kernel)) for kernel in kernels]
        print(f"{name:60} " + " ".join("       –" if one is None else f"{one:8.0f}" for one in words))


if __name__ == "__main__":
    main()
