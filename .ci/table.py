#!/usr/bin/env python3
"""Prints what `tkc test --json` and `tkc bench --json` wrote as one table: table.py out/NAME.WHERE.json…"""
import json
import pathlib
import sys


def duration(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"


times, rows = {}, [("kernel", "case", "checked", "error", "time", "file")]
results = {path: json.loads(path.read_text())["cases"] for path in map(pathlib.Path, sys.argv[1:])}
for path, cases in results.items():
    if path.name.endswith(".bench.json"):
        times.update({(case["kernel"], case["case"]): case["seconds"] for case in cases})
for path, cases in results.items():
    if path.name.endswith(".bench.json"):
        continue
    on_gpu = path.name.endswith(".gpu.json")
    for case in cases:
        seconds = times.get((case["kernel"], case["case"])) if on_gpu else case["seconds"]
        error = f"{case['maxError']:.1e}" if case["maxError"] is not None else "-"
        rows.append((case["kernel"], case["case"], case["how"] if case["passed"] else case["how"] + " FAILED", error,
                     duration(seconds) if seconds is not None else "-", f"{path.parent}/{path.name.split('.')[0]}.cu"))
widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
for row in rows:
    print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip())
