# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statements that use one construct of the language each: `-=` and its like, `else if`, `max=` into tensors, functions with two results."""
import dataclasses

import expressions
import statements
from expressions import expression, squash
from values import Value, combine


def update(k, variable):
    """`variable op= …`."""
    rows, cols = variable.value.rows, variable.value.cols
    operator, form = k.choices.pick((("-=", "({0} - {1})"), ("+=", "({0} + {1})"), ("*=", "({0} * {1})"), ("/=", "({0} / {1})"),
                                     ("max=", "max({0}, {1})"), ("min=", "min({0}, {1})")))
    new = squash(expression(k, rows, cols, k.choices.below(2)), 2.0)
    new = dataclasses.replace(new, tile=expressions.base(k, new))
    if operator == "/=":
        new = combine("(abs({0}) + 1)", new, size=3.0, type=k.base)
    if operator == "*=":
        new = combine("tanh({0})", new, size=1.0, type=k.base)
    value = combine(form, variable.value, new, size=4.0, type=k.base)
    k.say(f"{variable.name} {operator} {new.tile};")
    variable.value = dataclasses.replace(k.equation("e", dataclasses.replace(value, rows=rows, cols=cols)), tile=variable.name, exact=False,
                                         ended=False, size=4.0)


def chain(k):
    """`if … else if … else` about one variable."""
    with k.choices.span():
        variables = [v for v in k.variables if not v.summed and not v.stored and v.type == k.base and v not in k.fixed]
        if not variables or k.branches:
            return statements.make_let(k)
        v = k.choices.pick(variables)
        first, second = statements.scalar_condition(k), statements.scalar_condition(k)
        k.say(f"if {first.tile} {{ {v.name} = {v.name} * 0.5; }} else if {second.tile} {{ {v.name} = {v.name} + 0.25; }} else {{ {v.name} = -{v.name}; }}")
        old = v.value.element
        element = f"if {first.element} then {old} * 0.5 else if {second.element} then {old} + 0.25 else -{old}"
        v.value = dataclasses.replace(k.equation("e", v.value, element), tile=v.name, exact=False)
        return None


def several(k):
    """A function with two results."""
    with k.choices.span():
        rows, cols = statements.domain(k, 0)
        if not rows and not cols:
            return statements.make_let(k)
        value = k.shaped(squash(expression(k, rows, cols, k.choices.below(2))), rows, cols)
        value = k.equation_of(dataclasses.replace(value, tile=expressions.base(k, value), type=k.base))
        name = f"{k.name}_g{k.new('')}"
        k.functions.append(f"fn {name}(x) {{ let t = x * 0.5; return t + 1, abs(t); }}")
        names = k.new("l"), k.new("l")
        k.say(f"let {', '.join(names)} = {name}({value.tile});")
        for let, form in zip(names, ("{0} * 0.5 + 1", "abs({0} * 0.5)")):
            made = k.equation("e", dataclasses.replace(value, exact=False, size=value.size + 1), form.format(value.element))
            k.lets.append(dataclasses.replace(made, tile=let))
        return None


def extreme(k):
    """`max=` or `min=` into a tensor of what the blocks and rounds find."""
    with k.choices.span():
        if k.ragged or k.base != "f32" or k.branches or any(axis.kind != "grid" for axis in k.grid_axes):
            return statements.make_let(k)
        axes = list(k.grid_axes) if len(k.grid_axes) == 2 else [k.grid_axes[0], None]
        kind = k.choices.pick(("max", "min"))
        rows, cols = axes
        integers = k.choices.chance(30) and rows and cols
        if integers:
            value = k.tie_integer(expressions.integer(k, rows, cols, 2), rows, cols)
        else:
            value = k.tie(squash(expression(k, rows, cols, k.choices.below(2)), 4.0), rows, cols)
            value = dataclasses.replace(value, tile=expressions.base(k, value))
        named = k.equation("h", value)
        name, type = k.new("z"), "i32" if integers else "f32"
        kept, call = [axis for axis in axes if axis], value.tile
        if len(kept) == 2 and not integers and k.choices.chance(50):
            kept, call = ([rows], f"row{kind}({value.tile})") if k.choices.chance(50) else ([cols], f"col{kind}({value.tile})")
        k.outs.append(f"inout {name}: {type}[{', '.join(axis.dim for axis in kept)}]")
        k.say(f"{name}[{', '.join(axis.tile for axis in kept)}] {kind}= {call};")
        text = named.element
        binders = [f"{c.name} in {c.range}" for c in k.counters] + [f"{axis.name} in {axis.range}" for axis in axes if axis and axis not in kept]
        for binder in reversed(binders):
            text = f"{kind}({binder}, {text})"
        head = f"{name}[{', '.join(axis.name for axis in kept)}]"
        if integers:
            k.settings[name] = "integers(lo = -9, hi = 9)"
        k.outputs.append(f"{head} = {kind}({head}, {text});")
        return None


def construct(k):
    k.choices.pick((chain, several, extreme))(k)
