# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic in the layouts that products ask for: of operands, of accumulators, and of their columns and rows; branches around products, and loops of many.

A kernel works on a tile in several steps, and each is a `let`, so that every step is a statement in that layout."""
import dataclasses

import expressions
from expressions import squash
from patterns import dims, indices
from regular import OF_PRODUCTS, OF_ROWS, axis, opening, stored, whole
from values import NARROW, Axis, Value, combine, shape_text

FLOATS = ("bf16", "f16", "tf32", "f8e4m3", "f32", "f8e5m2")
STORED = ("f32", "bf16", "f16", "f64", "tf32", "f8e4m3", "f8e5m2")


def step(k, value, rows, cols):
    """One operation on the value."""
    value = squash(value, 4.0)
    value = dataclasses.replace(value, tile=expressions.base(k, value), type=k.base)
    kind = k.choices.pick(("unary", "binary", "unary", "binary", "where", "round"))
    if kind == "unary":
        form, size = k.choices.pick(expressions.UNARY)
        return combine(form, value, size=size or value.size ** 2 + 1)
    if kind == "round":
        return k.cast(k.cast(value, k.choices.pick(NARROW[:2])), "f32")
    other = squash(expressions.leaf(k, rows, cols))
    other = dataclasses.replace(other, tile=expressions.base(k, other), type=k.base)
    if kind == "where":
        chosen = expressions.condition(k, rows, cols)
        return combine(("where({0}, {1}, {2})", "(if {0} then {1} else {2})"), chosen, value, other, size=max(value.size, other.size))
    form = k.choices.pick(expressions.BINARY)
    return combine(form, value, other, size=value.size * other.size if "*" in form else value.size + other.size)


def worked_on(k, value, rows, cols, steps):
    """The value after some operations, each of which has a name."""
    for _ in range(steps):
        with k.choices.span():
            value = k.let(step(k, value, rows, cols))
    return value


def integers_worked_on(k, value, rows, cols, steps):
    for _ in range(steps):
        with k.choices.span():
            form = k.choices.pick(expressions.INTEGER_FORMS)
            parts = [value] + [expressions.integer(k, rows, cols, 1)] * ("{1}" in form)
            value = combine(("(" + form + " % 1009)"), *parts, size=1009, type="i32", exact=True)
            value = let(k, dataclasses.replace(value, rows=rows, cols=cols))
    return value


def let(k, value):
    """A name for a value that floats do not draw."""
    name = k.new("i")
    k.say(f"let {name} = {value.tile};")
    return dataclasses.replace(k.equation("e", value), tile=name)


def store(k, leading, value, type, turned=False):
    """The value to a new output."""
    axes = list(reversed(value.axes())) if turned else value.axes()
    name = k.new("y")
    k.outs.append(f"out {name}: {type}[{', '.join(dims(leading, *(each.dim for each in axes)))}]")
    k.say(f"{name}[{indices(leading, *(each.tile for each in axes))}] = {value.tile}{'.T' * turned};")
    k.outputs.append(f"{name}[{indices(leading, *(each.name for each in axes))}] = {value.element};")


def sum_of_blocks(k, value, type, fill):
    """`+=` of the value into a tensor that all blocks of a batch share."""
    axes, name = value.axes(), k.new("z")
    k.outs.append(f"inout {name}: {type}[{', '.join(each.dim for each in axes)}]")
    at = ", ".join(each.name for each in axes)
    k.settings[name if fill else f"{name}[{', '.join(each.name + '_' for each in axes)}]"] = fill or "0"
    k.say(f"{name}[{', '.join(each.tile for each in axes)}] += {value.tile};")
    text = k.equation("h", value).element
    for counter in reversed(k.counters):
        text = f"sum({counter.name} in {counter.range}, {text})"
    k.outputs.append(f"{name}[{at}] = {name}[{at}] + {text};")


def columns_of(k, sizes=(64, 32, 128, 16, 48)):
    """The second axis of an accumulator: tiles of the grid, or a whole dim, of which rows may be summed: (axis, axes of the grid)."""
    if k.choices.chance(50):
        return whole(k, "d", sizes), []
    n = axis(k, "n", "grid", sizes[:4])
    return n, [n]


def left_and_right(k, leading, m, n, kk, type):
    """Operands as the loop reads them, each of which may have been worked on: says their lets."""
    sides = []
    k.axes.append(kk)
    k.loops.append(kk)
    for rows, cols, percent in ((m, kk, 60), (kk, n, 30)):
        tile, element = stored(k, leading, rows, cols, type)
        value = Value(tile, element, rows, cols, type, 4.0, True, True)
        if k.choices.chance(percent):
            value = worked_on(k, value, rows, cols, 1 + k.choices.below(3))
            value = expressions.narrowed(k, squash(value, 4.0), type)
        sides.append(value)
    k.axes.remove(kk)
    k.loops.pop()
    return sides


def worked_product(k):
    """Operands that are worked on in registers; their sum is worked on as well, with its columns, and stored in any type."""
    m = axis(k, "m", "grid", (64, 128, 16, 32))
    n, others = columns_of(k)
    grid, leading = opening(k, [m, *others])
    kk, type = axis(k, "k", "loop", (32, 64, 16)), k.choices.pick(FLOATS)
    k.lines.append(grid)
    k.say(f"var acc = {k.zeros(m, n)};")
    k.say(f"for k in tiles(K, {kk.size_text}) {{")
    k.indent += 1
    known = len(k.lets)
    left, right = left_and_right(k, leading, m, n, kk, type)
    k.say(f"acc += {left.tile} @ {right.tile};")
    del k.lets[known:]
    k.indent -= 1
    k.say("}")
    size = max(left.size, 1) * max(right.size, 1) * kk.extent ** 0.5
    total = k.equation("h", Value("acc", "", m, n, "f32", size), f"sum(k in 0..K, {left.element} * {right.element})")
    # A column or a row that is worked on before it meets the sum.
    for rows, cols in ((m, None), (None, n)):
        if k.choices.chance(50):
            worked_on(k, expressions.load(k, rows, cols), rows, cols, 1 + k.choices.below(3))
    value = worked_on(k, total, m, n, 2 + k.choices.below(5))
    if n.kind == "whole" and k.choices.chance(70):
        value = by_rows(k, leading, value, m, n)
    store(k, leading, squash(value, 64.0), k.choices.pick(STORED), k.choices.chance(20))
    if k.choices.chance(30):
        sum_of_blocks(k, value, "f32", None)
    k.lines.append("  }")
    k.suits = OF_PRODUCTS


def by_rows(k, leading, value, m, n):
    """A reduction of the rows, worked on and stored; the value with it."""
    value = squash(value, 4.0)
    kind = k.choices.pick(("max", "min", "sum"))
    reduced = Value(f"row{kind}({value.tile})", f"{kind}({n.name} in {n.range}, {value.element})", m, None, "f32",
                    value.size * (n.size if kind == "sum" else 1), False, True)
    column = worked_on(k, squash(k.equation_of(reduced), 4.0), m, None, 1 + k.choices.below(5))
    store(k, leading, squash(column, 64.0), k.choices.pick(STORED))
    if k.choices.chance(30):
        sum_of_blocks(k, column, "f32", None)
    return k.let(combine(k.choices.pick(("({0} + {1})", "({0} * {1})", "max({0}, {1})")), value, squash(column, 4.0), size=16.0))


def counted_product(k):
    """Products of whole numbers, which every GPU has exactly: integers, comparisons and truth values of them, in any type of integers."""
    m = axis(k, "m", "grid", (64, 128, 16, 32))
    n, others = columns_of(k)
    grid, leading = opening(k, [m, *others])
    kk, type = axis(k, "k", "loop", (32, 64, 16)), k.choices.pick(("bf16", "i8", "f16", "tf32", "f8e4m3"))
    (left, left_element), (right, right_element) = stored(k, leading, m, kk, type), stored(k, leading, kk, n, type)
    for operand in (left, right):
        k.settings[operand.partition("[")[0]] = "integers(lo = -3, hi = 3)"
    k.lines.append(grid)
    k.say(f"var acc = {f'i32(zeros({shape_text(m, n)}))' if type == 'i8' else k.zeros(m, n)};")
    k.say(f"for k in tiles(K, {kk.size_text}) {{ acc += {left} @ {right}; }}")
    total = let(k, Value("i32(acc)", f"i32(sum(k in 0..K, {left_element} * {right_element}))", m, n, "i32", 1009, True, True))
    value = integers_worked_on(k, total, m, n, k.choices.below(5))
    store_integers(k, leading, value)
    if n.kind == "whole" and k.choices.chance(70):
        kind = k.choices.pick(("max", "min", "sum"))
        reduced = Value(f"row{kind}({value.tile})", f"{kind}({n.name} in {n.range}, {value.element})", m, None, "i32", 1009, True, True)
        store_integers(k, leading, integers_worked_on(k, let(k, reduced), m, None, k.choices.below(4)))
    if type != "i8" and k.choices.chance(50):
        chosen = combine(k.choices.pick(("{0} > {1}", "{0} <= {1}", "{0} == {1}", "{0} != {1} and {1} > 3")), Value("acc", total.element, m, n, "f32", 1, True, True),
                         expressions.integer(k, m, n, 0), size=1, type="bool", exact=True)
        other = squash(expressions.leaf(k, m, n))
        store(k, leading, combine(("where({0}, acc, {1})", "(if {0} then {2} else {1})"), chosen, dataclasses.replace(other, tile=expressions.base(k, other)), total,
                                  size=64), k.choices.pick(("f32", "f64", "f32")))
    k.lines.append("  }")
    k.suits = OF_PRODUCTS


def store_integers(k, leading, value):
    """Integers below 1009, as several types have them."""
    for type in [k.choices.pick(("i8", "u8", "bool", "i64", "i32", "f16 +=", "bf16 +=", "i32 +=")) for _ in range(1 + k.choices.count(2, 50))]:
        name, _, adds = type.partition(" ")
        form = {"i8": "({0} % 200 - 100)", "u8": "({0} & 127)", "bool": k.choices.pick(("({0} % 3 > 0)", "({0} < 7)", "(not ({0} == 2))")),
                "i64": "({0} - 500)"}.get(name, "({0} % 3)")
        made = combine((f"{name}({form})" if name not in ("bool", "i64") else form, form), value, size=1, type=name, exact=True)
        if adds:
            # So few of so small numbers have a sum without rounding.
            sum_of_blocks(k, made, name, "integers(lo = -9, hi = 9)")
        else:
            store(k, leading, made, name)


def branch_condition(k, kk):
    """What a branch asks: a constant, an argument, or which round it is."""
    kind = k.choices.pick(("argument", "round", "constant", "truth", "tensor"))
    if kind == "round" and kk:
        form = k.choices.pick(("{0} % 2 == 0", "{0} > 0", "{0} != 1"))
        return form.format("k.index"), form.format(f"(k / {kk.size})")
    name = k.new("f")
    if kind == "tensor":
        k.dims["C"] = 2
        k.params.append(f"{name}: i32[C]")
        k.set(name, ("[3, 1]", "[0, 0]"))
        return f"{name}[0] > 2", f"{name}[0] > 2"
    if kind in ("constant", "truth"):
        k.params.append(f"const {name}: bool = true" if kind == "constant" else f"{name}: bool")
        k.set(name, ("true", "false"))
        return name, name
    k.params.append(f"{name}: i32")
    k.set(name, ("2", "0"))
    return f"{name} > 1", f"{name} > 1"


def branched_product(k):
    """Products in branches: inside a loop, around it, and after it."""
    m, n = axis(k, "m", "grid", (64, 128, 16, 32)), axis(k, "n", "grid", (64, 128, 32))
    grid, leading = opening(k, [m, n])
    kk, type = axis(k, "k", "loop", (32, 64, 16)), k.choices.pick(("bf16", "f16", "f8e4m3", "tf32", "f32"))
    (left, left_element), (right, right_element) = stored(k, leading, m, kk, type), stored(k, leading, kk, n, type)
    product, terms = f"{left_element} * {right_element}", []
    k.lines.append(grid)
    k.say(f"var acc = {k.zeros(m, n)};")
    where = k.choices.pick(("inside", "around", "inside", "else"))
    asked, element = branch_condition(k, kk if where != "around" else None)
    loop = f"for k in tiles(K, {kk.size_text}) {{"
    if where == "around":
        k.say(f"if {asked} {{ {loop} acc += {left} @ {right}; }} }}")
        terms.append(f"(if {element} then sum(k in 0..K, {product}) else 0)")
    elif where == "inside":
        always = k.choices.chance(40)
        k.say(f"{loop} {f'acc += {left} @ {right}; ' * always}if {asked} {{ acc += {left} @ {right}; }} }}")
        terms += [f"sum(k in 0..K, if {element} then {product} else 0)"] + [f"sum(k in 0..K, {product})"] * always
    else:
        other, other_element = stored(k, leading, kk, n, type)
        k.say(f"{loop} if {asked} {{ acc += {left} @ {right}; }} else {{ acc += {left} @ {other}; }} }}")
        terms.append(f"sum(k in 0..K, if {element} then {product} else {left_element} * {other_element})")
    if k.choices.chance(50):
        d = whole(k, "d", (32, 64, 16))
        (left, left_element), (right, right_element) = stored(k, leading, m, d, type), stored(k, leading, d, n, type)
        asked, element = branch_condition(k, None)
        k.say(f"if {asked} {{ acc = {k.choices.pick(('acc', 'acc * 0.5'))} + {left} @ {right}; }}")
        half = "acc * 0.5" in k.lines[-1]
        before = k.equation("h", Value("", "", m, n), " + ".join(terms)).element
        terms = [f"(if {element} then {before}{' * 0.5' * half} + sum(d in 0..D, {left_element} * {right_element}) else {before})"]
    total = k.equation("h", Value("acc", "", m, n, "f32", 64.0), " + ".join(terms))
    value = worked_on(k, total, m, n, k.choices.below(3))
    store(k, leading, squash(value, 64.0), k.choices.pick(STORED[:3]))
    k.lines.append("  }")
    k.suits = OF_PRODUCTS


def many_products(k):
    """A loop with several products of the same and of other operands: read from memory, worked on, or products themselves."""
    m = axis(k, "m", "grid", (64, 128, 16, 32))
    grid, leading = opening(k, [m])
    kk, d, h = axis(k, "k", "loop", (32, 64, 16)), whole(k, "d", (32, 16, 64)), whole(k, "h", (32, 64, 16))
    type, number = k.choices.pick(("bf16", "f16", "bf16", "f8e4m3", "tf32")), k.choices.pick((3, 2, 5, 9))
    k.lines.append(grid)
    for at in range(number):
        k.say(f"var acc{at} = {k.zeros(m, d)};")
    k.say(f"for k in tiles(K, {kk.size_text}) {{")
    k.indent += 1
    known = len(k.lets)
    k.axes.append(kk)
    k.loops.append(kk)
    lefts = [several_lefts(k, leading, m, kk, h, type) for _ in range(k.choices.pick((2, 1, 3)))]
    rights = []
    for _ in range(k.choices.pick((2, 1, 3))):
        tile, element = stored(k, leading, kk, d, type)
        value = Value(tile, element, kk, d, type, 4.0, True, True)
        if k.choices.chance(25):
            value = expressions.narrowed(k, squash(worked_on(k, value, kk, d, 1), 4.0), type)
        rights.append(let(k, value))
    sums = []
    for at in range(number):
        left, right = k.choices.pick(lefts), k.choices.pick(rights)
        k.say(f"acc{at} += {left.tile} @ {right.tile};")
        sums.append(f"sum(k in 0..K, {left.element} * {right.element})")
    k.axes.remove(kk)
    k.loops.pop()
    del k.lets[known:]
    k.indent -= 1
    k.say("}")
    values = [k.equation("h", Value(f"acc{at}", "", m, d, "f32", 128.0), text) for at, text in enumerate(sums)]
    while values:
        used, values = values[:3], values[3:]
        form = " + ".join(f"{{{at}}}{factor}" for at, factor in zip(range(len(used)), ("", " * 0.5", " * 0.25")))
        store(k, leading, combine(form.join("()"), *used, size=256.0), k.choices.pick(("f32", "bf16", "f16")))
    k.lines.append("  }")
    k.suits = OF_PRODUCTS


def several_lefts(k, leading, m, kk, h, type):
    """A left operand: of memory, worked on, or made of scores."""
    kind = k.choices.pick(("memory", "worked on", "scores", "worked on"))
    if kind == "scores":
        (q, q_element), (keys, keys_element) = stored(k, leading, m, h, type), stored(k, leading, h, kk, type)
        score = Value(f"({q} @ {keys})", f"sum(h in 0..H, {q_element} * {keys_element})", m, kk, "f32", 64.0, False, True)
        value = worked_on(k, squash(k.equation_of(score), 4.0), m, kk, 1 + k.choices.below(2))
        return let(k, expressions.narrowed(k, squash(value, 4.0), type))
    tile, element = stored(k, leading, m, kk, type)
    value = Value(tile, element, m, kk, type, 4.0, True, True)
    if kind == "worked on":
        value = expressions.narrowed(k, squash(worked_on(k, value, m, kk, 1 + k.choices.below(2)), 4.0), type)
    return let(k, value)


def worked_rows(k):
    """Rows of any length, one or a few a tile, which are worked on, stored and summed; many of the keys are about how their copies begin."""
    m, size = axis(k, "m", "grid", (1, 1, 2, 4)), k.choices.pick((256, 512, 128, 640))
    k.dims["M"] = min(k.dims["M"], 5)
    k.others["M"] = [extent for extent in (1, 3, 5) if extent <= k.dims["M"]]
    grid, leading = opening(k, [m])
    extents = [2 * size + 1, size, size - 3, size // 2 + 5, 7]
    k.dims["N"] = k.choices.pick(extents)
    k.others["N"] = [extent for extent in extents if extent <= k.dims["N"]]
    n = Axis("n", "N", k.dims["N"], size, str(size), "n", "0..N", "loop")
    k.lines.append(grid)
    k.say(f"var total = {k.zeros(m, None)};")
    k.say(f"for n in tiles(N, {size}) {{")
    k.indent += 1
    k.axes.append(n)
    k.loops.append(n)
    known = len(k.lets)
    value = expressions.load(k, m, n, k.choices.pick(("bf16", "f32", "f16", "f8e4m3", "tf32")))
    value = squash(worked_on(k, value, m, n, 2 + k.choices.below(5)), 4.0)
    store(k, leading, value, k.choices.pick(STORED))
    k.say(f"total += rowsum({expressions.base(k, value)});")
    del k.lets[known:]
    k.axes.remove(n)
    k.loops.pop()
    k.indent -= 1
    k.say("}")
    total = k.equation("h", Value("total", "", m, None, "f32", value.size * n.extent), f"sum(n in 0..N, {value.element})")
    store(k, leading, squash(total, 64.0), "f32")
    k.lines.append("  }")
    k.suits = OF_ROWS


PATTERNS = (worked_product, counted_product, worked_product, branched_product, many_products, worked_rows)
