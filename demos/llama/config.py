# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model is, from the `config.json` that Hugging Face's transformers write."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict

import torch

FAMILIES = ("llama", "qwen2", "qwen3")


@dataclass
class Config:
    """The numbers of Llama-3-8B where nothing else is said."""

    family: str = "llama"
    layers: int = 32
    width: int = 4096
    inner: int = 14336
    heads: int = 32
    key_heads: int = 8
    head: int = 128
    vocabulary: int = 128256
    longest: int = 8192
    eps: float = 1e-5
    is_tied: bool = False
    rope: Dict[str, Any] = field(default_factory=lambda: {"rope_type": "default", "rope_theta": 500000.0})

    @property
    def group(self):
        """Query heads that share a key head."""
        return self.heads // self.key_heads


def read_config(folder):
    values = json.loads((Path(folder) / "config.json").read_text())
    family = values["model_type"]
    if family not in FAMILIES:
        raise ValueError(f"{folder}: the model is of type {family}; there are {', '.join(FAMILIES)}")
    if values.get("use_sliding_window") or values.get("hidden_act") != "silu":
        raise ValueError(f"{folder}: sliding windows, and activations other than silu, are not there")
    heads = values["num_attention_heads"]
    return Config(
        family=family,
        layers=values["num_hidden_layers"],
        width=values["hidden_size"],
        inner=values["intermediate_size"],
        heads=heads,
        key_heads=values.get("num_key_value_heads") or heads,
        head=values.get("head_dim") or values["hidden_size"] // heads,
        vocabulary=values["vocab_size"],
        longest=values["max_position_embeddings"],
        eps=values["rms_norm_eps"],
        is_tied=values.get("tie_word_embeddings", False),
        rope=_rope(values),
    )


def _rope(values):
    """transformers 5 have one table, those before two entries."""
    found = dict(values.get("rope_parameters") or values.get("rope_scaling") or {})
    found.setdefault("rope_theta", values.get("rope_theta", 10000.0))
    found["rope_type"] = found.get("rope_type") or found.get("type") or "default"
    return found


def rope_tables(config, device):
    """Cosines and sines of each position's angles, f32 [longest, head / 2]."""
    rates = config.rope["rope_theta"] ** (-torch.arange(0, config.head, 2, dtype=torch.float32) / config.head)
    kind = config.rope["rope_type"]
    if kind == "llama3":
        rates = _stretched(rates, config.rope)
    elif kind != "default":
        raise ValueError(f"rotary embedding of type {kind} is not there")
    angles = torch.arange(config.longest, dtype=torch.float32)[:, None] * rates
    return angles.cos().to(device), angles.sin().to(device)


def _stretched(rates, rope):
    """Llama-3.1: slow rotations are slowed down by a factor, fast ones stay, those between are blended."""
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    turns = rope["original_max_position_embeddings"] * rates / (2 * math.pi)
    blend = ((turns - low) / (high - low)).clamp(0, 1)
    return rates * (blend + (1 - blend) / rope["factor"])
