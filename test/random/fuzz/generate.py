#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random well-typed .tk kernels and programs, each with a reference in index notation and a case: generate.py SEED COUNT.

Seed `fresh` takes one from the clock; the seed is the first line."""
import sys

import seeds
import statements
from choices import Choices
from kernel import Kernel


def make(choices, name, scale=1):
    """The kernel that these choices make; its dims are so many times as large, where the reference can take it."""
    k = Kernel(choices, name, scale)
    statements.kernel(k)
    return k


if __name__ == "__main__":
    seed = seeds.seed_of(sys.argv[1])
    print(f"// random kernels, seed {seed}")
    for number in range(int(sys.argv[2])):
        print(make(Choices(f"{seed}/{number}"), f"k{number}").text())
