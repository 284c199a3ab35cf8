# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the README's picture of speed from the tables of docs/performance.md: a bar for each kind of work, the geometric mean of its
rows, and a line from the least row to the greatest.

    python3 bench/overview.py docs/performance.md > docs/speed.svg"""
import html
import math
import re
import sys
from pathlib import Path

# What a bar is called, which section and which rows it is made of, and beside what these were measured.
BARS = [
    ("GEMM, bf16", "Products", r"gemm(_nt|_tn|_tt)? bf16", "cuBLAS"),
    ("GEMM, float8", "Products", r"gemm f8e4m3", "cuBLASLt"),
    ("attention forward", "Attention forward", r"D=", "cuDNN"),
    ("attention backward", "Attention backward", r"D=", "cuDNN"),
    ("decoding", "Decoding", r"decode", "cuDNN, FlashAttention-2"),
    ("RMSNorm, LayerNorm", "Rows", r"(RMSNorm|LayerNorm)", "torch.compile"),
]
LEFT, WIDTH, ROW, TOP = 175, 400, 34, 44
LARGEST = 1.6


def ratios(page, section, rows):
    """The ratios of the rows whose name matches, in the section of that title."""
    body = re.search(rf"^### {re.escape(section)}\n(.*?)(?=^##)", page, re.M | re.S)[1]
    found = [float(m[2]) for m in re.finditer(r"^\| ([^|]+) \| [^|]+ \| ([\d.]+) \[", body, re.M) if re.match(rows, m[1])]
    if not found:
        sys.exit(f"no row of '{section}' matches {rows}")
    return found


def draw(page):
    def x(ratio):
        return LEFT + ratio / LARGEST * WIDTH

    height = TOP + ROW * len(BARS) + 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 230}" height="{height}" font-family="sans-serif" font-size="13">',
           '<rect width="100%" height="100%" fill="#fff"/>',
           '<text x="8" y="20" font-size="14">The peer\'s time over tkc\'s, on one H200: longer is faster, 1 is as fast</text>']
    for i, (name, section, rows, peer) in enumerate(BARS):
        values = ratios(page, section, rows)
        mean = math.exp(sum(map(math.log, values)) / len(values))
        y = TOP + ROW * i
        color = "#2a7f62" if mean >= 1 else "#c0662b"
        out.append(f'<text x="{LEFT - 8}" y="{y + 19}" text-anchor="end">{html.escape(name)}</text>'
                   f'<rect x="{LEFT}" y="{y + 4}" width="{x(mean) - LEFT:.1f}" height="{ROW - 12}" fill="{color}"/>'
                   f'<line x1="{x(min(values)):.1f}" x2="{x(max(values)):.1f}" y1="{y + 15}" y2="{y + 15}" stroke="#111" stroke-width="1.5"/>'
                   f'<text x="{LEFT + WIDTH + 10}" y="{y + 19}"><tspan font-weight="bold">{mean:.2f}</tspan> × {html.escape(peer)}</text>')
    bottom = TOP + ROW * len(BARS)
    out.append(f'<line x1="{x(1):.1f}" x2="{x(1):.1f}" y1="{TOP - 6}" y2="{bottom}" stroke="#111" stroke-dasharray="4 3"/>'
               f'<text x="{x(1):.1f}" y="{bottom + 14}" text-anchor="middle" font-size="11">1</text>'
               f'<text x="8" y="{bottom + 32}" font-size="11" fill="#444">Bar: geometric mean of the rows of docs/performance.md. '
               'Line: from the least row to the greatest.</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    sys.stdout.write(draw(Path(sys.argv[1]).read_text()))
