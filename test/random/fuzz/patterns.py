# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of known shapes with random parts: what loose statements seldom become."""
import dataclasses

import expressions
import four_bits
import own_memory
import scales
import wrapping
from expressions import squash
from kernel import Counter
from shapes import batch, tile_axis, whole_axis
from values import Axis, Value, combine, shape_text


def head(k, letters, percent=30):
    """A grid of tiles along these letters, and perhaps of a batch: the text of `parallel`, and the leading indices of tensors."""
    parts, leading = [], []
    if k.choices.chance(percent):
        batch(k)
        parts.append("b in 0..B")
        counter = Counter("b", "0..B", "B")
        k.counters.append(counter)
        k.scalars.append(counter)
        leading.append("B")
    for letter in letters:
        axis = tile_axis(k, letter, "grid", 128)
        k.axes.append(axis)
        parts.append(f"{letter} in tiles({axis.dim}, {axis.size_text})")
    k.grid_axes = list(k.axes)
    return f"  parallel {', '.join(parts)} {{", leading


def indices(leading, *rest):
    return ", ".join([dim.lower() for dim in leading] + list(rest))


def dims(leading, *rest):
    return [*leading, *rest]


def attention(k):
    """Softmax of products online, times values: whole, causal, or in a window."""
    grid, leading = head(k, "m")
    m = k.axes[0]
    n = tile_axis(k, "n", "loop", 128)
    d, h = whole_axis(k, "d", 128), whole_axis(k, "h", 128)
    attention_over(k, grid, leading, (m, n, d, h), k.choices.pick(("bf16", "f16", "f8e4m3", "tf32")))


def attention_over(k, grid, leading, axes, type):
    """The same over axes of rows, keys, what is contracted, and values."""
    m, n, _, h = axes
    mask = k.choices.pick((None, None, "causal", "window"))
    turned = k.choices.chance(25)       # values lie with their dim first
    q, keys = k.tensor(dims(leading, "M", "D"), type), k.tensor(dims(leading, "N", "D"), type)
    values = k.tensor(dims(leading, "H", "N") if turned else dims(leading, "N", "H"), type)
    bias = k.tensor(dims(leading, "M", "N"), "f32") if k.choices.chance(30) else None
    width = "20"
    if mask == "window" and k.choices.chance(50):
        width = k.new("a")
        k.params.append(f"{width}: i32")
        k.set(width, ("20", "7", "90"))
    out_type = k.choices.pick(("f32", "bf16", "f16"))
    k.outs.append(f"out y0: {out_type}[{', '.join(dims(leading, 'M', 'H'))}]")
    lse = k.choices.chance(50)
    if lse:
        k.outs.append(f"out lse: f32[{', '.join(dims(leading, 'M'))}]")
    scale = k.choices.pick(("0.125", "0.5", "0.25"))
    ends = None if k.choices.chance(40) else mask       # else the mask alone says where the loop could end
    upto = {None: "tiles(N, {0})", "causal": "tiles(min(N, m.end), {0})", "window": f"tiles(max(0, m.begin - {width}), min(N, m.end), {{0}})"}[ends]
    k.lines.append(grid)
    k.say(f"let q = {q}[{indices(leading, 'm', ':')}];")
    k.say(f"var top = full({shape_text(m, None)}, -inf);")
    k.say(f"var total = zeros({shape_text(m, None)});")
    k.say(f"var acc = zeros({shape_text(m, h)});")
    k.say(f"for n in {upto.format(n.size_text)} {{")
    k.indent += 1
    say_scores(k, keys, leading, scale, bias, mask, width)
    order = ["acc = acc * r + {p} @ {v};", "total = total * r + rowsum(p);", "top = next;"]
    if k.choices.chance(40):
        order[0], order[1] = order[1], order[0]
    # Numbers far below 1 would become 0 in float8, and subnormal ones of f16 are 0 to products of gfx90a.
    up, down = {"f8e4m3": (" * 256", " * 0.00390625"), "f16": (" * 1024", " * 0.0009765625")}.get(type, ("", ""))
    narrow = f"{type}(p{up})"
    value = f"{values}[{indices(leading, ':', 'n')}].T" if turned else f"{values}[{indices(leading, 'n', ':')}]"
    for line in order:
        k.say(line.format(p=narrow, v=value))
    k.indent -= 1
    k.say("}")
    k.say(f"let div = {k.choices.pick(('where(total == 0, 1, total)', 'max(total, 1e-30)'))};")
    k.say(f"y0[{indices(leading, 'm', ':')}] = acc / div{down};")
    if lse:
        k.say(f"lse[{indices(leading, 'm')}] = where(total == 0, -inf, top + log(div));")
    k.lines.append("  }")
    reference_of_attention(k, q, keys, values, bias, leading, scale, (mask, width), turned, lse)


def say_scores(k, keys, leading, scale, bias, mask, width):
    score = f"(q @ {keys}[{indices(leading, 'n', ':')}].T) * {scale}"
    if bias:
        score += f" + {bias}[{indices(leading, 'm', 'n')}]"
    seen = {"causal": "n.row <= m.col", "window": f"n.row <= m.col and n.row > m.col - {width}"}.get(mask)
    k.say(f"let s = where({seen}, {score}, -inf);" if seen else f"let s = {score};")
    k.say("let next = max(top, rowmax(s));")
    if mask == "window":
        k.say("let base = where(next == -inf, 0, next);")
    base = "base" if mask == "window" else "next"
    k.say(f"let p = exp(s - {base});")
    k.say(f"let r = exp(top - {base});")


def reference_of_attention(k, q, keys, values, bias, leading, scale, mask, turned, lse):
    i = lambda *rest: indices(leading, *rest)
    mask, width = mask
    sees = {None: "true", "causal": "n <= m", "window": f"n <= m and n > m - {width}"}[mask]
    score = f"{scale} * sum(d in 0..D, {q}[{i('m', 'd')}] * {keys}[{i('n', 'd')}])" + (f" + {bias}[{i('m', 'n')}]" if bias else "")
    bound = ", ".join((["b in 0..B"] if leading else []) + ["m in 0..M"])
    k.equations["s1"] = f"s1[{bound}, n in 0..N] = {score};"
    k.equations["top1"] = f"top1[{bound}] = max(n in 0..N, if {sees} then s1[{i('m', 'n')}] else -inf);"
    k.equations["p1"] = f"p1[{bound}, n in 0..N] = if {sees} then exp(s1[{i('m', 'n')}] - top1[{i('m')}]) else 0;"
    k.equations["l1"] = f"l1[{bound}] = sum(n in 0..N, p1[{i('m', 'n')}]);"
    value = f"{values}[{i('h', 'n')}]" if turned else f"{values}[{i('n', 'h')}]"
    k.outputs.append(f"y0[{i('m', 'h')}] = if l1[{i('m')}] == 0 then 0 else sum(n in 0..N, p1[{i('m', 'n')}] * {value}) / l1[{i('m')}];")
    if lse:
        k.outputs.append(f"lse[{i('m')}] = if l1[{i('m')}] == 0 then -inf else top1[{i('m')}] + log(l1[{i('m')}]);")


def scan(k):
    """A state of rows that goes through time, stored at every step; perhaps kept in memory alone."""
    grid, leading = head(k, "n")
    n = k.axes[0]
    k.dims["T"] = k.choices.pick((3, 1, 5, 17))
    k.others["T"] = range(1, k.dims["T"] + 1)
    x, a = k.tensor(dims(leading, "T", "N"), k.choices.pick(("f32", "bf16", "f16"))), k.tensor(dims(leading, "T"), "f32")
    kind = k.choices.pick(("state", "memory", "late"))
    i = lambda *rest: indices(leading, *rest)
    k.lines.append(grid)
    decay = f"tanh({a}[{i('t')}])"
    bound = ", ".join((["b in 0..B"] if leading else []) + ["t in 0..T", "n in 0..N"])
    if kind == "memory":
        # What the block stored at the step before is read again.
        k.outs.append(f"inout y0: f32[{', '.join(dims(leading, 'T', 'N'))}]")
        k.say(f"for t in 1..T {{ y0[{i('t', 'n')}] = y0[{i('t - 1', 'n')}].row * {decay} + {x}[{i('t', 'n')}].row; }}")
        k.equations["s1"] = f"s1[{bound}] = if t == 0 then y0[{i('t', 'n')}] else s1[{i('t - 1', 'n')}] * {decay} + {x}[{i('t', 'n')}];"
        k.outputs.append(f"y0[{i('t', 'n')}] = s1[{i('t', 'n')}];")
    else:
        k.outs.append(f"out y0: {k.choices.pick(('f32', 'bf16', 'f16'))}[{', '.join(dims(leading, 'T', 'N'))}]")
        k.say(f"var s = zeros({shape_text(None, n)});")
        step, store = f"s = s * {decay} + {x}[{i('t', 'n')}].row;", f"y0[{i('t', 'n')}] = s;"
        k.say(f"for t in 0..T {{ {store if kind == 'late' else step} {step if kind == 'late' else store} }}")
        k.equations["s1"] = f"s1[{bound}] = (if t == 0 then 0 else s1[{i('t - 1', 'n')}] * {decay}) + {x}[{i('t', 'n')}];"
        k.outputs.append(f"y0[{i('t', 'n')}] = " + (f"if t == 0 then 0 else s1[{i('t - 1', 'n')}];" if kind == "late" else f"s1[{i('t', 'n')}];"))
    k.lines.append("  }")


def running(k):
    """Running sums along rows or columns of whole axes."""
    grid, leading = head(k, "m")
    m, d = k.axes[0], whole_axis(k, "d", 64)
    k.axes.append(d)
    kind = k.choices.pick(("wide", "narrow", "bytes"))
    if kind == "bytes":
        name = k.tensor(["M", "D"], k.choices.pick(("i8", "u8", "bool")))
        e = Value(f"{name}[m, :]", f"{name}[m, d]", m, d, "i32", 256, True, True)
    else:
        e = squash(k.tie(expressions.expression(k, m, d, k.choices.below(3)), m, d), 4.0)
        e = dataclasses.replace(e, tile=expressions.base(k, e), type=k.base)
    if kind == "narrow":
        e = k.cast(e, k.choices.pick(("bf16", "f16", "f8e4m3")))
    k.lines.append(grid)
    named = k.equation("h", e)
    k.outs.append(f"out y0: f32[{', '.join(dims(leading, 'M', 'D'))}]")
    along = k.choices.below(2)
    if along == 1 or m.extent > m.size:
        k.say(f"y0[{indices(leading, 'm', ':')}] = cumsum({e.tile}, 1);")
        k.outputs.append(f"y0[{indices(leading, 'm', 'd')}] = sum(i_ in 0..d + 1, {named.element.replace('d]', 'i_]')});")
    else:
        k.say(f"y0[{indices(leading, 'm', ':')}] = cumsum({e.tile}, 0);")
        k.outputs.append(f"y0[{indices(leading, 'm', 'd')}] = sum(i_ in 0..m + 1, {named.element.replace('m, d]', 'i_, d]')});")
    k.lines.append("  }")


def masked_product(k):
    """Products below the diagonal, in a loop that ends there; with an epilogue."""
    grid, leading = head(k, "mn")
    m, n = k.axes
    masked = k.choices.chance(50)
    bound = k.choices.pick(("min(K, m.end)", "K") if masked else ("K", "K / 2"))
    kk = dataclasses.replace(tile_axis(k, "k", "loop", 128), end="" if "m.end" in bound else bound)
    k.axes.append(kk)
    k.loops.append(kk)
    type = k.choices.pick(("bf16", "f16", "tf32", "f8e4m3", "f32"))
    a = expressions.operand(k, m, kk, type, 1)
    b = expressions.operand(k, kk, n, type, 1)
    k.lines.append(grid)
    k.say(f"var acc = {k.zeros(m, n)};")
    left = f"where(k.row <= m.col, f32({a.tile}), 0)"
    left = f"{type}({left})" if type != "f32" else left
    a_element = f"(if k <= m then {a.element} else 0)"
    if not masked:
        left, a_element = a.tile, a.element
    reach = "K" if masked else bound
    k.say(f"for k in tiles({bound}, {kk.size_text}) {{ acc += {left} @ {b.tile}; }}")
    k.axes.remove(kk)
    k.loops.pop()
    product = k.equation("h", Value("acc", "", m, n, "f32", 64.0), f"sum(k in 0..{reach}, {a_element} * {b.element})")
    epilogue = combine("({0} + {1})", product, squash(expressions.expression(k, m, n, k.choices.below(3))), size=64.0)
    k.outs.append(f"out y0: {k.choices.pick(('f32', 'bf16', 'f16'))}[{', '.join(dims(leading, 'M', 'N'))}]")
    k.say(f"y0[{indices(leading, 'm', 'n')}] = {epilogue.tile};")
    k.outputs.append(f"y0[{indices(leading, 'm', 'n')}] = {epilogue.element};")
    k.lines.append("  }")


def integer_product(k):
    """Products of bytes, summed as integers, with or without scales."""
    grid, leading = head(k, "mn")
    m, n = k.axes
    kk = tile_axis(k, "k", "loop", 128)
    fill = "integers(lo = -9, hi = 9)"
    a = k.tensor(dims(leading, "M", "K"), "i8", fill)
    turned = k.choices.chance(50)
    b = k.tensor(["N", "K"] if turned else ["K", "N"], "i8", fill)
    scaled = k.choices.chance(50)
    k.lines.append(grid)
    k.say(f"var acc = i32(zeros({shape_text(m, n)}));")
    k.say(f"for k in tiles(K, {kk.size_text}) {{ acc += {a}[{indices(leading, 'm', 'k')}] @ {f'{b}[n, k].T' if turned else f'{b}[k, n]'}; }}")
    total = f"sum(k in 0..K, {a}[{indices(leading, 'm', 'k')}] * {b}[{'n, k' if turned else 'k, n'}])"
    if scaled:
        s = k.tensor(["M"], "f32")
        k.outs.append(f"out y0: bf16[{', '.join(dims(leading, 'M', 'N'))}]")
        k.say(f"y0[{indices(leading, 'm', 'n')}] = f32(acc) * 0.01 * {s}[m].col;")
        k.outputs.append(f"y0[{indices(leading, 'm', 'n')}] = {total} * 0.01 * {s}[m];")
    else:
        k.outs.append(f"out y0: i32[{', '.join(dims(leading, 'M', 'N'))}]")
        k.say(f"y0[{indices(leading, 'm', 'n')}] = acc;")
        k.outputs.append(f"y0[{indices(leading, 'm', 'n')}] = {total};")
    k.lines.append("  }")


def widened_product(k):
    """Products of bytes that are widened on their way, as they are, or with scales and zero points of their rows; on one side or both."""
    grid, leading = head(k, "mn")
    m, n = k.axes
    kk = tile_axis(k, "k", "loop", 128)
    wide = k.choices.pick(("bf16", "f16"))
    a, index = operand_to_widen(k, dims(leading, "M", "K"), wide, 25), indices(leading, "m", "k")
    turned = k.choices.chance(75)       # stored with what is contracted contiguous
    b, places = operand_to_widen(k, ["N", "K"] if turned else ["K", "N"], wide, 100), "n, k" if turned else "k, n"
    tile = element = f"{b}[{places}]"
    side = "col" if turned else "row"
    if k.choices.chance(30):
        zero = k.tensor(["N"], "f32")
        tile, element = f"({tile} - {zero}[n].{side})", f"({element} - {zero}[n])"
    if k.choices.chance(40):
        scale = k.tensor(["N"], "f32")
        tile, element = f"({tile} * {scale}[n].{side})", f"({element} * {scale}[n])"
    k.lines.append(grid)
    k.say(f"var acc = {k.zeros(m, n)};")
    k.say(f"for k in tiles(K, {kk.size_text}) {{ acc += {wide}({a}[{index}]) @ {wide}({tile}){'.T' if turned else ''}; }}")
    product = k.equation("h", Value("acc", "", m, n, "f32", 64.0), f"sum(k in 0..K, {a}[{index}] * {wide}({element}))")
    result = combine("({0} + {1})", product, squash(expressions.expression(k, m, n, k.choices.below(3))), size=64.0)
    k.outs.append(f"out y0: {k.choices.pick(('f32', 'bf16', 'f16'))}[{', '.join(dims(leading, 'M', 'N'))}]")
    k.say(f"y0[{indices(leading, 'm', 'n')}] = {result.tile};")
    k.outputs.append(f"y0[{indices(leading, 'm', 'n')}] = {result.element};")
    k.lines.append("  }")


def operand_to_widen(k, dims, wide, percent):
    """A tensor of bytes in so many cases of a hundred, else of what they are widened to."""
    if not k.choices.chance(percent):
        return k.tensor(dims, wide)
    return k.tensor(dims, k.choices.pick(("i8", "u8")), "integers(lo = 0, hi = 9)")


def integers(k):
    """Integer arithmetic alone."""
    grid, leading = head(k, "mn")
    m, n = k.axes
    e = expressions.integer(k, m, n, 4)
    k.outs.append(f"out y0: i32[{', '.join(dims(leading, 'M', 'N'))}]")
    k.lines.append(grid)
    k.say(f"y0[{indices(leading, 'm', 'n')}] = 0 * (m.col + n.row) + {e.tile};")
    k.outputs.append(f"y0[{indices(leading, 'm', 'n')}] = {e.element};")
    k.lines.append("  }")


def normalised(k):
    """Rows in two passes over their columns: a sum, then every element by it."""
    grid, leading = head(k, "m")
    m = k.axes[0]
    n = tile_axis(k, "n", "loop", 256)
    type = k.choices.pick(("f32", "bf16", "f16"))
    x = k.tensor(dims(leading, "M", "N"), type)
    place = k.choices.chance(25)
    kind = k.choices.pick(("square", "max", "softmax"))
    i = lambda *rest: indices(leading, *rest)
    k.lines.append(grid)
    load = f"f32({x}[{i('m', 'n')}])"
    total = {"square": "sum(n in 0..N, {0} * {0})", "max": "max(n in 0..N, {0})", "softmax": "sum(n in 0..N, exp({0} * 0.5))"}[kind]
    step = {"square": "a = a + rowsum(e * e)", "max": "a = max(a, rowmax(e))", "softmax": "a = a + rowsum(exp(e * 0.5))"}[kind]
    k.say(f"var a = {'full' if kind == 'max' else 'zeros'}({shape_text(m, None)}{', -inf' if kind == 'max' else ''});")
    k.say(f"for n in tiles(N, {n.size_text}) {{ let e = {load}; {step}; }}")
    norm = {"square": ("rsqrt(a / N + 0.01)", "1 / sqrt(h1[{0}] / N + 0.01)"), "max": ("a * 0.5", "h1[{0}] * 0.5"), "softmax": ("rcp(a)", "1 / h1[{0}]")}[kind]
    k.say(f"let f = {norm[0]};")
    name = "y0"
    k.outs.append(f"out {name}: {k.choices.pick(('f32', 'bf16', 'f16', 'f8e4m3'))}[{', '.join(dims(leading, 'M', 'N'))}]")
    again = load if not place else f"{load} * 1"
    k.say(f"for n in tiles(N, {n.size_text}) {{ {name}[{i('m', 'n')}] = {again} * f; }}")
    bound = ", ".join((["b in 0..B"] if leading else []) + ["m in 0..M"])
    element = f"{x}[{i('m', 'n')}]"
    k.equations["h1"] = f"h1[{bound}] = {total.format(element)};"
    k.outputs.append(f"{name}[{i('m', 'n')}] = {element} * ({norm[1].format(i('m'))});")
    k.lines.append("  }")


def partial(k):
    """Tiles of a part of the rows, in place, with a row whose length is an expression of dims."""
    m, n = tile_axis(k, "m", "grid", 128), tile_axis(k, "n", "grid", 128)
    low, high = k.choices.pick((("0", "M / 2"), ("M / 3", "M"), ("1", "M"), ("0", "M - 1"), ("M % 5", "M"), ("0", "min(M, {a})"), ("0", "min(M, M * 2 / 3)"), ("max({a}, 2)", "M")))
    if "{a}" in low + high:
        name = k.new("a")
        k.params.append(f"{name}: i32")
        k.set(name, ("9", "30", "0"))
        low, high = low.format(a=name), high.format(a=name)
    length = k.choices.pick(("N / 2 + 1", "2 * N", "N - N / 2", "N % 7 + 1", "M + N"))
    x, w = k.tensor(["M", "N"], k.choices.pick(("f32", "bf16", "f16"))), k.tensor([length], "f32")
    k.outs.append("inout y0: f32[M, N]")
    begin = f"{low}, " if low != "0" else ""
    k.lines.append(f"  parallel m in tiles({begin}{high}, {m.size_text}), n in tiles(N, {n.size_text}) {{")
    k.say(f"y0[m, n] = y0[m, n] * 0.5 + ({w}[n + 1] else 0.25).row + {x}[m, n];")
    k.outputs.append(f"y0[m, n] = if m >= {low} and m < {high} then y0[m, n] * 0.5 + (if n + 1 < {length} then {w}[n + 1] else 0.25) + {x}[m, n] else y0[m, n];")
    k.lines.append("  }")


def tables(k):
    """Elements of a table that tiles of integers pick: in a loop, behind a branch, as factors of products."""
    grid, leading = head(k, "m")
    m = k.axes[0]
    n = tile_axis(k, "n", "loop", 256)
    size = k.choices.pick((16, 256, 2, 3, 100, 255, 257, 1))
    type = k.choices.pick(("f32", "bf16", "f16", "i8", "u8", "i32", "f64"))
    i = lambda *rest: indices(leading, *rest)
    table, row = table_of(k, leading, size, type)
    covered = k.choices.chance(30)
    by_bits = size & (size - 1) == 0 and not covered and k.choices.chance(50)
    at = k.tensor(dims(leading, "M", "N"), "u8") if by_bits else k.integers(dims(leading, "M", "N"), -3 if covered else 0, size + 2 if covered else size - 1)
    index = f"{at}[{i('m', 'n')}]" + (f" & {size - 1}" if by_bits else "")
    picked, element = f"{table}[{row}{index}]", f"{table}[{row}{index}]"
    if covered:
        picked = f"({picked} else 1)"
        element = f"(if {index} < 0 or {index} >= {size} then 1 else {element})"
    k.lines.append(grid)
    k.say(f"var s = zeros({shape_text(m, None)});")
    k.say(f"for n in tiles(N, {n.size_text}) {{")
    k.indent += 1
    branch = k.choices.chance(25)
    if branch:
        name = k.new("a")
        k.params.append(f"{name}: i32")
        k.set(name, ("3", "0"))
        k.say(f"if {name} > n.index {{ s = s + rowsum(f32({picked}) * 0.25); }}")
        element_of_sum = f"(if {name} > n / {n.size_text} then {element} else 0)"
    else:
        k.say(f"let v = f32({picked});")
        k.say("s = s + rowsum(v * 0.25);")
        element_of_sum = element
    if not branch and k.choices.chance(50):
        k.outs.append(f"out y1: {k.choices.pick(('f32', 'bf16', 'f16'))}[{', '.join(dims(leading, 'M', 'N'))}]")
        k.say(f"y1[{i('m', 'n')}] = v * 0.5;")
        k.outputs.append(f"y1[{i('m', 'n')}] = {element} * 0.5;")
    k.indent -= 1
    k.say("}")
    k.outs.append(f"out y0: f32[{', '.join(dims(leading, 'M'))}]")
    k.say(f"y0[{i('m')}] = s;")
    k.outputs.append(f"y0[{i('m')}] = sum(n in 0..N, {element_of_sum} * 0.25);")
    k.lines.append("  }")


def table_product(k):
    """Products with weights that are elements of a table."""
    grid, leading = head(k, "mn")
    m, n = k.axes
    kk = tile_axis(k, "k", "loop", 128)
    type = k.choices.pick(("bf16", "f16", "f32"))
    size = k.choices.pick((16, 256, 5))
    table, row = table_of(k, leading, size, type)
    x = k.tensor(dims(leading, "M", "K"), type)
    turned = k.choices.chance(50)
    at = k.integers(["N", "K"] if turned else ["K", "N"], 0, size - 1)
    i = lambda *rest: indices(leading, *rest)
    weights, weight = (f"{table}[{row}{at}[n, k]].T", f"{at}[n, k]") if turned else (f"{table}[{row}{at}[k, n]]", f"{at}[k, n]")
    k.lines.append(grid)
    k.say(f"var acc = zeros({shape_text(m, n)});")
    k.say(f"for k in tiles(K, {kk.size_text}) {{ acc += {x}[{i('m', 'k')}] @ {weights}; }}")
    k.outs.append(f"out y0: f32[{', '.join(dims(leading, 'M', 'N'))}]")
    k.say(f"y0[{i('m', 'n')}] = acc;")
    k.outputs.append(f"y0[{i('m', 'n')}] = sum(k in 0..K, {x}[{i('m', 'k')}] * {table}[{row}{weight}]);")
    k.lines.append("  }")


def table_of(k, leading, size, type):
    """A tensor, and what indexes its dims but the last, which is the table: none, the grid's integer or a dim."""
    first = k.choices.pick(("", "b", "G - 1"))
    if first == "b" and not leading:
        first = ""
    if first == "G - 1":
        k.dims["G"] = 3
        k.others["G"] = range(1, 4)
    fill = None if type in ("f32", "bf16", "f16", "f64") else "integers(lo = 0, hi = 100)"
    before = {"": [], "b": ["B"], "G - 1": ["G"]}[first]
    return k.tensor([*before, str(size)], type, fill), f"{first}, " if first else ""


PATTERNS = (partial, masked_product, attention, attention, scan, running, integer_product, widened_product, integers, normalised, scales.scaled_product,
            wrapping.wrapping, tables, table_product, *four_bits.PATTERNS, *own_memory.PATTERNS)
