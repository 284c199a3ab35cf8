# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RMSNorm and causal attention beside NumPy: on the GPU where PyTorch has one, elsewhere on tkc's interpreter."""

import importlib.util

import numpy as np

import tkc

torch = importlib.util.find_spec("torch") and __import__("torch")
on_gpu = bool(torch) and torch.cuda.is_available()


def tensor(values):  # of bf16
    return torch.from_numpy(values).cuda().bfloat16() if on_gpu else tkc.array(values, "bf16")


def values(tensor):
    return (tensor.float().cpu() if on_gpu else tensor).numpy().astype("float64")


norms, attention = (tkc.load(tkc.library / name) for name in ("norms.tk", "attention.tk"))
random = np.random.default_rng(0)
x, weight, q, k, v = (tensor(random.normal(size=size)) for size in [(5, 1024), 1024] + 3 * [(1, 2, 70, 64)])
y = norms.rms_norm(x, weight)
o, _ = attention.attn_fwd(q, k, v, 0.125, causal=True)

x, weight, y, q, k, v, o = map(values, (x, weight, y, q, k, v, o))
norm = x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6) * weight
scores = np.where(np.tri(70, dtype=bool), q @ k.swapaxes(2, 3) * 0.125, -np.inf)
weights = np.exp(scores - scores.max(3, keepdims=True))
exact = weights / weights.sum(3, keepdims=True) @ v
# bf16 rounds to 8 bits: y and o by half of 2^-7, the weights of the values by as much, and f32 sums by far less.
is_right = [abs(y - norm).max() <= 2**-8 * abs(norm).max(), abs(o - exact).max() <= 2**-7 * abs(v).max()]
print("on the GPU:" if on_gpu else "on the CPU:", *("right" if one else "wrong" for one in is_right))
