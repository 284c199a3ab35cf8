# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How decoding is split, for those who time it and those who predict it."""


def parts_of_keys(pairs, length, d):
    """How many parts decoding splits the keys of each pair of a sequence and a key head in: as many as give each of an H100's or
    H200's 132 multiprocessors a block, of 256 keys or more, or two, where they then have 1000 keys each. With heads of 128 elements,
    a second block for each of many pairs gains less than it costs to put two parts together, unless there are many keys."""
    if d == 128 and pairs > 88 and length < 8192:
        return 1
    return max(1, min(132 // pairs, length // 256), min(264 // pairs, length // 1000))
