# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that tests of several frameworks call."""

#: y = x · s, or its square, where a mask is left out or not, and the sums of y along its rows. Each file of tests says its gradient.
SCALED = """
kernel scaled<T: {bf16, f32}>(x: T[N, M], mask: f32[M] = none, out y: T[N, M], out total: f32[N], s: f32 = 2, const square: bool = false) {
  parallel i in tiles(N, 16) {
    var sum = zeros(16, 1);
    for j in tiles(M, 32) {
      var t = f32(x[i, j]) * s;
      if square { t = t * t; }
      if mask != none { t = t * mask[j].row; }
      y[i, j] = t;
      sum += rowsum(t);
    }
    total[i] = sum;
  }
}
"""
