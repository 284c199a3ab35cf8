# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every element type goes to the compiler and comes back, and both agree on what its bits mean."""

import numpy as np
import pytest

import tkc
from tkc import _elements

TYPES = [one for one in _elements.WIDTHS if one != "tf32"]
FLOATS = [one for one in TYPES if one not in ("i64", "i32", "i8", "u8", "u4", "i4", "bool")]


def every_code(elem, columns=16):
    """A row of each of its codes, or of many."""
    width = _elements.WIDTHS[elem]
    rng = np.random.default_rng(7)
    if elem == "bool":
        return tkc.Array(rng.integers(0, 2, (4, columns)).astype("u1"), elem)
    if width <= 16:
        codes = np.arange(1 << width, dtype="u2").reshape(-1, columns)
        return tkc.Array(_elements._pack(codes, width) if width < 8 else codes.astype(f"u{width // 8}"), elem)
    if elem.startswith("f"):
        values = np.concatenate(
            [[0, -0.0, np.inf, -np.inf, np.nan, 1e-40], rng.normal(size=26) * 10.0 ** rng.integers(-30, 30, 26)]
        )
        return tkc.array(values.reshape(-1, columns), elem)
    bits = rng.integers(-(1 << (width - 1)), (1 << (width - 1)) - 1, (4, columns), endpoint=True)
    return tkc.Array(bits.astype(f"i{width // 8}").view(f"u{width // 8}"), elem)


@pytest.mark.parametrize("elem", TYPES)
def test_a_copy_keeps_every_code(elem):
    copy = tkc.load(
        f"kernel copy(x: {elem}[M, N], out y: {elem}[M, N]) {{ parallel i in tiles(M, 16), j in tiles(N, 16) {{ y[i, j] = x[i, j]; }} }}"
    ).copy
    x = every_code(elem)
    y = copy(x)
    bits = y.bits if isinstance(y, tkc.Array) else y.view(_elements.bits_dtype(elem))
    if elem not in FLOATS:
        np.testing.assert_array_equal(bits, x.bits)
        return
    # A NaN is any NaN, and what saturates has no infinity to give.
    np.testing.assert_array_equal(_elements.decode(bits, elem), tkc.array(x.numpy(), elem).numpy())
    if _elements.WIDTHS[elem] >= 8:
        same = np.isfinite(x.numpy())
        np.testing.assert_array_equal(bits[same], x.bits[same])


@pytest.mark.parametrize("elem", FLOATS)
def test_what_the_compiler_reads(elem):
    widen = tkc.load(
        f"kernel widen(x: {elem}[M, N], out y: f64[M, N]) {{ parallel i in tiles(M, 16), j in tiles(N, 16) {{ y[i, j] = f64(x[i, j]); }} }}"
    ).widen
    x = every_code(elem)
    np.testing.assert_array_equal(widen(x), x.numpy().astype("float64"))


@pytest.mark.parametrize("elem", [one for one in FLOATS if one != "f64"])
def test_what_the_compiler_writes(elem):
    narrow = tkc.load(
        f"kernel narrow(x: f64[M, N], out y: {elem}[M, N]) {{ parallel i in tiles(M, 16), j in tiles(N, 16) {{ y[i, j] = {elem}(x[i, j]); }} }}"
    ).narrow
    rng = np.random.default_rng(3)
    codes = every_code(elem).numpy().astype("float64")
    finite = codes[np.isfinite(codes)]
    middles = (np.sort(finite)[1:] + np.sort(finite)[:-1]) / 2  # ties
    values = np.concatenate(
        [finite, middles, finite * 1.2, rng.normal(size=64) * 2.0 ** rng.integers(-9, 9, 64), [1e30, -1e30]]
    )
    if elem == "f8e8m0":
        values = np.abs(values[values > 0])
    values = values[: len(values) // 16 * 16].reshape(-1, 16)
    y = narrow(values)
    got = y.numpy() if isinstance(y, tkc.Array) else y
    np.testing.assert_array_equal(got, tkc.array(values, elem).numpy())


def test_scalars_of_64_bits():
    add = tkc.load(
        "kernel add(x: i64[M], s: i64, out y: i64[M]) { parallel i in tiles(M, 16) { y[i] = x[i] + s; } }"
    ).add
    x = np.array([2**60 + 1, -(2**61) - 5, 3], "int64")
    np.testing.assert_array_equal(add(x, 2**55 + 1), x + (2**55 + 1))


def test_arrays_say_what_they_are():
    x = tkc.array(np.ones((2, 4)), "f4e2m1")
    assert x.shape == (2, 4) and x.bits.shape == (2, 2) and x.bits.dtype == np.uint8
    assert repr(x) == "tkc.Array(f4e2m1[2, 4])"
    with pytest.raises(tkc.Error, match="bits of bf16 are uint16, not float32"):
        tkc.Array(np.ones(3, "float32"), "bf16")
    with pytest.raises(tkc.Error, match="no element type is called `bfloat`"):
        tkc.array([1.0], "bfloat")
    with pytest.raises(tkc.Error, match="rows of f6e2m3 end with a byte"):
        tkc.array(np.ones(3), "f6e2m3")


def test_packed_rows_with_strides():
    copy = tkc.load(
        "kernel copy(x: f4e2m1[M, N], out y: f4e2m1[M, N]) { parallel i in tiles(M, 16), j in tiles(N, 16) { y[i, j] = x[i, j]; } }"
    ).copy
    bits = np.arange(64, dtype="u1").reshape(4, 16)
    np.testing.assert_array_equal(copy(tkc.Array(bits[::2, :8], "f4e2m1")).bits, bits[::2, :8])
    with pytest.raises(tkc.Error, match="the last dim of `x` has stride 2"):
        copy(tkc.Array(bits[:, ::2], "f4e2m1"))


@pytest.mark.parametrize("elem, least", [("u4", 0), ("i4", -8)])
def test_integers_of_four_bits(elem, least):
    narrow = tkc.load(
        f"kernel narrow(x: f32[M, N], out y: {elem}[M, N]) {{ parallel i in tiles(M, 16), j in tiles(N, 16) {{ y[i, j] = {elem}(x[i, j]); }} }}"
    ).narrow
    values = np.array([[-100, -8.9, -8, -0.5, 0, 0.9, 7, 7.9, 8, 15, 15.9, 100, np.inf, -np.inf, np.nan, 3]], "float32")
    y = narrow(values)
    assert y.type == elem and y.bits.dtype == np.uint8 and y.bits.shape == (1, 8)
    np.testing.assert_array_equal(y.numpy(), tkc.array(values, elem).numpy())
    np.testing.assert_array_equal(y.numpy(), np.clip(np.trunc(np.nan_to_num(values)), least, least + 15))


def test_bytes_are_pairs_of_integers_of_four_bits():
    widen = tkc.load(
        "kernel widen(x: i4[M, N], out y: i32[M, N]) { parallel i in tiles(M, 16), j in tiles(N, 16) { y[i, j] = x[i, j]; } }"
    ).widen
    packed = np.arange(64, dtype="u1").reshape(4, 16) * 5
    want = tkc.Array(packed, "i4").numpy()
    np.testing.assert_array_equal(widen(packed), want)
    np.testing.assert_array_equal(widen(packed[::2, 2:10]), want[::2, 4:20])
    np.testing.assert_array_equal(want[..., 0], (packed[..., 0].astype(int) & 15 ^ 8) - 8)
    out = np.zeros((2, 8), "u1")
    tkc.load(
        "kernel narrow(x: i32[M, N], out y: u4[M, N]) { parallel i in tiles(M, 16), j in tiles(N, 16) { y[i, j] = x[i, j]; } }"
    ).narrow(np.arange(32, dtype="i4").reshape(2, 16), out=out)
    np.testing.assert_array_equal(out[0], np.arange(8) * 2 | (np.arange(8) * 2 + 1) << 4)
    with pytest.raises(tkc.Error, match="the last dim of `x` has stride 2"):
        widen(packed[:, ::2])
