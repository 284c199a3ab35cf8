# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of families.py that time our own forms of attention's backward pass beside the plain one: what they ask is a ratio of rates."""
import torch

import family_references as references
from family_work import Work, bytes_of


def grouped_backward(kit):
    """Beside our own backward pass of as many key heads as heads: the ratio is that of their rates."""
    (b, h, n), g = kit.sizes((4, 16, 4096), (1, 4, 130)), 2
    q, grad, k, v = kit.normal(b, h, n, 128), kit.normal(b, h, n, 128), kit.normal(b, g, n, 128), kit.normal(b, g, n, 128)
    outputs, scale = [torch.empty_like(x) for x in (q, k, v)], 128**-0.5
    wanted, o, lse = references.attention_gradients(q, k, v, grad, scale)
    o, lse = o.to(torch.bfloat16), lse.float()
    keys, values = (x.repeat_interleave(h // g, 1) for x in (k, v))
    dense, others = kit.kernel("attention_backward.tk", "attn_bwd"), [torch.empty_like(q) for _ in range(3)]
    call = kit.kernel("attention_backward.tk", "attn_bwd_gqa")
    return Work(lambda: call(q, k, v, o, grad, lse, scale, causal=True, out=outputs), outputs, lambda: list(wanted),
                {"attn_bwd, not grouped": lambda: lambda: dense(q, keys, values, o, grad, lse, scale, causal=True, out=others)[:1]},
                bytes_of(q, k, v, o, grad, *outputs), 5.0 * b * h * n * n * 128, limit=5e-2)


def ragged_backward(kit, causal):
    """Sequences end to end, beside our own backward pass of as many sequences in a tensor of their own: the ratio is that of their rates."""
    (b, h, n), g = kit.sizes((8, 16, 2048), (2, 4, 131)), kit.sizes(4, 2)
    q, grad, k, v = kit.normal(b, h, n, 128), kit.normal(b, h, n, 128), kit.normal(b, g, n, 128), kit.normal(b, g, n, 128)
    scale = 128**-0.5
    wanted, o, lse = references.attention_gradients(q, k, v, grad, scale, causal)
    o, lse = o.to(torch.bfloat16), lse.float()

    def end_to_end(x):
        return x.transpose(1, 2).flatten(0, 1).contiguous()

    ours, starts = [end_to_end(x) for x in (q, k, v, o, grad)], torch.arange(b + 1, dtype=torch.int32, device=q.device) * n
    rows_lse = lse.transpose(0, 1).flatten(1).contiguous()
    outputs, others = [torch.empty_like(x) for x in ours[:3]], [torch.empty_like(x) for x in (q, k, v)]
    call, dense = kit.kernel("extra/ragged_training.tk", "ragged_bwd_gqa"), kit.kernel("attention_backward.tk", "attn_bwd_gqa")
    return Work(lambda: call(*ours, rows_lse, starts, scale, causal=causal, out=outputs), outputs, lambda: [end_to_end(x) for x in wanted],
                {"attn_bwd_gqa": lambda: lambda: dense(q, k, v, o, grad, lse, scale, causal=causal, out=others)},
                bytes_of(*ours, *outputs), (5.0 if causal else 10.0) * b * h * n * n * 128, limit=5e-2,
                compared=lambda results: [end_to_end(x) for x in results])


def window_backward(kit, b, n, window, plain):
    """A query sees `window` keys, beside our own backward pass of causal attention of as many pairs of a query and a key: the ratio is that
    of their rates. `plain`: the number and the length of the sequences there."""
    (b, h, n), g, window = kit.sizes((b, 16, n), (1, 4, 130)), 2, kit.sizes(window, 50)
    q, grad, k, v = kit.normal(b, h, n, 128), kit.normal(b, h, n, 128), kit.normal(b, g, n, 128), kit.normal(b, g, n, 128)
    scale = 128**-0.5
    wanted, o, lse = references.attention_gradients(q, k, v, grad, scale, window=window)
    o, lse, outputs = o.to(torch.bfloat16), lse.float(), [torch.empty_like(x) for x in (q, k, v)]
    sizes = kit.sizes(plain, (1, 130))
    plain = [kit.normal(sizes[0], heads, sizes[1], 128) for heads in (h, g, g, h, h)]
    plain_lse, others = kit.uniform(sizes[0], h, sizes[1], low=8, high=9), [torch.empty_like(x) for x in plain[:3]]
    call, dense = kit.kernel("extra/window_training.tk", "window_bwd_gqa"), kit.kernel("attention_backward.tk", "attn_bwd_gqa")
    return Work(lambda: call(q, k, v, o, grad, lse, scale, window, out=outputs), outputs, lambda: list(wanted),
                {"attn_bwd_gqa": lambda: lambda: dense(*plain, plain_lse, scale, causal=True, out=others)},
                bytes_of(q, k, v, o, grad, *outputs), 10.0 * b * h * window * (n - window / 2) * 128, limit=5e-2,
                compared=lambda results: [])
