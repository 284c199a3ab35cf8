# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of tiles that are moved: by a number, by an argument, to the beginning of a tensor, or into a page that a table names.

The range of the loop may end before the tensors do, so that an operand has numbers beyond the end of its last tile."""
from patterns import dims, indices
from regular import OF_PRODUCTS, axis, opening, stored
from values import Value


def moved_product(k):
    m, n = axis(k, "m", "grid", (64, 128, 16, 32)), axis(k, "n", "grid", (64, 128, 32))
    grid, leading = opening(k, [m, n])
    kk, type = axis(k, "k", "loop", (64, 32, 128, 16)), k.choices.pick(("bf16", "f16", "f8e4m3", "tf32", "bf16", "f32"))
    end, inside = last_of(k, kk)
    before, within = [], []
    left, left_element = operand(k, leading, m, kk, type, before, within)
    right, right_element = operand(k, leading, kk, n, type, before, within)
    k.lines.append(grid)
    for text in [*before, f"var acc = {k.zeros(m, n)};", f"for k in tiles({end}, {kk.size_text}) {{"]:
        k.say(text)
    for text in [*within, f"acc += {left} @ {right};"]:
        k.say("  " + text)
    k.say("}")
    product = f"{left_element} * {right_element}"
    total = k.equation("h", Value("acc", "", m, n, "f32", 64.0), f"sum(k in 0..K, {inside.format(product)})")
    name = k.new("y")
    k.outs.append(f"out {name}: f32[{', '.join(dims(leading, m.dim, n.dim))}]")
    k.say(f"{name}[{indices(leading, m.tile, n.tile)}] = {total.tile};")
    k.outputs.append(f"{name}[{indices(leading, m.name, n.name)}] = {total.element};")
    k.lines.append("  }")
    k.suits = OF_PRODUCTS


def last_of(k, kk):
    """Where the loop ends, and a term of the sum with its condition."""
    kind = k.choices.pick(("dim", "argument", "tensor"))
    if kind == "dim":
        return kk.dim, "{0}"
    name = k.new("e")
    numbers = ("5", "64", str(kk.extent), "0", "100")
    if kind == "argument":
        k.params.append(f"{name}: i32")
        k.set(name, numbers)
        return f"min({kk.dim}, {name})", f"(if k < {name} then {{0}} else 0)"
    k.dims["E"] = 1
    k.params.append(f"{name}: i32[E]")
    k.set(name, [f"[{number}]" for number in numbers])
    return f"min({kk.dim}, {name}[0])", f"(if k < {name}[0] then {{0}} else 0)"


def operand(k, leading, rows, cols, type, before, within):
    """A slice of a tensor, most often moved along one axis, and its element. What it needs is said before the loop or within it."""
    if k.choices.chance(25):
        return stored(k, leading, rows, cols, type)
    along = k.choices.pick((rows, cols))
    kind = k.choices.pick(("number", "argument", "place", "page"))
    dim, pages, is_covered = along.dim, [], True
    if kind == "number":
        at = element = f"{along.name} {k.choices.pick('-+')} {k.choices.pick((8, 1, 16, 3, 64, 96))}"
    elif kind == "argument":
        by = k.new("s")
        k.params.append(f"{by}: i32")
        k.set(by, ("8", "0", "-16", "5", "64", "-100000", "2147483647"))
        at = element = f"{along.name} + {by}"
    else:
        dim, is_covered = k.new("S"), k.choices.chance(30)
        k.dims[dim] = along.size + (k.choices.pick((-8, 8, -3)) if is_covered else k.choices.pick((0, 8)))
        if not is_covered:
            k.where.append(f"{dim} in {{{k.dims[dim]}}}")  # so that a tile is known to be inside
        at, element = f"{along.name} - {along.name}.begin", f"{along.name} % {along.size}"
        if kind == "page":
            pages = [page_of(k, along, within if along.kind == "loop" else before)]
    turned = k.choices.chance(35)
    pair = [(dim, at, element) if each is along else (each.dim, each.tile, each.name) for each in (rows, cols)]
    parts = pages + (pair[::-1] if turned else pair)
    name = k.tensor(dims(leading, *(part[0] for part in parts)), type)
    tile = f"{name}[{indices(leading, *(part[1] for part in parts))}]"
    value = f"{name}[{indices(leading, *(part[2] for part in parts))}]"
    if is_covered:
        tile = f"({tile} else 0)"
        value = f"(if {element} >= 0 and {element} < {dim} then {value} else 0)"
    return tile + ".T" * turned, value


def page_of(k, along, said):
    """The page of each tile: its dim, its number in the kernel and in the reference."""
    dim, number = k.new("P"), k.new("p")
    k.dims[dim] = k.choices.pick((5, 1, 3))
    table = k.tensor([along.dim], "i32", f"integers(lo = 0, hi = {k.dims[dim] - 1})")
    said.append(f"let {number} = {table}[{along.name}.index];")
    return dim, number, f"{table}[{along.name} / {along.size}]"


PATTERNS = (moved_product,)
