# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Negations whose sign ptxas drops: looked for in PTX.

For compute capability 9.0 to 10.3, ptxas of CUDA 12.8 and 13.0 makes one instruction of max(z, max(x, -y)), and of such minima, and
computes with y. runtime/include/tk/negate.h keeps negations of the language apart; here is what compilers make of other code."""
import re

TARGET = re.compile(r"\.target sm_(?:9\d|10\d)")
EXTREMUM = re.compile(r"(max|min)\.s32\s+(%r\d+), (%r\d+|-?\d+), (%r\d+|-?\d+);")


def dropped(body):
    """The extrema of a function, given as PTX, whose second operand is a negation and which another such extremum takes."""
    negated = set(re.findall(r"neg\.s32\s+(%r\d+),", body))
    extrema = EXTREMUM.findall(body)
    inner = {(kind, result): f"{kind}.s32 {result}, {x}, {y}" for kind, result, x, y in extrema if y in negated}
    return sorted({inner[kind, operand] for kind, _, *operands in extrema for operand in operands if (kind, operand) in inner})
