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
from statistics import median

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


#: So few that the queue of launches takes them, and then some rounds of each row in turns, as the speed of a CPU changes.
CALLS, ROUNDS = 200, 15


def of_python(statement, **names):
    """A round of a statement, whose loop takes some 10 ns."""
    timer = timeit.Timer(statement, globals=names)
    timer.timeit(CALLS)
    return lambda: timer.timeit(CALLS) / CALLS * 1e9


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
    """A round of a loop in C."""

    def one_round():
        result = loop(*arguments, CALLS)
        if result < 0:
            sys.exit("a call failed")
        return result

    one_round()
    return one_round


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


def rounds(kernel, tensors, libraries, loops, call):
    """What is measured, by name."""
    out, right = tensors[2], {"add": torch.add, "product": torch.mm}[kernel]
    given, stream = in_c(tensors), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    for name, library in libraries.items():
        out.zero_()
        yield f"C function, {name}", of_c(loops.entry_ns, getattr(library, kernel), given, stream)
        assert torch.allclose(out, right(*tensors[:2]), rtol=1e-2), (kernel, name)
        function = getattr(library, "__tvm_ffi_" + kernel)
        yield f"function for tvm-ffi, called from C, {name}", of_c(loops.function_ns, function, given)
    call(*tensors[:2], out=out)
    (function, _) = next(iter(call._functions.values()))
    names = dict(zip("xyz", tensors))
    yield "the same, called from Python", of_python("f(x, y, z)", f=function, **names)
    yield "tkc from Python, out=", of_python("f(x, y, out=z)", f=call, **names)
    # Without what is before it: Python's own call of the object.
    yield "the same, by the object in C++", of_python("f(x, y, out=z)", f=call.func, **names)
    yield "tkc from Python, allocated", of_python("f(x, y)", f=call, **names)
    yield "PyTorch, out=", of_python("f(x, y, out=z)", f=right, **names)
    yield "PyTorch, allocated", of_python("f(x, y)", f=right, **names)
    names.update(torch=torch, shape=out.shape, strides=out.stride(), options={"dtype": out.dtype, "device": out.device})
    yield "torch.empty", of_python("torch.empty(shape, **options)", **names)
    yield "torch.empty_strided", of_python("torch.empty_strided(shape, strides, **options)", **names)
    yield "torch.empty_like", of_python("torch.empty_like(z)", **names)
    if kernel == "add" and (one := of_triton(tensors)):
        yield "Triton", one


def measured(libraries, loops, module):
    """The nanoseconds of each round, by kernel and by what is called."""
    generator = torch.Generator("cuda").manual_seed(0)
    x, y = (torch.rand(256, device="cuda", generator=generator) for _ in range(2))
    a, b = (torch.rand(128, 128, device="cuda", generator=generator).half() for _ in range(2))
    cases = {"add": (x, y, torch.zeros_like(x)), "product": (a, b, torch.zeros_like(a))}
    found = {}
    for kernel, tensors in cases.items():
        named = dict(rounds(kernel, tensors, libraries, loops, getattr(module, kernel)))
        found[kernel] = {name: [] for name in named}
        for _ in range(ROUNDS):
            for name, one_round in named.items():
                torch.cuda.synchronize()
                found[kernel][name].append(one_round())
    torch.cuda.synchronize()
    return found


def show(found):
    gpu = torch.cuda.get_device_name()
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True
    )
    print(f"{gpu}, driver {driver.stdout.split()[:1]}, torch {torch.__version__}, nanoseconds of a call, medians of {ROUNDS}")
    print(f"{'':60} " + " ".join(f"{kernel:>8} {'more':>7}" for kernel in found) + "   than the C function")
    for name in found["add"]:
        cells = []
        for rows in found.values():
            base = next(iter(rows.values()))
            more = [time - of_c for time, of_c in zip(rows.get(name, []), base)]
            cells.append(f"{median(rows[name]):8.0f} {median(more):7.0f}" if more else " " * 16)
        print(f"{name:60} " + " ".join(cells))


if __name__ == "__main__":
    main()
