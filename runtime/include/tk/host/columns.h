// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many columns tiles get that may have fewer than their kernel has room for (tk/columns.h).
#pragma once

#include "tk/columns.h"
#include "tk/host/launch.h"

namespace tk::host {

using tk::columns_of;

/// Clusters of so many blocks that run at once where a multiprocessor takes one block: those of four or more find a
/// place on ten of eleven multiprocessors (docs/notes/clusters-in-two-directions.md).
constexpr long long clusters_at_once(int multiprocessors, int blocks) {
  return blocks < 4 ? multiprocessors / blocks : multiprocessors / 11 * 10 / blocks;
}

/// The step by which tiles begin where rows of an operand do that has them along its rows: at multiples of as many
/// bytes, up to a line of 128. It divides the most columns.
inline int column_step(const argument &a, int step, int most) {
  const int bytes = alignment(a) < 128 ? alignment(a) : 128;
  int wanted = int(bytes * 8 / bits_of(a.type));
  while (wanted > step && most % wanted != 0)
    wanted /= 2;
  return wanted > step && wanted % step == 0 ? wanted : step;
}

/// Both maps of a tensor with at most four dims for stores; false where the engine cannot take it.
[[gnu::visibility("hidden")]] inline bool encode_columns_map(columns_map &map, const argument &a, const box &b,
                                                             const tile_columns &columns) {
  const int rank = a.rank(), last = rank - 1;
  if (rank > 4 || bytes_of(a.type, columns.width) % 16 != 0)
    return false;
  argument split = a;
  tk_tensor tensor = *a.tensor;
  int64_t dims[5], strides[5];
  for (int i = 0; i < last; ++i)
    dims[i] = a.dim(i), strides[i] = a.stride(i);
  const auto encode = [&](tensor_map &to, int64_t count, int64_t width) {
    dims[last] = count, strides[last] = width;
    dims[rank] = width, strides[rank] = 1;
    return encode_map(to, split, b);
  };
  tensor.rank = rank + 1;
  tensor.dims = dims;
  tensor.strides = strides;
  split.tensor = &tensor;
  return encode(map.whole, 1, a.dim(last)) && encode(map.tiles, columns.count, columns.width);
}

} // namespace tk::host
