# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How decoding is split, for those who time it and those who predict it."""


def parts_of_keys(pairs, length, d):
    """How many parts decoding splits the keys of each pair of a sequence and a key head in. An H100 or H200 has 132 multiprocessors.

    - One block for each of them, with 256 keys or more a block; up to 8 parts may be of 160 keys.
    - Or nearly two blocks for each, in at most 8 parts: of 200 keys with heads of 64 elements, of 300 with heads of 128.
    - Or as many as two blocks for each allow, with 1000 keys a block (900 with heads of 64 elements).
    - Or 3 parts, with heads of 64 elements, where one part each would make one full round of blocks and a rest.

    It is the largest of these numbers. With heads of 128 elements, a second block for each of many pairs gains less than it
    costs to put two parts together, unless there are many keys. docs/notes/attention-splits.md has the times."""
    if d == 128 and pairs > 88 and length < 8192:
        return 1
    once = min(132 // pairs, max(min(8, length // 160), length // 256))
    twice = min(264 // pairs, 8, length // (200 if d == 64 and pairs <= 66 else 300))
    if pairs > (88 if d == 64 else 66) or pairs * twice < 190:
        twice = 1
    rest = 3 if d == 64 and 264 < pairs <= 400 and length >= 3000 else 1
    return max(1, once, twice, rest, min(264 // pairs, length // (900 if d == 64 else 1000)))
