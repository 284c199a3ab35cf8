# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses by step as a picture (SVG) that needs nothing else."""

import html

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 50, 20, 20, 40
COLOURS = ["#2a7f62", "#c0662b", "#444"]


def write_chart(path, curves):
    """`curves` has a list of losses for each name."""
    steps = max(map(len, curves.values()))
    top = max(max(one) for one in curves.values())

    def x(step):
        return LEFT + (WIDTH - LEFT - RIGHT) * step / max(steps - 1, 1)

    def y(loss):
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - loss / top)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for loss in range(int(top) + 1):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(loss):.1f}" y2="{y(loss):.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss}</text>')
    for step in range(0, steps, max(steps // 5, 1)):
        out.append(f'<text x="{x(step):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{step}</text>')
    out.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">step</text>')
    out.append(f'<text x="8" y="{TOP - 6}">loss</text>')
    for at, (name, losses) in enumerate(curves.items()):
        points = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in enumerate(losses))
        dashes = ' stroke-dasharray="4 4"' if at else ""
        out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[at]}" stroke-width="1.5"{dashes}/>')
        line = TOP + 18 + 18 * at
        out.append(f'<line x1="{WIDTH - 180}" x2="{WIDTH - 150}" y1="{line}" y2="{line}" stroke="{COLOURS[at]}" stroke-width="2"{dashes}/>')
        out.append(f'<text x="{WIDTH - 142}" y="{line + 4}">{html.escape(name)}</text>')
    path.write_text("\n".join([*out, "</svg>", ""]))
