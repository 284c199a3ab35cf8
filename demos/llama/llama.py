# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference by tkc's kernels: prompts are read whole, then tokens come one at a time from a paged cache."""

from dataclasses import dataclass
from pathlib import Path

import torch

import tkc
from config import read_config, rope_tables
from weights import read_weights

PAGE = 64  # tokens
_PARTS = 264  # blocks that keep a GPU's multiprocessors busy, two for each of 132


class Cache:
    """Keys and values of all layers, in pages of 64 tokens that sequences take as they grow."""

    def __init__(self, config, pages, device):
        shape = (config.layers, pages, PAGE, config.key_heads, config.head)
        self.k, self.v = (torch.zeros(shape, dtype=torch.bfloat16, device=device) for _ in range(2))
        self._free = list(range(pages))
        self._device = device

    def grow(self, sequence, length):
        """`sequence`, a list of pages, has place for `length` tokens afterwards."""
        while len(sequence) * PAGE < length:
            if not self._free:
                raise RuntimeError("the cache has no page left")
            sequence.append(self._free.pop())

    def release(self, sequence):
        self._free += sequence
        sequence.clear()

    def slots(self, sequence, begin, end):
        """Where the tokens from `begin` to `end` lie, i32."""
        places = [sequence[at // PAGE] * PAGE + at % PAGE for at in range(begin, end)]
        return torch.tensor(places, dtype=torch.int32, device=self._device)

    def layer(self, at):
        """Keys and values of one layer with their pages end to end."""
        return self.k[at].flatten(0, 1), self.v[at].flatten(0, 1)


@dataclass
class Step:
    """One new token for each sequence of a batch. `lens` counts that token, too."""

    ids: torch.Tensor  # i64 [B]
    positions: torch.Tensor  # i32 [B]
    slots: torch.Tensor  # i32 [B]
    pages: torch.Tensor  # i32 [B, X]
    lens: torch.Tensor  # i32 [B]

    @classmethod
    def of(cls, cache, sequences, lengths, ids):
        """`lengths` are those before. The sequences have place for one token more."""
        device = ids.device
        pages = torch.zeros(len(sequences), max(map(len, sequences)), dtype=torch.int32)
        for row, one in zip(pages, sequences):
            row[: len(one)] = torch.tensor(one)
        positions = torch.tensor(lengths, dtype=torch.int32, device=device)
        slots = torch.cat([cache.slots(one, length, length + 1) for one, length in zip(sequences, lengths)])
        return cls(ids, positions, slots, pages.to(device), positions + 1)


class Llama:
    """A model of Llama's kind: Llama-3, Qwen-2.5, Qwen-3. Logits are bf16 [sequences, vocabulary]."""

    def __init__(self, config, weights):
        self.config, self.weights = config, weights
        self.device = weights.table.device
        self._cosine, self._sine = rope_tables(config, self.device)
        self._own = tkc.load(Path(__file__).with_name("llama.tk"))
        self._attention = tkc.load(tkc.library / "attention.tk")
        self._embedding = tkc.load(tkc.library / "extra" / "embedding.tk")
        norms = tkc.load(tkc.library / "norms.tk")
        self._norm = norms.rms_norm if config.width in (1024, 2048, 4096, 8192) else norms.rms_norm_any

    @classmethod
    def read(cls, folder, device):
        """From a folder with `config.json` and safetensors."""
        config = read_config(folder)
        return cls(config, read_weights(folder, config, device))

    def prefill(self, ids, slots, cache):
        """Reads prompts of one length, ids [B, N], into the cache. Logits of what follows each."""
        batch, length = ids.shape
        config = self.config
        positions = torch.arange(length, dtype=torch.int32, device=self.device).repeat(batch)

        def attend(at, qkv):
            heads = qkv.view(batch, length, -1, config.head).transpose(1, 2)
            q, k, v = heads.split([config.heads, config.key_heads, config.key_heads], dim=1)
            o = torch.empty(batch, length, config.heads, config.head, dtype=q.dtype, device=q.device)
            lse = torch.empty(batch, config.heads, length, device=q.device)
            self._attention.attn_fwd(q, k, v, config.head**-0.5, causal=True, o=o.transpose(1, 2), lse=lse)
            return o

        x = self._layers(ids.flatten(), positions, slots, cache, attend)
        return self._logits(x.view(batch, length, -1)[:, -1])

    def decode(self, step, cache):
        """One token more for each sequence."""
        config = self.config
        parts = min(step.pages.shape[1], max(1, _PARTS // (len(step.ids) * config.key_heads)))

        def attend(at, qkv):
            q = qkv[:, : config.heads]
            k, v, scale = cache.k[at], cache.v[at], config.head**-0.5
            return self._own.paged_decode(q, k, v, step.pages, step.lens, scale, parts, R=config.group)

        return self._logits(self._layers(step.ids, step.positions, step.slots, cache, attend))

    def _layers(self, ids, positions, slots, cache, attend):
        config, own = self.config, self._own
        x = self._embedding.embedding(self.weights.table, ids)
        for at, layer in enumerate(self.weights.layers):
            n = self._norm(x, layer.attention_norm, eps=config.eps)
            qkv = self._linear(n, layer.qkv, layer.qkv_bias).view(len(x), -1, config.head)
            k, v = cache.layer(at)
            own.rotate(qkv, positions, slots, self._cosine, self._sine, layer.head_norms, k, v, eps=config.eps)
            x = self._linear(attend(at, qkv).view(len(x), -1), layer.out, residual=x)
            n = self._norm(x, layer.mlp_norm, eps=config.eps)
            x = self._linear(self._swiglu(n, layer.gate_up), layer.down, residual=x)
        return x

    def _logits(self, x):
        return self._linear(self._norm(x, self.weights.norm, eps=self.config.eps), self.weights.head)

    def _linear(self, x, w, bias=None, residual=None):
        """One token is multiplied by itself, several are a matrix."""
        if len(x) > 1:
            return self._own.linear(x, w, bias, residual)
        return self._own.vector_linear(x[0], w, bias, None if residual is None else residual[0])[None]

    def _swiglu(self, x, gate_up):
        gate, up = gate_up.chunk(2)
        return self._own.swiglu(x, gate, up) if len(x) > 1 else self._own.vector_swiglu(x[0], gate, up)[None]

    def generate(self, prompts, count):
        """The likeliest `count` tokens after each prompt, a list of lists of numbers of tokens."""
        lengths, sequences = [len(one) for one in prompts], [[] for _ in prompts]
        pages = sum((length + count + PAGE - 1) // PAGE for length in lengths)
        cache = Cache(self.config, pages, self.device)
        found = []
        for prompt, sequence in zip(prompts, sequences):
            cache.grow(sequence, len(prompt))
            ids = torch.tensor([prompt], device=self.device)
            found.append(self.prefill(ids, cache.slots(sequence, 0, len(prompt)), cache).argmax(1))
        results = [torch.cat(found)]
        for _ in range(count - 1):
            for sequence, length in zip(sequences, lengths):
                cache.grow(sequence, length + 1)
            step = Step.of(cache, sequences, lengths, results[-1])
            results.append(self.decode(step, cache).argmax(1))
            lengths = [length + 1 for length in lengths]
        return torch.stack(results, dim=1).tolist()
