# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ratios for people: a picture with a bar a row from 1 to what was measured and its range, as SVG that needs nothing else; and a
table in Markdown."""
import html
import re

LEFT, RIGHT, ROW, TOP = 330, 420, 16, 46
SCALE = (0.0, 2.0)


def kind_of(work):
    return re.split(r" (?=[DLG]?=?\d)", work)[0]


def place(ratio):
    low, high = SCALE
    return LEFT + (min(max(ratio, low), high) - low) / (high - low) * RIGHT


def draw(title, rows):
    rows = [row for row in rows if "ratio" in row]
    height = TOP + ROW * len(rows) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + RIGHT + 80}" height="{height}" '
           'font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="8" y="18" font-size="13">Their time over ours, median and range of rounds: {html.escape(title)}</text>']
    for tick in (0, 0.5, 1, 1.5, 2):
        x = place(tick)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{height - 14}" stroke="{"#555" if tick == 1 else "#ddd"}"/>'
                   f'<text x="{x:.1f}" y="{TOP - 12}" text-anchor="middle" fill="#555">{tick:g}</text>')
    for i, row in enumerate(rows):
        y, x, one = TOP + ROW * i, place(row["ratio"]), place(1)
        low, high = map(place, row["spread"])
        color = "#2a7f62" if row["ratio"] >= 1 else "#c0662b"
        out.append(f'<text x="{LEFT - 8}" y="{y + 11}" text-anchor="end">{html.escape(row["work"])}</text>'
                   f'<rect x="{min(x, one):.1f}" y="{y + 3}" width="{max(abs(x - one), 1):.1f}" height="{ROW - 6}" fill="{color}"/>'
                   f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y + 8}" y2="{y + 8}" stroke="#222"/>'
                   f'<text x="{LEFT + RIGHT + 8}" y="{y + 11}">{row["ratio"]:.3f}</text>')
    return "\n".join([*out, "</svg>", ""])


def table(rows):
    """With a column for each guest that a row has been measured beside."""
    guests = list(dict.fromkeys(name for row in rows for name in row.get("beside", {})))
    lines = ["| work | ours | ratio |" + "".join(f" {name} |" for name in guests), "|---|---|---|" + "---|" * len(guests)]
    for row in rows:
        if "ratio" in row:
            rate = f"{row['tflops']:.0f} TFLOP/s" if row["tflops"] else f"{row['gbytes']:.0f} GB/s"
            sides = [row, *(row.get("beside", {}).get(name) for name in guests)]
            lines.append("| " + " | ".join([row["work"], rate, *map(ratio_of, sides)]) + " |")
    return "\n".join([*lines, ""])


def ratio_of(side):
    return f"{side['ratio']:.3f} [{side['spread'][0]:.3f}, {side['spread'][1]:.3f}]" if side else ""
