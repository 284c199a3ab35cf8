# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nanoGPT: GPT-2 without biases, in bf16. What computes it comes from outside: `by_torch`, or the operators of gpt.tk.

Both have four functions: `embed`, `attention_block`, `mlp_block` and `head`. Those of gpt.tk return more than the result:
what the backward pass needs.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    vocabulary: int = 256
    length: int = 1024
    layers: int = 12
    width: int = 768
    head: int = 64


class Block(nn.Module):
    """The weights of one."""

    def __init__(self, config):
        super().__init__()
        width = config.width
        self.attention_norm, self.mlp_norm = (nn.Parameter(torch.ones(width)) for _ in range(2))
        self.qkv, self.out, self.up, self.down = (
            nn.Parameter(torch.empty(*shape))
            for shape in [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)]
        )


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.table = nn.Parameter(torch.empty(config.vocabulary, config.width))
        self.places = nn.Parameter(torch.empty(config.length, config.width))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.Parameter(torch.ones(config.width))

    def initialise(self, seed):
        """As nanoGPT does: smaller where a block adds to the stream."""
        generator = torch.Generator().manual_seed(seed)
        for name, weights in self.named_parameters():
            if weights.dim() == 2:
                adds = name.endswith(("out", "down"))
                std = 0.02 / (2 * self.config.layers) ** 0.5 if adds else 0.02
                weights.data.normal_(0, std, generator=generator)
        return self.to(torch.bfloat16)

    def forward(self, ids, target, ops):
        """The mean loss."""
        x = _first(ops.embed(self.table, self.places, ids))
        for block in self.blocks:
            x = _first(ops.attention_block(x, block.attention_norm, block.qkv, block.out))
            x = _first(ops.mlp_block(x, block.mlp_norm, block.up, block.down))
        return _first(ops.head(x, self.norm, self.table, target)).mean()


def _first(results):
    return results if isinstance(results, torch.Tensor) else results[0]


def by_tkc(width=None):
    """Operators of PyTorch, which autograd differentiates by what gpt.tk declares. With a width, what a GPU runs for it is
    compiled now, on all processors; else each operator is at its first call."""
    import tkc.torch

    here = Path(__file__).parent
    module = tkc.load(here / "gpt.tk", schedules=[here / "h100.tks"])
    if width:
        constants = {"embed": {}, "attention_block": {"C": width}, "mlp_block": {"C": width}, "head": {"C": width}}
        wanted = [(name + end, chosen) for name, chosen in constants.items() for end in ("", "_backward")]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda one: module[one[0]].compile(**one[1]), wanted))
    return tkc.torch.register(module)


class by_torch:
    """PyTorch's own functions."""

    @staticmethod
    def embed(table, places, ids):
        return F.embedding(ids, table) + places[: ids.shape[1]]

    @staticmethod
    def attention_block(x, weight, w_qkv, w_out):
        batch, length, width = x.shape
        qkv = F.linear(F.layer_norm(x, (width,), weight), w_qkv)
        q, k, v = (one.view(batch, length, -1, 64).transpose(1, 2) for one in qkv.split(width, dim=2))
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + F.linear(o.transpose(1, 2).reshape(x.shape), w_out)

    @staticmethod
    def mlp_block(x, weight, w_up, w_down):
        return x + F.linear(F.gelu(F.linear(F.layer_norm(x, x.shape[-1:], weight), w_up)), w_down)

    @staticmethod
    def head(x, weight, table, target):
        logits = F.linear(F.layer_norm(x, x.shape[-1:], weight), table)
        return F.cross_entropy(logits.flatten(0, 1).float(), target.flatten(), reduction="none")
