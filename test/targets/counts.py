# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `tkc test --target=emulator --counts` writes, in few numbers."""
import collections
import fnmatch
import pathlib
import re

import compilers


def loop_lines(text):
    """The numbers of the lines of a .tk file that stand in `for` loops, from the line of the `for` to that of its brace."""
    inside, depths = set(), []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        if depths:
            inside.add(number)
        for found in re.finditer(r"\bfor\b[^{]*\{|[{}]", code):
            if found[0].startswith("for"):
                depths.append(0)
                inside.add(number)
            elif found[0] == "{" and depths:
                depths[-1] += 1
            elif found[0] == "}" and depths:
                if depths[-1] == 0:
                    depths.pop()
                else:
                    depths[-1] -= 1
    return inside


def summary(counts, file):
    """Of a file's kernels, by the names of the emitted functions: {"done", "needed": multiply-adds of matrix instructions of all;
    "kernels": {name: {"loops", "others": {"accesses", "conflicts"}}}; "conflicts": what conflicts in loops, one text a line of the
    source}. A conflict is a time that the banks are busy beyond the least. What compilers joined from several places, as the copies of
    an unrolled loop, has no line, and counts as if it stood in a loop."""
    in_loop = {f"{file.name}:{line}" for line in loop_lines(file.read_text())}
    kernels, lines = collections.defaultdict(lambda: {part: {"accesses": 0, "conflicts": 0} for part in ("loops", "others")}), {}
    for row in counts["shared"]:
        kernel, line = compilers.plain(row["kernel"]), row["line"] or "an unknown line"
        looped = not row["line"] or row["line"] in in_loop
        part = kernels[kernel]["loops" if looped else "others"]
        conflicts = row["served"] - row["least"]
        part["accesses"] += row["accesses"]
        part["conflicts"] += conflicts
        if looped and conflicts:
            how = f"{line} {'writes' if row['writes'] else 'reads'} {row['bytes']} bytes a lane in {kernel}"
            lines[how] = [sum(pair) for pair in zip(lines.get(how, [0, 0]), (conflicts, row["accesses"]))]
    return {"done": sum(kernel["multiplyAdds"] for kernel in counts["products"]), "needed": counts.get("neededMultiplyAdds", 0),
            "kernels": kernels,
            "conflicts": [f"{how}: {conflicts} conflicts in {accesses} accesses" for how, (conflicts, accesses) in lines.items()]}


def known():
    """Lines `ARCHITECTURE FILE conflicts|products  # why` of known-counts.txt, the first two patterns."""
    text = (pathlib.Path(__file__).parent / "known-counts.txt").read_text()
    return [line.split("#")[0].split() for line in text.splitlines() if line.split("#")[0].strip()]


def faults(found, stem, gpu, listed):
    """What is wrong with a summary and not listed: conflicts in loops, and more multiply-adds than whole tiles need. Where tiles
    depend on data what they need is not known."""
    wrong = [("conflicts", text) for text in found["conflicts"]]
    if found["needed"] and found["done"] > found["needed"]:
        wrong.append(("products", f"{found['done']} multiply-adds of matrix instructions, whole tiles need {found['needed']:.0f}"))
    return [text for kind, text in wrong if not any(
        fnmatch.fnmatch(gpu, gpus) and fnmatch.fnmatch(stem, files) and kind == known_kind for gpus, files, known_kind in listed)]


def table(summaries):
    """Of {(file's stem, GPU): summary}."""
    lines = ["| file | GPU | multiply-adds of matrix instructions, of those that whole tiles need |", "|---|---|---|"]
    for (stem, gpu), found in sorted(summaries.items()):
        if found["needed"] and found["done"]:
            lines.append(f"| {stem} | {gpu} | {found['done'] / found['needed']:.2f} |")
    lines += ["", "| kernel | GPU | accesses in loops | conflicts | elsewhere | conflicts |", "|---|---|---|---|---|---|"]
    rows = sorted(((kernel, gpu, parts) for (_, gpu), found in summaries.items() for kernel, parts in found["kernels"].items()),
                  key=lambda row: row[:2])
    for kernel, gpu, parts in rows:
        cells = [str(parts[part][what]) for part in ("loops", "others") for what in ("accesses", "conflicts")]
        lines.append(f"| {kernel} | {gpu} | {' | '.join(cells)} |")
    return lines
