# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random expressions over two axes (each may be none): on tiles and on elements at once.

Branches and comparisons depend only on what both sides have exactly, and functions are fed so that values stay small, so that a
difference beyond the tolerance is a bug in one of the two."""
import dataclasses

import constructs
from values import NARROW, Value, combine

FLOATS = ("f32", "bf16", "f16", "f8e4m3", "f8e5m2")
STORED = ("f32", "bf16", "f16", "f8e4m3", "f8e5m2", "f64", "i8", "u8", "i32")


def element_type(k):
    """The type of a new input."""
    if k.base == "f64":
        return k.choices.pick(("f64", "f64", "f32"))
    return k.choices.pick(("f32", "f32", "bf16", "bf16", "f16", "f8e4m3", "f8e5m2", "tf32", "i8", "u8", "f64"))


def inputs_of(k, type, rank):
    """What fills an input, or None for what comes by itself; and how large it gets."""
    if type in ("i8", "u8"):
        return f"integers(lo = {-4 if type == 'i8' else 0}, hi = 4)", 4.0
    if type in FLOATS and k.choices.chance(6):
        return k.choices.pick(("uniform(lo = -1, hi = 2)", "normal(seed = 5, std = 0.5)")), 4.0
    if rank >= 2 and k.choices.chance(20):
        return f"normal(pad = {k.choices.pick((8, 1, 2, 3, 4, 16))})", 4.0
    return None, 4.0


def new_input(k, dims, type=None, pads=True):
    type = type or element_type(k)
    inputs, size = inputs_of(k, type, len(dims) if pads else 0)
    return k.tensor(dims, type, inputs), type, size


def loaded(k, name, type, subscripts, elements, rows, cols, size):
    """A slice as a tile. A vector becomes a column or a row."""
    tile = f"{name}[{', '.join(subscripts)}]"
    element = f"{name}[{', '.join(elements)}]"
    if bool(rows) != bool(cols):
        tile += ".col" if rows else ".row"
    if type in ("i8", "u8", "i32"):
        # The reference would divide integers as such.
        tile, element, type = f"f32({tile})", f"f32({element})", "f32"
    elif type == "f64" and k.base == "f32":
        tile, element, type = f"f32({tile})", f"f32({element})", "f32"
    if k.base == "f64" and type not in ("f64", "bool"):
        tile, type = f"f64({tile})", "f64"
    return Value(tile, element, rows, cols, type, size, True, True)


def batch(k):
    """Integers of the grid and of loops that lead or stand between the dims of a new input: [(dim, index)]."""
    return [(counter.dim, counter.name) for counter in k.scalars if k.choices.chance(35)]


def load(k, rows, cols, type=None):
    """A slice of a new input over these axes, or of a transposed one."""
    with k.choices.span():
        axes = [axis for axis in (rows, cols) if axis]
        if not axes:
            return argument(k)
        turned = len(axes) == 2 and k.choices.chance(20)
        if turned:
            axes.reverse()
        leading = batch(k)
        parts = [(dim, name, name) for dim, name in leading] + [(axis.dim, axis.tile, axis.name) for axis in axes]
        if leading and len(axes) == 2 and k.choices.chance(40):
            parts[len(leading) - 1], parts[len(leading)] = parts[len(leading)], parts[len(leading) - 1]
        name, type, size = new_input(k, [part[0] for part in parts], type)
        if turned:
            value = loaded(k, name, type, [part[1] for part in parts], [part[2] for part in parts], cols, rows, size)
            return transposed(value)
        return loaded(k, name, type, [part[1] for part in parts], [part[2] for part in parts], rows, cols, size)


def transposed(value):
    return dataclasses.replace(value, tile=f"{value.tile}.T", rows=value.cols, cols=value.rows)


def moved(k, rows, cols):
    """A tile moved along one axis, with what stands beyond the edge."""
    along = rows if rows and rows.kind != "whole" and (not cols or cols.kind == "whole" or k.choices.chance(50)) else cols
    if not along or along.kind == "whole":
        return load(k, rows, cols)
    by, sign = 1 + k.choices.below(5), k.choices.pick("-+")
    edge = k.choices.pick(("0", "0.25", "-1"))
    index = f"{along.name} {sign} {by}"
    axes = [axis for axis in (rows, cols) if axis]
    name, type, size = new_input(k, [axis.dim for axis in axes], k.choices.pick(("f32", "bf16", "f16")) if k.base == "f32" else "f64")
    at = [index if axis is along else axis.tile for axis in axes]
    element = [index if axis is along else axis.name for axis in axes]
    inside = f"{along.name} >= {by}" if sign == "-" else f"{index} < {along.dim}"
    value = loaded(k, name, type, at, element, rows, cols, size)
    # The vector with its `else` is in parentheses before it becomes a column or a row.
    suffix = ".col" if rows and not cols else ".row" if cols and not rows else ""
    tile = value.tile[:len(value.tile) - len(suffix)] if suffix else value.tile
    tile = f"({tile} else {edge}){suffix}"
    if type != k.base:
        tile = f"{k.base}({tile})"
    return dataclasses.replace(value, tile=tile, element=f"(if {inside} then {value.element} else {edge})", type=k.base)


def gathered(k, rows, cols):
    """Rows or columns chosen by a tensor of integers, in their range or with an `else`."""
    by_rows = rows and rows.kind != "whole" and (not cols or cols.kind == "whole" or k.choices.chance(60))
    along = rows if by_rows else cols
    if not along or along.kind == "whole":
        return load(k, rows, cols)
    other = cols if by_rows else rows
    dim = k.new("G")
    extent = k.choices.pick((5, 1, 8, 24))
    k.dims[dim] = extent
    covered = k.choices.chance(30)
    index = k.integers([along.dim], -3 if covered else 0, extent + 2 if covered else extent - 1)
    name, type, size = new_input(k, [dim, other.dim] if by_rows and other else [other.dim, dim] if other else [dim],
                                 k.choices.pick(("f32", "bf16", "f16", "f8e4m3")) if k.base == "f32" else "f64")
    at, element = f"{index}[{along.name}].{'col' if by_rows else 'row'}", f"{index}[{along.name}]"
    tile = f"{name}[{', '.join([at, other.tile] if by_rows and other else [other.tile, at] if other else [at])}]"
    element_text = f"{name}[{', '.join([element, other.name] if by_rows and other else [other.name, element] if other else [element])}]"
    value = Value(tile, element_text, rows, cols, type, size, True, True)
    if covered:
        value = dataclasses.replace(value, tile=f"({tile} else 0.5)", element=f"(if {element} >= 0 and {element} < {dim} then {element_text} else 0.5)")
    return value


def picked(k, rows, cols):
    """Elements chosen by a tile of integers: from a table, or along a dim beside another."""
    if not rows or not cols:
        return gathered(k, rows, cols)
    dim = k.new("G")
    extent = k.choices.pick((16, 5, 1, 24))
    k.dims[dim] = extent
    covered = k.choices.chance(30)
    index = k.integers([rows.dim, cols.dim], -3 if covered else 0, extent + 2 if covered else extent - 1)
    at, element = f"{index}[{rows.tile}, {cols.tile}]", f"{index}[{rows.name}, {cols.name}]"
    other = k.choices.pick((None, rows, cols))
    beside = other and (other.col if other is rows else other.row)
    places = [(dim, at, element)] + ([(other.dim, beside, other.name)] if other else [])
    if k.choices.chance(50):
        places.reverse()
    name, type, size = new_input(k, [place[0] for place in places],
                                 k.choices.pick(("f32", "bf16", "f16", "f8e4m3")) if k.base == "f32" else "f64")
    tile, element_text = (f"{name}[{', '.join(place[i] for place in places)}]" for i in (1, 2))
    if covered:
        tile = f"({tile} else 0.5)"
        element_text = f"(if {element} >= 0 and {element} < {dim} then {element_text} else 0.5)"
    return Value(tile, element_text, rows, cols, type, size, True, True)


INTEGER_FORMS = ("({0} + {1})", "({0} - {1})", "({0} * {1} % 97)", "({0} / 3 + {1})", "({0} % 5 - {1})", "min({0}, {1})", "max({0}, {1})",
                 "({0} & {1})", "({0} | {1})", "({0} ^ {1})", "(({0} & 7) << 2)", "(({0} + {1}) >> 1)", "(-{0})", "(~{0})", "abs({0})")


# What makes i32 of a narrower integer.
NARROW_FORMS = ("(~{0})", "(-{0})", "abs({0})", "({0} & 12)", "({0} ^ 5)", "({0} >> 1)", "({0} % 5)", "max({0}, 1)", "({0} + {0})")


def narrow_integer(k, rows, cols):
    """An operation on a tensor of i8 or u8."""
    axes = [axis for axis in (rows, cols) if axis]
    type = k.choices.pick(("i8", "u8"))
    name = k.tensor([axis.dim for axis in axes], type)
    suffix = "" if len(axes) == 2 else ".col" if rows else ".row"
    value = Value(f"{name}[{', '.join(axis.tile for axis in axes)}]{suffix}", f"{name}[{', '.join(axis.name for axis in axes)}]", rows, cols, type, 256, True, True)
    return combine(k.choices.pick(NARROW_FORMS), value, size=600, type="i32", exact=True)


def integer(k, rows, cols, depth):
    """An integer expression, small in magnitude, as a Value of type i32."""
    if depth == 0 or k.choices.chance(30):
        choices = ["constant"] + (["rows"] if rows else []) + (["cols"] if cols else []) + (["tensor"] if rows or cols else []) + \
            ["place", "first"] + (["narrow"] if rows or cols else []) + (["scalar"] if k.scalars else []) + (["variable"] if any(v.type == "i32" for v in readable(k)) else [])
        kind = k.choices.pick(choices)
        if kind == "rows":
            return Value(rows.col, rows.name, rows, None, "i32", 200, True, True)
        if kind == "cols":
            return Value(cols.row, cols.name, None, cols, "i32", 200, True, True)
        if kind == "tensor":
            axis = rows or cols
            name = k.integers([axis.dim], -9, 9)
            return Value(f"{name}[{axis.tile}].{'col' if rows else 'row'}", f"{name}[{axis.name}]", rows, None if rows else cols, "i32", 9, True, True)
        if kind == "narrow":
            return narrow_integer(k, rows, cols)
        if kind == "place":
            axis = k.choices.pick([axis for axis in (rows, cols) if axis] or [None])
            return axis and constructs.place_in_tile(k, axis, axis is cols) or integer(k, rows, cols, 0)
        if kind == "first":
            return constructs.first_of(k, rows, cols) or integer(k, rows, cols, 0)
        if kind == "scalar":
            counter = k.choices.pick(k.scalars)
            return Value(counter.name, counter.name, None, None, "i32", 20, True, True)
        if kind == "variable":
            return dataclasses.replace(k.choices.pick([v for v in readable(k) if v.type == "i32"]).value)
        text = str(k.choices.pick((1, 0, 2, 5, 7, 3, -4)))
        return Value(text, text, None, None, "i32", 8, True, True)
    form = k.choices.pick(INTEGER_FORMS)
    if "{1}" not in form:
        return combine(form, integer(k, rows, cols, depth - 1), size=400, type="i32", exact=True)
    return combine(form, integer(k, rows, cols, depth - 1), integer(k, rows, cols, depth - 1), size=400, type="i32", exact=True)


def condition(k, rows, cols):
    chosen = constructs.truth(k, rows, cols) if k.choices.chance(15) else None
    if chosen:
        return chosen
    form = k.choices.pick(("{0} < {1}", "{0} <= {1}", "{0} == {1}", "{0} != {1}", "not ({0} > {1})"))
    return combine(form, integer(k, rows, cols, 1), integer(k, rows, cols, 1), size=1, type="bool", exact=True)


def readable(k):
    return [variable for variable in k.variables if not variable.summed]


def fits(value, rows, cols):
    return (value.rows is None or value.rows is rows) and (value.cols is None or value.cols is cols)


def named(k, rows, cols):
    """Values in scope that can stand here: of variables and of lets."""
    values = [v.value for v in readable(k) if v.type != "i32"] + k.lets
    return [value for value in values if fits(value, rows, cols) or fits(transposed(value), rows, cols)]


def argument(k):
    """A number that the caller gives."""
    name = k.new("a")
    k.params.append(f"{name}: f32")
    k.set(name, ("0.5", "-1.25", "2", "0"))
    return Value(name if k.base == "f32" else f"f64({name})", name, None, None, k.base, 2, True)


def leaf(k, rows, cols):
    with k.choices.span():
        known = named(k, rows, cols)
        if known and k.choices.chance(55):
            value = k.choices.pick(known)
            return value if fits(value, rows, cols) else transposed(value)
        kind = k.choices.pick(("load", "load", "constant", "col", "row", "moved", "gathered", "picked", "integer", "scalar", "construct"))
        if kind == "construct":
            return constructs.leaf(k, rows, cols)
        if kind == "constant":
            text = k.choices.pick(("0.5", "2.0", "-1.25", "3.0"))
            return Value(text, text, None, None, k.base, 3, True)
        if kind == "col":
            return load(k, rows, None) if rows else load(k, rows, cols)
        if kind == "row":
            return load(k, None, cols) if cols else load(k, rows, cols)
        if kind == "moved":
            return moved(k, rows, cols)
        if kind == "gathered":
            return gathered(k, rows, cols)
        if kind == "picked":
            return picked(k, rows, cols)
        if kind == "integer":
            part = integer(k, rows, cols, 2)
            return combine((f"({k.base}({{0}} % 8) * 0.125)", "({0} % 8 * 0.125)"), part, size=1, type=k.base, exact=True)
        if kind == "scalar":
            return argument(k)
        return load(k, rows, cols)


UNARY = (("abs({0})", None), ("(-{0})", None), ("tanh({0})", 1), ("sin({0})", 1), ("cos({0})", 1), ("erf({0})", 1), ("sigmoid({0})", 1),
         ("sqrt(abs({0}) + 1)", None), ("rsqrt(abs({0}) + 1)", 1), ("rcp(abs({0}) + 1)", 1), ("exp(-abs({0}))", 1), ("exp2(min({0}, 3))", 8),
         ("log(abs({0}) + 1)", None), ("log2(abs({0}) + 2)", None), ("({0} * {0})", None))
BINARY = ("({0} + {1})", "({0} - {1})", "({0} * {1})", "min({0}, {1})", "max({0}, {1})", "({0} / (abs({1}) + 1))")
EXACT = ("min", "max")


def squash(value, limit=8.0):
    """The value, kept small."""
    if value.size <= limit:
        return value
    scale = 1.0
    while value.size * scale > limit:
        scale /= 4
    return combine(f"({{0}} * {scale})", value, size=value.size * scale, type=value.type if value.type == "f64" else "f32")


def contracted(k, rows, cols):
    """Axes over which a value of these two may be a sum."""
    return [axis for axis in k.axes if axis not in (rows, cols) and
            axis.kind in ("whole", "loop")]


def expression(k, rows, cols, depth):
    """A random expression of at most these axes, of some float type."""
    if depth <= 0:
        return leaf(k, rows, cols)
    with k.choices.span():
        kind = k.choices.pick(("leaf", "binary", "binary", "binary", "unary", "unary", "where", "round", "reduce", "reduce", "product", "turn"))
        inner = contracted(k, rows, cols)
        if kind == "leaf":
            return leaf(k, rows, cols)
        if kind == "reduce" and inner:
            return reduction(k, rows, cols, k.choices.pick(inner), depth - 1)
        if kind == "product" and inner and rows and cols:
            return squash(k.equation_of(product(k, rows, cols, k.choices.pick(inner), depth - 1)))
        if kind == "turn" and rows and cols:
            value = k.tie(expression(k, cols, rows, depth - 1), cols, rows)
            return transposed(value)
        first = squash(expression(k, rows, cols, depth - 1))
        if kind == "unary":
            form, size = k.choices.pick(UNARY)
            return combine(form, dataclasses.replace(first, tile=base(k, first)), size=size or first.size ** 2 + 1, type=k.base)
        if kind == "round" and k.base == "f32":
            return k.cast(k.cast(first, k.choices.pick(NARROW[:2])), "f32")
        second = squash(expression(k, rows, cols, k.choices.below(max(depth, 1))))
        if kind == "where":
            chosen = condition(k, rows, cols)
            return combine((f"where({{0}}, {k.base}({{1}}), {k.base}({{2}}))", "(if {0} then {1} else {2})"), chosen, first, second,
                           size=max(first.size, second.size), type=k.base)
        form = k.choices.pick(BINARY)
        size = first.size * second.size if "*" in form else first.size + second.size
        return combine(form, dataclasses.replace(first, tile=base(k, first)), second, size=size, type=k.base)


def base(k, value):
    """The text of the value in the type that the kernel computes in."""
    return value.tile if value.type == k.base else f"{k.base}({value.tile})"


def reduction(k, rows, cols, along, depth):
    """A reduction of an expression over `along`, to a column, a row or a number."""
    kind = k.choices.pick(("sum", "max", "min", "sum", "mean", "prod"))
    if kind == "mean" and along.kind != "whole":
        kind = "sum"
    to_column = rows is not None if (rows is None or cols is None) and (rows or cols) else k.choices.chance(50)
    kept = rows if to_column else cols
    inner = expression(k, kept, along, depth) if to_column else expression(k, along, kept, depth)
    inner = squash(k.tie(inner, *((kept, along) if to_column else (along, kept))))
    inner = dataclasses.replace(inner, tile=base(k, inner))
    if kind == "prod":
        inner = combine("max(0.9, min(1, {0}))", inner, size=1, type=k.base)
    call = f"{'row' if to_column else 'col'}{kind}({inner.tile})"
    operator = "sum" if kind == "mean" else kind
    element = f"{operator}({along.name} in {along.range}, {inner.element})" + (f" / {along.dim}" if kind == "mean" else "")
    value = Value(call, element, kept if to_column else None, None if to_column else kept, k.base, inner.size, False, True)
    if kind == "sum":
        value.size *= max(along.size, 1)
    return squash(k.equation_of(value))


def operand(k, rows, cols, type, depth):
    """An operand of a product, of the type."""
    with k.choices.span():
        if type.startswith("U"):
            return load(k, rows, cols, type)
        kind = k.choices.pick(("load", "load", "load", "gathered", "picked", "named", "computed", "cast"))
        if kind == "named":
            known = [value for value in named(k, rows, cols) if value.type == type and len(value.axes()) == 2]
            if known:
                value = k.choices.pick(known)
                return narrowed(k, k.tie(value if value.rows is rows else transposed(value), rows, cols), type)
        if kind == "gathered":
            value = gathered(k, rows, cols)
        elif kind == "picked":
            value = picked(k, rows, cols)
            if value.rows and value.cols:
                return narrowed(k, value, type)
        if kind == "computed":
            value = squash(k.tie(expression(k, rows, cols, depth), rows, cols), 4.0)
            return narrowed(k, value, type)
        if kind == "cast":
            return narrowed(k, load(k, rows, cols), type)
        return narrowed(k, load(k, rows, cols, k.choices.pick(("f32", "tf32")) if type == "tf32" else type), type)


def narrowed(k, value, type):
    if value.type == type:
        return value
    return k.cast(value, type)


def product_type(k):
    if k.base == "f64":
        return "f64"
    if not k.types and k.choices.chance(6):
        return constructs.type_parameter(k)
    return k.choices.pick(("bf16", "bf16", "f16", "f8e4m3", "f8e5m2", "tf32", "f32"))


def product(k, rows, cols, along, depth):
    """`left @ right`, contracted over `along`: a value whose element is the sum."""
    with k.choices.span():
        type = product_type(k)
        left, right = operand(k, rows, along, type, depth), operand(k, along, cols, type, depth)
        size = 4 * max(along.size, along.extent) ** 0.5 * max(left.size, 1) * max(right.size, 1) / 4
        return Value(f"({left.tile} @ {right.tile})", f"sum({along.name} in {along.range}, {left.element} * {right.element})", rows, cols,
                     k.base, size, False, left.ended and right.ended)
