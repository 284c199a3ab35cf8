# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens a second of tkc's kernels and of torch.compile, at Llama-3-8B's shapes with random weights.

    python3 demos/llama/bench.py

Prefill is of one prompt. Decoding adds one token to each sequence of a batch, at a fixed length of context, as a CUDA graph
on both sides. The logits of both are compared, too. Needs a GPU.
"""

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from config import Config
from llama import PAGE, Cache, Llama, Step
from peer import Peer
from weights import random_weights


def compile_ahead(model):
    """What the calls need, on all processors. Without it each first call compiles its own."""
    own, group = model._own, {"D": model.config.head, "R": model.config.group}
    wanted = [(own.linear, {}), (own.vector_linear, {}), (own.swiglu, {}), (own.vector_swiglu, {})]
    wanted += [(own.rotate, {"D": model.config.head}), (own.paged_decode, group)]
    wanted += [(model._attention.attn_fwd, {"D": model.config.head, "causal": True}), (model._embedding.embedding, {})]
    wanted += [(model._norm, {"T": "bf16", **({"C": model.config.width} if "C" in model._norm.signature.choices else {})})]
    with ThreadPoolExecutor(len(wanted)) as pool:
        list(pool.map(lambda one: one[0].compile(**one[1]), wanted))


def seconds(function, rounds):
    """Of one call, the median of rounds."""
    times = []
    for _ in range(rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        function()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return sorted(times)[rounds // 2]


def captured(function):
    """The function as a CUDA graph, and what it returned."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()
    return graph.replay, result


class Bench:
    def __init__(self, options):
        self.options, self.rows = options, []
        self.config = Config(layers=options.layers, longest=max(8192, options.context, options.prompt))
        self.weights = random_weights(self.config, "cuda")
        self.model = Llama(self.config, self.weights)

    def prefill(self):
        length = self.options.prompt
        ids = torch.randint(self.config.vocabulary, (1, length), device="cuda")
        cache, sequence = Cache(self.config, -(-length // PAGE), "cuda"), []
        cache.grow(sequence, length)
        slots = cache.slots(sequence, 0, length)

        def theirs():
            peer = Peer(self.config, self.weights, 1, length)
            function = torch.compile(peer, fullgraph=True)
            return lambda: function(ids, 0)

        self.compare(f"prefill 1×{length}", length, lambda: lambda: self.model.prefill(ids, slots, cache), theirs, False)

    def decode(self, batch):
        """Its last token is decoded again and again."""
        length = self.options.context
        pages = -(-length // PAGE)
        cache, sequences = Cache(self.config, batch * pages, "cuda"), [[] for _ in range(batch)]
        for one in [one for _ in range(pages) for one in sequences]:  # pages of sequences lie mixed
            cache.grow(one, len(one) * PAGE + 1)
        cache.k.normal_()
        cache.v.normal_()
        ids = torch.randint(self.config.vocabulary, (batch,), device="cuda")
        step = Step.of(cache, sequences, [length - 1] * batch, ids)

        def theirs():
            peer = Peer(self.config, self.weights, batch, length)
            for dense, paged in ((peer.k, cache.k), (peer.v, cache.v)):
                for at in range(self.config.layers):
                    rows = paged[at][step.pages.long()].flatten(1, 2)[:, :length]
                    dense[at].copy_(rows.transpose(1, 2))
            function = torch.compile(peer, fullgraph=True)
            return lambda: function(ids[:, None], length - 1)

        self.compare(f"decode {batch}×1 at {length}", batch, lambda: lambda: self.model.decode(step, cache), theirs, True)

    @torch.no_grad()
    def compare(self, work, tokens, ours, theirs, is_captured):
        row, logits = {"work": work}, {}
        for name, make in (("tkc", ours), ("torch.compile", theirs)):
            begun = time.perf_counter()
            function = make()
            logits[name] = function().float()
            torch.cuda.synchronize()
            row[f"{name} first call"] = time.perf_counter() - begun
            if is_captured:
                function, logits[name] = captured(function)
            function()
            row[name] = tokens / seconds(function, self.options.rounds)
            logits[name] = logits[name].float()
        ours, theirs = logits.values()
        row["apart"] = ((ours - theirs).norm() / theirs.norm()).item()
        self.rows.append(row)
        print(f"{work:24} {row['tkc']:10.0f} {row['torch.compile']:14.0f} {row['tkc'] / row['torch.compile']:7.3f} "
              f"{row['apart']:8.4f}   first calls {row['tkc first call']:.0f} and {row['torch.compile first call']:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--prompt", type=int, default=4096, help="tokens of the prompt")
    parser.add_argument("--context", type=int, default=4096, help="tokens that a decoded one sees")
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 16], help="sequences that are decoded together")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="writes the rows here")
    options = parser.parse_args()
    torch.manual_seed(0)
    begun = time.perf_counter()
    bench = Bench(options)
    compile_ahead(bench.model)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, tkc's kernels compiled in {time.perf_counter() - begun:.0f} s")
    print(f"{'tokens a second':24} {'tkc':>10} {'torch.compile':>14} {'ratio':>7} {'apart':>8}", flush=True)
    for batch in options.batches:
        bench.decode(batch)
        torch.cuda.empty_cache()
    bench.prefill()
    if options.json:
        options.json.write_text(json.dumps(bench.rows))


if __name__ == "__main__":
    main()
