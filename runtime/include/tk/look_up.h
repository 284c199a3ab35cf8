// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of a small table in shared memory, each picked by a number of its own.
#pragma once

#include "tk/fragment.h"
#include "tk/shared.h"

namespace tk {

/// table[at] where that is one of the first Size elements, else `otherwise`; `at` is a tile. Every thread reads some
/// element, so that no branch stands between the loads of a tile.
template <int Size, class T, int Count, tile At>
__device__ __forceinline__ auto look_up(const shared_vector<T, Count> &table, const At &at, converted<T> otherwise) {
  static_assert(Size <= Count && (Count & (Count - 1)) == 0, "the table has the elements, and a power of two in all");
  return map(
      [&](int i) {
        const T found = table.elements[i & (Count - 1)];
        return u32(i) < u32(Size) ? found : T(otherwise);
      },
      at);
}

} // namespace tk
