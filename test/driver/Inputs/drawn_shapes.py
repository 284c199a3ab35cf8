# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What bench/drawn_shapes.py draws, counted; and its table of four rows."""
import collections
import sys

sys.path.insert(0, sys.argv[1])
import drawn_shapes

drawn = drawn_shapes.shapes("a word")
products = [shape for shape in drawn if shape["work"] == "gemm"]
layouts = collections.Counter(shape["layout"] for shape in products)
print(f"layouts of {len(products)} products:", *(f"{name} {count}" for name, count in sorted(layouts.items())))
for name in drawn_shapes.PITCHES:
    of_class = [shape for shape in products if shape["class"] == name]
    worst = {min(128, *(2 * pitch & -(2 * pitch) for pitch in drawn_shapes.pitches(s["layout"], s["m"], s["n"], s["k"]))) for s in of_class}
    print(f"{name}: {len(of_class)}, whose worst rows begin at multiples of", *sorted(worst), "bytes")
print("same again:", drawn == drawn_shapes.shapes("a word"))
print("another seed is the same:", drawn == drawn_shapes.shapes("another word"))
print("the first three of 120:", products[:3] == drawn_shapes.shapes("a word", {"gemm": 3}))
timed = {"right": True, "peer": "cuBLAS", "peer_ms": 1.0}
def before(ratio):
    return {"before": {"old": {"ms": 1.0, "ratio": ratio}}}


print(drawn_shapes.table([
    timed | {"work": "gemm", "class": "×64", "name": "first", "ratio": 0.5, "ms": 2.0} | before(0.5),
    timed | {"work": "gemm", "class": "odd", "name": "second", "ratio": 2.0, "ms": 0.5, "peer": "cuBLASLt"} | before(2.0),
    timed | {"work": "gemm", "class": "odd", "name": "third", "ratio": 1.0, "ms": 1.0, "right": False} | before(4.0),
    {"work": "rows", "class": "rotary", "name": "fourth", "failed": "no memory", "right": False},
]))
