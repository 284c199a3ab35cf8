# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the kernels of two builds of the library in turns, in one process: what a change of the compiler does to speed.

    TKC=old/tkc bench/build.sh OLD; bench/build.sh NEW      # where tkc and nvcc are
    python3 bench/old_new.py OLD NEW [--parts …] [--only …] # on the GPU

A row's ratio is the old time over the new one, so that 0.98 is 2 % slower. Ends with the least row and exit status 1 where one is below --least.
Rows whose library is missing in either folder are left out."""
import argparse
import sys
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend

import attentions
import memory_bound
import products
from side_by_side import Bench, Library

PARTS = {part.__name__: part for table in (products, attentions, memory_bound) for part in table.PARTS}


class Pair:
    """A library in both builds. What it binds is the new function; its attribute `before` is the old one."""

    def __init__(self, old, new):
        self.old, self.new = Library(old), Library(new)

    def workspace_bytes(self, program, *values):
        return max(library.workspace_bytes(program, *values) for library in (self.old, self.new))

    def bind(self, name, *values):
        launch = self.new.bind(name, *values)
        launch.before = self.old.bind(name, *values)
        return launch


class OldNew(Bench):
    def __init__(self, old, new, rounds, only):
        super().__init__(new, rounds, only)
        self.old = Path(old)

    def library(self, name):
        return Pair(self.old / f"{name}.so", self.folder / f"{name}.so")

    def row(self, work, ours, theirs, check, flops=0, moved=0, limit=2e-2, theirs_flops=0, beside=None):
        if hasattr(ours, "before"):
            super().row(work, ours, ours.before, check, flops, moved, limit)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="where bench/build.sh put the libraries of the old tkc")
    parser.add_argument("new", help="and of the new one")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, help="kinds of work; all if left out")
    parser.add_argument("--only", nargs="*", default=[], help="rows whose name contains one of these")
    parser.add_argument("--least", type=float, default=0.98, help="the ratio below which a row is a failure")
    options = parser.parse_args()
    bench = OldNew(options.old, options.new, options.rounds, options.only)
    bench.attention = SDPBackend.CUDNN_ATTENTION
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    for name in options.parts:
        try:
            PARTS[name](bench)
        except (OSError, AttributeError, RuntimeError) as problem:  # a library that was not built
            print(f"{name}: {problem}", flush=True)
    timed = [row for row in bench.rows if "ratio" in row]
    if not timed:
        sys.exit("nothing was timed")
    least = min(timed, key=lambda row: row["ratio"])
    print(f"{len(timed)} rows, least: {least['work']} {least['ratio']:.3f}")
    return 0 if least["ratio"] >= options.least and all(row.get("right") for row in bench.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
