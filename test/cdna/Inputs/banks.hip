// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of 64 bytes written one after another, and read as a matrix product reads them: 16 bytes of each of 16 rows.
#include "host.h"

using words = unsigned __attribute__((ext_vector_type(4)));

template <bool Swizzled> __global__ void __launch_bounds__(64) rows(const words *x, words *y) {
  __shared__ words tile[16][4];
  const int lane = threadIdx.x;
  const auto place = [](int row, int part) { return Swizzled ? part ^ (row / 2 & 3) : part; };
  tile[lane / 4][place(lane / 4, lane % 4)] = x[lane];
  __syncthreads();
  y[lane] = tile[lane % 16][place(lane % 16, lane / 16)];
}

int main() {
  const words *x = upload(std::vector<words>(64));
  words *y = upload(std::vector<words>(64));
  rows<false><<<1, 64>>>(x, y);
  rows<true><<<1, 64>>>(x, y);
  report("rows", true);
}
