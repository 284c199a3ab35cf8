# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of operands with block scales."""
import expressions
from expressions import squash
from shapes import batch, grown, tile_axis
from kernel import Counter
from values import Value, combine

SCALED = (("f8e4m3", "f8e4m3", "f8e8m0", 32), ("f8e4m3", "f8e5m2", "f8e8m0", 32), ("f4e2m1", "f4e2m1", "f8e8m0", 32), ("f4e2m1", "f4e2m1", "f8e4m3", 16),
          ("f6e2m3", "f6e2m3", "f8e8m0", 32), ("f6e3m2", "f8e4m3", "f8e8m0", 32), ("f6e2m3", "f6e3m2", "f8e8m0", 32))


def scaled_product(k):
    """A sum of scaled products over a loop, with an epilogue."""
    left, right, scale, block = k.choices.pick(SCALED)
    leading = []
    if k.choices.chance(25):
        batch(k)
        leading = ["B"]
        counter = Counter("b", "0..B", "B")
        k.counters.append(counter)
        k.scalars.append(counter)
    m, n = tile_axis(k, "m", "grid", 128), tile_axis(k, "n", "grid", 128)
    k.axes += [m, n]
    k.grid_axes = [m, n]
    size = k.choices.pick((64, 32, 128, 96))
    extents = grown(k, [extent for extent in (size, 2 * size, 32, 96, 160) if extent <= 256], "loop")
    k.dims["K"] = k.choices.pick(extents)
    k.others["K"] = [extent for extent in extents if extent <= k.dims["K"]]
    k.where.append(f"K % {block} == 0")
    b = [*leading]
    at = "b, " if leading else ""
    last = "(K + 31) / 32" if block == 32 and k.choices.chance(30) else f"K / {block}"
    packed = any(type in ("f4e2m1", "f6e2m3", "f6e3m2") for type in (left, right))
    turned = not packed and k.choices.chance(25)
    x = k.tensor([*b, "K", "M"] if turned else [*b, "M", "K"], left)
    positive = "uniform(lo = 0.25, hi = 2)" if scale == "f8e4m3" else None     # no scale is below zero
    xs = k.tensor([*b, last, "M"] if turned else [*b, "M", last], scale, positive)
    z, zs = k.tensor(["N", "K"], right), k.tensor(["N", last], scale, positive)
    first = f"scaled({x}[{at}k, m].T, {xs}[{at}k / {block}, m].T)" if turned else f"scaled({x}[{at}m, k], {xs}[{at}m, k / {block}])"
    element = f"{x}[{at}k, m] * {xs}[{at}k / {block}, m]" if turned else f"{x}[{at}m, k] * {xs}[{at}m, k / {block}]"
    grid = (["b in 0..B"] if leading else []) + [f"m in tiles(M, {m.size_text})", f"n in tiles(N, {n.size_text})"]
    k.lines.append(f"  parallel {', '.join(grid)} {{")
    k.say(f"var acc = {k.zeros(m, n)};")
    k.say(f"for k in tiles(K, {size}) {{ acc += {first} @ scaled({z}[n, k], {zs}[n, k / {block}]).T; }}")
    total = k.equation("h", Value("acc", "", m, n, "f32", 64.0), f"sum(k in 0..K, {element} * {z}[n, k] * {zs}[n, k / {block}])")
    value = combine("({0} + {1})", total, squash(expressions.expression(k, m, n, k.choices.below(2))), size=64.0) if k.choices.chance(50) else total
    dims = [*b, "M", "N"]
    k.outs.append(f"out y0: {k.choices.pick(('f32', 'bf16', 'f16'))}[{', '.join(dims)}]")
    k.say(f"y0[{at}m, n] = {value.tile};")
    k.outputs.append(f"y0[{at}m, n] = {value.element};")
    k.lines.append("  }")
