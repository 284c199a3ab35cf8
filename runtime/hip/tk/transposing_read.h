// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads of shared memory that transpose: 16 lanes point to rows of 16 elements, 8 bytes each, and get a column each.
// "AMD Instinct CDNA4 Instruction Set Architecture", "Data Share": ds_read_b64_tr_b16, ds_read_b64_tr_b8.
#pragma once

#include "tk/words.h"

namespace tk {

inline constexpr bool transposing_reads = gfx >= 950;

using transposed_16 [[gnu::vector_size(8)]] = short;
using transposed_8 [[gnu::vector_size(8)]] = int;

template <int Bytes> struct transposed_column {
  using type = transposed_8;
};
template <> struct transposed_column<2> {
  using type = transposed_16;
};

/// What the pointer is restricted to says nothing more than a name for the access; but without one LLVM waits for all
/// loads to shared memory first, since any of them might write there.
__device__ __forceinline__ transposed_16 read_transposed(in_shared<transposed_16> *__restrict from) {
  return __builtin_amdgcn_ds_read_tr16_b64_v4i16(from);
}
__device__ __forceinline__ transposed_8 read_transposed(in_shared<transposed_8> *__restrict from) {
  return __builtin_amdgcn_ds_read_tr8_b64_v2i32(from);
}

/// Column `lane % 16` of the rows that the 16 lanes point to: 8 bytes. By whole waves.
template <int Bytes> __device__ __forceinline__ void load_transposed(u32 address, u32 *words) {
  static_assert(transposing_reads && (Bytes == 1 || Bytes == 2), "elements of 8 or 16 bits, on gfx950");
  using column = typename transposed_column<Bytes>::type;
  split<2>(__builtin_bit_cast(words_at_once<2>, read_transposed((in_shared<column> *)(u64(address)))), words);
}

} // namespace tk
