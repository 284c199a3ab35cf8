# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls on the interpreter: what goes in and comes out."""

import numpy as np
import pytest

import tkc

ADD = """
/// z = x + y
kernel add<T: {f32, f16}>(x: T[M, N], y: T[M, N], out z: T[M, N]) {
  parallel i in tiles(M, 16), j in tiles(N, 64) { z[i, j] = T(f32(x[i, j]) + f32(y[i, j])); }
}
reference add { z[i, j] = x[i, j] + y[i, j]; }

kernel scaled(x: f32[N], mask: f32[N] = none, out y: f32[N], s: f32 = 2, n: i32 = 0, const square: bool = false,
              out twice: f32[2 * N] = none) where N % 2 == 0 {
  parallel i in tiles(N, 64) {
    var v = x[i] * s + f32(n);
    if mask != none { v = v * mask[i]; }
    if square { v = v * v; }
    y[i] = v;
    twice[i] = v;
  }
}
"""


@pytest.fixture(scope="module")
def add():
    return tkc.load(ADD).add


def test_outputs_are_allocated_by_the_declared_shapes(add):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    z = add(x, 10 * x)
    assert z.dtype == np.float32 and z.shape == (2, 3)
    np.testing.assert_array_equal(z, 11 * x)


def test_types_of_tensors_choose_the_specialisation(add):
    x = np.full((1, 2), 0.1, "float16")
    z = add(x, x)
    assert z.dtype == np.float16
    np.testing.assert_array_equal(z, (x.astype("float32") * 2).astype("float16"))


@pytest.mark.parametrize("form", ["tensor", "list", "dict", "keyword"])
def test_an_output_may_be_passed(add, form):
    x, z = np.ones((2, 3), "float32"), np.zeros((2, 3), "float32")
    if form == "keyword":
        returned = add(x, x, z=z)
    else:
        returned = add(x, x, out={"tensor": z, "list": [z], "dict": {"z": z}}[form])
    assert returned is z and (z == 2).all()


def test_strides_are_taken_as_they_are(add):
    wide = np.arange(24, dtype="float32").reshape(4, 6)
    out = np.zeros((4, 6), "float32")
    add(wide[::2, :3], wide[1::2, 3:], out=out[1:3, 2:5])
    expected = np.zeros((4, 6), "float32")
    expected[1:3, 2:5] = wide[::2, :3] + wide[1::2, 3:]
    np.testing.assert_array_equal(out, expected)


def test_a_broadcast_input_is_read_as_one(add):
    row = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(add(np.broadcast_to(row, (2, 3)), np.ones((2, 3), "float32")), [row + 1, row + 1])


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_tensors_without_elements(add, shape):
    assert add(np.ones(shape, "float32"), np.ones(shape, "float32")).shape == shape


def test_keywords_defaults_and_what_is_left_out():
    scaled = tkc.load(ADD).scaled
    x, mask = np.arange(4, dtype="float32"), np.array([0, 1, 0, 1], "float32")
    y, twice = scaled(x)
    np.testing.assert_array_equal(y, 2 * x)
    assert twice.shape == (8,)
    np.testing.assert_array_equal(twice[:4], 2 * x)
    y = scaled(x, twice=None, mask=mask, s=3, n=1, square=True)
    np.testing.assert_array_equal(y, (3 * x + 1) ** 2 * mask)


def test_inout_is_changed_in_place():
    more = tkc.load("kernel more(inout z: i32[N], n: i32) { parallel i in tiles(N, 8) { z[i] = z[i] + n; } }").more
    z = np.arange(20, dtype="int32")
    assert more(z[:10], 5) is None
    np.testing.assert_array_equal(z, [*range(5, 15), *range(10, 20)])


def test_programs_run():
    twice = tkc.load("""
kernel double(x: f32[N], out y: f32[N]) { parallel i in tiles(N, 8) { y[i] = 2 * x[i]; } }
program twice(x: f32[N], out y: f32[N]) { let between = new f32[N]; double(x, between); double(between, y); }
""").twice
    x = np.arange(9, dtype="float32")
    np.testing.assert_array_equal(twice(x), 4 * x)


def test_numbers_that_json_lacks():
    fill = tkc.load("kernel fill(out y: f32[N], x: f32[N], s: f32) { parallel i in tiles(N, 8) { y[i] = s; } }").fill
    for value in (float("inf"), float("-inf"), float("nan"), 1e-40):
        np.testing.assert_array_equal(fill(np.zeros(2, "float32"), value), np.full(2, value, "float32"))


def test_the_library_against_its_references(kernels):
    k = tkc.load(kernels / "attention.tk")
    rng = np.random.default_rng(1)
    q, key, v = (tkc.array(rng.normal(size=(1, 2, 70, 64)), "bf16") for _ in range(3))
    results = k.attn_fwd(q, key, v, 0.125, causal=True)
    references = k.attn_fwd.reference(q, key, v, 0.125, causal=True, tolerance=True)
    for result, (values, tolerances) in zip(results, references):
        got = result.numpy() if isinstance(result, tkc.Array) else result
        assert got.shape == values.shape and (np.abs(got - values) <= tolerances).all()


def test_a_reference_is_of_float64(add):
    x = np.full((1, 2), 0.1, "float32")
    reference = add.reference(x, x)
    assert reference.dtype == np.float64
    np.testing.assert_array_equal(reference, x.astype("float64") * 2)


def test_a_kernel_says_what_it_is(add):
    assert "add<T: {f32, f16}>(x: T[M, N], y: T[M, N], out z: T[M, N])" in repr(add)
    assert "z = x + y" in add.__doc__
    module = tkc.load(ADD)
    assert [one.__name__ for one in module] == ["add", "scaled"] and "scaled" in dir(module)


def test_looking_inside(add):
    assert "__global__" in add.source() and "add_f16" in add.source() and "add_f16" not in add.source(T="f32")
    assert add.plan(T="f32", arch="sm_80").startswith("names") or "plan @add for sm_80" in add.plan(
        T="f32", arch="sm_80"
    )
    x = np.ones((2, 3), "float32")
    assert "add_f16" not in add.source(x, x)


def test_how_long_a_call_will_take(kernels):
    gemm = tkc.load(kernels / "gemm.tk").gemm
    a, b = (tkc.Array(np.empty((512, 512), "uint16"), "bf16") for _ in range(2))
    text = gemm.explain(a, b, arch="sm_90a")
    assert "gemm  T=bf16 K=512 M=512 N=512" in text and "limit" in text
    with pytest.raises(tkc.Error, match="gemm: dim 0 of `b` is 256, but `K` is 512 here"):
        gemm.explain(a, tkc.Array(np.empty((256, 512), "uint16"), "bf16"), arch="sm_90a")


def test_infinite_defaults():
    limited = tkc.load(
        "kernel limited(x: f32[N], out y: f32[N], lo: f32 = -inf, hi: f32 = inf) { parallel i in tiles(N, 32) { y[i] = min(max(x[i], lo), hi); } }"
    ).limited
    x = np.array([-3, 0, 1e38], dtype="float32")
    np.testing.assert_array_equal(limited(x), x)
    np.testing.assert_array_equal(limited(x, hi=2), [-3, 0, 2])


def test_kernels_do_not_hide_what_a_module_has():
    body = "(x: f32[N], out y: f32[N]) { parallel i in tiles(N, 16) { y[i] = 2 * x[i]; } }"
    module = tkc.load(f"kernel file{body} kernel compile{body} kernel double{body}")
    assert module.file.endswith(".tk") and callable(module.compile) and not isinstance(module.compile, tkc.Kernel)
    assert module.double is module["double"]
    np.testing.assert_array_equal(module["compile"](np.ones(3, "float32")), np.full(3, 2, "float32"))
