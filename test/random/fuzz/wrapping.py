# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on i32 and i64 that overflows. A reference has 64 bits: of i32 it says after each step that its result wraps."""
import re

from kernel import Counter
from shapes import batch, tile_axis, whole_axis
from values import Value, combine

class Type:
    """i32 or i64. `forms`: of tiles, and of elements. A reference has no meaning for a division by zero, which gives 0 and leaves 0."""

    def __init__(self, name, bits):
        self.name, self.bits, half = name, bits, 2 ** (bits - 1)
        self.full = f"integers(lo = -{half}, hi = {half - 1})"
        self.ends = (f"{half - 1}", f"-{half}", "-1", "0", "7", "65537", f"-{half - 1}") + (("4294967296", "5000000000") if bits == 64 else ())
        self.constants = ("2147483647", "(-2147483647 - 1)", "(-1)", "3", "1103515245") + (("4294967296", "9007199254740991") if bits == 64 else ())
        wrapped, shift = self.wrapped, f"({{1}} % {bits + 8} - 4)"
        self.forms = tuple((form, wrapped(form)) for form in ("({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} + {1})", "({0} * {1})", "(-{0})", "abs({0})")) + \
            tuple((form, form) for form in ("min({0}, {1})", "max({0}, {1})", "({0} & {1})", "({0} | {1})", "({0} ^ {1})", "(~{0})")) + \
            (("({0} / {1})", f"(if {{1}} == 0 then 0 else {wrapped('{0} / (if {1} == 0 then 1 else {1})')})"),
             ("({0} % {1})", "(if {1} == 0 then 0 else {0} % (if {1} == 0 then 1 else {1}))"),
             (f"({{0}} << {shift})", f"({{0}} << {shift})"), (f"({{0}} >> {shift})", f"({{0}} >> {shift})"),
             ("where({0} + 1 > {1}, {0}, {1})", f"(if {wrapped('{0} + 1')} > {{1}} then {{0}} else {{1}})"),
             ("({0} * 2 / 2)", f"({wrapped('{0} * 2')} / 2)"))

    def wrapped(self, text):
        return f"(({text} + 2147483648) % 4294967296 - 2147483648)" if self.bits == 32 else f"({text})"


I32, I64 = Type("i32", 32), Type("i64", 64)


def leaf(k, rows, cols):
    """A number of any size."""
    kind = k.choices.pick(("tensor", "column", "row", "scalar", "constant", "place"))
    axes = {"tensor": (rows, cols), "column": (rows, None), "row": (None, cols)}.get(kind, (None, None))
    kept = [axis for axis in axes if axis]
    if kept:
        name = k.tensor([axis.dim for axis in kept], k.wraps_in.name, k.wraps_in.full)
        return slice_of(k, name, *axes)
    if kind == "scalar":
        return scalar(k)
    if kind == "place" and rows:
        name = rows.name if k.wraps_in is I32 else f"i64({rows.name})"
        return Value(f"({k.wraps_in.name}({rows.col}) * 100000007)", k.wraps_in.wrapped(f"{name} * 100000007"), rows, None, k.wraps_in.name, 1, True, True)
    text = k.choices.pick(k.wraps_in.constants)
    return Value(text, text, type=k.wraps_in.name)


def scalar(k):
    name = k.new("a")
    k.params.append(f"{name}: {k.wraps_in.name}")
    k.set(name, k.wraps_in.ends)
    return Value(name, name, type=k.wraps_in.name)


def slice_of(k, name, rows, cols):
    at = [axis for axis in (rows, cols) if axis]
    suffix = "" if len(at) == 2 else ".col" if rows else ".row"
    return Value(f"{name}[{', '.join(axis.tile for axis in at)}]{suffix}", f"{name}[{', '.join(axis.name for axis in at)}]", rows, cols, k.wraps_in.name, 1, True, True)


def integer(k, rows, cols, depth):
    if depth == 0 or k.choices.chance(15):
        return leaf(k, rows, cols)
    with k.choices.span():
        form = k.choices.pick(k.wraps_in.forms)
        parts = [integer(k, rows, cols, depth - 1) for _ in range(2 if "{1}" in form[0] else 1)]
        if not re.search("[a-z]", parts[0].tile):
            # What is known when compiling has to fit.
            parts[0] = scalar(k)
        # The reference names its parts, since a form says some of them twice.
        return combine(form, *(named(k, part) for part in parts), size=1, type=k.wraps_in.name, exact=True)


def named(k, value):
    return value if len(value.element) < 24 else k.equation("h", value)


def full(k, value, rows, cols):
    """The value with its whole shape."""
    parts = [f"0 * {axis.col}" for axis in (rows,) if axis and not value.rows] + [f"0 * {axis.row}" for axis in (cols,) if axis and not value.cols]
    typed = value.tile if re.search("[a-z]", value.tile) else f"{k.wraps_in.name}({value.tile})"
    tile = f"({' + '.join([typed] + parts)})" if parts else typed
    return Value(tile, value.element, rows, cols, k.wraps_in.name, 1, True, True)


def wrapping(k):
    """Sums that a loop carries, of rows and columns, running ones, products and atomics of i32 and i64."""
    k.wraps_in = k.choices.pick((I32, I64))
    parts = []
    if k.choices.chance(25):
        batch(k)
        parts.append("b in 0..B")
        counter = Counter("b", "0..B", "B")
        k.counters.append(counter)
    m = tile_axis(k, "m", "grid", 128)
    d = whole_axis(k, "d", 64)
    k.axes = [m, d]
    k.grid_axes = [m]
    k.lines.append(f"  parallel {', '.join(parts + [f'm in tiles(M, {m.size_text})'])} {{")
    leading = [counter.name for counter in k.counters]
    for kind in [k.choices.pick(KINDS) for _ in range(1 + k.choices.count(2, 50))]:
        kind(k, m, d, leading)
    k.lines.append("  }")


def store(k, tile, element, axes, leading):
    name = k.new("y")
    k.outs.append(f"out {name}: {k.wraps_in.name}[{', '.join([at.upper() for at in leading] + [axis.dim for axis in axes])}]")
    k.say(f"{name}[{', '.join(leading + [axis.tile for axis in axes])}] = {tile};")
    k.outputs.append(f"{name}[{', '.join(leading + [axis.name for axis in axes])}] = {element};")


def elementwise(k, m, d, leading):
    value = full(k, integer(k, m, d, 1 + k.choices.below(4)), m, d)
    store(k, value.tile, value.element, (m, d), leading)


def reduced(k, m, d, leading):
    value = k.equation("h", full(k, integer(k, m, d, k.choices.below(3)), m, d))
    kind = k.choices.pick(("sum", "max", "min", "sum"))
    element = f"{kind}(d in 0..D, {value.element})"
    store(k, f"row{kind}({value.tile})", k.wraps_in.wrapped(element) if kind == "sum" else element, (m,), leading)


def running(k, m, d, leading):
    value = k.equation("h", full(k, integer(k, m, d, k.choices.below(2)), m, d))
    store(k, f"cumsum({value.tile}, 1)", k.wraps_in.wrapped(f"sum(i_ in 0..d + 1, {value.element.replace('d]', 'i_]')})"), (m, d), leading)


def carried(k, m, d, leading):
    """What a loop multiplies or adds to."""
    value = named(k, full(k, integer(k, m, None, k.choices.below(3)), m, None))
    rounds = k.choices.pick((3, 1, 5))
    form = k.choices.pick(("({0} * 31 + {1})", "({0} + {1})", "({0} - {1} * {0})", "(-{0} - {1})"))
    variable, state, index = k.new("v"), k.new("s"), k.new("i")
    text = {"({0} * 31 + {1})": k.wraps_in.wrapped("{0} * 31 + {1}"), "({0} + {1})": k.wraps_in.wrapped("{0} + {1}"),
            "({0} - {1} * {0})": k.wraps_in.wrapped(f"{{0}} - {k.wraps_in.wrapped('{1} * {0}')}"), "(-{0} - {1})": k.wraps_in.wrapped("-{0} - {1}")}[form]
    k.say(f"var {variable} = {value.tile};")
    k.say(f"for {index} in 0..{rounds} {{ {variable} = {form.format(variable, value.tile)}; }}")
    where = ", ".join(leading + ["T", "m"])
    before, bound = where.replace("T", "t_ - 1"), ", ".join([f"{at} in 0..{at.upper()}" for at in leading] + [f"t_ in 0..{rounds + 1}", "m in 0..M"])
    k.equations[state] = f"{state}[{bound}] = if t_ == 0 then {value.element} else {text.format(f'{state}[{before}]', value.element)};"
    store(k, variable, f"{state}[{where.replace('T', str(rounds))}]", (m,), leading)


def added(k, m, d, leading):
    """Atomics of what all blocks sum."""
    value = k.equation("h", full(k, integer(k, m, d, k.choices.below(2)), m, d))
    name, kind = k.new("z"), k.choices.pick(("rows", "tile", "cols"))
    kept = {"rows": (m,), "tile": (m, d), "cols": (d,)}[kind]
    k.outs.append(f"inout {name}: {k.wraps_in.name}[{', '.join(axis.dim for axis in kept)}]")
    k.settings[name] = k.wraps_in.full
    call = {"rows": "rowsum({0})", "tile": "{0}", "cols": "colsum({0})"}[kind].format(value.tile)
    k.say(f"{name}[{', '.join(axis.tile for axis in kept)}] += {call};")
    text = value.element
    for binder in [f"{axis.name} in 0..{axis.dim}" for axis in (m, d) if axis not in kept] + [f"{at} in 0..{at.upper()}" for at in leading]:
        text = f"sum({binder}, {text})"
    head = f"{name}[{', '.join(axis.name for axis in kept)}]"
    k.outputs.append(f"{head} = {k.wraps_in.wrapped(f'{head} + {text}')};")


KINDS = (elementwise, elementwise, reduced, carried, added, running)
