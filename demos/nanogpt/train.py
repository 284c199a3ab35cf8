# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains nanoGPT with tkc's kernels and with PyTorch's under torch.compile, from the same seed on the same batches.

    python3 demos/nanogpt/train.py kjv.txt --chart loss.svg --json loss.json

Prints the losses of both, and their steps a second. Needs a GPU, or --device cpu and patience.
"""

import argparse
import json
import time
from pathlib import Path

import torch

from chart import write_chart
from gpt import GPT, Config, by_tkc, by_torch
from text import Text


class Optimiser:
    """AdamW on weights in f32, of which the model has roundings."""

    def __init__(self, model, steps, rate=6e-4, warm_up=50):
        self._rounded = list(model.parameters())
        self._exact = [torch.nn.Parameter(one.detach().float()) for one in self._rounded]
        groups = [
            {"params": [one for one in self._exact if one.dim() == 2], "weight_decay": 0.1},
            {"params": [one for one in self._exact if one.dim() == 1], "weight_decay": 0.0},
        ]
        is_fused = self._exact[0].is_cuda
        self._adam = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=is_fused)
        self._rate = lambda step: rate * min((step + 1) / warm_up, 1 - 0.9 * max(step - warm_up, 0) / max(steps - warm_up, 1))
        for one in self._exact:
            one.grad = torch.empty_like(one)

    def step(self, at):
        for group in self._adam.param_groups:
            group["lr"] = self._rate(at)
        torch._foreach_copy_([one.grad for one in self._exact], [one.grad for one in self._rounded])
        norm = torch.nn.utils.clip_grad_norm_(self._exact, 1.0, foreach=True)
        self._adam.step()
        with torch.no_grad():
            torch._foreach_copy_(self._rounded, self._exact)
        for one in self._rounded:
            one.grad = None
        return norm


def train(options, ops, is_compiled):
    """The loss of each step, that of the validation text at the end, and the seconds of a step."""
    device = options.device
    text = Text(options.text, options.length, device)
    config = Config(text.vocabulary, options.length, options.layers, options.width)
    model = GPT(config).initialise(options.seed).to(device)
    optimiser = Optimiser(model, options.steps)
    loss_of = torch.compile(model, fullgraph=True) if is_compiled else model
    drawn = torch.Generator().manual_seed(options.seed)
    losses, begun, warm = [], 0.0, min(20, options.steps // 2)
    for step in range(options.steps):
        if step == warm:
            _synchronise(device)
            begun = time.perf_counter()
        loss = loss_of(*text.batch("training", options.batch, drawn), ops)
        loss.backward()
        optimiser.step(step)
        losses.append(loss.detach())
    _synchronise(device)
    seconds = (time.perf_counter() - begun) / (options.steps - warm)
    return {
        "losses": torch.stack(losses).float().tolist(),
        "validation": _validate(options, text, model, ops),
        "seconds": seconds,
    }


def _validate(options, text, model, ops):
    drawn = torch.Generator().manual_seed(options.seed + 1)
    with torch.no_grad():
        losses = [model(*text.batch("validation", options.batch, drawn), ops) for _ in range(options.validation)]
    return torch.stack(losses).float().mean().item()


def _synchronise(device):
    if device == "cuda":
        torch.cuda.synchronize()


def report(runs, tokens):
    """`tokens` are those of a step."""
    last = {name: sum(run["losses"][-20:]) / len(run["losses"][-20:]) for name, run in runs.items()}
    print(f"{'':14} {'first loss':>10} {'last 20':>9} {'validation':>10} {'steps/s':>8} {'tokens/s':>10}")
    for name, run in runs.items():
        rate = 1 / run["seconds"]
        print(f"{name:14} {run['losses'][0]:10.4f} {last[name]:9.4f} {run['validation']:10.4f} {rate:8.2f} {rate * tokens:10.0f}")
    if len(runs) == 2:
        ours, theirs = runs.values()
        print(f"validation loss apart by {abs(ours['validation'] - theirs['validation']):.4f}; "
              f"{theirs['seconds'] / ours['seconds']:.3f} of the speed of torch.compile")


SIDES = {"tkc": False, "torch.compile": True}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="a file of text (text.py makes one)")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=32, help="sequences a step")
    parser.add_argument("--length", type=int, default=1024, help="tokens a sequence")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768, choices=(128, 768))
    parser.add_argument("--validation", type=int, default=20, help="batches at the end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sides", nargs="*", choices=SIDES, default=list(SIDES))
    parser.add_argument("--json", type=Path, help="writes the losses here")
    parser.add_argument("--chart", type=Path, help="writes a picture (SVG) of them here")
    options = parser.parse_args(arguments)
    runs = {}
    for name in options.sides:
        begun = time.perf_counter()
        ops = by_tkc(options.width if options.device == "cuda" else None) if name == "tkc" else by_torch
        print(f"{name}: ready after {time.perf_counter() - begun:.0f} s", flush=True)
        runs[name] = train(options, ops, is_compiled=SIDES[name])
        report({name: runs[name]}, options.batch * options.length)
    report(runs, options.batch * options.length)
    if options.json:
        options.json.write_text(json.dumps(runs))
    if options.chart:
        write_chart(options.chart, {name: run["losses"] for name, run in runs.items()})
    return runs


if __name__ == "__main__":
    main()
