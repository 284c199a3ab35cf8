#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Python costs of a kernel's call, in nanoseconds, without a GPU: kernels are functions that do nothing, and tensors
of the CPU are taken for those of a GPU. Needs PyTorch, apache-tvm-ffi, a C++ compiler, and tkc (TKC_COMPILER).

bench/launches.py measures whole launches, and needs a GPU.
"""

import subprocess
import sys
import tempfile
import timeit
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402
import tvm_ffi  # noqa: E402

import tkc  # noqa: E402
from tkc import _devices, _tensors, _toolchain  # noqa: E402

TEXT = """
kernel add(x: f32[N], y: f32[N], out z: f32[N]) { parallel i in tiles(N, 256) { z[i] = x[i] + y[i]; } }
kernel added(x: bf16[N], y: bf16[N], out z: bf16[N]) { parallel i in tiles(N, 256) { z[i] = x[i] + y[i]; } }
kernel five(a: f16[M, N], b: f16[M, N], c: f16[M, N], s: f32, const up: bool = false, out d: f16[M, N], out e: f32[M]) {
  parallel m in tiles(M, 16) { e[m] = zeros(16); }
}
"""

NOTHING = """
#include <tvm/ffi/c_api.h>
extern "C" __attribute__((visibility("default"))) int __tvm_ffi_nothing(void *, const TVMFFIAny *, int, TVMFFIAny *) {
  return 0;
}
"""


def function_that_does_nothing(folder):
    source, result = folder / "nothing.cpp", folder / "nothing.so"
    source.write_text(NOTHING)
    includes = [word for one in _toolchain.ffi_folders() for word in ("-I", one)]
    subprocess.run([_toolchain.host_compiler(), "-shared", "-fPIC", *includes, source, "-o", result], check=True)
    return tvm_ffi.load_module(str(result)).get_function("nothing")


def take_the_cpu_for_a_gpu(function):
    of_torch = _tensors._of_torch
    _tensors._of_torch = lambda *of: of_torch(*of)._replace(gpu=0)
    _devices.count, _devices.capability = lambda: 1, lambda index: (9, 0)

    class Functions:
        get_function = staticmethod(lambda name: function)

    tkc.Module.compiled = lambda *of: Functions


def least(statement, **names):
    """Of many rounds, of a statement: no lambda is called, and the loop takes some 10 ns."""
    timer = timeit.Timer(statement, globals=names)
    return min(timer.repeat(repeat=60, number=2000)) / 2000 * 1e9


def main():
    with tempfile.TemporaryDirectory() as folder:
        function = function_that_does_nothing(Path(folder))
    take_the_cpu_for_a_gpu(function)
    module = tkc.load(TEXT)
    x = torch.ones(256)
    a = torch.ones(64, 64).half()
    b, m, out = x.bfloat16(), torch.ones(64), (a.clone(), torch.ones(64))
    rows = {}
    with tkc.device("cuda"):
        module.add(x, x, out=x), module.added(b, b, out=b), module.five(a, a, a, 0.5, True, out=out)
        for name, kernel, arguments, result in (
            ("a sum of f32", module.add, "x, x", "x"),
            ("a sum of bf16", module.added, "b, b", "b"),
            ("five tensors of f16 and two numbers", module.five, "a, a, a, 0.5, True", "out"),
        ):
            names = {"k": kernel, "f": function, "x": x, "a": a, "b": b, "out": out}
            rows[f"{name}, out="] = least(f"k({arguments}, out={result})", **names)
            rows[f"{name}, out=, under no_grad"] = under_no_grad(f"k({arguments}, out={result})", names)
            rows[f"{name}, allocated"] = least(f"k({arguments})", **names)
            passed = arguments + (", *out" if result == "out" else ", " + result)
            rows[f"{name}, the function for tvm-ffi"] = least(f"f({passed})", **names)
    rows["torch.empty_strided"] = least("e((256,), (1,), dtype=d, device=c)", e=torch.empty_strided, d=x.dtype, c=x.device)
    rows["torch.empty"] = least("e((256,), dtype=d, device=c)", e=torch.empty, d=x.dtype, c=x.device)
    rows["is_neg()"] = least("x.is_neg()", x=x)
    rows["requires_grad"] = least("x.requires_grad", x=x)
    rows["is_grad_enabled()"] = least("g()", g=torch.is_grad_enabled)
    for name, value in rows.items():
        print(f"{name:60} {value:7.0f}")


def under_no_grad(statement, names):
    with torch.no_grad():
        return least(statement, **names)


if __name__ == "__main__":
    main()
