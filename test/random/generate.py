"""Random well-typed .tk kernels, each with a reference in index notation and a case: generate.py SEED COUNT.

Sums start from an expression in the tile indices, so that they see the elements that exist and not all of a full tile.

An expression is made twice at once, as the kernel says it on tiles and as the reference says it on elements. Functions
are fed so that values stay near 1, and branches depend only on what both sides compute exactly, so that a difference
beyond the tolerance is a bug in one of the two. Seed `fresh` takes one from the clock; the seed is the first line.
"""
import random
import sys

import seeds

seed = seeds.seed_of(sys.argv[1])
rng = random.Random(seed)

FLOATS = ["f32", "bf16", "f16", "f8e4m3", "f8e5m2", "f64", "tf32"]
NARROW = ["bf16", "f16", "f8e4m3", "f8e5m2"]


class Both:
    """The same value on tiles and on elements; `exact` where both sides have it without rounding."""

    def __init__(self, tile, element, exact=False):
        self.tile, self.element, self.exact = tile, element, exact


def combine(form, *parts, exact=False):
    return Both(form.format(*(p.tile for p in parts)), form.format(*(p.element for p in parts)), exact)


class Kernel:
    """Collects parameters, statements and equations while expressions are made."""

    def __init__(self, number):
        self.name = f"k{number}"
        self.params, self.settings, self.names = [], [], 0
        self.sizes = {d: rng.choice([1, 2, 5, 8, 13, 16, 31, 37]) for d in "MNK"}
        self.tiles = {d: rng.choice([1, 3, 8, 16, 32]) for d in "MNK"}

    def new(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def tensor(self, dims, elem=None):
        """A new input over the dims named."""
        name = self.new("x")
        elem = elem or rng.choice(FLOATS[:5])
        self.params.append(f"{name}: {elem}[{', '.join(dims)}]")
        return name

    def indices(self, d, hi):
        """A new input of integers over dim d."""
        name = self.new("p")
        self.params.append(f"{name}: i32[{d}]")
        lo = 0 if hi else -9
        self.settings.append(f"{name} = integers(lo = {lo}, hi = {hi or 9});")
        return name

    # -- leaves: axes are the dims of the rows and of the columns, as tile indices m, n, k

    def leaf(self, rows, cols):
        r, c = rows.lower(), cols.lower()
        kind = rng.randrange(9)
        if kind <= 2:
            x = self.tensor([rows, cols])
            return Both(f"{x}[{r}, {c}]", f"{x}[{r}, {c}]", True)
        if kind == 3:
            x = self.tensor([rows])
            return Both(f"{x}[{r}].col", f"{x}[{r}]", True)
        if kind == 4:
            x = self.tensor([cols])
            return Both(f"{x}[{c}].row", f"{x}[{c}]", True)
        if kind == 5:
            text = rng.choice(["0.5", "2.0", "-1.25", "3.0"])
            return Both(text, text, True)
        if kind == 6:
            return self.moved(rows, cols)
        if kind == 7:
            return self.gathered(rows, cols)
        return self.integer(rows, cols, "f32({0} % 8) * 0.125")

    def moved(self, rows, cols):
        x = self.tensor([rows, cols])
        r, c = rows.lower(), cols.lower()
        by = rng.randint(1, 4)
        if rng.random() < 0.5:
            return Both(f"({x}[{r} - {by}, {c}] else 0.25)",
                        f"(if {r} >= {by} then {x}[{r} - {by}, {c}] else 0.25)", True)
        return Both(f"({x}[{r}, {c} + {by}] else -1)",
                    f"(if {c} + {by} < {cols} then {x}[{r}, {c} + {by}] else -1)", True)

    def gathered(self, rows, cols):
        x = self.tensor([rows, cols])
        r, c = rows.lower(), cols.lower()
        if rng.random() < 0.5:
            p = self.indices(rows, self.sizes[rows] - 1 or None)
            if self.sizes[rows] == 1:
                return Both(f"({x}[{p}[{r}].col, {c}] else 2)",
                            f"(if {p}[{r}] == 0 then {x}[{p}[{r}], {c}] else 2)", True)
            return Both(f"{x}[{p}[{r}].col, {c}]", f"{x}[{p}[{r}], {c}]", True)
        p = self.indices(cols, None)
        return Both(f"({x}[{r}, {p}[{c}].row] else 0.5)",
                    f"(if {p}[{c}] >= 0 and {p}[{c}] < {cols} then {x}[{r}, {p}[{c}]] else 0.5)", True)

    def integer(self, rows, cols, form="{0}", depth=2):
        """An integer expression, small in magnitude."""
        r, c = rows.lower(), cols.lower()
        if depth == 0 or rng.random() < 0.3:
            kind = rng.randrange(4)
            if kind == 0:
                part = Both(f"{r}.col", r)
            elif kind == 1:
                part = Both(f"{c}.row", c)
            elif kind == 2:
                p = self.indices(rows, None)
                part = Both(f"{p}[{r}].col", f"{p}[{r}]")
            else:
                text = str(rng.randint(-5, 9))
                part = Both(text, text)
        else:
            op = rng.choice(["({0} + {1})", "({0} - {1})", "({0} * {1} % 97)", "({0} / 3 + {1})", "({0} % 5 - {1})",
                             "min({0}, {1})", "max({0}, {1})", "({0} & {1})", "({0} | {1})", "({0} ^ {1})",
                             "(({0} & 7) << 2)", "(({0} + {1}) >> 1)", "(-{0})", "(~{0})", "abs({0})"])
            part = combine(op, self.integer(rows, cols, depth=depth - 1), self.integer(rows, cols, depth=depth - 1))
        return Both(form.format(part.tile), form.format(part.element), True)

    def condition(self, rows, cols):
        if rng.random() < 0.5:
            form = rng.choice(["{0} < {1}", "{0} <= {1}", "{0} == {1}", "{0} != {1}", "not ({0} > {1})"])
            return combine(form, self.integer(rows, cols, depth=1), self.integer(rows, cols, depth=1), exact=True)
        left, right = self.leaf(rows, cols), self.leaf(rows, cols)
        form = rng.choice(["{0} < {1}", "{0} >= {1} or {0} < -1", "{0} > 0 and {1} > 0"])
        return combine(form, left, right, exact=True)

    def expr(self, rows, cols, depth):
        if depth == 0:
            return self.leaf(rows, cols)
        x = self.expr(rows, cols, depth - 1)
        kind = rng.randrange(6)
        if kind == 0:
            form = rng.choice(["abs({0})", "(-{0})", "tanh({0})", "sin({0})", "cos({0})", "erf({0})", "sigmoid({0})",
                               "sqrt(abs({0}) + 1)", "rsqrt(abs({0}) + 1)", "rcp(abs({0}) + 1)", "exp(-abs({0}))",
                               "exp2(min({0}, 3))", "log(abs({0}) + 1)", "log2(abs({0}) + 2)", "({0} * {0})"])
            return combine(form, x)
        if kind == 1:
            # Rounding to a narrow type is a step: what both sides round must be the same number, or nearly so.
            return combine(rng.choice(["f32(bf16({0}))", "f32(f16({0}))", "tf32({0}) + 0"]), x)
        y = self.expr(rows, cols, rng.randrange(depth))
        if kind == 2:
            condition = self.condition(rows, cols)
            return Both(f"where({condition.tile}, f32({x.tile}), f32({y.tile}))",
                        f"(if {condition.element} then {x.element} else {y.element})")
        form = rng.choice(["({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} / (abs({1}) + 1))", "min({0}, {1})",
                           "max({0}, {1})"])
        return combine(form, x, y)

    # -- whole kernels

    def emit(self, out, grid, body, equations):
        """`out` is a list of declared outputs; BM, BN, BK are tunes."""
        self.params.append("dims: u8[M, N, K]")  # binds every symbol
        tunes = ", ".join(f"B{d} = {self.tiles[d]}" for d in "MNK")
        params = ", ".join(self.params + out)
        sizes = " ".join(f"{d} = {self.sizes[d]};" for d in "MNK")
        print(f"kernel {self.name}({params}) {{\n  tune {tunes};\n  parallel {grid} {{")
        print("\n".join("    " + line for line in body) + "\n  }\n}")
        print(f"reference {self.name} {{\n" + "\n".join("  " + e for e in equations) + "\n}")
        print(f"case {self.name} {{ {sizes} {' '.join(self.settings)} }}\n")

    def elementwise(self):
        e = self.expr("M", "N", rng.randint(1, 4))
        elem = rng.choice(FLOATS[:6])
        if rng.random() < 0.25:
            self.emit([f"out y: {elem}[N, M]"], "m in tiles(M, BM), n in tiles(N, BN)",
                      [f"let e = f32(0 * (m.col + n.row)) + {e.tile};", "y[n, m] = e.T;"], [f"y[n, m] = {e.element};"])
        else:
            self.emit([f"out y: {elem}[M, N]"], "m in tiles(M, BM), n in tiles(N, BN)",
                      [f"let e = f32(0 * (m.col + n.row)) + {e.tile};", "y[m, n] = e;"], [f"y[m, n] = {e.element};"])

    def integers(self):
        e = self.integer("M", "N", depth=4)
        self.emit(["out y: i32[M, N]"], "m in tiles(M, BM), n in tiles(N, BN)",
                  [f"y[m, n] = 0 * (m.col + n.row) + {e.tile};"], [f"y[m, n] = {e.element};"])

    def reduction(self):
        e = self.expr("M", "K", rng.randint(0, 2))
        op, start, step = rng.choice([("sum", "zeros(BM, 1)", "a + rowsum(e)"), ("max", "full(BM, 1, -inf)", "max(a, rowmax(e))"),
                                      ("min", "full(BM, 1, inf)", "min(a, rowmin(e))")])
        upto, bound = rng.choice([("tiles(K, BK)", " in 0..K"), ("tiles(2, K, BK)", " in 2..K"), ("tiles(K / 2, BK)", " in 0..K / 2")])
        post = rng.choice(["{0}", "tanh({0})", "{0} * 0.5"])
        self.emit(["out y: f32[M]"], "m in tiles(M, BM)",
                  [f"var a = {start};", f"for k in {upto} {{", f"  let e = f32(0 * (m.col + k.row)) + {e.tile};", f"  a = {step};", "}",
                   f"y[m] = {post.format('a')};"],
                  [f"h[m] = {op}(k{bound}, {e.element});", f"y[m] = {post.format('h[m]')};"])

    def product(self):
        elem = rng.choice(["bf16", "f16", "f32", "f8e4m3", "tf32"])
        a = self.expr("M", "K", rng.randint(0, 2))
        if rng.random() < 0.5:
            b = self.tensor(["K", "N"], elem)
            right, element = f"{b}[k, n]", f"{b}[k, n]"
        else:
            b = self.tensor(["N", "K"], elem)
            right, element = f"{b}[n, k].T", f"{b}[n, k]"
        causal = rng.random() < 0.3
        where = f"where(k.row <= m.col, {a.tile}, 0)" if causal else a.tile
        bound = f"sum(k in 0..K, if k <= m then {elem}({a.element}) * {element} else 0)" if causal else \
            f"sum(k in 0..K, {elem}({a.element}) * {element})"
        upto = "tiles(min(K, m.end), BK)" if causal else "tiles(K, BK)"
        post = self.expr("M", "N", 1)
        self.emit([f"out y: {rng.choice(FLOATS[:3])}[M, N]"], "m in tiles(M, BM), n in tiles(N, BN)",
                  ["var acc = zeros(BM, BN);",
                   f"for k in {upto} {{ acc += {elem}(f32(0 * (m.col + k.row)) + {where}) @ {right}; }}",
                   f"y[m, n] = acc + {post.tile};"],
                  [f"h[m, n] = {bound};", f"y[m, n] = h[m, n] + {post.element};"])

    def atomics(self):
        e = self.expr("M", "N", rng.randint(0, 2))
        self.emit(["inout y: f32[N]"], "m in tiles(M, BM), n in tiles(N, BN)",
                  [f"let e = f32(0 * (m.col + n.row)) + {e.tile};", "y[n] += colsum(e);"], [f"y[n] = y[n] + sum(m in 0..M, {e.element});"])

    def scan(self):
        x, a = self.tensor(["M", "N"]), self.tensor(["M"], "f32")
        self.emit(["out y: f32[M, N]"], "n in tiles(N, BN)",
                  ["var s = zeros(1, BN);", "for t in 0..M {", f"  s = s * tanh({a}[t]) + {x}[t, n].row;", "  y[t, n] = s;", "}"],
                  [f"s[t, n] = (if t == 0 then 0 else s[t - 1, n] * tanh({a}[t])) + {x}[t, n];", "y[t, n] = s[t, n];"])

    def running(self):
        e = self.expr("M", "N", rng.randint(0, 1))
        self.tiles["N"] = 32
        self.sizes["N"] = min(31, self.sizes["N"])
        self.emit(["out y: f32[M, N]"], "m in tiles(M, BM), n in tiles(N, BN)",
                  [f"y[m, n] = cumsum(f32(0 * (m.col + n.row)) + {e.tile}, 1);"],
                  [f"e[m, n] = {e.element};", "y[m, n] = sum(j in 0..n + 1, e[m, j]);"])


print(f"// random kernels, seed {seed}")
for number in range(int(sys.argv[2])):
    kernel = Kernel(number)
    rng.choice([kernel.elementwise, kernel.elementwise, kernel.integers, kernel.reduction, kernel.product, kernel.product,
                kernel.atomics, kernel.scan, kernel.running])()
