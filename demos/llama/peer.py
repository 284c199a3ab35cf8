# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same model by PyTorch's own functions, with a dense cache: what torch.compile gets, for times beside it."""

import torch
import torch.nn.functional as F
from torch import nn

from config import rope_tables


class Peer(nn.Module):
    def __init__(self, config, weights, batch, longest):
        super().__init__()
        self.config, self.weights = config, weights
        device = weights.table.device
        cosine, sine = rope_tables(config, device)
        self.register_buffer("cosine", cosine.bfloat16())
        self.register_buffer("sine", sine.bfloat16())
        # A buffer for each layer: of one buffer for all, a compiled step would copy the whole for each layer's tokens.
        shape = (batch, config.key_heads, longest, config.head)
        for at in range(config.layers):
            for name in "kv":
                self.register_buffer(f"{name}{at}", torch.zeros(shape, dtype=torch.bfloat16, device=device))

    @property
    def k(self):
        return [getattr(self, f"k{at}") for at in range(self.config.layers)]

    @property
    def v(self):
        return [getattr(self, f"v{at}") for at in range(self.config.layers)]

    def prefill(self, ids):
        return self(ids, 0)

    def decode(self, ids, position):
        return self(ids[:, None], position)

    def forward(self, ids, begin):
        """Logits of what follows tokens [B, N] at positions from `begin` on."""
        x = F.embedding(ids, self.weights.table)
        for at, layer in enumerate(self.weights.layers):
            x = self.layer(x, layer, getattr(self, f"k{at}"), getattr(self, f"v{at}"), begin)
        return F.linear(self._norm(x[:, -1], self.weights.norm), self.weights.head)

    def layer(self, x, layer, k_cache, v_cache, begin):
        config, (batch, length, _) = self.config, x.shape
        end = begin + length
        qkv = F.linear(self._norm(x, layer.attention_norm), layer.qkv, layer.qkv_bias)
        heads = qkv.view(batch, length, -1, config.head).transpose(1, 2)
        q, k, v = heads.split([config.heads, config.key_heads, config.key_heads], dim=1)
        if layer.head_norms is not None:
            q, k = self._norm(q, layer.head_norms[0]), self._norm(k, layer.head_norms[1])
        places = torch.arange(begin, end, device=x.device)
        k_cache.index_copy_(2, places, self._turn(k, begin, end))
        v_cache.index_copy_(2, places, v)
        q, k, v = self._turn(q, begin, end), k_cache[:, :, :end], v_cache[:, :, :end]
        if length > 1:
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        else:
            o = self._of_one(q, k, v)
        x = x + F.linear(o.transpose(1, 2).reshape(batch, length, -1), layer.out)
        gate, up = F.linear(self._norm(x, layer.mlp_norm), layer.gate_up).chunk(2, dim=-1)
        return x + F.linear(F.silu(gate) * up, layer.down)

    def _of_one(self, q, k, v):
        """Attention of a query each: products of the heads that share a key. That reads the cache where it lies."""
        q = q.reshape(*k.shape[:2], -1, q.shape[-1])
        scores = (q @ k.mT).float() * q.shape[-1] ** -0.5
        return (scores.softmax(-1).to(v.dtype) @ v).reshape(q.shape[0], -1, 1, q.shape[-1])

    def _norm(self, x, weight):
        return F.rms_norm(x, weight.shape, weight, self.config.eps)

    def _turn(self, x, begin, end):
        cosine, sine = self.cosine[begin:end], self.sine[begin:end]
        lo, hi = x.chunk(2, dim=-1)
        return torch.cat([lo * cosine - hi * sine, hi * cosine + lo * sine], dim=-1)
