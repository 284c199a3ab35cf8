# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention beside cuDNN or FlashAttention-2, as PyTorch calls them: forward, backward, and of one query a sequence."""
import ctypes
import math

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from side_by_side import check_with, normal
from split_keys import parts_of_keys

LENGTHS = (1000, 1536, 3072, 4096, 6144, 12288)


def shapes(lengths):
    """B·N about 16384 and H·D = 2048."""
    for d in (128, 64):
        for n in lengths:
            for causal in (False, True):
                yield max(16384 // n, 1), 2048 // d, n, d, causal


def called_by(backend):
    def call(*arguments, **keywords):
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(*arguments, **keywords)

    return call


def title(work, n, d, causal):
    return f"attention {work} D={d} N={n}{' causal' if causal else ''}"


def forward(bench):
    library, theirs = bench.library("attention"), called_by(bench.attention)
    for batch, h, n, d, causal in shapes(LENGTHS):
        q, k, v = (normal(batch, h, n, d) for _ in range(3))
        o, lse = torch.empty_like(q), torch.empty(batch, h, n, device="cuda")
        run = library.bind("attn_fwd", q, k, v, 1 / math.sqrt(d), o, lse, causal)
        bench.row(title("forward", n, d, causal), run, lambda: theirs(q, k, v, is_causal=causal),
                  check_with([o], lambda: [theirs(q, k, v, is_causal=causal)]),
                  4.0 * batch * h * n * n * d * (0.5 if causal else 1), limit=5e-2,
                  beside={"Triton": lambda t: t.attention(q, k, v, causal), "FlashAttention-3": lambda f: f.attention(q, k, v, causal)})


def backward(bench):
    library, forward_library, theirs = bench.library("attention_backward"), bench.library("attention"), called_by(bench.attention)
    for batch, h, n, d, causal in shapes(LENGTHS[1:]):
        scale = 1 / math.sqrt(d)
        q, k, v = (normal(batch, h, n, d).requires_grad_() for _ in range(3))
        grad = normal(batch, h, n, d)
        o = theirs(q, k, v, is_causal=causal)
        lse = torch.empty(batch, h, n, device="cuda")
        forward_library.bind("attn_fwd", q.detach(), k.detach(), v.detach(), scale, torch.empty_like(grad), lse, causal)()
        dq, dk, dv = (torch.empty_like(grad) for _ in range(3))
        arguments = (q, k, v, o.detach(), grad, lse, scale, dq, dk, dv, causal)
        size = library.workspace_bytes("attn_bwd", *arguments)
        workspace = torch.empty(size, device="cuda", dtype=torch.uint8)
        ours = library.bind("attn_bwd", *arguments, ctypes.c_void_p(workspace.data_ptr()), ctypes.c_int64(size))

        def gradients():
            return torch.autograd.grad(o, (q, k, v), grad, retain_graph=True)

        bench.row(title("backward", n, d, causal), ours, gradients, check_with([dq, dk, dv], gradients),
                  10.0 * batch * h * n * n * d * (0.5 if causal else 1), limit=5e-2,
                  beside={"FlashAttention-3": lambda f: f.gradients(q, k, v, grad, causal)})


def decode(bench):
    """Beside the faster of cuDNN and FlashAttention-2; bytes are those of k and v."""
    library, batch, h, d = bench.library("decode"), 16, 32, 128
    for length in (8192, 32768):
        for g in (4, 8, 32):
            q, o = normal(batch, h, 1, d), normal(batch, h, d)
            k, v = (normal(batch, g, length, d) for _ in range(2))
            splits = parts_of_keys(batch * g, length, d)
            arguments = (q[:, :, 0], k, v, 1 / math.sqrt(d), splits, o, h // g)
            size = library.workspace_bytes("decode", *arguments)
            workspace = torch.empty(max(size, 1), device="cuda", dtype=torch.uint8)
            ours = library.bind("decode", *arguments, ctypes.c_void_p(workspace.data_ptr()), ctypes.c_int64(size))
            sides = []
            for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
                call = called_by(backend)
                try:
                    call(q, k, v, enable_gqa=g != h)
                    sides.append(lambda call=call: call(q, k, v, enable_gqa=g != h))
                except RuntimeError:
                    continue  # this backend does not take it

            def seconds(side):
                side()
                return min(bench.timed(side) for _ in range(3))

            theirs = min(sides, key=seconds)
            bench.row(f"decode L={length} G={g}", ours, theirs,
                      check_with([o], lambda: [theirs()[:, :, 0]]), moved=4 * batch * g * length * d, limit=5e-2)


PARTS = [forward, backward, decode]
