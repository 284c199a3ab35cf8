# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that each block has of its own: elements of a row that are picked, one after another, by a running count or by another sum."""


def picked(k):
    """Those above a bound, the first so many of them; behind them stands a number, or what a first store left."""
    k.dims["R"], k.others["R"] = k.choices.pick((3, 1, 5)), range(1, 4)
    size = k.choices.pick((64, 16, 100, 512))
    k.dims["V"], k.others["V"] = k.choices.pick((1, 2, 3)) * size + k.choices.pick((0, -3, 5)), range(1, 3 * size)
    count = k.choices.pick((64, 200, 33))
    type = k.choices.pick(("f32", "f32", "bf16", "i32"))
    x = k.tensor(["R", "V"], type, "integers(lo = -5, hi = 5)" if type == "i32" else None)
    counted = k.choices.chance(70)      # else twice as far from each other
    fills, late = k.choices.chance(40), k.choices.chance(25)
    rest = "7" if type == "i32" else "7.0"
    k.lines.append(f"  let kept = new {type}[{count}];")
    k.lines.append(f"  parallel r in tiles(R, 1), c in tiles({count}, {count}) {{")
    if fills:
        k.say(f"kept[c.row] = {type}(full(1, {count}, {rest}));")
    step = 1 if counted else 2
    k.say("var found = i32(zeros(1, 1));")
    k.say(f"for v in tiles(V, {size}) {{")
    k.say(f"  let one = where({x}[r, v] > 0, {step}, 0);")
    k.say(f"  let place = found + cumsum(one, 1) - {step};")
    store = f"  kept[where(one == {step} and place < {count}, place, -1)] = {x}[r, v];"
    add = "  found += rowsum(one);"
    for line in (add, store) if late else (store, add):
        k.say(line)
    k.say("}")
    if counted and not fills:
        k.say(f"y0[r, c] = kept[where(c.row < found, c.row, -1)] else {rest};")
    elif fills:
        k.say("y0[r, c] = kept[c].row;")
    else:
        k.say(f"y0[r, c] = kept[where(c.row < found and c.row % 2 == 0, c.row, -1)] else {rest};")
    k.lines.append("  }")
    k.outs.append(f"out y0: {type}[R, {count}]")
    k.equations["h1"] = f"h1[r, v in 0..V] = (if v == 0 then 0 else h1[r, v - 1]) + (if {x}[r, v] > 0 then {step} else 0);"
    here = f"sum(v in 0..V, if {x}[r, v] > 0 and h1[r, v] == c + {step} then {x}[r, v] else 0)"
    has = "c < h1[r, V - 1]" + ("" if counted else " and c % 2 == 0")
    k.outputs.append(f"y0[r, c] = if {has} then {here} else {rest};")


PATTERNS = (picked,)
