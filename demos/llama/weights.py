# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The weights of a model, in bf16: from safetensors as Hugging Face keeps them, or random.

Weights that one product can take lie one above the other: those of queries, keys and values, and those of the MLP's gate and up.
"""

import json
from pathlib import Path

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        rows = (config.heads + 2 * config.key_heads) * config.head
        self.attention_norm, self.mlp_norm = _empty(config.width), _empty(config.width)
        self.qkv, self.out = _empty(rows, config.width), _empty(config.width, config.heads * config.head)
        self.gate_up, self.down = _empty(2 * config.inner, config.width), _empty(config.width, config.inner)
        self.qkv_bias = _empty(rows) if config.family == "qwen2" else None
        self.head_norms = _empty(2, config.head) if config.family == "qwen3" else None  # of queries and of keys


class Weights(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.table = _empty(config.vocabulary, config.width)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = _empty(config.width)
        self.head = self.table if config.is_tied else _empty(config.vocabulary, config.width)


def _empty(*shape):
    return nn.Parameter(torch.empty(*shape, dtype=torch.bfloat16), requires_grad=False)


def random_weights(config, device, seed=0, std=0.02):
    with torch.device(device):
        weights = Weights(config)
    generator = torch.Generator(device).manual_seed(seed)
    for name, one in weights.named_parameters():
        one.data.fill_(1) if "norm" in name else one.data.normal_(0, std, generator=generator)
    return weights


def read_weights(folder, config, device):
    """From `model.safetensors`, or the files that its index names. What is left over, or missing, is an error."""
    with torch.device(device):
        weights = Weights(config)
    read = _Reader(folder)
    read.into(weights.table, "model.embed_tokens.weight")
    for at, layer in enumerate(weights.layers):
        own, mlp = f"model.layers.{at}.self_attn.", f"model.layers.{at}.mlp."
        read.into(layer.attention_norm, f"model.layers.{at}.input_layernorm.weight")
        read.into(layer.mlp_norm, f"model.layers.{at}.post_attention_layernorm.weight")
        read.into(layer.qkv, *(f"{own}{one}_proj.weight" for one in "qkv"))
        read.into(layer.out, f"{own}o_proj.weight")
        read.into(layer.gate_up, f"{mlp}gate_proj.weight", f"{mlp}up_proj.weight")
        read.into(layer.down, f"{mlp}down_proj.weight")
        if layer.qkv_bias is not None:
            read.into(layer.qkv_bias, *(f"{own}{one}_proj.bias" for one in "qkv"))
        if layer.head_norms is not None:
            read.into(layer.head_norms[0], f"{own}q_norm.weight")
            read.into(layer.head_norms[1], f"{own}k_norm.weight")
    read.into(weights.norm, "model.norm.weight")
    if not config.is_tied:
        read.into(weights.head, "lm_head.weight")
    read.finish({"lm_head.weight"} if config.is_tied else set())
    return weights


class _Reader:
    def __init__(self, folder):
        self._folder, self._open = Path(folder), {}
        index = self._folder / "model.safetensors.index.json"
        if index.is_file():
            self._files = json.loads(index.read_text())["weight_map"]
        else:
            self._files = dict.fromkeys(self._file("model.safetensors").keys(), "model.safetensors")
        self._left = set(self._files)

    def _file(self, name):
        from safetensors import safe_open

        if name not in self._open:
            self._open[name] = safe_open(self._folder / name, framework="pt")
        return self._open[name]

    def into(self, parameter, *names):
        """The tensors of these names, one above the other, into a parameter of their rows."""
        begin = 0
        for name in names:
            if name not in self._left:
                raise ValueError(f"{self._folder}: there is no {name}")
            self._left.remove(name)
            tensor = self._file(self._files[name]).get_tensor(name)
            part = parameter.data[begin : begin + len(tensor)]
            if part.shape != tensor.shape:
                raise ValueError(f"{self._folder}: {name} is {list(tensor.shape)}, the configuration says {list(part.shape)}")
            part.copy_(tensor)
            begin += len(tensor)
        if begin != len(parameter):
            raise ValueError(f"{self._folder}: {', '.join(names)} have {begin} rows, the configuration says {len(parameter)}")

    def finish(self, known):
        left = sorted(self._left - known)
        if left:
            raise ValueError(f"{self._folder}: nothing is done with {', '.join(left[:3])} ({len(left)} tensors)")
