#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers in the costs of schedules of kernels/gemm.tk, from times of drawn products.

    python3 bench/fit_costs.py measure --tkc build/release/tkc/tkc --seeds A B --count 400 --log times.jsonl   # on an H100 or H200
    python3 bench/fit_costs.py fit times.jsonl …                                                              # anywhere

`measure` compiles every kernel of KERNELS for the four products, draws products as random_shapes.py does, and times for each the
kernels that take less than NEAR times as long as the best by simple arithmetic, after a check of their results. The log has a line for
each product, with microseconds.

`fit` prints the numbers of each kernel's cost, in picoseconds. A cost is
start + rounds · (round + terms · (term + lookup · lookups + copy · copies)) + blocks · terms · crowd / places:
- places: how many blocks or clusters run at once; rounds: how many times as many are needed;
- terms: of the sum that a block computes;
- lookups: 1, 2 or 4 for each operand, whose rows begin at multiples of 64, 32 or 16 bytes;
- copies: 1, 3 or 7 for each operand at 8, 4 or 2 bytes, which threads copy; else 0;
- crowd: what a term takes longer if every place has a block.
Kernels whose columns the launcher chooses have `columns` instead of `term`: what ten columns add. Then a table says how near to the best
kernel the costs come on products that were left out of the fit. docs/notes/costs-of-schedules.md explains each number, and has what
came of it."""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

import drawn_shapes  # noqa: E402

# Rows and columns of a block; blocks of a cluster along rows and columns; places on 132 multiprocessors (clusters of 4 and 8 find them on
# 120); blocks that share a sum; keys.
KERNELS = {
    "k64": (64, 64, 1, 1, 132, 1, "BM = 64; BN = 64; stages = 13; persistent = 0; raster = 8;"),
    "k128": (64, 128, 1, 1, 132, 1, "BM = 64; BN = 128; stages = 8; persistent = 0; raster = 8;"),
    "k192": (64, 192, 1, 1, 132, 1, "BM = 64; BN = 192; stages = 6; persistent = 0; raster = 8;"),
    "q128": (128, 128, 1, 1, 132, 1, "BN = 128;"),
    "q192": (128, 192, 1, 1, 132, 1, "BN = 192; pingpong = 1;"),
    "q256": (128, 256, 1, 1, 132, 1, ""),
    "b192": (192, 192, 1, 1, 132, 1, "BM = 192; BN = 192; producer_registers = 56; consumer_registers = 152;"),
    "c2": (128, 256, 2, 1, 66, 1, "cluster = 2;"),
    "c4": (128, 192, 4, 1, 30, 1, "BN = 192; cluster = 4; pingpong = 1; raster = 32;"),
    "e64": (64, 64, 2, 4, 15, 1, "BM = 64; BN = 64; stages = 13; persistent = 0; cluster = 2; cluster_across = 4;"),
    "e42": (64, 128, 4, 2, 15, 1, "BM = 64; BN = 128; stages = 8; persistent = 0; cluster = 4; cluster_across = 2;"),
    "e24": (64, 128, 2, 4, 15, 1, "BM = 64; BN = 128; stages = 8; persistent = 0; cluster = 2; cluster_across = 4;"),
    "e128": (128, 128, 2, 4, 15, 1, "BN = 128; stages = 6; persistent = 0; cluster = 2; cluster_across = 4;"),
    "s2": (64, 64, 1, 1, 132, 2, "BM = 64; BN = 64; stages = 10; split = 2;"),
    "s4": (64, 64, 1, 1, 120, 4, "BM = 64; BN = 64; stages = 10; split = 4;"),
    "s8": (64, 64, 1, 1, 120, 8, "BM = 64; BN = 64; BK = 128; stages = 6; split = 8;"),
}
# By how many columns tiles may be narrower: of c2 and c4 in all products, of others in those with bᵀ.
STEPS = {"k128": 16, "k192": 16, "c2": 32, "c4": 32, "e42": 16, "e24": 16, "e128": 16}
FOR_ALL = ("k64", "k128", "q128", "q192", "q256", "s2", "s4", "s8")  # that serve tensors which the copy engine cannot take
LAYOUTS = {"nn": ("a: T[M, K], b: T[K, N]", "a[m, k] @ b[k, n]"), "nt": ("a: T[M, K], b: T[N, K]", "a[m, k] @ b[n, k].T"),
           "tn": ("a: T[K, M], b: T[K, N]", "a[k, m].T @ b[k, n]"), "tt": ("a: T[K, M], b: T[N, K]", "a[k, m].T @ b[n, k].T")}
NEAR = 2.0  # times as long as the best by arithmetic alone: what is not timed


def ceildiv(a, b):
    return -(-a // b)


def alignment(pitch):
    """Bytes at multiples of which rows of bf16 begin, up to 128."""
    return min(128, 2 * pitch & -(2 * pitch))


def step_of(name, product):
    """By how many columns tiles may be narrower; 0: not at all. Along rows of b, a tile begins where the copy engine likes it."""
    along_rows = product["layout"][1] == "n"
    if name not in STEPS or (along_rows and name not in ("c2", "c4")):
        return 0
    return max(STEPS[name], product["alb"] // 2) if along_rows else STEPS[name]


def geometry(name, product):
    """Columns of a tile, rounds, and blocks or clusters."""
    rows, most, down, across, places, split, _ = KERNELS[name]
    lines, n, step = ceildiv(product["m"], rows * down), ceildiv(product["n"], across), step_of(name, product)
    width = most
    if step:
        rounds = ceildiv(lines * ceildiv(n, most), places)
        width = min(most, max(most // 2 // step * step + step, ceildiv(ceildiv(n, rounds * places // lines), step) * step))
    blocks = lines * ceildiv(n, width) * split
    return width, ceildiv(blocks, places), blocks


def features(name, product):
    """What start, round, term, lookup, crowd and copy are multiplied with, for microseconds and thousands of terms."""
    _, most, _, _, places, split, _ = KERNELS[name]
    width, rounds, blocks = geometry(name, product)
    terms, part = product["k"] / split / 1000, width / most
    a, b = product["ala"], product["alb"]
    lookups = 64 / min(64, max(16, a)) + 64 / min(64, max(16, b)) * part
    copies = 16 / min(16, a) - 1 + 16 / min(16, b) - 1
    return [1, rounds, rounds * terms * part, rounds * terms * lookups, terms * blocks / places, rounds * terms * copies]


def near_the_best(product):
    """The kernels that are worth timing, by the area that the rounds of a multiprocessor cover."""
    def area(name):
        rows, _, _, _, _, split, _ = KERNELS[name]
        width, rounds, _ = geometry(name, product)
        if split > 1 and (rounds > 1 or product["k"] < 256 * split):
            return math.inf
        return rounds * max(rows, 100) * max(width, 96) * (product["k"] / split + (700 if split > 1 else 200))

    names = FOR_ALL if product["class"] == "odd" else KERNELS
    areas = {name: area(name) for name in names}
    return [name for name in names if areas[name] <= NEAR * min(areas.values())]


ROUND = (256, 512, 1024, 1536, 2048, 3072, 4096, 5120, 8192, 11008, 12288, 16384)


def round_sizes(draw):
    """As models have them."""
    while True:
        shape = {"layout": draw.choice(drawn_shapes.LAYOUTS)} | {name: draw.choice(ROUND) for name in "mnk"}
        if 2e9 < 2 * shape["m"] * shape["n"] * shape["k"] < 1.5e12:
            return "round sizes", shape


def drawn(seeds, count):
    """One in nine has round sizes."""
    for seed in seeds:
        draw = random.Random(f"{seed} gemm")
        for index in range(count):
            group, shape = round_sizes(draw) if index % 9 == 8 else drawn_shapes.gemm(draw, index)
            a, b, _ = drawn_shapes.pitches(shape["layout"], shape["m"], shape["n"], shape["k"])
            yield {"class": group} | shape | {"ala": alignment(a), "alb": alignment(b)}


def source_of(name, layout, aligned):
    """A file of one kernel with one schedule."""
    parameters, product = LAYOUTS[layout]
    keys = KERNELS[name][-1]
    if step_of(name, {"layout": layout, "alb": 16}):
        keys += f" column_step = {STEPS[name]};"
    schedule = f"schedule product for sm_90a {'when aligned ' if aligned else ''}{{ {keys} }}" if keys else ""
    return f"""kernel product<T: {{bf16}}>({parameters}, out c: T[M, N]) {{
  tune BM = 128, BN = 256, BK = 64;
  parallel m in tiles(M, BM), n in tiles(N, BN) {{
    var acc = zeros(BM, BN);
    for k in tiles(K, BK) {{ acc += {product}; }}
    c[m, n] = acc;
  }}
}}
{schedule}
"""


def compile_all(tkc, folder):
    """Libraries by (kernel, layout, aligned)."""
    wanted = [(name, layout, aligned) for name in KERNELS for layout in LAYOUTS for aligned in (True, False) if aligned or name in FOR_ALL]

    def compile_one(key):
        base = folder / "_".join(map(str, key))
        base.with_suffix(".tk").write_text(source_of(*key))
        subprocess.run([tkc, base.with_suffix(".tk"), "--arch", "sm_90a", "-o", base.with_suffix(".cu")], check=True)
        subprocess.run(["nvcc", "-std=c++20", "-O3", "-gencode=arch=compute_90a,code=sm_90a", f"-I{ROOT}/runtime/include", "-shared",
                        "-Xcompiler", "-fPIC", "-o", base.with_suffix(".so"), base.with_suffix(".cu")], check=True)
        return key, base.with_suffix(".so")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(pool.map(compile_one, wanted))


def measure(options):
    import torch
    from random_shapes import by_blas
    from side_by_side import Library, error_of, normal
    flush = torch.zeros(2, 64 << 20, device="cuda")

    def microseconds(run):
        flush[0].zero_()
        flush[1].sum()
        torch.cuda._sleep(200_000)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3

    with tempfile.TemporaryDirectory() as folder, open(options.log, "a", 1) as log:
        libraries = {key: Library(path) for key, path in compile_all(options.tkc, Path(folder)).items()}
        for product in drawn(options.seeds, options.count):
            m, n, k, (ta, tb) = product["m"], product["n"], product["k"], (letter == "t" for letter in product["layout"])
            a, b, c = normal(k, m) if ta else normal(m, k), normal(n, k) if tb else normal(k, n), normal(m, n)
            x, y = a.T if ta else a, b.T if tb else b
            want = x.float() @ y.float()
            runs = {side: by_blas(side, lambda x=x, y=y: torch.mm(x, y)) for side in ("cublas", "cublaslt")}
            for run in runs.values():
                run()
            for name in near_the_best(product):
                run = libraries[name, product["layout"], product["class"] != "odd"].bind("product", a, b, c)
                c.fill_(math.nan)
                run()
                if not error_of(c, want) < 2e-2:
                    sys.exit(f"{name} is wrong for {product}")
                runs[name] = run
            times = collections.defaultdict(list)
            for _ in range(4):
                for side in random.sample(list(runs), len(runs)):
                    times[side].append(microseconds(runs[side]))
            print(json.dumps(product | {"us": {side: round(sorted(all_)[1], 2) for side, all_ in times.items()}}), file=log)


def groups(name):
    """Layouts that have one cost: all, or those with b and those with bᵀ, where only the latter have chosen columns."""
    return (("nn", "tn"), ("nt", "tt")) if name in STEPS and name not in ("c2", "c4") else (tuple(LAYOUTS),)


def fit(products):
    """{(kernel, layouts): six numbers}. Products count for less, the further their kernel is from the best. Sums of up to 1024 terms in
    three rounds or more count three times, and products of 10¹¹ operations twice: few are drawn, and many are asked for."""
    import numpy
    from scipy.optimize import nnls
    found = {}
    for name in KERNELS:
        for layouts in groups(name):
            rows, sides = [], []
            for product in products:
                if name not in product["us"] or product["layout"] not in layouts:
                    continue
                took, row = product["us"][name], features(name, product)
                best = min(us for side, us in product["us"].items() if side in KERNELS)
                weight = best / took
                if 150 <= product["k"] <= 1024 and row[1] >= 3:
                    weight *= 3
                elif 2 * product["m"] * product["n"] * product["k"] > 1e11:
                    weight *= 2
                rows.append([x / took * weight for x in row])
                sides.append(weight)
            if rows:
                found[name, layouts] = nnls(numpy.array(rows), numpy.array(sides))[0]
    return found


def chosen(numbers, product):
    """The cheapest of the kernels that were timed."""
    costs = {name: sum(x * y for x, y in zip(numbers[name, layouts], features(name, product)))
             for name, layouts in numbers if name in product["us"] and product["layout"] in layouts}
    return min(costs, key=costs.get)


def table(products):
    """How near the costs come, fitted to three quarters of the products, on the last quarter, in turns."""
    shuffled = random.Random(0).sample(products, len(products))
    parts, lost, ratio = 4, collections.defaultdict(list), collections.defaultdict(list)
    for part in range(parts):
        numbers = fit([product for i, product in enumerate(shuffled) if i % parts != part])
        for product in shuffled[part::parts]:
            us = product["us"]
            took, best = us[chosen(numbers, product)], min(us[name] for name in us if name in KERNELS)
            lost[product["class"]].append(math.log(took / best))
            ratio[product["class"]].append(math.log(min(us["cublas"], us["cublaslt"]) / took))
    print("| class | products | time over the best kernel's | over 1.05 | peer's time over it |\n|---|---|---|---|---|")
    for name, values in lost.items():
        mean, side = (math.exp(sum(logs) / len(logs)) for logs in (values, ratio[name]))
        print(f"| {name} | {len(values)} | {mean:.4f} | {sum(value > math.log(1.05) for value in values)} | {side:.3f} |")


def report(options):
    products = [json.loads(line) for path in options.logs for line in open(path)]
    for (name, layouts), (start, per_round, term, lookup, crowd, copy) in fit(products).items():
        is_narrow = any(step_of(name, {"layout": layout, "alb": 16}) for layout in layouts)
        scale = 1e3 * (10 / KERNELS[name][1] if is_narrow else 1)
        print(f"{name} {' '.join(layouts)}: start = {start * 1e6:.0f}, round = {per_round * 1e6:.0f}, {'columns' if is_narrow else 'term'} = "
              f"{term * scale:.0f}, lookup = {lookup * 1e3:.0f}, crowd = {crowd * 1e3:.0f}" + (f", copy = {copy * 1e3:.0f}" if name in FOR_ALL else ""))
    table(products)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("--tkc", default=str(ROOT / "build/release/tkc/tkc"))
    measuring.add_argument("--seeds", nargs="+", required=True)
    measuring.add_argument("--count", type=int, default=400, help="products of each seed")
    measuring.add_argument("--log", type=Path, required=True)
    measuring.set_defaults(run=measure)
    fitting = commands.add_parser("fit")
    fitting.add_argument("logs", nargs="+", type=Path)
    fitting.set_defaults(run=report)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
