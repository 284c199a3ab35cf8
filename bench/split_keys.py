# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How decoding is split, for those who time it and those who predict it."""
import math

MULTIPROCESSORS = 132  # of an H100 or H200
TILE = 64  # keys
# Microseconds by elements of a head: for a tile of keys of a block that waits for memory alone; for a tile where blocks on all
# multiprocessors share the memory's bandwidth, whatever their number, and for each of them; for each where blocks share a
# multiprocessor's; for a round of blocks that begins; for parts that are put together, for each of these, and what this takes longer
# where many blocks keep the next kernel from beginning early.
TIMES = {64: (0.56, 0.18, 0.40, 0.36, 1.0, 1.8, 0.027, 2.5), 128: (0.77, 0.03, 0.90, 0.59, 1.6, 3.0, 0.04, 2.0)}
MANY_BLOCKS = 512  # runtime/include/tk/sync.h, launch_dependents


def blocks_at_once(blocks, length, d):
    """How many blocks, each with so many keys, a multiprocessor has at a time: as kernels/extra/decode.tk chooses."""
    two, three = (-(-blocks // (each * MULTIPROCESSORS)) * each for each in (2, 3))
    return 2 if d == 128 or length >= 1024 and blocks > 3 * MULTIPROCESSORS and two < three else 3


def time_of(parts, pairs, length, d):
    """About how many microseconds decoding takes with so many parts, beside what it takes with any."""
    waiting, fixed, shared, own, begin, together, part, late = TIMES[d]
    blocks, tiles = pairs * parts, math.ceil(math.ceil(length / parts) / TILE)
    at_once = blocks_at_once(blocks, length / parts, d)
    rounds, rest = divmod(blocks / MULTIPROCESSORS, at_once)

    def of_round(each):
        return tiles * max(waiting, fixed + shared * each, own * math.ceil(each))

    combined = together + part * parts + (late if blocks > MANY_BLOCKS else 0)
    return rounds * (of_round(at_once) + begin) + of_round(rest) * (rest > 0) + (combined if parts > 1 else 0)


def parts_of_keys(pairs, length, d):
    """How many parts decoding splits the keys of each pair of a sequence and a key head in, on an H100 or H200: those that take least
    time by `time_of`. Its numbers are fitted to times of shapes with several numbers of parts each (docs/notes/attention-splits.md)."""
    most = max(1, min(length // TILE, 6 * MULTIPROCESSORS // pairs))
    return min(range(1, most + 1), key=lambda parts: time_of(parts, pairs, length, d))
