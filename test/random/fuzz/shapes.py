# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grids, axes and sizes of random kernels."""
import math

from kernel import Counter
from values import Axis

TILES = (16, 32, 64, 8, 48, 3, 1, 7, 80, 100, 128, 130, 256)
WIDTHS = (16, 32, 64, 8, 48, 1, 3, 80, 128, 100)
MOST_PRODUCTS = 1 << 26


def extents_of(size):
    """Dims that tiles of this size cover wholly, or not; the simplest first."""
    extents = []
    for extent in (size, 2 * size, size + 1, 2 * size - 1, 3 * size + 2, max(1, size - 1), 8 * max(1, size // 8), 16, 40, 1, 67):
        while extent > min(300, 8 * size):      # some rounds: equal terms round alike, and many of them beyond what a bound allows
            extent //= 2
        extents.append(extent)
    return extents


def grown(k, extents, kind):
    """The extents among which a dim is chosen. Those of a large kernel are so many times as large, and as far from a multiple; elements of the
    grid and products of all dims stay so few that the reference takes seconds."""
    room = (k.most_elements if kind == "grid" else MOST_PRODUCTS) // math.prod(k.dims.values())
    factor = next(factor for factor in (k.scale, k.scale // 4, 1) if factor <= 1 or factor * max(extents) <= room)
    return [extent * factor + extent % factor for extent in extents]


def tile_axis(k, letter, kind, limit):
    """An axis of tiles; its dim is new. `limit` is what its tile may have at most."""
    with k.choices.span():
        sizes = [size for size in TILES if size <= limit] or [1]
        size = k.choices.pick(sizes)
        dim = letter.upper()
        extents = grown(k, extents_of(size), kind)
        extent = k.choices.pick(extents)
        if dim not in k.dims:
            k.dims[dim] = extent
            # Bounds of what values may get are those of the first case, the largest.
            k.others[dim] = [other for other in extents if other <= extent]
        text = str(size)
        if k.choices.chance(50):
            text = f"B{dim}"
            while k.tunes.setdefault(text, size) != size:
                text += "x"
        return Axis(letter, dim, k.dims[dim], size, text, letter, f"0..{dim}", kind)


def whole_axis(k, letter, limit, widths=None):
    """A dim that is known when compiling: of these widths, or of all that are not above the limit."""
    with k.choices.span():
        size = k.choices.pick(widths or [width for width in WIDTHS if width <= limit] or [1])
        dim = letter.upper()
        others = [str(size)] + (["16"] if size != 16 and k.choices.chance(15) else [])
        k.where.append(f"{dim} in {{{', '.join(others)}}}")
        k.dims[dim] = size
        k.others[dim] = [int(other) for other in others if int(other) <= size]
        return Axis(letter, dim, size, size, dim, ":", f"0..{dim}", "whole")


def batch(k):
    """The dim B, which an integer of the grid runs along."""
    k.dims["B"] = 1 + k.choices.below(3)
    k.others["B"] = range(1, k.dims["B"] + 1)


def grid(k):
    """The grid: its axes and counters; says the `parallel`."""
    parts = []
    k.ragged = None
    if k.choices.chance(30):
        batch(k)
        parts.append("b in 0..B")
        counter = Counter("b", "0..B", "B")
        k.counters.append(counter)
        k.scalars.append(counter)
    m = tile_axis(k, "m", "grid", 256)
    if k.choices.chance(20):
        m = ragged(k, m, parts)
    else:
        parts.append(f"m in tiles(M, {m.size_text})")
    k.axes.append(m)
    if k.choices.chance(65):
        n = tile_axis(k, "n", "grid", min(256, 16384 // max(m.size, 16)))
        parts.append(f"n in tiles(N, {n.size_text})")
        k.axes.append(n)
    for letter in "dh"[:k.choices.count(2, 30)]:
        k.axes.append(whole_axis(k, letter, 8192 // max(m.size, 16)))
    k.grid_axes = [axis for axis in k.axes if axis.kind == "grid"]
    k.lines.append(f"  parallel {', '.join(parts)} {{")


def bounds_of(k, dims):
    """Where each sequence begins and ends, of those that M is made of."""
    return str([0, *sorted(k.choices.below(dims["M"] + 1) for _ in range(dims["E"] - 1)), dims["M"]])


def ragged(k, m, parts):
    """Tiles between two numbers of a tensor."""
    k.dims["E"] = 1 + k.choices.below(4)
    k.params.append("o: i32[E + 1]")
    k.settings["o"] = bounds_of(k, k.dims)
    k.varied["o"] = bounds_of
    counter = Counter("e_", "0..E", "E")
    k.counters.append(counter)
    k.scalars.append(counter)
    k.ragged = counter
    parts += ["e_ in 0..E", f"m in tiles(o[e_], o[e_ + 1], {m.size_text})"]
    return Axis(m.name, m.dim, m.extent, m.size, m.size_text, m.tile, "o[e_]..o[e_ + 1]", "grid")
