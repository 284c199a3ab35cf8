# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On an NVIDIA GPU, with PyTorch and nvcc: kernels beside their references, and what only a GPU has. On a machine that cannot build
tkc, install the wheel, apache-tvm-ffi and pytest, and run `python3 -m pytest -m gpu python/tests`; `python3 bench/launches.py`
then says what a call costs the CPU."""

import os
import subprocess
import sys

import pytest

import tkc
from tkc import _devices

pytestmark = pytest.mark.gpu
torch = pytest.importorskip("torch")

TEXT = """
kernel scale(x: f32[M, N], out y: f32[M, N], s: f32 = 2) {
  parallel i in tiles(M, 16), j in tiles(N, 64) { y[i, j] = s * x[i, j]; }
}
program twice(x: f32[M, N], out y: f32[M, N]) {
  let between = new f32[M, N];
  scale(x, between, s = 2);
  scale(between, y, s = 2);
}
"""


@pytest.fixture(scope="module")
def module():
    return tkc.load(TEXT)


def normal(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(dtype).cuda()


def check(results, references):
    """Within what the reference says that rounding may add up to."""
    results = results if isinstance(results, tuple) else (results,)
    for result, (values, tolerances) in zip(results, references):
        error = (result.double().cpu() - torch.from_numpy(values)).abs()
        worst = (error - torch.from_numpy(tolerances)).max().item()
        assert worst <= 0, f"{worst} beyond the tolerance"


def test_attention(kernels):
    k = tkc.load(kernels / "attention.tk").attn_fwd
    q, key, v = (normal(2, 4, 200, 64, dtype=torch.bfloat16, seed=i) for i in range(3))
    for causal in (False, True):
        results = k(q, key, v, 0.125, causal=causal)
        assert results[0].dtype == torch.bfloat16 and results[1].shape == (2, 4, 200)
        check(results, k.reference(q, key, v, 0.125, causal=causal, tolerance=True))


def test_attention_beside_pytorch(kernels):
    """The same roundings in another order: no element is farther from the exact result than four times PyTorch's worst."""
    k = tkc.load(kernels / "attention.tk").attn_fwd
    q, key, v = (normal(2, 8, 1024, 128, dtype=torch.bfloat16, seed=i) for i in range(3))
    o, _ = k(q, key, v, 128**-0.5, causal=True)
    attend = torch.nn.functional.scaled_dot_product_attention
    exact = attend(q.double(), key.double(), v.double(), is_causal=True)
    theirs = (attend(q, key, v, is_causal=True).double() - exact).abs().max().item()
    assert (o.double() - exact).abs().max().item() <= 4 * theirs


def test_strides_of_heads_side_by_side(kernels):
    k = tkc.load(kernels / "attention.tk").attn_fwd
    packed = normal(2, 70, 3, 4, 64, dtype=torch.bfloat16)
    q, key, v = (packed[:, :, i].transpose(1, 2) for i in range(3))
    check(k(q, key, v, 0.125), k.reference(q, key, v, 0.125, tolerance=True))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_norms_and_products(kernels, dtype):
    norm = tkc.load(kernels / "norms.tk").rms_norm
    x, weight = normal(33, 1024, dtype=dtype), normal(1024, dtype=dtype, seed=1)
    check(norm(x, weight), [norm.reference(x, weight, tolerance=True)])
    gemm = tkc.load(kernels / "gemm.tk").gemm
    a, b = normal(131, 72, dtype=dtype), normal(72, 257, dtype=dtype, seed=1)
    check(gemm(a, b), [gemm.reference(a, b, tolerance=True)])


def test_outputs_that_are_passed(module):
    x, y = normal(5, 70), torch.zeros(5, 70, device="cuda")
    assert module.scale(x, out=y) is y
    assert torch.equal(y, 2 * x)
    module.scale(x.t().contiguous().t()[:, :1], 3.0, out=y[:, :1])
    assert torch.equal(y[:, :1], 3 * x[:, :1]) and torch.equal(y[:, 1:], 2 * x[:, 1:])


def test_programs(module):
    x = normal(500, 70)
    for _ in range(3):
        assert torch.equal(module.twice(x), 4 * x)


@pytest.mark.parametrize("named", [False, True])
def test_streams(module, named):
    x, stream = torch.zeros(4096, 4096, device="cuda"), torch.cuda.Stream()
    module.twice(x)  # compiled
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.fill_(1)
        y = None if named else module.twice(x)
    if named:
        y = module.twice(x, stream=stream)
    assert not stream.query()  # nobody waited
    stream.synchronize()
    assert (y == 4).all()


def test_graphs(module):
    x, y = torch.ones(64, 64, device="cuda"), torch.zeros(64, 64, device="cuda")
    module.twice(x, out=y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        module.twice(x, out=y)
    x.fill_(5)
    graph.replay()
    torch.cuda.synchronize()
    assert (y == 20).all()


@pytest.mark.skipif(_devices.count() < 2, reason="needs two GPUs")
def test_another_gpu(module):
    x = torch.ones(5, 5, device="cuda:1")
    y = module.twice(x)
    assert y.device == x.device and (y == 4).all() and torch.cuda.current_device() == 0
    with pytest.raises(tkc.Error, match="`y` is on device 0, the current device is 1"):
        module.scale(x, out=torch.ones(5, 5, device="cuda:0"))


def test_errors(module):
    x = normal(4, 6)
    cases = [
        (lambda: module.scale(x.requires_grad_()), "scale: `x` requires a gradient, and there is none"),
        (lambda: module.scale(x.cpu()), 'scale: `x` is not in the memory of a CUDA device; device="cpu"'),
        (lambda: module.scale(x, out=torch.empty(4, 6)), "scale: `y` is not in the memory of a CUDA device"),
        (lambda: module.scale(x, device="cpu"), 'scale: `x` is on a GPU, and device="cpu" asks for the interpreter'),
        (lambda: module.scale(x.half()), "scale: `x` is f16, it must be f32"),
        (lambda: module.scale(x[0]), "scale: `x` has 1 dims, it needs 2"),
        (lambda: module.scale(x, out=x[:2]), "scale: dim 0 of `y` is 2, but `M` is 4 here"),
        (lambda: module.scale(x, out=x), "scale: `y` is written and overlaps `x`"),
        (lambda: module.scale(x[:, ::2]), "scale: the last dim of `x` has stride 2, it must be contiguous"),
        (lambda: module.scale(x.to_sparse()), "scale: `x` is torch.sparse_coo, it must be strided"),
        (lambda: module.scale(torch.complex(x, x).conj().imag), "scale: `x` is a lazily negated view"),
    ]
    for call, message in cases:
        x.requires_grad_(False)
        with pytest.raises(tkc.Error) as error:
            call()
        assert message in str(error.value)
    with torch.no_grad():
        module.scale(x.requires_grad_())


def test_a_build_needs_no_tkc(tmp_path):
    file = tmp_path / "two.tk"
    file.write_text(TEXT)
    tkc.build(file, tmp_path / "two.so")
    program = f"""
import torch, tvm_ffi
m = tvm_ffi.load_module({str(tmp_path / "two.so")!r})
x = torch.ones(5, 7, device="cuda")
y = torch.empty_like(x)
m.scale(x, y, 3.0)
assert (y == 3).all()
m.twice(x, y)
assert (y == 4).all()
"""
    environment = {**os.environ, "TKC_COMPILER": "", "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_the_interpreter_agrees(module):
    x = normal(5, 7)
    with tkc.device("cpu"):
        y = module.twice(x.cpu())
    assert torch.equal(y, module.twice(x).cpu())
