# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variations of kernels that have nothing of their own but their lines of source, each beside the kernel that it varies: the
ratio is that of their rates by operation done, and 1 says that the variation costs nothing."""
import math

import torch

from side_by_side import check_with, normal


def scores(q, k, scale):
    return (q.float() @ k.float().transpose(-1, -2)) * scale


def attended(bench, work, ours, theirs, o, q, k, v, bend, done, base):
    """`done`, `base`: pairs of query and key, of a head, that ours and theirs multiply. `bend` makes the scores of a head."""
    batch, h, n, d = q.shape

    def wanted():
        result = torch.empty_like(o)
        for b in range(batch):
            for head in range(h):
                p = bend(scores(q[b, head], k[b, head], 1 / math.sqrt(d)), head).softmax(-1)
                result[b, head] = p.to(torch.bfloat16).float() @ v[b, head].float()
        return [result]

    flops = 4.0 * batch * h * d
    bench.row(work, ours, theirs, check_with([o], wanted), flops * done, limit=5e-2, theirs_flops=flops * base)


def attention(bench):
    library, plain = bench.library("attention_variants"), bench.library("attention")
    d, h = 128, 16
    for n in (4096, 16384):
        batch, scale = 16384 // n, 1 / math.sqrt(d)
        q, k, v = (normal(batch, h, n, d) for _ in range(3))
        o, lse = torch.empty_like(q), torch.empty(batch, h, n, device="cuda")
        slopes = torch.tensor([2.0 ** (-8 * (i + 1) / h) for i in range(h)], device="cuda")
        apart = torch.arange(n, device="cuda")[:, None] - torch.arange(n, device="cuda")[None, :]
        full, causal = (plain.bind("attn_fwd", q, k, v, scale, torch.empty_like(q), lse, c) for c in (False, True))
        triangle = n * (n + 1) / 2
        window = n // 4
        attended(bench, f"sliding window {window} of {n} / causal", library.bind("attn_window", q, k, v, scale, window, o),
                 causal, o, q, k, v, lambda s, _: s.masked_fill((apart < 0) | (apart >= window), -math.inf),
                 window * (window + 1) / 2 + (n - window) * window, triangle)
        attended(bench, f"softcap {n} / plain", library.bind("attn_softcap", q, k, v, scale, 30.0, o), full, o, q, k, v,
                 lambda s, _: 30 * torch.tanh(s / 30), n * n, n * n)
        attended(bench, f"ALiBi {n} / causal", library.bind("attn_alibi", q, k, v, slopes, scale, o), causal, o, q, k, v,
                 lambda s, head: (s - slopes[head] * apart).masked_fill(apart < 0, -math.inf), triangle, triangle)


def gemm(bench):
    library, plain = bench.library("gemm_variants"), bench.library("gemm")
    for size in (4096, 8192):
        flops = 2.0 * size**3
        for dtype, base in ((torch.bfloat16, "gemm_nt"), (torch.float8_e4m3fn, "gemm_f8_rows")):
            a, both = normal(size, size, dtype=dtype), normal(2 * size, size, dtype=dtype)
            scales = [torch.rand(rows, device="cuda") * 0.05 for rows in (size, 2 * size)]
            y, product = normal(size, size), normal(size, 2 * size)
            extra = () if base == "gemm_nt" else (scales[0], scales[1])

            def wanted():
                both_scaled = (a.float() @ both.float().T) * scales[0][:, None] * scales[1][None, :]
                return [torch.nn.functional.silu(both_scaled[:, :size]) * both_scaled[:, size:]]

            ours = library.bind("gated", a, both[:size], both[size:], scales[0], scales[1][:size], scales[1][size:], y)
            name = "bf16" if base == "gemm_nt" else "f8e4m3"
            bench.row(f"gated {name} {size}×2·{size}×{size} / plain", ours, plain.bind(base, a, both, *extra, product),
                      check_with([y], wanted), 2 * flops, limit=3e-2, theirs_flops=2 * flops)
        x, w, y, product = normal(size, size), normal(size, size), normal(size, size), normal(size, size)
        bench.row(f"normed gemm {size}³ / plain", library.bind("rms_norm_linear", x, w, y, 1e-6),
                  plain.bind("gemm_nt", x, w, product),
                  check_with([y], lambda: [(x.float() @ w.float().T) * torch.rsqrt(x.float().pow(2).mean(1) + 1e-6)[:, None]]),
                  flops, theirs_flops=flops)


def variations(bench):
    """Attention with a sliding window, with softcap, with ALiBi; a gated product of scaled rows; RMSNorm in a product."""
    attention(bench)
    gemm(bench)


PARTS = [variations]
