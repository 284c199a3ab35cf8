// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Global memory through buffer descriptors, which have bounds: a read beyond them gives zero, so that edges take no
// branch. "AMD Instinct MI300 Instruction Set Architecture", "Buffer Resource Descriptor".
#pragma once

#include "tk/memory.h"

namespace tk {

/// The rectangle of a view; the launcher has made sure that all of it lies within 2^31 bytes.
template <class T> struct buffer_view {
  static constexpr u32 reach = 0x80000000u; ///< bytes; any offset with this bit is outside
  static constexpr int words = 0x20000;     ///< data are 32-bit words
  __amdgpu_buffer_rsrc_t descriptor;
  u32 row_step, col_step; ///< bytes
  int row_begin, row_end, col_begin, col_end;

  template <int Align>
  __device__ __forceinline__ explicit buffer_view(const view<const T, Align> &from)
      : descriptor(__builtin_amdgcn_make_buffer_rsrc(const_cast<T *>(from.base), 0, reach, words)),
        row_step(u32(from.row_stride) * u32(sizeof(T))), col_step(u32(from.col_stride) * u32(sizeof(T))),
        row_begin(from.row_begin), row_end(from.row_end), col_begin(from.col_begin), col_end(from.col_end) {}

  __device__ __forceinline__ u32 offset(int r, int c) const {
    const u32 row = r >= row_begin && r < row_end ? u32(r) * row_step : reach;
    return row + u32(c) * col_step | (c >= col_begin && c < col_end ? 0 : reach);
  }
  /// The 16 bytes from element (r, c) on, a run of memory that exists as a whole or not at all.
  __device__ __forceinline__ void load_chunk(int r, int c, u32 *to) const {
    split<4>(
        __builtin_bit_cast(words_at_once<4>, __builtin_amdgcn_raw_buffer_load_b128(descriptor, offset(r, c), 0, 0)),
        to);
  }
  __device__ __forceinline__ T load_element(int r, int c) const {
    const u32 at = offset(r, c);
    if constexpr (sizeof(T) == 8)
      return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b64(descriptor, at, 0, 0));
    else if constexpr (sizeof(T) == 4)
      return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b32(descriptor, at, 0, 0));
    else if constexpr (sizeof(T) == 2)
      return __builtin_bit_cast(T, u16(__builtin_amdgcn_raw_buffer_load_b16(descriptor, at, 0, 0)));
    else
      return __builtin_bit_cast(T, u8(__builtin_amdgcn_raw_buffer_load_b8(descriptor, at, 0, 0)));
  }
};

} // namespace tk
