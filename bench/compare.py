# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times kernels of the library beside what PyTorch calls for the same work, in one process.

    bench/build.sh OUT            # where tkc and nvcc are: one shared library a .tk file
    python3 bench/compare.py OUT  # on the GPU: checks each result, then times both sides in turns

Attention is also timed beside FlashAttention-3 where its package is installed (flash3.py).
Prints a row for each work; with --json, --table and --chart writes them for programs and for people, too."""
import argparse
import json
import math
import sys
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend

import attentions
import chart
import memory_bound
import products
import variations
from side_by_side import Bench

PARTS = {part.__name__: part for table in (products, attentions, memory_bound, variations) for part in table.PARTS}


def summary(rows):
    """The geometric mean of the ratios of each kind of work: what stands before the first figure in its name."""
    kinds = {}
    for row in rows:
        if "ratio" in row:
            kinds.setdefault(chart.kind_of(row["work"]), []).append(row["ratio"])
    for kind, ratios in kinds.items():
        print(f"{kind:42} geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} of {len(ratios)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="where bench/build.sh put the libraries")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, help="kinds of work; all if left out")
    parser.add_argument("--only", nargs="*", default=[], help="rows whose name contains one of these")
    parser.add_argument("--attention", choices=["cudnn", "flash"], default="cudnn",
                        help="what attention is compared with: cuDNN, or PyTorch's FlashAttention-2")
    parser.add_argument("--triton", action="store_true",
                        help="also beside Triton's tutorial kernels, which takes minutes to tune, where Triton is installed")
    parser.add_argument("--json", type=Path, help="writes the rows here")
    parser.add_argument("--chart", type=Path, help="writes a picture (SVG) of the ratios here")
    parser.add_argument("--table", type=Path, help="writes the rows (Markdown) here")
    options = parser.parse_args()
    bench = Bench(options.folder, options.rounds, options.only, ["flash3"] + ["triton_kernels"] * options.triton)
    bench.attention = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}[options.attention]
    device = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    print(device, flush=True)
    for name in options.parts:
        try:
            PARTS[name](bench)
        except (OSError, AttributeError, RuntimeError) as problem:  # a library that was not built
            print(f"{name}: {problem}", flush=True)
    summary(bench.rows)
    if options.json:
        options.json.write_text(json.dumps({"device": device, "rounds": options.rounds, "rows": bench.rows}, indent=1))
    if options.chart:
        options.chart.write_text(chart.draw(device, bench.rows))
    if options.table:
        options.table.write_text(chart.table(bench.rows))
    return 0 if all(row.get("right") for row in bench.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
