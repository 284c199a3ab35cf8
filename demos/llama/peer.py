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
        for name in "kv":
            shape = (config.layers, batch, config.key_heads, longest, config.head)
            self.register_buffer(name, torch.zeros(shape, dtype=torch.bfloat16, device=device))

    def prefill(self, ids):
        return self(ids, 0)

    def decode(self, ids, position):
        return self(ids[:, None], position)

    def forward(self, ids, begin):
        """Logits of what follows tokens [B, N] at positions from `begin` on."""
        x = F.embedding(ids, self.weights.table)
        for at, layer in enumerate(self.weights.layers):
            x = self.layer(x, layer, self.k[at], self.v[at], begin)
        return F.linear(self._norm(x[:, -1], self.weights.norm), self.weights.head)

    def layer(self, x, layer, k_cache, v_cache, begin):
        config, (batch, length, _) = self.config, x.shape
        end = begin + length
        qkv = F.linear(self._norm(x, layer.attention_norm), layer.qkv, layer.qkv_bias)
        heads = qkv.view(batch, length, -1, config.head).transpose(1, 2)
        q, k, v = heads.split([config.heads, config.key_heads, config.key_heads], dim=1)
        if layer.head_norms is not None:
            q, k = self._norm(q, layer.head_norms[0]), self._norm(k, layer.head_norms[1])
        k_cache[:, :, begin:end], v_cache[:, :, begin:end] = self._turn(k, begin, end), v
        o = F.scaled_dot_product_attention(
            self._turn(q, begin, end), k_cache[:, :, :end], v_cache[:, :, :end], is_causal=length > 1, enable_gqa=True
        )
        x = x + F.linear(o.transpose(1, 2).reshape(batch, length, -1), layer.out)
        gate, up = F.linear(self._norm(x, layer.mlp_norm), layer.gate_up).chunk(2, dim=-1)
        return x + F.linear(F.silu(gate) * up, layer.down)

    def _norm(self, x, weight):
        return F.rms_norm(x, weight.shape, weight, self.config.eps)

    def _turn(self, x, begin, end):
        cosine, sine = self.cosine[begin:end], self.sine[begin:end]
        lo, hi = x.chunk(2, dim=-1)
        return torch.cat([lo * cosine - hi * sine, hi * cosine + lo * sine], dim=-1)
