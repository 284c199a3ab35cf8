# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of which one operand stays while a loop goes through the others."""
import patterns
from expressions import expression, squash
from shapes import whole_axis
from values import Value, combine


def kept(k):
    """sum(t, x @ w[t]): the operand x stays over the loop of t, and may change with a loop around it."""
    grid, leading = patterns.head(k, "mn")
    m, n = k.axes
    # Mostly a width that warpgroups multiply.
    whole_axis(k, "d", 128, (64, 128, 32) if k.choices.chance(70) else None)
    type = k.choices.pick(("bf16", "bf16", "f16", "tf32", "f8e4m3", "f32"))
    count(k, "T", (3, 1, 5, 2))
    around = k.choices.chance(50)
    if around:
        count(k, "J", (2, 3, 1))
    stays = k.tensor([*leading, *(["J"] if around else []), "M", "D"], type)
    at = patterns.indices(leading, *(["j"] if around else []), "m", "{d}")
    sums = [Sum(k, type, f"s{number}", leading) for number in range(1 + k.choices.chance(35))]
    on_the_right = k.choices.chance(50)
    k.lines.append(grid)
    for each in sums:
        k.say(f"var {each.name} = {k.zeros(*((n, m) if on_the_right else (m, n)))};")
    if around:
        k.say("for j in 0..J {")
        k.indent += 1
    left = f"{stays}[{at.format(d=':')}]"
    if k.choices.chance(60):
        k.say(f"let x = {left if k.choices.chance(50) else f'{type}(f32({left}) * 1)'};")
        left = "x"
    products = [f"{each.name} += {f'{each.tile} @ {left}.T' if on_the_right else f'{left} @ {each.tile}.T'};" for each in sums]
    k.say(f"for t in 0..T {{ {' '.join(products)} }}")
    if around:
        k.indent -= 1
        k.say("}")
    for number, each in enumerate(sums):
        element = f"sum(t in 0..T, sum(d in 0..D, {stays}[{at.format(d='d')}] * {each.element}))"
        total = k.equation("h", Value(f"{each.name}.T" if on_the_right else each.name, "", m, n, "f32", 64.0),
                           f"sum(j in 0..J, {element})" if around else element)
        result = combine("({0} + {1})", total, squash(expression(k, m, n, k.choices.below(2))), size=64.0)
        k.outs.append(f"out y{number}: {k.choices.pick(('f32', 'bf16', 'f16'))}[{', '.join([*leading, 'M', 'N'])}]")
        k.say(f"y{number}[{patterns.indices(leading, 'm', 'n')}] = {result.tile};")
        k.outputs.append(f"y{number}[{patterns.indices(leading, 'm', 'n')}] = {result.element};")
    k.lines.append("  }")


class Sum:
    """A variable that sums, and what the operand that stays is multiplied with: tiles of rows n, stored so or turned."""

    def __init__(self, k, type, name, leading):
        self.name, turned = name, k.choices.chance(30)
        leading = leading if k.choices.chance(50) else []
        weights = k.tensor([*leading, "T", *(("D", "N") if turned else ("N", "D"))], type)
        at = patterns.indices(leading, "t", *(("{d}", "n") if turned else ("n", "{d}")))
        self.tile = f"{weights}[{at.format(d=':')}]{'.T' if turned else ''}"
        self.element = f"{weights}[{at.format(d='d')}]"


def count(k, dim, choices):
    """A dim that a loop counts through. In other cases it may be 0."""
    k.dims[dim] = k.choices.pick(choices)
    k.others[dim] = range(k.dims[dim] + 1)


PATTERNS = (kept,)
