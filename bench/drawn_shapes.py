# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes drawn at random for random_shapes.py, and the table of what came of them. Needs no GPU.

    python3 bench/drawn_shapes.py SEED    # the shapes that a seed draws, one a line"""
import json
import math
import random
import sys

# What rows of the worst tensor of a product of bf16 begin at multiples of, in elements, and of no more.
PITCHES = {"×64": 64, "32 bytes": 16, "16 bytes": 8, "odd": 1}
LAYOUTS = ("nn", "nt", "tn", "tt")
COUNTS = {"gemm": 120, "gemm_f8": 40, "attention": 40, "attention backward": 30, "rows": 40, "decoding": 20}
LARGEST_PRODUCT = 4e12  # operations: 8 ms on an H100


def log_uniform(draw, low, high):
    return round(math.exp(draw.uniform(math.log(low), math.log(high))))


def multiple(value, step):
    return max(step, round(value / step) * step)


def pitches(layout, m, n, k):
    """Elements from row to row of a, b and c."""
    return {"nn": (k, n, n), "nt": (k, k, n), "tn": (m, n, n), "tt": (m, k, n)}[layout]


def class_of(layout, m, n, k):
    """The class of the worst pitch. ×64 asks it of all dims."""
    for name, step in PITCHES.items():
        dims = (m, n, k) if step == 64 else pitches(layout, m, n, k)
        if all(dim % step == 0 for dim in dims):
            return name


def product(draw, layout, wanted):
    """Sizes from 64 to 8192, whose product of the layout is of the class."""
    step = PITCHES[wanted]
    while True:
        m, n, k = (log_uniform(draw, 64, 8192) for _ in range(3))
        used = set("mnk") if step == 64 else {"nn": set("kn"), "nt": set("kn"), "tn": set("mn"), "tt": set("mkn")}[layout]
        m, n, k = (multiple(size, step) if name in used else size for name, size in zip("mnk", (m, n, k)))
        if class_of(layout, m, n, k) == wanted and 2 * m * n * k <= LARGEST_PRODUCT:
            return {"layout": layout, "m": m, "n": n, "k": k}


def gemm(draw, index):
    """A quarter of each class, and of each a quarter of each layout."""
    wanted = list(PITCHES)[index % 4]
    return wanted, product(draw, LAYOUTS[index // 4 % 4], wanted)


def gemm_f8(draw, index):
    """cuBLASLt takes rows of whole 16 bytes."""
    wanted, step = (("×128 bytes", 128), ("32 bytes", 32), ("16 bytes", 16))[index % 3]
    while True:
        m, n, k = log_uniform(draw, 64, 8192), log_uniform(draw, 64, 8192), multiple(log_uniform(draw, 64, 8192), step)
        if wanted.startswith("×") or k % (2 * step):
            return wanted, {"m": m, "n": multiple(n, 16), "k": k}


def attention(draw, index):
    """Queries and keys of 64 to 8192, as many of both where the mask is causal; a few heads to a key head."""
    d, causal = (64, 96, 128)[index % 3], index // 3 % 2 == 1
    while True:
        b, g, ratio = log_uniform(draw, 1, 16), log_uniform(draw, 1, 16), draw.choice((1, 1, 2, 4, 7))
        n = log_uniform(draw, 64, 8192)
        l = n if causal else log_uniform(draw, 64, 8192)
        if 4.0 * b * g * ratio * n * l * d <= LARGEST_PRODUCT / 4 and b * g * ratio * max(n, l) * d <= 1 << 27:
            return f"D = {d}", {"b": b, "h": g * ratio, "g": g, "n": n, "l": l, "d": d, "causal": causal}


def attention_backward(draw, index):
    """As the forward pass, of as many key heads as heads."""
    name, shape = attention(draw, index)
    return name, shape | {"g": shape["h"]}


def rows(draw, index):
    kind = ("RMSNorm", "LayerNorm", "softmax", "rotary")[index % 4]
    if kind == "rotary":
        while True:
            b, h, n, d = log_uniform(draw, 1, 16), log_uniform(draw, 1, 32), log_uniform(draw, 64, 16384), draw.choice((64, 128))
            if 1 << 16 <= b * h * n * d <= 1 << 28:
                return kind, {"kind": kind, "b": b, "h": h, "n": n, "d": d}
    step = (1, 1, 8, 64)[index // 4 % 4]
    while True:
        n, c = log_uniform(draw, 64, 65536), multiple(log_uniform(draw, 128, 32768), step)
        if 1 << 16 <= n * c <= 1 << 28:
            return kind, {"kind": kind, "n": n, "c": c}


def decoding(draw, index):
    """One query a sequence, as many heads to a key head as the kernel packs."""
    ratio, d = (1, 2, 4, 8)[index % 4], (64, 128)[index // 4 % 2]
    while True:
        b, g, l = log_uniform(draw, 1, 128), log_uniform(draw, 1, 32), log_uniform(draw, 128, 65536)
        if 1 << 20 <= b * g * l * d <= 1 << 28:
            return f"{ratio} to a key head", {"b": b, "h": g * ratio, "g": g, "n": 1, "l": l, "d": d}


DRAWS = {"gemm": gemm, "gemm_f8": gemm_f8, "attention": attention, "attention backward": attention_backward, "rows": rows,
         "decoding": decoding}


def shapes(seed, counts=COUNTS):
    """The work of a seed, {"work", "class", …} each. The first n of a kind of work are the same however many are asked for."""
    drawn = []
    for work, count in counts.items():
        draw = random.Random(f"{seed} {work}")
        for index in range(count):
            group, shape = DRAWS[work](draw, index)
            drawn.append({"work": work, "class": group} | shape)
    return drawn


def title(shape):
    """Unique among the shapes of a seed but for chance."""
    work = shape["work"]
    if work == "gemm":
        return f"gemm {shape['layout'].upper()} {shape['m']}×{shape['n']}×{shape['k']}"
    if work == "gemm_f8":
        return f"gemm_f8 {shape['m']}×{shape['n']}×{shape['k']}"
    if work == "rows" and shape["kind"] == "rotary":
        return f"rotary {shape['b']}×{shape['h']}×{shape['n']}×{shape['d']}"
    if work == "rows":
        return f"{shape['kind']} {shape['n']}×{shape['c']}"
    heads = str(shape["h"]) if shape["h"] == shape["g"] else f"{shape['h']}/{shape['g']}"
    return f"{work} {shape['b']}×{heads} N={shape['n']} L={shape['l']} D={shape['d']}{' causal' if shape.get('causal') else ''}"


def summary(ratios):
    if not ratios:
        return " | | "
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"{mean:.3f} | {min(ratios):.2f} | {sum(ratio < 0.95 for ratio in ratios) / len(ratios):.0%}"


def line(name, rows, before):
    """`before`: names of other builds, whose ratios to the same peer follow."""
    timed = [row for row in rows if "ratio" in row]
    failed = sum(not row.get("right") for row in rows)
    others = [[row["ratio"] / row["before"][build]["ratio"] for row in timed if build in row.get("before", {})] for build in before]
    ends = "".join(f" {summary(ratios)} |" for ratios in others)
    return f"| {name} | {len(timed)} | {summary([row['ratio'] for row in timed])} | {failed} |{ends}"


def table(rows):
    """Markdown: each kind of work and each of its classes, beside what other builds reach; then the ten rows that are furthest behind."""
    before = list(dict.fromkeys(build for row in rows for build in row.get("before", {})))
    builds = "".join(f" {build} | least | under 0.95 |" for build in before)
    out = [f"| work | timed | geometric mean | least | under 0.95 | wrong or failed |{builds}", "|---" * (6 + 3 * len(before)) + "|"]
    for work in dict.fromkeys(row["work"] for row in rows):
        of_work = [row for row in rows if row["work"] == work]
        out.append(line(work, of_work, before))
        for group in sorted({row["class"] for row in of_work}):
            out.append(line(f"{work}, {group}", [row for row in of_work if row["class"] == group], before))
    out += ["", "| furthest behind | ratio | µs | the best of others | µs |", "|---|---|---|---|---|"]
    for row in sorted((row for row in rows if "ratio" in row), key=lambda row: row["ratio"])[:10]:
        out.append(f"| {row['name']} | {row['ratio']:.3f} | {row['ms'] * 1e3:.1f} | {row['peer']} | {row['peer_ms'] * 1e3:.1f} |")
    out += [f"- {row['name']}: {row.get('failed', 'WRONG')}" for row in rows if not row.get("right")]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for each in shapes(sys.argv[1]):
        print(title(each), json.dumps(each, ensure_ascii=False))
