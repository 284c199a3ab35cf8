// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed elements as bytes, which is what copies take: those of four bits by pairs, in which matrix instructions take
// f4e2m1, too.
#pragma once

#include "tk/memory.h"

namespace tk {

/// Two neighbours along k, the first in the low half.
struct f4e2m1_pair {
  u8 bits;
};
struct u4_pair {
  u8 bits;
};
struct i4_pair {
  u8 bits;
};

template <class T> struct pair_of;
template <> struct pair_of<f4e2m1> {
  using type = f4e2m1_pair;
};
template <> struct pair_of<u4> {
  using type = u4_pair;
};
template <> struct pair_of<i4> {
  using type = i4_pair;
};

/// The view in pairs: of whole ones, as the last dim and all strides of a packed tensor are even.
template <class T, int Align>
__device__ __forceinline__ view<const typename pair_of<T>::type, Align> pairs(const view<const T, Align> &from) {
  return {reinterpret_cast<const typename pair_of<T>::type *>(from.base.group()),
          from.row_stride / 2,
          from.row_end,
          (from.col_end + 1) / 2,
          1,
          from.row_begin,
          from.col_begin / 2};
}

/// The view in bytes: of whole groups of elements, which the last dim and all strides of a packed tensor have.
template <packed_element T, int Align>
__device__ __forceinline__ view<const u8> packed_bytes(const view<const T, Align> &from) {
  constexpr int elements = packing<T>::elements, bytes = packing<T>::bytes;
  return {from.base.group(),
          from.row_stride / elements * bytes,
          from.row_end,
          (from.col_end + elements - 1) / elements * bytes,
          1,
          from.row_begin,
          from.col_begin / elements * bytes};
}

} // namespace tk
