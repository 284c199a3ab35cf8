# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlashAttention-3, where its package is installed: `flash_attn_interface`, of the folder `hopper` of its sources. Each function
returns one that launches the work and returns its results; tensors are [B, H, N, D] as everywhere here, and lie in memory as
FlashAttention-3 has them, [B, N, H, D]."""
import torch
from flash_attn_interface import flash_attn_func

NAME = "FlashAttention-3"


def output(q, k, v, causal):
    """Some versions return the log-sum-exp as well."""
    result = flash_attn_func(q, k, v, causal=causal)
    return result[0] if isinstance(result, tuple) else result


def placed(x):
    return x.detach().transpose(1, 2).contiguous()


def attention(q, k, v, causal):
    tensors = [placed(x) for x in (q, k, v)]

    def launch():
        return output(*tensors, causal).transpose(1, 2)

    return launch


def gradients(q, k, v, grad, causal):
    """The backward pass alone."""
    tensors = [placed(x).requires_grad_() for x in (q, k, v)]
    o, do = output(*tensors, causal), placed(grad)

    def launch():
        return [x.transpose(1, 2) for x in torch.autograd.grad(o, tensors, do, retain_graph=True)]

    return launch
