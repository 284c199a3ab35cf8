# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers of four bits, two of which share a byte: weights that are widened on their way, and rows that are narrowed."""
import expressions
from expressions import squash
from shapes import grown
from values import Axis, Value, combine, shape_text

TYPES = ("u4", "i4")
TILES = (16, 32, 64, 8, 48, 128, 80, 2, 256)


def even_axis(k, letter, kind, limit):
    """An axis whose dim, with its tiles, is a multiple of two."""
    with k.choices.span():
        size = k.choices.pick([size for size in TILES if size <= limit])
        extents = grown(k, [min(extent, 256) for extent in (size, 2 * size, size + 2, 3 * size - 2, 8, 40, 2, 66)], kind)
        dim = letter.upper()
        k.dims[dim] = k.choices.pick(extents)
        k.others[dim] = [extent for extent in extents if extent <= k.dims[dim]]
        return Axis(letter, dim, k.dims[dim], size, str(size), letter, f"0..{dim}", kind)


def head(k):
    k.axes += [even_axis(k, letter, "grid", 128) for letter in "mn"]
    k.grid_axes = list(k.axes)
    k.lines.append(f"  parallel {', '.join(f'{axis.name} in tiles({axis.dim}, {axis.size_text})' for axis in k.axes)} {{")
    return k.axes


def finish(k, value, types):
    k.outs.append(f"out y0: {k.choices.pick(types)}[M, N]")
    k.say(f"y0[m, n] = {value.tile};")
    k.outputs.append(f"y0[m, n] = {value.element};")
    k.lines.append("  }")


def weights(k):
    """A product with weights of four bits, as they are, or with scales and zero points of their rows; on one side or both."""
    m, n = head(k)
    kk = even_axis(k, "k", "loop", 128)
    wide = k.choices.pick(("bf16", "f16", "i8"))
    fill = "integers(lo = -9, hi = 9)" if wide == "i8" else None
    a = k.tensor(["M", "K"], k.choices.pick(TYPES)) if k.choices.chance(20) else k.tensor(["M", "K"], wide, fill)
    turned = k.choices.chance(75)       # stored with what is contracted contiguous
    pad = "integers(lo = 0, hi = 7, pad = 2)" if k.choices.chance(20) else None
    b, places = k.tensor(["N", "K"] if turned else ["K", "N"], k.choices.pick(TYPES), pad), "n, k" if turned else "k, n"
    tile = element = f"{b}[{places}]"
    side = "col" if turned else "row"
    if wide != "i8" and k.choices.chance(40):
        zero = k.tensor(["N"], k.choices.pick(("f32", *TYPES)))
        tile, element = f"({tile} - {zero}[n].{side})", f"({element} - {zero}[n])"
    if wide != "i8" and k.choices.chance(40):
        scale = k.tensor(["N"], "f32")
        tile, element = f"({tile} * {scale}[n].{side})", f"({element} * {scale}[n])"
    k.say(f"var acc = {f'i32(zeros({shape_text(m, n)}))' if wide == 'i8' else k.zeros(m, n)};")
    factor = f"{wide}({tile})"
    if turned:
        factor = f"{wide}({tile}.T)" if k.choices.chance(25) else f"{factor}.T"
    k.say(f"for k in tiles(K, {kk.size_text}) {{ acc += {wide}({a}[m, k]) @ {factor}; }}")
    total = f"sum(k in 0..K, {a}[m, k] * {wide}({element}))"
    if wide == "i8":
        return finish(k, Value("acc", total, m, n, "i32", 64.0), ("i32", "i32", "f32"))
    product = k.equation("h", Value("acc", "", m, n, "f32", 64.0), total)
    finish(k, combine("({0} + {1})", product, squash(expressions.expression(k, m, n, k.choices.below(3))), size=64.0), ("f32", "bf16", "f16"))


def narrowed(k):
    """Whole numbers that saturate in four bits, of which some come from such."""
    m, n = head(k)
    value = expressions.integer(k, m, n, 3)
    x = k.tensor(["M", "N"], k.choices.pick(TYPES))
    loaded = Value(f"{x}[m, n]", f"{x}[m, n]", m, n, "i32", 16, True, True)
    form = k.choices.pick(("({0} % 23 - {1})", "({1} * 3 - {0} % 7)", "max({1}, {0} % 30 - 15)", "({0} & {1})"))
    finish(k, combine(form, value, loaded, size=600, type="i32", exact=True), TYPES)


PATTERNS = (weights, narrowed, weights)
