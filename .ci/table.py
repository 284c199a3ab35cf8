#!/usr/bin/env python3
"""Prints what `tkc test --json` wrote as one table: table.py out/NAME.WHERE.json…"""
import json
import pathlib
import sys


def duration(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"


rows = [("kernel", "case", "checked", "error", "time", "file")]
for path in map(pathlib.Path, sys.argv[1:]):
    for case in json.loads(path.read_text())["cases"]:
        error = f"{case['maxError']:.1e}" if case["maxError"] is not None else "-"
        rows.append((case["kernel"], case["case"], case["how"] if case["passed"] else case["how"] + " FAILED", error,
                     duration(case["seconds"]), f"{path.parent}/{path.name.split('.')[0]}.cu"))
widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
for row in rows:
    print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip())
