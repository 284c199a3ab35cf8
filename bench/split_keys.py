# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How decoding is split, for those who time it and those who predict it."""
import math


def parts_of_keys(pairs, length):
    """How many parts decoding splits the keys of each pair of a sequence and a key head in: the shorter a part, the less is left
    for the last; the fewer, the less begins and ends. One where pairs alone fill an H200 twice."""
    return 1 if pairs >= 2 * 132 else max(1, 2 ** math.ceil(math.log2(length / pairs / 8) / 2))
