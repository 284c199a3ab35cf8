# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emitted files in parts that nvcc compiles at the same time."""

import re

import numpy as np
import pytest
from conftest import needs_nvcc

import tkc
from tkc import _parts, _progress, _tool

TWO = """
kernel f<T: {f32, f16}>(x: T[N], out y: T[N]) { parallel i in tiles(N, 8) { y[i] = x[i]; } }
program twice(x: f32[N], out y: f32[N]) { let z = new f32[N]; f(x, z); f(z, y); }
"""


def names(text):
    """Of the kernels that it defines, and of those that it declares alone."""
    found = re.findall(r"^__global__ [^;{]*?(\w+)\(\s*const __grid_constant__[^;{]*([;{])", text, re.M)
    return [[name for name, end in found if end == wanted] for wanted in "{;"]


@pytest.mark.parametrize("file", ["attention.tk", "norms.tk", "gemm.tk", "sampling.tk"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_every_kernel_is_in_one_part(kernels, file, arch):
    text = tkc.load(kernels / file).run(["-o", "-", "--arch", arch])
    launchers, *parts = _parts.split(text, 3)
    assert len(parts) == 3
    defined = [name for part in parts for name in names(part)[0]]
    assert sorted(defined) == sorted(names(text)[0]) == sorted(names(launchers)[1])
    assert names(launchers)[0] == [] and 'extern "C" tk_status' in launchers
    assert all(names(part)[1] == [] and "tk/host/" not in part for part in parts)
    lengths = list(map(len, parts))
    assert max(lengths) < 2 * min(lengths)


def test_no_more_parts_than_pay(kernels):
    attention = tkc.load(kernels / "attention.tk").run(["-o", "-", "--kernel", "attn_fwd", "--set", "D=128"])
    assert len(_parts.split(attention, 1000)) == 1 + len(names(attention)[0])
    assert len(_parts.split(attention, 0)) == 2
    small = tkc.load(TWO).run(["-o", "-"])
    assert _parts.split(small, 16) == [small]


def test_files_that_stay_whole(kernels, monkeypatch):
    """What they have besides kernels would be there twice."""
    monkeypatch.setattr(_parts, "_WORTH_A_PART", 1)
    text = tkc.load(TWO).run(["-o", "-"])
    assert len(_parts.split(text, 16)) > 2
    for other in (
        text.replace('#include "tk/', '#include "mine.h"\n#include "tk/', 1),
        text.replace("\nnamespace {\n", "\nnamespace {\n__device__ int count;\n"),
        text.replace("\n} // namespace\n", "\n} // namespaces\n"),
        tkc.load(TWO).run(["-o", "-", "--arch", "sm_80,sm_90a"]),
    ):
        assert _parts.split(other, 16) == [other]


@needs_nvcc
@pytest.mark.parametrize("processors", [1, 4])
def test_nvcc_compiles_them(monkeypatch, tmp_path, fresh_cache, processors):
    tvm_ffi = pytest.importorskip("tvm_ffi")
    monkeypatch.setattr(_parts, "_WORTH_A_PART", 1)
    monkeypatch.setattr(_progress, "processors", lambda: processors)
    commands, run = [], _tool.run

    def noted(command, *rest, **named):
        commands.append(command)
        return run(command, *rest, **named)

    monkeypatch.setattr(_tool, "run", noted)
    (tmp_path / "two.tk").write_text(TWO)
    tkc.build(tmp_path / "two.tk", tmp_path / "two.so", arch="sm_90a")
    assert sum("-c" in command for command in commands) == 1 + min(processors, 2)
    module = tvm_ffi.load_module(str(tmp_path / "two.so"))
    x = np.ones(5, "float32")
    for call in (module.f, module.twice):
        with pytest.raises(ValueError, match="`x` is not in the memory of a CUDA device"):
            call(x, x)
