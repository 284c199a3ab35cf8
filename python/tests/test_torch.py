# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of PyTorch on the CPU, where it is installed."""

import pytest

import tkc

torch = pytest.importorskip("torch")

TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn",
         "f8e5m2": "float8_e5m2", "i32": "int32", "i8": "int8", "u8": "uint8", "bool": "bool"}  # fmt: skip


@pytest.mark.parametrize("elem", TYPES)
def test_types(elem):
    copy = tkc.load(
        f"kernel copy(x: {elem}[M, N], out y: {elem}[M, N]) {{ parallel i in tiles(M, 16), j in tiles(N, 16) {{ y[i, j] = x[i, j]; }} }}"
    ).copy
    x = (torch.randn(5, 7) > 0).to(getattr(torch, TYPES[elem]))
    y = copy(x)
    assert y.dtype == x.dtype and torch.equal(y.float(), x.float())


def test_strides():
    scale = tkc.load(
        "kernel scale(x: f32[M, N], out y: f32[M, N]) { parallel i in tiles(M, 16), j in tiles(N, 16) { y[i, j] = 2 * x[i, j]; } }"
    ).scale
    wide, out = torch.randn(6, 10), torch.zeros(6, 10)
    scale(wide[::2, 3:7], out=out[1:4, 2:6])
    expected = torch.zeros(6, 10)
    expected[1:4, 2:6] = 2 * wide[::2, 3:7]
    assert torch.equal(out, expected)


def test_what_pytorch_would_hide():
    scale = tkc.load("kernel scale(x: f32[N], out y: f32[N]) { parallel i in tiles(N, 16) { y[i] = 2 * x[i]; } }").scale
    x = torch.ones(4, requires_grad=True)
    with pytest.raises(tkc.Error, match="scale: `x` requires a gradient, and there is none"):
        scale(x)
    assert torch.equal(scale(x.detach()), torch.full((4,), 2.0))
    with torch.no_grad():
        scale(x)
    with pytest.raises(tkc.Error, match="scale: `x` is a lazily negated view"):
        scale(torch.ones(4, dtype=torch.complex64).conj().imag)
    with pytest.raises(tkc.Error, match="scale: `x` is complex64, which no kernel takes"):
        scale(torch.ones(4, dtype=torch.complex64))
