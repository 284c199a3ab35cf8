// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of six bits in shared memory, as matrix instructions read them: 16 in 16 bytes, of which they take 12,
// packed, and the other four are padding that nobody reads or writes. So their tiles lie as tiles of bytes do. PTX ISA,
// "Packing formats used in shared memory"; CUDA Driver API, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B.
#pragma once

#include "tk/types.h"

namespace tk {

/// The room of an element in such a tile: a sixteenth of 16 elements' 16 bytes.
struct f6e2m3_padded {
  u8 bits;
};
struct f6e3m2_padded {
  u8 bits;
};

template <class T> inline constexpr bool is_padded = same<T, f6e2m3_padded> || same<T, f6e3m2_padded>;

/// Elements that a chunk of 16 bytes has, and bytes of them.
inline constexpr int padded_elements = 16, padded_bytes = 12;

} // namespace tk
