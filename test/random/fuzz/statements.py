# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random statements: lets, variables that loops carry, loops, branches, sums of products, stores in place, atomics, outputs."""
import dataclasses
import re

import constructs
import expressions
import gathers
import kept
import layouts
import moves
import patterns
import programs
import regular
import updates
from expressions import condition, expression, integer, product, squash
from kernel import Counter, Variable
from shapes import grid, tile_axis
from values import NARROW, Value, combine

OUTPUTS = ("f32", "bf16", "f16", "f8e4m3", "f8e5m2", "f64", "tf32")


def domain(k, least=1):
    """Two axes to compute over, or one, or none."""
    axes = [axis for axis in k.axes]
    kind = k.choices.pick((2, 2, 2, 1, 1, 0)) if least == 0 else k.choices.pick((2, 2, 1))
    rows = k.choices.pick(axes)
    others = [axis for axis in axes if axis is not rows]
    if kind == 0:
        return None, None
    if kind == 1 or not others:
        return (rows, None) if k.choices.below(2) == 0 else (None, rows)
    cols = k.choices.pick(others)
    return fit(rows, cols)


def fit(rows, cols):
    """Not more than registers hold."""
    return (rows, cols) if rows.size * cols.size <= 33000 else (rows, None)


def carried_domain(k):
    """What a variable may lie along: an axis of a loop around ends with it."""
    rows, cols = domain(k, 0)
    return tuple(axis if axis and axis in k.variable_axes else None for axis in (rows, cols))


# -- variables

def declare(k):
    """A variable, with its first value."""
    with k.choices.span():
        name = constructs.users_name(k, "v")
        kind = k.choices.pick(("tile", "tile", "tile", "sum", "sum", "copy", "integer", "place"))
        if kind == "integer":
            value = integer(k, None, None, 1)
            k.say(f"var {name} = {value.tile} + 0;")
            k.variables.append(Variable(name, k.equation("e", dataclasses.replace(value, tile=name, size=100)), "i32"))
            return
        if kind == "place" and in_place(k):
            return
        rows, cols = carried_domain(k)
        known = [v for v in expressions.readable(k) if v.type != "i32" and not v.stored]
        if kind == "copy" and known:
            other = k.choices.pick(known)
            k.say(f"var {name} = {other.name};")
            k.variables.append(Variable(name, dataclasses.replace(other.value, tile=name), other.type))
            return
        if kind == "sum" or k.choices.chance(20):
            start = k.choices.pick(("0", "0.5")) if kind != "sum" else "0"
            text = k.zeros(rows, cols) if start == "0" else f"full({', '.join(k.zeros(rows, cols)[:-1].split('(')[-1].rstrip(')').split(', '))}, 0.5)"
            if start != "0" and k.base != "f32":
                text = f"{k.base}({text})"
            k.say(f"var {name} = {text};")
            value = Value(name, start, rows, cols, k.base, 1.0, True)
            k.variables.append(Variable(name, value, k.base, summed=kind == "sum"))
            return
        type = k.choices.pick((k.base, k.base, k.base, "bf16", "f16")) if k.base == "f32" else k.base
        value = as_type(k, squash(k.shaped(expression(k, rows, cols, k.choices.below(3)), rows, cols), 4.0), type)
        # A literal alone would make it a variable of f32.
        k.say(f"var {name} = {value.tile if type == 'f32' else f'{type}({value.tile})'};")
        k.variables.append(Variable(name, dataclasses.replace(k.equation("e", value), tile=name, exact=False, ended=False), type))


def as_type(k, value, type):
    if type == k.base:
        return dataclasses.replace(value, tile=expressions.base(k, value), type=type)
    return k.cast(value, type)


def in_place(k):
    """A tensor that is read and written in place, as a variable; False where the grid's axes do not fit."""
    wide = [axis for axis in k.axes if axis.kind == "whole"]
    axes = list(k.grid_axes)
    if len(axes) == 1 and wide and k.choices.chance(60):
        axes.append(k.choices.pick(wide))
    name = k.new("y")
    type = k.choices.pick(("f32", "f32", "bf16", "f16", "f8e4m3")) if k.base == "f32" else "f64"
    leading = [counter for counter in k.scalars if counter.dim == "B"]
    parts = [(counter.dim, counter.name, counter.name) for counter in leading] + [(axis.dim, axis.tile, axis.name) for axis in axes]
    k.outs.append(f"inout {name}: {type}[{', '.join(part[0] for part in parts)}]")
    value = expressions.loaded(k, name, type, [part[1] for part in parts], [part[2] for part in parts], axes[0],
                               axes[1] if len(axes) > 1 else None, 4.0)
    variable = Variable(f"{name}[{', '.join(part[1] for part in parts)}]", value, type, stored=True)
    variable.outer = [counter.name for counter in leading]
    k.variables.append(variable)
    k.places.append((variable, name, parts))
    return True


def assign(k):
    """An assignment to a variable: of another one, or of an expression."""
    with k.choices.span():
        variables = [v for v in k.variables if not v.summed and v not in k.fixed]
        if not variables:
            return declare(k) if k.depth == 0 and not k.branches else None
        variable = k.choices.pick(variables)
        rows, cols = variable.value.rows, variable.value.cols
        if variable.type == "i32":
            value = combine("({0} % 1009)", integer(k, None, None, 2), size=1009, type="i32", exact=True)
            k.say(f"{variable.name} = {value.tile};")
            variable.value = dataclasses.replace(k.equation("e", value), tile=variable.name)
            return None
        if variable.type == k.base and not variable.stored and k.choices.chance(15):
            return updates.update(k, variable)
        others = [v for v in variables if v is not variable and v.type != "i32" and not v.stored and not variable.stored and v.type == variable.type and
                  (v.value.rows, v.value.cols) == (rows, cols)]
        if others and k.choices.chance(45):
            other = k.choices.pick(others)
            if k.choices.chance(25):
                return swap(k, variable, other)
            k.say(f"{variable.name} = {other.name};")
            variable.value = dataclasses.replace(other.value, tile=variable.name)
            return None
        if variable.stored:
            return store_in_place(k, variable, k.shaped(squash(expression(k, rows, cols, k.choices.below(3)), 4.0), rows, cols))
        form = k.choices.pick(("{1}", "({0} * 0.5 + {1})", "max({0}, {1})", "min({0}, {1})", "tanh({0} + {1})", "({0} * 0.5)"))
        new = squash(expression(k, rows, cols, k.choices.below(3)), 2.0)
        old = dataclasses.replace(variable.value, tile=expressions.base(k, variable.value))
        value = combine(form, old, dataclasses.replace(new, tile=expressions.base(k, new)), size=4.0, type=k.base)
        if form == "{1}":
            value = new
        value = as_type(k, k.shaped(value, rows, cols), variable.type)
        k.say(f"{variable.name} = {value.tile};")
        variable.value = dataclasses.replace(k.equation("e", value), tile=variable.name, exact=False, ended=False, size=4.0)
        return None


def swap(k, first, second):
    name = k.new("l")
    k.say(f"let {name} = {first.name};")
    k.say(f"{first.name} = {second.name};")
    k.say(f"{second.name} = {name};")
    first.value, second.value = (dataclasses.replace(second.value, tile=first.name), dataclasses.replace(first.value, tile=second.name))


def store_in_place(k, variable, value):
    # A tile with another type of arithmetic is narrowed by the store; what is read afterwards has been rounded.
    k.say(f"{variable.name} = {value.tile};")
    if not k.branches:
        k.made.add(variable.name)
    element = value.element if variable.type == "f32" and value.type != "f64" else f"{variable.type}({value.element})"
    rounded = k.equation("s", value, element)
    variable.value = dataclasses.replace(variable.value, element=rounded.element, exact=False, size=4.0)


def add(k):
    """`+=` on a variable that only sums."""
    with k.choices.span():
        variables = [v for v in k.variables if v.summed]
        if not variables or k.depth == 0:
            return assign(k)
        variable = k.choices.pick(variables)
        rows, cols = variable.value.rows, variable.value.cols
        inner = expressions.contracted(k, rows, cols)
        if inner and rows and cols and k.choices.chance(80):
            # The innermost loop's axis is contracted most often.
            value = product(k, rows, cols, k.choices.pick(list(reversed(inner))), k.choices.below(3))
        elif inner and (rows or cols) and k.choices.chance(60):
            value = expressions.reduction(k, rows, cols, inner[-1], k.choices.below(2))
        else:
            value = expression(k, rows, cols, k.choices.below(2))
        value = k.shaped(value, rows, cols)
        k.say(f"{variable.name} += {expressions.base(k, value)};")
        variable.terms.append(dataclasses.replace(k.equation("h", value), rows=rows, cols=cols))
        variable.value.size += value.size * 4
        return None


# -- loops and branches

def loop(k):
    with k.choices.span():
        kind = k.choices.pick(("tiles", "tiles", "tiles", "count", "count", "loaded", "from"))
        round_name = k.new("t")
        before = [(v, v.value, v.terms) for v in k.variables]
        axis = None
        if kind in ("tiles", "from"):
            free = [letter for letter in "kj" if letter not in [a.name for a in k.axes]]
            letter = free[0] if free else k.new("k")
            axis = tile_axis(k, letter, "loop", 128)
            start = k.choices.pick((1, 3, 8)) if kind == "from" else 0
            # What stands for a round may depend on the tile's size. Its tune is named in the reference, so that tkc leaves it alone.
            size = axis.size_text
            axis = dataclasses.replace(axis, range=f"{start} + {round_name} * {size}..min({axis.dim}, {start} + ({round_name} + 1) * {size})")
            head = f"for {axis.name} in tiles({f'{start}, ' if start else ''}{axis.dim}, {axis.size_text}) {{"
            rounds = f"max(0, ({axis.dim} + {size} - {1 + start}) / {size})" if start else f"({axis.dim} + {size} - 1) / {size}"
            counter = Counter(round_name, f"0..{rounds}")
        else:
            rounds = k.choices.pick((2, 3, 1, 4, 0))
            name = k.new("i")
            bound = str(rounds)
            if kind == "loaded":
                bound = bound_of(k, rounds)
            elif k.choices.chance(40):
                bound = k.new("T")
                k.dims[bound] = max(rounds, 1)
                k.others[bound] = range(1, k.dims[bound] + 1)
                rounds = bound
            head = f"for {name} in 0..{bound} {{"
            counter = Counter(name, f"0..{rounds}", bound if bound.startswith("T") else "")
        k.say(head)
        enter(k, counter, axis)
        body(k, 1 + k.choices.count(4, 65))
        leave(k, counter, axis, rounds, before)
        k.say("}")


def bound_of(k, rounds):
    """A bound that a tensor or a scalar argument holds."""
    name = k.new("c")
    kind = k.choices.pick(("scalar", "tensor", "const", "chosen"))
    if kind in ("const", "chosen"):
        k.params.append(f"const {name}: i32" + (" = 1" if kind == "const" else ""))
        k.settings[name] = str(rounds)
        if kind == "chosen":
            k.where.append(f"{name} in {{{rounds}, {rounds + 1}}}")
        return name
    if kind == "scalar":
        k.params.append(f"{name}: i32")
        k.settings[name] = str(rounds)
        return name
    dim = k.new("C")
    k.dims[dim] = 2
    k.params.append(f"{name}: i32[{dim}]")
    k.settings[name] = f"[{rounds}, {rounds}]"
    return f"{name}[1]"


def enter(k, counter, axis):
    """Into a loop: every variable begins a round with a name of its own."""
    k.indent += 1
    k.depth += 1
    k.loops.append(axis)
    k.scope.append((len(k.lets), len(k.variables)))
    k.counters.append(counter)
    if counter.dim:
        k.scalars.append(counter)
    if axis:
        k.axes.append(axis)
    k.entries.append({})
    for v in k.variables:
        v_entry = k.new("w")
        k.entries[-1][id(v)] = v_entry
        v.terms = []
        if not v.summed:
            v.value = dataclasses.replace(v.value, element=f"{v_entry}[{', '.join(k.index_text(v.value))}]", exact=v.type == "i32", ended=False)


def leave(k, counter, axis, rounds, before):
    """Out of a loop: the equations of what its rounds have made of each variable."""
    entries = k.entries.pop()
    lets, variables = k.scope.pop()
    inner = list(k.counters)
    del k.lets[lets:], k.variables[variables:]
    k.counters.pop()
    if counter in k.scalars:
        k.scalars.remove(counter)
    if axis:
        k.axes.remove(axis)
    k.indent -= 1
    k.depth -= 1
    k.loops.pop()
    for v, old, terms in before:
        if v.summed:
            total = [k.equation("h", term, f"sum({counter.name} in {counter.range}, {term.element})") for term in v.terms]
            v.terms = terms + total
            if k.depth == 0:
                v.value = k.equation("e", v.value, " + ".join([v.value.element] + [term.element for term in v.terms]))
                v.value.exact = False
                v.terms = []
            continue
        entry = entries[id(v)]
        at_begin = f"{entry}[{', '.join([c.name for c in inner] + [a.name for a in v.value.axes()])}]"
        if v.value.element == at_begin:
            # The loop leaves it alone.
            k.equations[entry] = f"{entry}[{', '.join(k.binders(v.value, inner))}] = {old.element};"
            v.value = old
            continue
        step = k.new("r")
        k.equations[step] = f"{step}[{', '.join(k.binders(v.value, inner))}] = {v.value.element};"
        names = [c.name for c in inner[:-1]]
        axes = [a.name for a in v.value.axes()]
        previous = f"{step}[{', '.join(names + [f'{counter.name} - 1'] + axes)}]"
        ranges = k.binders(v.value, inner)
        low, _, high = counter.range.partition("..")
        ranges[len(names)] = f"{counter.name} in {low}..{high} + 1"
        k.equations[entry] = f"{entry}[{', '.join(ranges)}] = if {counter.name} == 0 then {old.element} else {previous};"
        v.value = dataclasses.replace(v.value, element=f"{entry}[{', '.join(names + [str(rounds)] + axes)}]", exact=v.type == "i32")


def branch(k):
    with k.choices.span():
        chosen = scalar_condition(k)
        k.say(f"if {chosen.tile} {{")
        before = [(v, v.value) for v in k.variables]
        hidden = [v for v in k.variables if v.summed]
        k.fixed += hidden
        k.variables = [v for v in k.variables if not v.summed]
        lets, declared = len(k.lets), len(k.variables)
        k.indent += 1
        k.branches += 1
        for _ in range(1 + k.choices.count(2, 40)):
            k.choices.pick((assign, make_let, assign))(k)
        middle = [(v, v.value) for v in k.variables[:declared]]
        del k.lets[lets:], k.variables[declared:]
        if k.choices.chance(30):
            k.indent -= 1
            k.say("} else {")
            k.indent += 1
            for v, value in before:
                v.value = value
            assign(k)
            del k.lets[lets:], k.variables[declared:]
        else:
            for v, value in before:
                v.value = value
        k.indent -= 1
        k.say("}")
        k.branches -= 1
        for v, then in middle:
            if then.element != v.value.element:
                v.value = dataclasses.replace(k.equation("e", v.value, f"if {chosen.element} then {then.element} else {v.value.element}"),
                                              exact=v.type == "i32")
        k.variables = [v for v, _ in before]


def scalar_condition(k):
    """Of integers in scope, an argument, or a constant."""
    kind = k.choices.pick(("integers", "flag", "argument"))
    if kind == "flag" and not k.program_part:
        name = k.new("f")
        default = k.choices.pick(("true", "false"))
        k.params.append(f"const {name}: bool = {default}")
        k.set(name, (None, "false" if default == "true" else "true"))
        return Value(name, name, type="bool", exact=True)
    if kind == "argument":
        name = k.new("a")
        k.params.append(f"{name}: i32")
        k.set(name, ("0", "1", "2", "3"))
        return Value(f"{name} > 1", f"{name} > 1", type="bool", exact=True)
    return condition(k, None, None)


def make_let(k):
    with k.choices.span():
        rows, cols = domain(k, 0)
        value = squash(expression(k, rows, cols, k.choices.below(3)))
        if value.rows is None and value.cols is None and rows:
            value = k.shaped(value, rows, cols)
        if k.base == "f32" and k.choices.chance(25):
            value = k.cast(value, k.choices.pick(NARROW))
        k.let(value)


def optional(k):
    """An input that may be left out."""
    with k.choices.span():
        variables = [v for v in k.variables if not v.summed and not v.stored and v.type == k.base and v not in k.fixed and v.value.axes()]
        if not variables:
            return make_let(k)
        v = k.choices.pick(variables)
        axis = v.value.axes()[0]
        suffix = "col" if axis is v.value.rows else "row"
        name = k.tensor([axis.dim], k.base, optional=True)
        k.set(name, (None, "none"))
        k.say(f"if {name} != none {{ {v.name} = {v.name} * 0.5 + {name}[{axis.tile}].{suffix}; }}")
        element = f"if {name} != none then {v.value.element} * 0.5 + {name}[{axis.name}] else {v.value.element}"
        v.value = dataclasses.replace(k.equation("e", v.value, element), size=6.0, exact=False)
        return None


# -- atomics and outputs

def atomic(k):
    """`+=` into a tensor of what the blocks and rounds sum."""
    with k.choices.span():
        if len(k.grid_axes) == 2:
            rows, cols = k.grid_axes
        else:
            others = [axis for axis in k.axes if axis is not k.grid_axes[0]]
            if not others:
                return make_let(k)
            rows, cols = k.grid_axes[0], k.choices.pick(others)
        value = squash(expression(k, rows, cols, k.choices.below(2)), 4.0)
        value = k.tie(value, rows, cols)
        value = dataclasses.replace(value, tile=expressions.base(k, value))
        kind = k.choices.pick(("tile", "rows", "cols", "scatter"))
        name = k.new("z")
        type = k.base
        named = k.equation("h", value)
        reduced = {"tile": (rows, cols), "rows": (rows, None), "cols": (None, cols), "scatter": (rows, cols)}[kind]
        kept = [axis for axis in reduced if axis]
        sums = [f"{c.name} in {c.range}" for c in k.counters] + [f"{axis.name} in {axis.range}" for axis in (rows, cols) if axis not in kept]
        text = named.element
        where = None
        for axis in kept:
            if axis.kind == "loop":
                low, _, high = axis.range.partition("..")
                text = f"(if {axis.name} >= {low} and {axis.name} < {high} then {text} else 0)"
        if kind == "scatter":
            dim = k.new("G")
            k.dims[dim] = 4
            by_tile = k.choices.chance(30)
            index = k.integers([rows.dim, cols.dim] if by_tile else [rows.dim], 0, 3)
            k.outs.append(f"inout {name}: {type}[{dim}, {cols.dim}]")
            at = f"{index}[{rows.tile}, {cols.tile}], {cols.row}" if by_tile else f"{index}[{rows.tile}].col, {cols.tile}"
            k.say(f"{name}[{at}] += {value.tile};")
            text = f"(if {index}[{rows.name}{f', {cols.name}' if by_tile else ''}] == g_ then {text} else 0)"
            sums.append(f"{rows.name} in {rows.range}")
            where = ["g_", cols.name]
        else:
            k.outs.append(f"inout {name}: {type}[{', '.join(axis.dim for axis in kept)}]")
            call = {"tile": "{}", "rows": "rowsum({})", "cols": "colsum({})"}[kind].format(value.tile)
            k.say(f"{name}[{', '.join(axis.tile for axis in kept)}] += {call};")
            where = [axis.name for axis in kept]
        if k.ragged and rows.name == "m" and rows in kept:
            sums = [text_of for text_of in sums if not text_of.startswith("e_ ")]
            text = by_row(k, text)
            if kind == "scatter":
                sums = [s.replace("o[e_]..o[e_ + 1]", "0..M") for s in sums]
        for binder in reversed(sums):
            text = f"sum({binder}, {text})"
        # What is there before is 0: each addition rounds, which a reference that adds a sum to a large number has no bound for.
        k.settings[f"{name}[{', '.join(f'{index}_' for index in where)}]"] = "0"
        head = f"{name}[{', '.join(where)}]"
        k.outputs.append(f"{head} = {head} + {text};")
        return None


def output(k, value, late=True):
    """A store of the value to a new output, which has a dim for each counter and axis."""
    name = k.new("y")
    type = k.choices.pick(OUTPUTS) if k.base == "f32" else "f64"
    leading = [c for c in k.counters if c.dim and c is not k.ragged]
    axes = list(value.axes())
    turned = len(axes) == 2 and k.choices.chance(15)
    stored = [value.cols, value.rows] if turned else axes
    parts = [(c.dim, c.name, c.name) for c in leading] + [(axis.dim, axis.tile, axis.name) for axis in stored]
    k.outs.append(f"out {name}: {type}[{', '.join(part[0] for part in parts)}]")
    k.say(f"{name}[{', '.join(part[1] for part in parts)}] = {value.tile}{'.T' if turned else ''};")
    place(k, name, [part[2] for part in parts], value.element)


def place(k, name, indices, element):
    """The equation of an output whose element stands in terms of the counters in scope."""
    if k.ragged:
        element = by_row(k, element)
    k.outputs.append(f"{name}[{', '.join(indices)}] = {element};")


def by_row(k, element):
    """The element with the sequence that row m belongs to."""
    k.uses_row = True
    return re.sub(r"\be_\b", "of_row[m]", element)


def store_outputs(k):
    """What is left of every variable, and an expression more."""
    axes = list(k.grid_axes)
    wide = [axis for axis in k.axes if axis.kind == "whole"]
    targets = []
    if len(axes) == 2:
        targets.append((axes[0], axes[1]))
    else:
        targets += [(axes[0], None)] + [(axes[0], axis) for axis in wide]
    for v in k.variables:
        if v.stored or v.type == "i32":
            continue
        for rows, cols in targets:
            held = next((value for value in (v.value, expressions.transposed(v.value)) if expressions.fits(value, rows, cols)), None)
            if held:
                value = squash(held, 64.0) if not k.choices.chance(30) else held
                if k.choices.chance(35):
                    more = squash(expression(k, rows, cols, k.choices.below(2)))
                    form = k.choices.pick(("({0} + {1})", "({0} * {1})", "max({0}, {1})"))
                    value = combine(form, dataclasses.replace(value, tile=expressions.base(k, value)), more, size=value.size + more.size, type=k.base)
                value = dataclasses.replace(value, tile=expressions.base(k, value), type=k.base)
                value = k.equation("e", k.shaped(value, rows, cols))
                output(k, value)
                break
    integers = [v for v in k.variables if v.type == "i32"]
    if integers:
        rows, cols = targets[0]
        total = combine(" + ".join("{%d}" % number for number in range(len(integers))), *(v.value for v in integers), size=9, type="i32")
        name = k.new("y")
        leading = [c for c in k.counters if c.dim and c is not k.ragged]
        parts = [(c.dim, c.name, c.name) for c in leading] + [(a.dim, a.tile, a.name) for a in (rows, cols) if a]
        k.outs.append(f"out {name}: i32[{', '.join(part[0] for part in parts)}]")
        zero = " + ".join(([rows.col] if rows else []) + ([cols.row] if cols else []))
        k.say(f"{name}[{', '.join(part[1] for part in parts)}] = 0 * ({zero}) + {total.tile};")
        place(k, name, [part[2] for part in parts], total.element)
    if not k.outs:
        rows, cols = targets[0]
        output(k, k.equation("e", k.tie(squash(expression(k, rows, cols, 1 + k.choices.below(3))), rows, cols)))


def finish_places(k):
    """The equations of what was changed in place."""
    for variable, name, parts in k.places:
        if variable.name not in k.made:
            store_in_place(k, variable, combine("({0} * 0.5)", variable.value, size=2.0))
        place(k, name, [part[2] for part in parts], variable.value.element)
    if getattr(k, "uses_row", False):
        k.equations["of_row"] = "of_row[m in 0..M] = sum(e_ in 0..E, if o[e_ + 1] <= m then 1 else 0);"


def body(k, statements):
    for _ in range(statements):
        options = [make_let, assign, assign, add, add, add, loop if k.depth < 2 else add, optional if not k.fixed else assign, branch, atomic,
                   updates.construct]
        k.choices.pick(options)(k)


def kernel(k):
    """A whole random kernel, with its cases."""
    k.places, k.fixed, k.scope, k.entries, k.program_part, k.branches = [], [], [], [], False, 0
    of_hundred = k.choices.below(100)
    if of_hundred >= 92:
        programs.program(k)
    elif of_hundred >= 87:
        k.choices.pick(gathers.PATTERNS)(k)
    elif of_hundred >= 80:
        k.choices.pick(kept.PATTERNS)(k)
    elif of_hundred >= 76:
        k.choices.pick(moves.PATTERNS)(k)
    elif k.choices.chance(25):
        k.choices.pick(patterns.PATTERNS)(k)
    elif k.choices.chance(15):
        k.choices.pick(regular.PATTERNS)(k)
    elif k.choices.chance(20):
        k.choices.pick(layouts.PATTERNS)(k)
    else:
        loose(k)
    for _ in range(k.choices.count(4, 85)):
        k.another_case()
    if k.dims and not k.whole and k.choices.chance(12):
        promise(k)


# Of a dim and two numbers: true of all dims.
PROMISES = ("({0} - {1}) / {2} + 1 <= {0} + 1", "({0} - {1}) / {2} * {2} + ({0} - {1}) % {2} == {0} - {1}", "({0} + {2} - 1) / {2} * {2} >= {0}",
            "(({0} - {1}) / {2} - 1) / 2 < {0} + 1", "{0} * {2} > ({0} - {1}) % {2} - {2}")


def promise(k):
    """Conditions with quotients, from which the compiler may conclude something."""
    for _ in range(1 + k.choices.count(2, 40)):
        k.where.append(k.choices.pick(PROMISES).format(k.choices.pick(tuple(k.dims)), 1 + k.choices.below(3), 2 + k.choices.below(4)))


def loose(k):
    """A kernel of any statements."""
    k.base = "f64" if k.choices.chance(6) else "f32"
    grid(k)
    k.variable_axes = list(k.axes)
    for _ in range(1 + k.choices.count(4, 60)):
        declare(k)
    body(k, k.choices.count(2, 35))
    for _ in range(k.choices.count(3, 65)):
        loop(k)
    body(k, k.choices.count(2, 40))
    store_outputs(k)
    finish_places(k)
    k.lines.append("  }")
