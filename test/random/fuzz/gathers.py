# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products in loops whose operands are rows that an index picks: tokens of experts, rows of latents that two products read, and pages.

Threads that do not compute copy such rows to rings (docs/planner.md). Each pattern says in `suits` which keys it may draw (keys.py)."""
from kernel import Counter
from regular import axis, whole
from shapes import batch, ragged

TYPES = ("bf16", "bf16", "f16")
ROUNDS = (4, 5, 7)      # so many that rings turn
OF_GATHERS = ({"stages": 1}, {"stages": 2}, {"stages": 3}, {"stages": 5}, {"overlap": 0}, {"overlap": 1}, {"stages": 1, "overlap": 0},
              {"stages": 2, "overlap": 1}, {"warpgroups": 1}, {"warpgroups": 2}, {"warpgroups": 2, "stages": 1}, {"persistent": 1},
              {"persistent": 1, "stages": 2}, {"persistent": 1, "claim_tiles": 1}, {"correction": 1}, {"own_bounds": 1}, {"warps": 4})


class Rows:
    """A vector of row numbers, and what it picks: rows of every tensor of so many, all of them inside; or some outside, with `else`; or through
    a table, which says where the rows are."""

    def __init__(self, k, count, of, through=False):
        self.count, self.at, self.table = count, k.tensor([of], k.choices.pick(("i32", "i32", "i64"))), None
        self.leaves = not through and k.choices.chance(35)
        k.settings[f"{self.at}[i_]"] = f"i_ * 7 % ({count} + 3) - 1" if self.leaves else f"(i_ * 37 + i_ / 5) % {count}"
        if through:
            self.table = k.tensor([count], "i32")
            k.settings[f"{self.table}[i_]"] = f"(i_ * 3 + 1) % {count}"

    def picked(self, index, side=""):
        number = f"{self.at}[{index}]{side}"
        return f"{self.table}[{number}]" if self.table else number

    def tile(self, name, row, cols):
        return f"({name}[{row}, {cols}] else 0)" if self.leaves else f"{name}[{row}, {cols}]"

    def element(self, name, index, col):
        row = self.picked(index)
        return f"(if {row} < 0 or {row} >= {self.count} then 0 else {name}[{row}, {col}])" if self.leaves else f"{name}[{row}, {col}]"


def dim(k, name, extents):
    """A dim that no tile runs along."""
    k.dims[name] = k.choices.pick(extents)
    k.others[name] = [extent for extent in extents if extent <= k.dims[name]]


def over_batch(k):
    """The dim B, always, and the grid's integer that runs along it."""
    batch(k)
    counter = Counter("b", "0..B", "B")
    k.counters.append(counter)
    k.scalars.append(counter)


def lengths(k, upto):
    """How far each of the batch goes: the first all the way, and others less far or nowhere."""
    name = k.tensor(["B"], "i32")
    k.settings[f"{name}[b_]"] = f"max(0, {upto} - b_ * ({upto} / 2 + 1))"
    return name


def tokens_of_experts(k):
    """Products of tokens, in the order of their experts, and each expert's weights: one, or two of the same tokens."""
    parts = []
    m = ragged(k, axis(k, "m", "grid", (64, 16, 128, 32)), parts)
    n = axis(k, "n", "grid", (64, 128, 256, 32))
    k.axes = k.grid_axes = [m, n]
    kk = axis(k, "k", "loop", (64, 32, 16, 128), ROUNDS)
    dim(k, "L", (90, 500, 9, 1))
    type = k.choices.pick(TYPES)
    x = k.tensor(["L", "K"], type)
    rows = Rows(k, "L", "M")
    number = 2 if k.choices.chance(50) and n.size <= 128 else 1     # two wider sums do not fit a warpgroup's registers
    weights = [k.tensor(["E", "N", "K"], type, "normal(std = 0.25)") for _ in range(number)]
    k.lines.append(f"  parallel {', '.join(parts)}, n in tiles(N, {n.size_text}) {{")
    k.say(f"let row = {rows.picked('m', '.col')};")
    for at in range(len(weights)):
        k.say(f"var acc{at} = {k.zeros(m, n)};")
    products = " ".join(f"acc{at} += t @ {weight}[e_, n, k].T;" for at, weight in enumerate(weights))
    k.say(f"for k in tiles(K, {kk.size_text}) {{ let t = {rows.tile(x, 'row', 'k')}; {products} }}")
    k.outs.append(f"out y0: {k.choices.pick(('f32', 'bf16'))}[M, N]")
    k.say(f"y0[m, n] = {' * '.join(f'acc{at}' for at in range(len(weights)))};")
    sums = [f"sum(k in 0..K, {rows.element(x, 'm', 'k')} * {weight}[e_, n, k])" for weight in weights]
    k.outputs.append(f"y0[m, n] = sum(e_ in 0..E, if m >= o[e_] and m < o[e_ + 1] then {' * '.join(sums)} else 0);")
    k.lines.append("  }")
    k.suits = OF_GATHERS


def latents(k):
    """Attention to picked rows that are keys and, their first columns, values: with softmax or without, masked or not, with scores of one
    product or two. Rows may be picked through a table, so that the index is itself a gather."""
    # The reference takes a power for every row, key and column, so that it is slow where rows and keys are sixteen times as many.
    k.scale = min(k.scale, 4)
    m, n = axis(k, "m", "grid", (64, 16, 128)), axis(k, "n", "loop", (64, 32, 16, 128), ROUNDS)
    keys, values = k.choices.pick((64, 128, 192)), k.choices.pick((128, 64, 256))
    part, width = min(values, k.choices.pick((64, 128))), max(keys, values)
    k.axes = k.grid_axes = [m]
    over_batch(k)
    dim(k, "L", (100, 40, 5))
    type = k.choices.pick(TYPES)
    q, kv = (k.tensor([each, str(width + 16)], type) for each in "ML")
    rows = Rows(k, "L", "N", through=k.choices.chance(30))
    length = lengths(k, "N")
    soft, masked = k.choices.chance(60), k.choices.chance(50)
    k.outs.append(f"out y0: f32[B, M, {values}]")
    k.lines.append(f"  parallel m in tiles(M, {m.size_text}), e in tiles({values}, {part}), b in 0..B {{")
    k.say(f"var acc = zeros({m.size_text}, {part});")
    k.say(f"var top = full({m.size_text}, 1, -3e38);")
    k.say(f"var total = zeros({m.size_text}, 1);")
    k.say(f"for n in tiles({length}[b], {n.size_text}) {{")
    k.indent += 1
    k.say(f"let row = {rows.picked('n', '.col')};")
    score, element = scores(k, rows, q, kv, [(0, keys)] + [(width, width + 16)] * k.choices.chance(35))
    other = "-30" if soft else "0"
    if masked:
        last = k.new("a")
        k.params.append(f"{last}: i32")
        k.set(last, ("30", "4", "90"))
        score, element = f"where({rows.at}[n].row <= {last}, {score}, {other})", f"if {rows.at}[n] <= {last} then {element} else {other}"
    k.equations["s1"] = f"s1[m in 0..M, n in 0..N] = {element};"
    value, weight = rows.tile(kv, "row", "e"), rows.element(kv, "n", "e")
    (softmax if soft else weighted_sum)(k, score, type, length, value, weight)
    k.lines.append("  }")
    k.suits = OF_GATHERS


def scores(k, rows, q, kv, ranges):
    """The sum of products of q and picked rows over these ranges of columns: of tiles, and of an element."""
    tiles = [f"{q}[m, {low}:{high}] @ {rows.tile(kv, 'row', f'{low}:{high}')}.T" for low, high in ranges]
    elements = [f"sum(d in {low}..{high}, {q}[m, d] * {rows.element(kv, 'n', 'd')})" for low, high in ranges]
    return f"({' + '.join(tiles)}) * 0.05", f"0.05 * ({' + '.join(elements)})"


def softmax(k, score, type, length, value, element):
    """The rest of the loop and of the kernel: the scores' softmax online, times values."""
    for line in (f"let s = {score};", "let next = max(top, rowmax(s));", "let p = exp(s - next);", "let r = exp(top - next);",
                 "total = total * r + rowsum(p);", f"acc = acc * r + {type}(p) @ {value};", "top = next;"):
        k.say(line)
    k.indent -= 1
    k.say("}")
    k.say("y0[b, m, e] = where(total == 0, 0, acc / total);")
    k.equations["top1"] = f"top1[b in 0..B, m in 0..M] = max(n in 0..{length}[b], s1[m, n]);"
    k.equations["l1"] = f"l1[b in 0..B, m in 0..M] = sum(n in 0..{length}[b], exp(s1[m, n] - top1[b, m]));"
    k.outputs.append(f"y0[b, m, e] = if {length}[b] == 0 then 0 else sum(n in 0..{length}[b], exp(s1[m, n] - top1[b, m]) * {element}) / l1[b, m];")


def weighted_sum(k, score, type, length, value, element):
    """The same without softmax."""
    k.say(f"acc += {type}({score}) @ {value};")
    k.indent -= 1
    k.say("}")
    k.say("y0[b, m, e] = acc;")
    k.outputs.append(f"y0[b, m, e] = sum(n in 0..{length}[b], s1[m, n] * {element});")


def pages(k):
    """Weighted values of a cache in pages: two indices that pair up pick a row, and the loop may begin late."""
    m, size = axis(k, "m", "grid", (64, 16)), k.choices.pick((64, 32, 128))
    d = whole(k, "d", (64, 128))
    k.axes = k.grid_axes = [m]
    over_batch(k)
    for name, extents in (("P", (7, 1)), ("S", (16, 64, 10, 1)), ("X", (20, 13, 2))):
        dim(k, name, extents)
    type = k.choices.pick(TYPES)
    q = k.tensor(["B", "M", "D"], type)
    keys, values = (k.tensor(["P", "S", "D"], type) for _ in range(2))
    table = k.tensor(["B", "X"], "i32")
    k.settings[f"{table}[b_, x_]"] = "(x_ * 3 + b_) % P"
    length = lengths(k, "(S * X)")
    begin = f"{length}[b] / 3" if k.choices.chance(40) else "0"
    k.lines.append(f"  parallel m in tiles(M, {m.size_text}), b in 0..B {{")
    k.say(f"var acc = {k.zeros(m, d)};")
    k.say(f"var total = {k.zeros(m, None)};")
    k.say(f"for n in tiles({begin}, {length}[b], {size}) {{")
    k.indent += 1
    k.say(f"let page = {table}[b, n.col / S];")
    k.say(f"let p = exp(min(({q}[b, m, :] @ {keys}[page, n.col % S, :].T) * 0.05, 4));")
    k.say("total += rowsum(p);")
    k.say(f"acc += {type}(p) @ {values}[page, n.col % S, :];")
    k.indent -= 1
    k.say("}")
    k.outs.append("out y0: f32[B, M, D]")
    k.say("y0[b, m, :] = where(total == 0, 0, acc / total);")
    k.lines.append("  }")
    page = f"{table}[b, n / S], n % S, d"
    k.equations["p1"] = f"p1[b in 0..B, m in 0..M, n in 0..S * X] = exp(min(0.05 * sum(d in 0..D, {q}[b, m, d] * {keys}[{page}]), 4));"
    sums = [f"sum(n in {begin}..{length}[b], p1[b, m, n]{value})" for value in (f" * {values}[{page}]", "")]
    k.outputs.append(f"y0[b, m, d] = if {length}[b] == 0 then 0 else {sums[0]} / {sums[1]};")
    k.suits = OF_GATHERS


PATTERNS = (tokens_of_experts, latents, latents, latents, pages)
