# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as functions of JAX, where it and jax-tvm-ffi are installed. They run on JAX's default device: without a GPU on the interpreter."""

import numpy as np
import pytest

import tkc
from kernels import SCALED

jax = pytest.importorskip("jax")
pytest.importorskip("jax_tvm_ffi")

import jax.numpy as jnp  # noqa: E402
import tkc.jax  # noqa: E402

pytestmark = [pytest.mark.gpu] if jax.default_backend() == "gpu" else []

TEXT = (
    SCALED
    + """
kernel scaled_backward<T: {bf16, f32}>(dy: T[N, M], mask: f32[M] = none, out dx: T[N, M], s: f32) {
  parallel i in tiles(N, 16), j in tiles(M, 32) {
    var t = f32(dy[i, j]) * s;
    if mask != none { t = t * mask[j].row; }
    dx[i, j] = t;
  }
}
kernel square_backward<T: {bf16, f32}>(x: T[N, M], dy: T[N, M], inout dx: f32[N, M], s: f32) {
  parallel i in tiles(N, 16), j in tiles(M, 32) { dx[i, j] += 2 * s * s * x[i, j] * f32(dy[i, j]); }
}
gradient scaled = square_backward(x, grad(y), grad(x), s) when square;
gradient scaled = scaled_backward(grad(y), mask, grad(x), s);

kernel accumulate(x: f32[N], inout sums: f32[N], out before: f32[N]) {
  parallel i in tiles(N, 32) { before[i] = sums[i]; sums[i] = sums[i] + x[i]; }
}
kernel wide(x: i64[N], out y: i64[N]) { parallel i in tiles(N, 32) { y[i] = x[i]; } }
"""
)


@pytest.fixture(scope="module")
def functions():
    return {kernel.signature.name: tkc.jax.function(kernel) for kernel in tkc.load(TEXT)}


def rand(*shape, dtype=jnp.float32, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_values(functions, dtype):
    x, mask = rand(5, 40, dtype=dtype), rand(40, seed=1)
    for call in (functions["scaled"], jax.jit(functions["scaled"])):
        y, total = call(x)
        assert y.dtype == dtype and total.dtype == jnp.float32
        np.testing.assert_array_equal(y, 2 * x)
    y, total = jax.jit(lambda x, mask: functions["scaled"](x, mask, s=3, square=True))(x, mask)
    np.testing.assert_allclose(total, jnp.sum(9 * x.astype(jnp.float32) ** 2 * mask, axis=1), rtol=1e-5, atol=1e-4)


def test_what_is_changed_is_new(functions):
    x, sums = rand(5), rand(5, seed=1)
    kept = np.array(sums)
    for call in (functions["accumulate"], jax.jit(functions["accumulate"])):
        new, before = call(x, sums)
        np.testing.assert_array_equal(new, kept + np.array(x))
        np.testing.assert_array_equal(before, kept)
        np.testing.assert_array_equal(sums, kept)


def test_vmap(functions):
    x = rand(3, 5, 8)
    y, total = jax.vmap(functions["scaled"])(x)
    np.testing.assert_array_equal(y, 2 * x)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
@pytest.mark.parametrize("square,with_mask", [(False, False), (False, True), (True, False)])
def test_gradients(functions, dtype, square, with_mask):
    x, mask = rand(5, 40, dtype=dtype), rand(40, seed=1) if with_mask else None

    def loss(x):
        return jnp.sum(functions["scaled"](x, mask, 0.5, square)[0].astype(jnp.float32) ** 2)

    def wanted(x):
        y = 0.5 * x.astype(jnp.float32)
        y = y * y if square else y
        y = y * mask if with_mask else y
        return jnp.sum(y.astype(dtype).astype(jnp.float32) ** 2)

    for gradient in (jax.grad(loss), jax.jit(jax.grad(loss))):
        found = gradient(x)
        assert found.dtype == dtype
        # Roundings of y, dy and dx, half a unit in the last place each.
        rounding = 3 * 2.0**-9 if dtype == jnp.bfloat16 else 3 * 2.0**-24
        expected = jax.grad(wanted)(x).astype(jnp.float32)
        np.testing.assert_allclose(found.astype(jnp.float32), expected, rtol=2 * rounding)


def test_errors(functions):
    scaled = functions["scaled"]
    with pytest.raises(tkc.Error, match="scaled: `mask` is bf16, it must be f32"):
        scaled(rand(5, 8), rand(8, dtype=jnp.bfloat16))
    with pytest.raises(tkc.Error, match="scaled: dim 0 of `mask` is 7, but `M` is 8 here"):
        scaled(rand(5, 8), rand(7))
    with pytest.raises(tkc.Error, match="scaled: `x` has 1 dims, it needs 2"):
        jax.jit(scaled)(rand(5))
    with pytest.raises(tkc.Error, match="scaled: `s` is not a number"):
        jax.jit(scaled)(rand(5, 8), None, 2.0)
    with pytest.raises(tkc.Error, match="scaled: `y` is an output, which is a new array"):
        scaled(rand(5, 8), y=rand(5, 8))
    with pytest.raises(
        tkc.Error, match="`y` is i64, which JAX has with jax_enable_x64 only|`x` is i32, it must be i64"
    ):
        functions["wide"](jnp.zeros(3, int))
    with pytest.raises(tkc.Error, match="the gradient of `mask` is wanted, and there is none"):
        jax.grad(lambda mask: jnp.sum(scaled(rand(5, 8), mask)[0]))(rand(8))
    with pytest.raises(tkc.Error, match="the gradient of `total` is wanted, and nothing takes it"):
        jax.grad(lambda x: jnp.sum(scaled(x)[1]))(rand(5, 8))


@pytest.mark.parametrize("groups", [2, 1])
def test_attention(groups):
    """The library's, whose backward pass is a program of another file."""
    attention = tkc.jax.function(tkc.load(tkc.library / "attention.tk").attn_fwd)
    q = rand(1, 2, 33, 64, dtype=jnp.bfloat16)
    k, v = (rand(1, groups, 33, 64, dtype=jnp.bfloat16, seed=seed) for seed in (1, 2))
    upstream = rand(1, 2, 33, 64, seed=3)

    def loss(q, k, v):
        return jnp.sum(attention(q, k, v, 0.125, causal=True)[0].astype(jnp.float32) * upstream)

    def wanted(q, k, v):
        k, v = (jnp.repeat(one, 2 // groups, axis=1) for one in (k, v))
        scores = jnp.where(jnp.tri(33, dtype=bool), 0.125 * jnp.einsum("bhid,bhjd->bhij", q, k), -jnp.inf)
        return jnp.sum(jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(scores), v) * upstream)

    found = jax.jit(jax.grad(loss, (0, 1, 2)))(q, k, v)
    expected = jax.grad(wanted, (0, 1, 2))(*(one.astype(jnp.float32) for one in (q, k, v)))
    for one, other in zip(found, expected):
        # p, ds and the results are rounded to bf16; sums of up to 66 products with values of about 1.
        np.testing.assert_allclose(
            one.astype(jnp.float32), other, rtol=2**-6, atol=2**-6 * float(jnp.max(jnp.abs(other)))
        )
