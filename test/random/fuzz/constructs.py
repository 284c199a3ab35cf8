# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Leaves and conditions that use one construct of the language each, and names that users may take.

Each gives a Value of at most these axes, or None where it does not fit."""
import dataclasses
import re

import expressions
from values import Value, combine

# The planner's, the runtime's, CUDA's and C++'s words.
NAMES = ("transposed_x", "reduce_scratch", "x_tensor", "smem", "threadIdx", "blockIdx", "warpSize", "warp", "tile", "double", "class", "template",
         "operator", "lane", "barrier", "shared", "grid", "stride", "size_t", "nullptr", "this", "main", "stream", "tk", "tma_x", "m_end",
         "m_begin", "slot", "phase", "stage", "consumer", "producer", "out", "reference", "x_map", "arguments", "launch", "block", "cluster",
         "uint32_t", "printf", "std", "delete", "static", "register", "asm", "auto", "signed", "dim3", "stored", "scratch", "x_1", "rows", "cols")


def users_name(k, prefix):
    """Mostly a letter with a number; sometimes a word that others use too."""
    if k.choices.chance(5):
        free = [name for name in NAMES if name not in k.taken]
        if free:
            k.taken.append(k.choices.pick(free))
            return k.taken[-1]
    return k.new(prefix)


def type_parameter(k):
    """A type that the case chooses."""
    name = k.new("U")
    choices = k.choices.pick((("bf16", "f16"), ("f32", "bf16"), ("f16", "f8e4m3")))
    k.types.append(f"{name}: {{{', '.join(choices)}}}")
    k.set(name, choices)
    return name


def typed(k, rows, cols):
    """A slice of a tensor whose type is a parameter."""
    if k.base != "f32" or len(k.types) >= 1 or not (rows or cols):
        return None
    value = expressions.load(k, rows, cols, type_parameter(k))
    return dataclasses.replace(value, tile=f"f32({value.tile})", type="f32")


def cut(k, rows, cols):
    """A range of a dim that is known when compiling."""
    if not cols or cols.kind != "whole" or (rows and rows.kind == "whole"):
        return None
    by = 1 + k.choices.below(4)
    type = k.choices.pick(("f32", "bf16", "f16")) if k.base == "f32" else "f64"
    dims = [axis.dim for axis in (rows, cols) if axis]
    dims[-1] = f"{cols.dim} + {by}"
    name, type, size = expressions.new_input(k, dims, type, pads=False)
    low = k.choices.below(by + 1)
    part = f"{low}:{cols.dim} + {low}" if low else f":{cols.dim}"
    value = expressions.loaded(k, name, type, [rows.tile, part] if rows else [part], ([rows.name] if rows else []) + [f"{cols.name} + {low}"], rows, cols, size)
    return dataclasses.replace(value, tile=expressions.base(k, value), type=k.base)


def uniform(k, rows, cols):
    """Random numbers of coordinates."""
    if not rows and not cols:
        return None
    seed = str(k.choices.below(1000))
    at = [rows.col if rows else "3", cols.row if cols else "5"]
    text = f"philox({seed}, {', '.join(at)})"
    element = f"philox({seed}, {rows.name if rows else '3'}, {cols.name if cols else '5'})"
    return Value(text if k.base == "f32" else f"f64({text})", element, rows, cols, k.base, 1, True)


def floored(k, rows, cols):
    """Both sides have exactly what is rounded down."""
    part = expressions.integer(k, rows, cols, 1)
    return combine((f"floor({k.base}({{0}} % 64) * 0.375)", "floor(({0} % 64) * 0.375)"), part, size=24, type=k.base, exact=True)


def constant(k, rows, cols):
    """One of the language's constants, in the type of the kernel's arithmetic: two literals that meet are computed in f64 (`PI - 3.0`)."""
    text = k.choices.pick(("PI", "LOG2E", "LN2"))
    text = f"f32({text})" if k.base == "f32" else text
    return Value(text, text, None, None, k.base, 3, False)


def given(k, rows, cols):
    """A constant that the caller gives when compiling."""
    name = k.new("c")
    k.params.append(f"const {name}: i32 = {k.choices.pick((2, 1, 5))}")
    k.set(name, (None, "3", "-2"))
    return Value(f"{k.base}({name})", f"{k.base}({name})", None, None, k.base, 5, True)


def function(k, rows, cols):
    """A call of a function of the file."""
    name = f"{k.name}_g{k.new('')}"
    form = k.choices.pick(("({0} * 0.5 + {1})", "max({0}, {1} * 0.25)", "(tanh({0}) - {1})", "where({0} < 100, {0}, {1})"))
    x, y = k.choices.pick((("x", "y"), ("m", "n"), ("acc", "tile")))
    if k.choices.chance(30):
        k.functions.append(f"fn {name}({x}, {y}) {{ let t = {form.format(x, y)}; return t; }}")
    else:
        k.functions.append(f"fn {name}({x}, {y}) = {form.format(x, y)};")
    first, second = expressions.leaf(k, rows, cols), expressions.leaf(k, rows, cols)
    first, second = (dataclasses.replace(part, tile=expressions.base(k, part)) for part in (expressions.squash(first), expressions.squash(second)))
    form = form.replace("where({0} < 100, {0}, {1})", "{0}")
    return combine((name + "({0}, {1})", form if "{1}" in form else "({0} + 0 * {1})"), first, second, size=16, type=k.base)


LEAVES = (typed, cut, uniform, floored, constant, given, function)


def leaf(k, rows, cols):
    return k.choices.pick(LEAVES)(k, rows, cols) or expressions.load(k, rows, cols)


def place_in_tile(k, axis, is_row):
    """Where in its tile an element stands, or which tile it is; None where the reference could not say."""
    if axis.kind == "whole" or axis.size_text.startswith("B") or k.ragged and axis.kind == "grid" or not re.match(r"0 \+|0\.\.[A-Z]+$", axis.range):
        return None
    here = axis.row if is_row else axis.col
    last = axis.dim if axis.end is None else axis.end
    kind = k.choices.pick(("begin", "index", "end") if last else ("begin", "index"))
    text = {"begin": f"({here} - {axis.name}.begin)", "index": f"({here} * 0 + {axis.name}.index)", "end": f"({axis.name}.end - {here})"}[kind]
    element = {"begin": f"({axis.name} % {axis.size})", "index": f"({axis.name} / {axis.size})",
               "end": f"(min({last}, {axis.name} / {axis.size} * {axis.size} + {axis.size}) - {axis.name})"}[kind]
    return Value(text, element, None if is_row else axis, axis if is_row else None, "i32", 300, True, True)


def truth(k, rows, cols):
    """A tensor of truth values, alone or with a comparison."""
    if not rows and not cols or rows and cols and rows.kind == cols.kind == "whole" and k.choices.chance(50):
        return None
    axes = [axis for axis in (rows, cols) if axis]
    name = k.tensor([axis.dim for axis in axes], "bool")
    value = expressions.loaded(k, name, "bool", [axis.tile for axis in axes], [axis.name for axis in axes], rows, cols, 1)
    form = k.choices.pick(("{0}", "not {0}", "{0} and {1}", "({0} or {1})"))
    if "{1}" not in form:
        return combine(form, value, size=1, type="bool", exact=True)
    left, right = expressions.integer(k, rows, cols, 1), expressions.integer(k, rows, cols, 0)
    return combine(form, value, combine("{0} < {1}", left, right, size=1, type="bool", exact=True), size=1, type="bool", exact=True)


def first_of(k, rows, cols):
    """Where the largest or smallest of exact numbers stands, the first of equals. Some may be NaN, which is none of them; of NaN alone 0."""
    inner = [axis for axis in expressions.contracted(k, rows, cols) if axis.kind == "whole"]
    kept, to_column = (rows, True) if rows else (cols, False)
    if not inner or not kept:
        return None
    along = k.choices.pick(inner)
    two = (kept, along) if to_column else (along, kept)
    part = k.tie_integer(expressions.integer(k, *two, 2), *two)
    kind = k.choices.pick(("max", "min"))
    type = k.choices.pick(("f32", "f32", "f64"))
    named = k.equation("h", part)
    holes = k.choices.pick((None, None, 2, 3, 1))
    tile, exists = f"{type}({part.tile})", "true"
    if holes:
        tile = f"where({along.row if to_column else along.col} % {holes} == 0, {type}(0.0 / 0.0), {tile})"
        exists = f"{along.name} % {holes} != 0"
    worst = "-1000000" if kind == "max" else "1000000"
    best = k.equation("h", Value("", "", kept if to_column else None, None if to_column else kept, "i32", 400, True, True),
                      f"{kind}({along.name} in {along.range}, if {exists} then {named.element} else {worst})")
    call = f"{'row' if to_column else 'col'}arg{kind}({tile})"
    found = f"min({along.name} in {along.range}, if {exists} and {named.element} == {best.element} then {along.name} else 1000)"
    return k.equation_of(dataclasses.replace(best, tile=call, element=f"{found} % 1000", size=along.size))
