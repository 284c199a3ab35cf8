// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed f4e2m1 by pairs, which copies and matrix instructions take as they take bytes.
#pragma once

#include "tk/memory.h"

namespace tk {

/// Two neighbours along k, the first in the low half.
struct f4e2m1_pair {
  u8 bits;
};

/// The view in pairs: of whole ones, as the last dim and all strides of a packed tensor are even.
template <int Align> __device__ __forceinline__ view<const f4e2m1_pair> pairs(const view<const f4e2m1, Align> &from) {
  return {reinterpret_cast<const f4e2m1_pair *>(from.base.group()),
          from.row_stride / 2,
          from.row_end,
          (from.col_end + 1) / 2,
          1,
          from.row_begin,
          from.col_begin / 2};
}

} // namespace tk
