# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as operators of PyTorch.

They run on the GPU if there is one, else on the interpreter; `TKC_TEST_DEVICE=cpu` or `cuda` says which.
"""

import pytest
from conftest import torch_device

import tkc
from kernels import SCALED

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import tkc.torch  # noqa: E402

DEVICE = torch_device()
pytestmark = [pytest.mark.gpu] if DEVICE == "cuda" else []

TEXT = (
    SCALED
    + """
kernel scaled_backward<T: {bf16, f32}>(dy: T[N, M], dtotal: f32[N], mask: f32[M] = none, out dx: T[N, M], s: f32) {
  parallel i in tiles(N, 16), j in tiles(M, 32) {
    var t = (f32(dy[i, j]) + dtotal[i].col) * s;
    if mask != none { t = t * mask[j].row; }
    dx[i, j] = t;
  }
}
kernel scaled_square_backward<T: {bf16, f32}>(x: T[N, M], dy: T[N, M], dtotal: f32[N], inout dx: f32[N, M], s: f32) {
  parallel i in tiles(N, 16), j in tiles(M, 32) { dx[i, j] += 2 * s * s * x[i, j] * (f32(dy[i, j]) + dtotal[i].col); }
}
gradient scaled = scaled_square_backward(x, grad(y), grad(total), grad(x), s) when square;
gradient scaled = scaled_backward(grad(y), grad(total), mask, grad(x), s);

kernel accumulate(x: f32[N], inout sums: f32[N], out before: f32[N]) {
  parallel i in tiles(N, 32) { before[i] = sums[i]; sums[i] = sums[i] + x[i]; }
}
kernel limited(x: f32[N], out y: f32[N], lo: f32 = -1, hi: f32 = inf) {
  parallel i in tiles(N, 32) { y[i] = min(max(x[i], lo), hi); }
}
kernel halves(x: f32[N, M], out y: f32[N, M / 2]) where M in {4, 8} {
  parallel i in tiles(N, 16) { y[i, :] = x[i, 0:M / 2]; }
}
kernel first(x: f32[N], out y: f32[N], out unused: f32[N]) { parallel i in tiles(N, 32) { y[i] = 3 * x[i]; unused[i] = x[i]; } }
gradient first = thrice(grad(y), grad(x));
kernel thrice(dy: f32[N], out dx: f32[N]) { parallel i in tiles(N, 32) { dx[i] = 3 * dy[i]; } }
"""
)


@pytest.fixture(scope="module")
def ops():
    return tkc.torch.register(TEXT, name="test")


def rand(*shape, **options):
    return torch.randn(*shape, device=DEVICE, **options)


def test_schemas(ops):
    assert str(ops.scaled.default._schema) == (
        "tkc_test::scaled(Tensor x, Tensor? mask=None, float s=2., bool square=False) -> (Tensor, Tensor)"
    )
    assert str(ops.scaled_backward.default._schema).startswith(
        "tkc_test::scaled_backward(Tensor dy, Tensor dtotal, Tensor? mask, float s)"
    )
    assert str(ops.limited.default._schema) == "tkc_test::limited(Tensor x, float lo, float hi) -> Tensor"
    assert str(ops.accumulate.default._schema) == "tkc_test::accumulate(Tensor x, Tensor(a0!) sums) -> Tensor"


def test_values_strides_and_mutation(ops):
    x = rand(7, 20)
    y, total = ops.scaled(x[::2, 3:9], s=3)
    torch.testing.assert_close(y, 3 * x[::2, 3:9])
    torch.testing.assert_close(total, y.sum(1))
    sums, more = torch.ones(5, device=DEVICE), rand(5)
    before = ops.accumulate(more, sums)
    torch.testing.assert_close(sums, 1 + more)
    torch.testing.assert_close(before, torch.ones_like(before))


def test_errors(ops):
    with pytest.raises(tkc.Error, match="scaled: the last dim of `x` has stride"):
        ops.scaled(rand(6, 5).t())
    with pytest.raises(tkc.Error, match="accumulate: `x` requires a gradient, and there is none"):
        ops.accumulate(rand(5).requires_grad_(), rand(5))
    with pytest.raises(tkc.Error, match="scaled: `mask` requires a gradient, and there is none"):
        ops.scaled(rand(6, 5), rand(5).requires_grad_())
    with torch.no_grad():
        ops.accumulate(rand(5).requires_grad_(), rand(5))
    with pytest.raises(tkc.Error, match="give these another name"):
        tkc.torch.register(
            "kernel k(x: f32[N], out y: f32[N]) { parallel i in tiles(N, 16) { y[i] = x[i]; } }", name="test"
        )
    with pytest.raises(tkc.Error, match="operators of a text need a name"):
        tkc.torch.register(TEXT)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("square,with_mask", [(False, False), (False, True), (True, False)])
def test_gradients(ops, dtype, square, with_mask):
    """As autograd's of the same in PyTorch; of `inout` results, too, which are f32. Gradients may be expanded scalars."""
    x = rand(5, 40).to(dtype).requires_grad_()
    mask = (rand(40) > 0).float() if with_mask else None
    y, total = ops.scaled(x, mask, 0.5, square)
    expected_y = 0.5 * x.float()
    expected_y = expected_y * expected_y if square else expected_y
    expected_y = expected_y * mask if with_mask else expected_y
    loss = y.float().sum() + (total * torch.arange(5, device=DEVICE)).sum()
    (found,) = torch.autograd.grad(loss, x)
    expected = expected_y.sum() + (expected_y.sum(1) * torch.arange(5, device=DEVICE)).sum()
    (wanted,) = torch.autograd.grad(expected, x)
    assert found.dtype == dtype
    torch.testing.assert_close(found, wanted)


def test_outputs_without_gradient_are_constants(ops):
    y, unused = ops.first(rand(5).requires_grad_())
    assert y.requires_grad and not unused.requires_grad


@pytest.mark.parametrize("used", [0, 1])
def test_gradients_of_outputs_that_nothing_uses_are_zero(ops, used):
    x = rand(5, 40).requires_grad_()
    (found,) = torch.autograd.grad(ops.scaled(x)[used].sum(), x)
    torch.testing.assert_close(found, torch.full_like(x, 2.0))


class _Calls(TorchDispatchMode):
    """The names of PyTorch's functions that are called meanwhile."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def test_no_zeros_are_made_of_outputs_without_gradient(ops):
    x = rand(5).requires_grad_()
    y, _ = ops.first(x)
    with _Calls() as calls:
        y.backward(torch.ones_like(y))
    assert "thrice" in calls.names and not [name for name in calls.names if "zero" in name or "fill" in name]


def test_opcheck(ops):
    wanted, part = rand(5, 8).requires_grad_(), rand(5, 8)[::2, 1:5].requires_grad_()
    for args in ((rand(5, 8),), (wanted, None, 3.0), (part, None, 3.0, True), (rand(5, 8), rand(8))):
        torch.library.opcheck(ops.scaled.default, args)
    torch.library.opcheck(ops.accumulate.default, (rand(5), rand(5)))
    torch.library.opcheck(ops.halves.default, (rand(5, 8),))


def _model(ops):
    def model(x, sums):
        y, total = ops.scaled(x.sin(), None, 3.0)
        before = ops.accumulate(total, sums)
        return (y.cos() * total[:, None]).sum() + before.sum()

    return model


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(ops, dynamic):
    model = _model(ops)
    compiled = torch.compile(
        model, fullgraph=True, dynamic=dynamic, backend="inductor" if DEVICE == "cuda" else "aot_eager"
    )
    for rows in (5, 9):
        x, sums = rand(rows, 8), rand(rows)
        with torch.no_grad():
            changed = sums.clone()
            wanted, found = model(x, changed), compiled(x, sums)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(sums, changed)


def test_compile_backward(ops):
    def model(x):
        y, total = ops.scaled(x.sin(), None, 3.0, True)
        return (y * total[:, None].cos()).sum()

    compiled = torch.compile(model, fullgraph=True, backend="inductor" if DEVICE == "cuda" else "aot_eager")
    x = rand(5, 8).requires_grad_()
    (wanted,) = torch.autograd.grad(model(x), x)
    (found,) = torch.autograd.grad(compiled(x), x)
    torch.testing.assert_close(found, wanted)


def test_export(ops):
    class Model(torch.nn.Module):
        def forward(self, x):
            return ops.halves(x.relu())

    exported = torch.export.export(Model(), (rand(5, 8),), dynamic_shapes=({0: torch.export.Dim("rows", min=2)},))
    x = rand(11, 8)
    torch.testing.assert_close(exported.module()(x), x.relu()[:, :4])


def test_attention():
    """The library's, whose backward pass is a program of another file."""
    ops = tkc.torch.register(tkc.library / "attention.tk")
    q = rand(1, 4, 33, 64, dtype=torch.bfloat16).requires_grad_()
    for heads in (4, 2):
        k, v = (rand(1, heads, 33, 64, dtype=torch.bfloat16).requires_grad_() for _ in range(2))
        o, lse = ops.attn_fwd(q, k, v, 0.125, True)
        assert not lse.requires_grad
        upstream = rand(*o.shape, dtype=torch.bfloat16)
        found = torch.autograd.grad(o, (q, k, v), upstream)
        wide = [one.detach().float().requires_grad_() for one in (q, k, v)]
        expected = torch.nn.functional.scaled_dot_product_attention(*wide, is_causal=True, scale=0.125, enable_gqa=True)
        wanted = torch.autograd.grad(expected, wide, upstream.float())
        for one, other in zip((o, *found), (expected, *wanted)):
            # Of p and ds, which are rounded to bf16, sums of up to 33 products with values of about 1.
            torch.testing.assert_close(one.float(), other, rtol=2**-6, atol=2**-6 * other.abs().max().item())


@pytest.mark.skipif(DEVICE != "cuda", reason="needs an NVIDIA GPU")
def test_cuda_graph(ops):
    x = rand(64, 64)
    ops.scaled(x)  # compiled
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y, _ = ops.scaled(x)
    x.fill_(5)
    graph.replay()
    torch.testing.assert_close(y, torch.full_like(y, 10.0))
