# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in tiles that suit instructions and copies, with keys that suit them: of these the planner takes its rarer steps.

Each says in `suits` which keys it may draw (keys.py)."""
import expressions
import patterns
from expressions import squash
from kernel import Counter
from patterns import dims, indices
from shapes import batch, grown
from values import Axis, Value, combine, shape_text

OF_PRODUCTS = ({"cluster": 2}, {"cluster": 4}, {"split": 2}, {"split": 4}, {"split": 8},
               {"split_in_block": 2}, {"split_in_block": 3}, {"split_in_block": 4}, {"split_in_block": 3, "stages": 3}, {"two_cta": 1}, {"two_cta": 0}, {"two_cta": 1, "cluster": 2},
               {"pingpong": 1}, {"pingpong": 1, "persistent": 1}, {"persistent": 1, "claim_tiles": 1}, {"persistent": 1, "claim_tiles": 0},
               {"alternate": 1}, {"alternate": 1, "stages": 3}, {"interleave": 1}, {"warpgroups": 2}, {"warps": 4}, {"cluster": 2, "claim_tiles": 1},
               {"cluster": 2, "cluster_across": 2}, {"cluster": 4, "cluster_across": 2}, {"cluster": 2, "cluster_across": 4, "pingpong": 1},
               {"column_step": 16}, {"column_step": 8, "pingpong": 1}, {"column_step": 16, "cluster": 2}, {"column_step": 8, "cluster": 4, "cluster_across": 2})
OF_ATTENTION = ({"correction": 1}, {"correction": 1, "overlap": 0}, {"own_bounds": 1}, {"own_bounds": 1, "late_sums": 1}, {"late_sums": 1},
                {"late_sums": 0}, {"persistent": 1, "claim_tiles": 1}, {"overlap": 0}, {"exp2_fma": 3}, {"rescale_threshold": 0}, {"cluster": 2},
                {"correction": 1, "rescale_threshold": 0}, {"correction": 1, "late_sums": 0}, {"warps": 4})
OF_ADDED = ({"adder": 1}, {"adder": 0}, {"adder": 1, "persistent": 1}, {"claim_tiles": 1, "persistent": 1}, {"warpgroups": 2}, {"warps": 4}, {"stages": 1})
OF_STORED = ({"bulk_stores": 1}, {"bulk_stores": 1, "stages": 2}, {"bulk_stores": 1, "warpgroups": 2}, {"bulk_stores": 1, "load_ahead": 1}, {"bulk_stores": 1, "persistent": 1},
             {"bulk_stores": 1, "warps": 4}, {"bulk_stores": 1, "overlap": 0}, {"bulk_stores": 1, "cluster": 2}, {"bulk_stores": 1, "share": 1}, {"bulk_stores": 0})
OF_ROWS = ({"align_rows": 1}, {"align_rows": 1, "late_sums": 1}, {"align_rows": 1, "warps": 2}, {"align_rows": 1, "keep": 2}, {"vector": 1}, {"late_sums": 1},
           {"align_rows": 1, "keep": 4, "keep_ahead": 1}, {"keep": 2, "keep_ahead": 1}, {"late_sums": 1, "warps": 8}, {"late_sums": 1, "vector": 1})


def axis(k, letter, kind, sizes, rounds=()):
    """An axis of tiles; most tiles are whole, and most rows begin where copies can. `rounds`: further numbers of tiles that it may have."""
    with k.choices.span():
        size = k.choices.pick(sizes)
        dim = letter.upper()
        extents = grown(k, [2 * size, size, size + 8, 3 * size, max(8, size - 8), 8, 2 * size + 1, 1, *(size * each for each in rounds)], kind)
        k.dims[dim] = k.choices.pick(extents)
        k.others[dim] = [extent for extent in extents if extent <= k.dims[dim]]
        return Axis(letter, dim, k.dims[dim], size, str(size), letter, f"0..{dim}", kind)


def whole(k, letter, sizes):
    """A dim that is known when compiling."""
    dim, size = letter.upper(), k.choices.pick(sizes)
    k.where.append(f"{dim} in {{{size}}}")
    k.dims[dim] = size
    k.others[dim] = [size]
    return Axis(letter, dim, size, size, dim, ":", f"0..{dim}", "whole")


def opening(k, axes, percent=30):
    """The text of `parallel` over these axes and perhaps a batch, and the leading indices of tensors."""
    leading = []
    if k.choices.chance(percent):
        batch(k)
        counter = Counter("b", "0..B", "B")
        k.counters.append(counter)
        k.scalars.append(counter)
        leading.append("B")
    k.axes += axes
    k.grid_axes = list(axes)
    parts = [f"{each.name} in tiles({each.dim}, {each.size_text})" for each in axes] + ["b in 0..B"] * len(leading)
    if k.choices.chance(50):
        parts = parts[-1:] + parts[:-1] if leading else parts
    return f"  parallel {', '.join(parts)} {{", leading


def stored(k, leading, rows, cols, type):
    """A tensor over two axes, stored either way: its slice as a tile, and its element."""
    turned = k.choices.chance(35)
    first, second = (cols, rows) if turned else (rows, cols)
    pads = f"normal(pad = {k.choices.pick((8, 16, 1))})" if k.choices.chance(20) else None
    name = k.tensor(dims(leading, first.dim, second.dim), type, pads)
    return f"{name}[{indices(leading, first.tile, second.tile)}]{'.T' if turned else ''}", f"{name}[{indices(leading, first.name, second.name)}]"


def tiled_product(k):
    """A sum of products, or two with the same left operand, whose operands are stored either way; then a tile more."""
    m, n = axis(k, "m", "grid", (64, 128, 16, 256, 32, 192)), axis(k, "n", "grid", (64, 128, 256, 192, 32))
    grid, leading = opening(k, [m, n])
    kk = axis(k, "k", "loop", (64, 32, 128, 16))
    type = k.choices.pick(("bf16", "f16", "bf16", "f8e4m3", "tf32", "f32"))
    left, left_element = stored(k, leading, m, kk, type)
    if k.choices.chance(15) and type in ("bf16", "f16"):
        left, left_element = f"{type}(f32({left}) * 0.5)", f"({left_element} * 0.5)"
    number = 2 if k.choices.chance(20) and m.size * n.size <= 16384 else 1
    rights = [stored(k, leading if k.choices.chance(50) else [], kk, n, type) for _ in range(number)]
    k.lines.append(grid)
    for at in range(number):
        k.say(f"var acc{at} = {k.zeros(m, n)};")
    squares = number == 1 and k.choices.chance(25)
    said = [f"acc{at} += t @ {right};" for at, (right, _) in enumerate(rights)] + ["squares += rowsum(f32(t) * f32(t));"] * squares
    if squares:
        k.say(f"var squares = {k.zeros(m, None)};")
    k.say(f"for k in tiles(K, {kk.size_text}) {{ let t = {left}; {' '.join(said)} }}")
    sums = [k.equation("h", Value(f"acc{at}", "", m, n, "f32", 64.0), f"sum(k in 0..K, {left_element} * {element})") for at, (_, element) in enumerate(rights)]
    value = combine("({0} * sigmoid({1} * 0.1))", *sums, size=64.0) if number == 2 else sums[0]
    if k.choices.chance(20):
        value = combine(k.choices.pick(("({0} * (1 + erf({0} * 0.1)))", "({0} * (1 + tanh({0} * 0.1)))")), value, size=128.0)
    if squares:
        total = k.equation("h", Value("squares", "", m, None, "f32", 64.0), f"sum(k in 0..K, {left_element} * {left_element})")
        value = combine(("({0} * rsqrt({1} / K + 1))", "({0} / sqrt({1} / K + 1))"), value, total, size=64.0)
    if k.choices.chance(40):
        value = combine(k.choices.pick(("({0} + {1})", "({0} * {1})")), value, squash(expressions.expression(k, m, n, k.choices.below(2))), size=256.0)
    turned = k.choices.chance(15)
    k.outs.append(f"out y0: {k.choices.pick(('bf16', 'f32', 'f16'))}[{', '.join(dims(leading, *('NM' if turned else 'MN')))}]")
    at = indices(leading, *("nm" if turned else "mn"))
    k.say(f"y0[{at}] = {f'({value.tile}).T' if turned else value.tile};")
    k.outputs.append(f"y0[{at}] = {value.element};")
    k.lines.append("  }")
    k.suits = OF_PRODUCTS


def tiled_attention(k):
    """patterns.attention in tiles that suit instructions."""
    m = axis(k, "m", "grid", (128, 64, 256, 192))
    grid, leading = opening(k, [m])
    n = axis(k, "n", "loop", (64, 96, 128, 96, 32))
    d, h = whole(k, "d", (64, 128, 96, 32)), whole(k, "h", (64, 128, 96, 32))
    patterns.attention_over(k, grid, leading, (m, n, d, h), k.choices.pick(("bf16", "bf16", "f16", "f8e4m3")))
    k.suits = OF_ATTENTION


def added_products(k):
    """Scores of a block's rows and those of a loop, each of which sums what the other weighs: one in a variable, one in memory."""
    n = axis(k, "n", "grid", (128, 64))
    grid, leading = opening(k, [n])
    m, d = axis(k, "m", "loop", (64, 128, 32)), whole(k, "d", (64, 128, 32, 96))
    type = k.choices.pick(("bf16", "f16"))
    x, q = (k.tensor(dims(leading, each.dim, "D"), type) for each in (n, m))
    i = lambda *rest: indices(leading, *rest)
    k.outs.append(f"inout z0: f32[{', '.join(dims(leading, 'M', 'D'))}]")
    k.settings[f"z0[{', '.join([dim.lower() + '_' for dim in leading] + ['m_', 'd_'])}]"] = "0"
    kept = k.choices.chance(70)
    k.lines.append(grid)
    k.say(f"let x = {x}[{i('n', ':')}];")
    if kept:
        k.say(f"var acc = {k.zeros(n, d)};")
    k.say(f"for m in tiles(M, {m.size_text}) {{")
    k.indent += 1
    k.say(f"let q = {q}[{i('m', ':')}];")
    function = k.choices.pick(("tanh({0} * 0.1)", "sigmoid({0} * 0.1)", "({0} * 0.125)"))
    masked = k.choices.chance(30)
    score = function.format("(x @ q.T)")
    second = k.choices.chance(40)
    if second:
        y, u, delta = k.tensor(dims(leading, "N", "D"), type), k.tensor(dims(leading, "M", "D"), type), k.tensor(dims(leading, "M"), "f32")
        k.say(f"let u = {u}[{i('m', ':')}];")
        score = f"({score}) * tanh(({y}[{i('n', ':')}] @ u.T) * 0.1 - {delta}[{i('m')}].row)"
    k.say(f"let p = {type}({f'where(m.row >= n.col, {score}, 0)' if masked else score});")
    said = ["acc += p @ q;"] * kept + [f"z0[{i('m', ':')}] += p.T @ x;"]
    for line in reversed(said) if k.choices.chance(40) else said:
        k.say(line)
    k.indent -= 1
    k.say("}")
    bound = ", ".join(["b in 0..B"] * len(leading) + ["n in 0..N", "m in 0..M"])
    element = function.format(f"sum(d in 0..D, {x}[{i('n', 'd')}] * {q}[{i('m', 'd')}])")
    if second:
        element += f" * tanh(sum(d in 0..D, {y}[{i('n', 'd')}] * {u}[{i('m', 'd')}]) * 0.1 - {delta}[{i('m')}])"
    k.equations["s1"] = f"s1[{bound}] = {f'if m >= n then {element} else 0' if masked else element};"
    k.outputs.append(f"z0[{i('m', 'd')}] = z0[{i('m', 'd')}] + sum(n in 0..N, s1[{i('n', 'm')}] * {x}[{i('n', 'd')}]);")
    if kept:
        k.outs.append(f"out y0: {k.choices.pick(('f32', 'bf16'))}[{', '.join(dims(leading, 'N', 'D'))}]")
        k.say(f"y0[{i('n', ':')}] = acc;")
        k.outputs.append(f"y0[{i('n', 'd')}] = sum(m in 0..M, s1[{i('n', 'm')}] * {q}[{i('m', 'd')}]);")
    k.lines.append("  }")
    k.suits = OF_ADDED


def stored_in_loops(k):
    """Each iteration stores scores, and what the sum of those before weighs; the loop goes up, or down by numbers of tiles."""
    # The reference sums anew for each tile that is stored, so that its time grows with the square of M.
    k.scale = min(k.scale, 4)
    n = axis(k, "n", "grid", (64, 128, 32))
    grid, leading = opening(k, [n])
    m, d = axis(k, "m", "loop", (64, 32, 128)), whole(k, "d", (64, 128, 32, 96))
    type = k.choices.pick(("bf16", "f16"))
    x, z = (k.tensor(dims(leading, each.dim, "D"), type) for each in (m, n))
    i = lambda *rest: indices(leading, *rest)
    down, sums, inside = k.choices.chance(50), k.choices.chance(70), k.choices.chance(50)
    number = "at" if down else "m.index"
    outs = [k.choices.pick(("bf16", "f32", "f16")) for _ in range(2)]
    k.lines.append(grid)
    k.say(f"let z = {z}[{i('n', ':')}];")
    k.say(f"var acc = {k.zeros(n, d)};")
    if down:
        k.say(f"let count = (M + {m.size - 1}) / {m.size};")
        k.say("for i in 0..count {")
        k.indent += 1
        k.say("let at = count - 1 - i;")
    before = f"y1[{i(number, 'n', ':')}] = acc;"
    if sums and down and not inside:
        k.say(before)
    k.say(f"for m in tiles({f'at * {m.size}, min(M, at * {m.size} + {m.size})' if down else 'M'}, {m.size_text}) {{")
    k.indent += 1
    if sums and not (down and not inside):
        k.say(before)
    k.say(f"let x = {x}[{i('m', ':')}];")
    function = k.choices.pick(("tanh({0} * 0.1)", "sigmoid({0} * 0.1)", "({0} * 0.125)"))
    k.say(f"let s = {function.format('(x @ z.T)')};")
    k.say(f"y0[{i('m', 'n')}] = s;")
    k.say(f"acc += {type}(s).T @ x;")
    k.indent -= 1
    k.say("}")
    if down:
        k.indent -= 1
        k.say("}")
    bound = ", ".join(["b in 0..B"] * len(leading) + ["m in 0..M", "n in 0..N"])
    element = f"sum(d in 0..D, {x}[{i('m', 'd')}] * {z}[{i('n', 'd')}])"
    k.equations["s1"] = f"s1[{bound}] = {function.format(element)};"
    k.outs.append(f"out y0: {outs[0]}[{', '.join(dims(leading, 'M', 'N'))}]")
    k.outputs.append(f"y0[{i('m', 'n')}] = s1[{i('m', 'n')}];")
    if sums:
        range_ = f"min(M, c * {m.size} + {m.size})..M" if down else f"0..c * {m.size}"
        k.outs.append(f"out y1: {outs[1]}[{', '.join(dims(leading, f'(M + {m.size - 1}) / {m.size}', 'N', 'D'))}]")
        k.outputs.append(f"y1[{i('c', 'n', 'd')}] = sum(m in {range_}, s1[{i('m', 'n')}] * {x}[{i('m', 'd')}]);")
    k.outs.append(f"out y2: f32[{', '.join(dims(leading, 'N', 'D'))}]")
    k.say(f"y2[{i('n', ':')}] = acc;")
    k.outputs.append(f"y2[{i('n', 'd')}] = sum(m in 0..M, s1[{i('m', 'n')}] * {x}[{i('m', 'd')}]);")
    k.lines.append("  }")
    k.suits = OF_STORED


def long_rows(k):
    """Rows of any length, one or a few a tile: maxima and sums online, then perhaps every element by them."""
    m, size = axis(k, "m", "grid", (1, 1, 1, 2, 4, 16)), k.choices.pick((256, 512, 128, 1024, 640))
    k.dims["M"] = min(k.dims["M"], 5)
    k.others["M"] = [extent for extent in (1, 3, 5) if extent <= k.dims["M"]]
    grid, leading = opening(k, [m])
    extents = [extent for extent in (2 * size + 1, size, size - 3, 2 * size + 8, size // 2 + 5, 7) if extent <= 1300]
    k.dims["N"] = k.choices.pick(extents)
    k.others["N"] = [extent for extent in extents if extent <= k.dims["N"]]
    n = Axis("n", "N", k.dims["N"], size, str(size), "n", "0..N", "loop")
    pads = f"normal(pad = {k.choices.pick((1, 3, 8))})" if k.choices.chance(30) else None
    x = k.tensor(dims(leading, "M", "N"), k.choices.pick(("bf16", "f32", "f16")), pads)
    i = lambda *rest: indices(leading, *rest)
    weighted, again = k.choices.chance(30), k.choices.chance(60)
    k.lines.append(grid)
    k.say(f"var top = full({shape_text(m, None)}, -inf);")
    for name in ["total"] + ["mean"] * weighted:
        k.say(f"var {name} = zeros({shape_text(m, None)});")
    k.say(f"for n in tiles(N, {size}) {{")
    step = [f"let t = f32({x}[{i('m', 'n')}]) * 0.5;", "let next = max(top, rowmax(t));", "total = total * exp(top - next) + rowsum(exp(t - next));"]
    step += ["mean = mean * exp(top - next) + rowsum(exp(t - next) * t);"] * weighted + ["top = next;"]
    for line in step:
        k.say(f"  {line}")
    k.say("}")
    bound = ", ".join(["b in 0..B"] * len(leading) + ["m in 0..M"])
    element = f"{x}[{i('m', 'n')}] * 0.5"
    k.equations["top1"] = f"top1[{bound}] = max(n in 0..N, {element});"
    k.equations["l1"] = f"l1[{bound}] = sum(n in 0..N, exp({element} - top1[{i('m')}]));"
    k.outs.append(f"out y0: f32[{', '.join(dims(leading, 'M'))}]")
    k.say(f"y0[{i('m')}] = {'mean / total' if weighted else 'top + log(total)'};")
    result = f"sum(n in 0..N, exp({element} - top1[{i('m')}]) * {element}) / l1[{i('m')}]" if weighted else f"top1[{i('m')}] + log(l1[{i('m')}])"
    k.outputs.append(f"y0[{i('m')}] = {result};")
    if again:
        each_element(k, leading, x, n)
    k.lines.append("  }")
    k.suits = OF_ROWS


def each_element(k, leading, x, n):
    """Every element of the rows by what was found, with a row of weights, and perhaps by where it stands."""
    i = lambda *rest: indices(leading, *rest)
    w = k.tensor(["N"], k.choices.pick(("f32", "bf16")))
    placed = k.choices.chance(40)
    k.outs.append(f"out y1: {k.choices.pick(('bf16', 'f32', 'f16'))}[{', '.join(dims(leading, 'M', 'N'))}]")
    value, element = f"exp(f32({x}[{i('m', 'n')}]) * 0.5 - top) / total * f32({w}[n].row)", f"exp({x}[{i('m', 'n')}] * 0.5 - top1[{i('m')}]) / l1[{i('m')}] * {w}[n]"
    if placed:
        value, element = f"where(n.row % 3 == 1, {value}, 0.25)", f"if n % 3 == 1 then {element} else 0.25"
    k.say(f"for n in tiles(N, {n.size_text}) {{ y1[{i('m', 'n')}] = {value}; }}")
    k.outputs.append(f"y1[{i('m', 'n')}] = {element};")


def grouped_product(k):
    """Products of several heads, a group of which shares an operand, up to a diagonal that ends with the last row and column."""
    m = axis(k, "m", "grid", (64, 128, 16, 32))
    k.axes.append(m)
    k.grid_axes = [m]
    n, d = axis(k, "n", "loop", (64, 32, 128)), whole(k, "d", (64, 32, 16))
    groups, heads = 1 + k.choices.below(2), 1 + k.choices.below(3)
    k.dims |= {"G": groups, "H": groups * heads}
    k.others |= {"G": [groups], "H": [groups * heads, groups]}
    k.where.append("H % G == 0")
    type = k.choices.pick(("bf16", "f16", "f8e4m3"))
    kind = k.choices.pick(("all", "diagonal", "halves"))
    shift, weight = k.choices.pick(("N - M", "0", "M / 2")), f" * a{k.new('')}" if k.choices.chance(50) else ""
    x, z = k.tensor(["H", "M", "N"], type), k.tensor(["G", "N", "D"], type)
    group = k.choices.pick(("h / (H / G)", "h % G"))
    sees = f"n.row <= m.col + ({shift})"
    left = f"{x}[h, m, n]" if kind != "diagonal" else f"{type}(where({sees}, f32({x}[h, m, n]), 0))"
    upto = {"all": "N", "diagonal": f"min(N, max(0, m.end + ({shift})))", "halves": "N / 2"}[kind]
    k.lines.append(f"  parallel m in tiles(M, {m.size_text}), h in 0..H {{")
    k.say(f"var acc = {k.zeros(m, d)};")
    k.say(f"for n in tiles({upto}, {n.size_text}) {{ acc += {left} @ {z}[{group}, n, :]; }}")
    element = f"{x}[h, m, n] * {z}[{group}, n, d]"
    if kind == "diagonal":
        element = f"(if n <= m + ({shift}) then {element} else 0)"
    if weight:
        name = weight.split()[-1]
        type = k.choices.pick(("f32", "f64", "i64", "i32"))
        k.params.append(f"{name}: {type}")
        k.set(name, ("0.5", "-1.25") if type.startswith("f") else ("2", "-1"))
    k.outs.append("out y0: f32[H, M, D]")
    k.say(f"y0[h, m, :] = acc{weight.replace('* ', '* f32(') + ')' if weight else ''};")
    k.outputs.append(f"y0[h, m, d] = sum(n in 0..{'N / 2' if kind == 'halves' else 'N'}, {element}){weight and f' * f32({name})'};")
    k.lines.append("  }")
    k.suits = OF_PRODUCTS


def start_of(k, kinds=("number", "scalar", "element")):
    """Where a range of tiles begins: anywhere, or at a multiple of what copies move at once. As a number, a scalar or an element."""
    kind = k.choices.pick(kinds)
    starts = ("3", "8", "64", "33", "16", "1")
    if kind == "number":
        return k.choices.pick(starts)
    name = k.new("a")
    if kind == "scalar":
        k.params.append(f"{name}: i32")
        k.set(name, starts)
        return name
    bound = k.new("C")
    k.dims[bound] = 2
    k.params.append(f"{name}: i32[{bound}]")
    k.settings[name] = f"[0, {k.choices.pick(starts)}]"
    k.varied[name] = lambda k, dims: f"[0, {k.choices.pick(starts)}]"
    return f"{name}[1]"


def started_product(k):
    """Sums of products and tiles of results that begin anywhere along the rows of their tensors, with vectors that do; stored or added."""
    m, n = axis(k, "m", "grid", (64, 128, 32)), axis(k, "n", "grid", (64, 128, 32))
    kk = axis(k, "k", "loop", (64, 32, 128))
    first = start_of(k)
    start = start_of(k, ("number", "scalar")) if k.choices.chance(35) else "0"
    type = k.choices.pick(("bf16", "f16", "f8e4m3", "f32"))
    left, left_element = stored(k, [], m, kk, type)
    right, right_element = stored(k, [], kk, n, type)
    if k.choices.chance(60):
        s = k.tensor(["K"], k.choices.pick(("f32", "f32", type)))
        left, left_element = f"{type}(f32({left}) * f32({s}[k].row))", f"{type}({left_element} * {s}[k])"
    adds = k.choices.chance(30)
    store = "f32" if adds else k.choices.pick(("bf16", "f32", "f16"))
    k.axes += [m, n]
    k.grid_axes = [m, n]
    begin = f"{start}, " if start != "0" else ""
    k.lines.append(f"  parallel m in tiles(M, {m.size_text}), n in tiles({begin}N, {n.size_text}) {{")
    k.say(f"var acc = {k.zeros(m, n)};")
    k.say(f"for k in tiles({first}, K, {kk.size_text}) {{ acc += {left} @ {right}; }}")
    k.outs.append(f"inout y0: {store}[M, N]")
    k.say(f"y0[m, n] {'+=' if adds else '='} acc;")
    total = k.equation("h", Value("acc", "", m, n, "f32", 64.0), f"sum(k in {first}..K, {left_element} * {right_element})")
    kept = f"if n < {start} then y0[m, n] else " if begin else ""
    k.outputs.append(f"y0[m, n] = {kept}{'y0[m, n] + ' if adds else ''}{total.element};")
    k.lines.append("  }")
    k.suits = OF_PRODUCTS


PATTERNS = (started_product, tiled_product, tiled_product, tiled_attention, tiled_attention, added_products, stored_in_loops, long_rows, grouped_product)
