# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that move bytes, beside torch.compile; and a copy, for the bandwidth there is."""
import torch
import torch.nn.functional as F

from side_by_side import check_with, normal


def copy(bench):
    """Small ones beside what the smallest rows below move, whose copies are slower, too."""
    for name, count in (("64 MiB", 1 << 24), ("128 MiB", 1 << 25), ("1 GiB", 1 << 28)):
        source = normal(count)
        target = torch.empty_like(source)
        bench.row(f"copy {name}", lambda: target.copy_(source), lambda: target.copy_(source), lambda run: 0.0, moved=4 * count)


def norms(bench):
    library = bench.library("norms")

    def rms_of(t, weight):
        return F.rms_norm(t, (t.shape[-1],), weight, 1e-6)

    def add_rms_of(t, r, weight):
        s = t + r
        return s, F.rms_norm(s, (s.shape[-1],), weight, 1e-6)

    def layer_of(t, weight, bias):
        return F.layer_norm(t, (t.shape[-1],), weight, bias, 1e-5)

    def add_layer_of(t, r, weight, bias):
        s = t + r
        return s, F.layer_norm(s, (s.shape[-1],), weight, bias, 1e-5)

    for n, c in [(16 * 1024, 1024), (16 * 4096, 1024), (16 * 16384, 1024), (65536, 4096)]:
        x, residual, y, stream, weight, bias = *(normal(n, c) for _ in range(4)), normal(c), normal(c)
        torch._dynamo.reset()
        rms, add_rms, layer, add_layer = (torch.compile(f, dynamic=False) for f in (rms_of, add_rms_of, layer_of, add_layer_of))
        bench.row(f"RMSNorm {n}×{c}", library.bind("rms_norm", x, weight, y, 1e-6), lambda: rms(x, weight),
                  check_with([y], lambda: [rms_of(x.float(), weight.float())]), moved=4 * n * c)
        bench.row(f"RMSNorm + residual {n}×{c}", library.bind("add_rms_norm", x, residual, weight, stream, y, 1e-6),
                  lambda: add_rms(x, residual, weight), check_with([stream, y], lambda: add_rms_of(x, residual, weight)),
                  moved=8 * n * c)
        bench.row(f"LayerNorm {n}×{c}", library.bind("layer_norm", x, weight, bias, y, 1e-5), lambda: layer(x, weight, bias),
                  check_with([y], lambda: [layer_of(x.float(), weight.float(), bias.float())]), moved=4 * n * c,
                  beside={"Triton": lambda t: t.layer_norm(x, weight, bias, 1e-5)})
        bench.row(f"LayerNorm + residual {n}×{c}", library.bind("add_layer_norm", x, residual, weight, bias, stream, y, 1e-5),
                  lambda: add_layer(x, residual, weight, bias),
                  check_with([stream, y], lambda: add_layer_of(x, residual, weight, bias)), moved=8 * n * c)


def softmax(bench):
    library = bench.library("softmax")
    for n, c in [(8192, 8192), (8192, 32768), (8192, 50257), (32768, 1024), (65536, 4096)]:
        x, y = normal(n, c), normal(n, c)
        torch._dynamo.reset()
        compiled = torch.compile(lambda t: torch.softmax(t, -1), dynamic=False)
        name = "softmax" if c <= 16384 else "softmax_any"
        bench.row(f"softmax {n}×{c}", library.bind(name, x, y), lambda: compiled(x),
                  check_with([y], lambda: [torch.softmax(x.float(), -1)]), moved=4 * n * c, beside={"Triton": lambda t: t.softmax(x)})


def rotary(bench):
    library = bench.library("rotary")

    def rotate(t, cosine, sine):
        lo, hi = (part.float() for part in t.chunk(2, -1))
        return torch.cat((lo * cosine - hi * sine, hi * cosine + lo * sine), -1).to(t.dtype)

    for n in (4096, 16384):
        for d in (64, 128):
            x = normal(16, 16, n, d)
            y = torch.empty_like(x)
            cosine, sine = (normal(n, d // 2, dtype=torch.float32) for _ in range(2))
            torch._dynamo.reset()
            compiled = torch.compile(rotate, dynamic=False)
            bench.row(f"rotary 16×16×{n}×{d}", library.bind("rotary", x, cosine, sine, y), lambda: compiled(x, cosine, sine),
                      check_with([y], lambda: [rotate(x, cosine, sine)]), moved=4 * x.numel())


def cross_entropy(bench):
    library, n = bench.library("cross_entropy"), 8192
    for v in (8192, 50257, 128256):
        x, target = normal(n, v), torch.randint(v, (n,), device="cuda")
        loss, lse, dx = torch.empty(n, device="cuda"), torch.empty(n, device="cuda"), normal(n, v)
        dloss = torch.rand(n, device="cuda")

        def forward(t, wanted):
            return F.cross_entropy(t.float(), wanted, reduction="none")

        def gradient(t, wanted, upstream):
            p = torch.softmax(t.float(), -1)
            losses = torch.logsumexp(t.float(), -1) - t.float().gather(1, wanted[:, None])[:, 0]
            columns = torch.arange(t.shape[1], device=t.device)
            return losses, ((p - (columns == wanted[:, None]).float()) * upstream[:, None]).to(t.dtype)

        torch._dynamo.reset()
        compiled, compiled_gradient = torch.compile(forward, dynamic=False), torch.compile(gradient, dynamic=False)
        ours = library.bind("cross_entropy", x, target, loss, lse)
        ours_gradient = library.bind("cross_entropy_grad", x, target, lse, dloss, dx)

        def both():
            ours()
            ours_gradient()

        bench.row(f"cross-entropy {n}×{v}", ours, lambda: compiled(x, target),
                  check_with([loss], lambda: [forward(x, target)]), moved=2 * n * v)
        bench.row(f"cross-entropy and gradient {n}×{v}", both, lambda: compiled_gradient(x, target, dloss),
                  check_with([loss, dx], lambda: gradient(x, target, dloss)), moved=6 * n * v)


PARTS = [copy, norms, softmax, rotary, cross_entropy]
