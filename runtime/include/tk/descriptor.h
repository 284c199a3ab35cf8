// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix descriptors of wgmma and tcgen05: how the matrix engine finds an operand in shared memory.
//
// Fields, in units of 16 bytes: start address (bits 0–13), leading byte offset (16–29), stride byte offset (32–45),
// swizzle (wgmma 62–63, tcgen05 61–63, and a constant 1 at 46). An operand is *K-major* where the contracted index runs
// along the stored rows, *MN-major* where the other one does (PTX ISA, "Matrix Descriptor Format" and "Strides").
#pragma once

#include "tk/swizzle.h"

namespace tk {

enum class major { k, mn };

/// Where an operand's strides are the same for both engines.
///   K-major:  stride = bytes from 8 rows to the next 8; leading is not used (1 by convention).
///   MN-major: stride = bytes from 8 values of k to the next 8; leading = bytes from one panel to the next.
template <class Tile> __host__ __device__ constexpr unsigned long long descriptor_strides(major order) {
  static_assert(Tile::swizzle != 0, "operands of the matrix engine are swizzled");
  constexpr unsigned long long stride = 8 * Tile::row_bytes / 16;
  constexpr unsigned long long panel_stride = Tile::panel_bytes / 16;
  const unsigned long long leading = order == major::k ? 1 : panel_stride;
  return stride << 32 | leading << 16;
}

/// All of wgmma's descriptor but the address.
template <class Tile> __host__ __device__ constexpr unsigned long long descriptor_fields(major order) {
  constexpr unsigned long long swizzle_code = Tile::swizzle == 128 ? 1 : Tile::swizzle == 64 ? 2 : 3;
  return swizzle_code << 62 | descriptor_strides<Tile>(order);
}

/// All of tcgen05's descriptor but the address.
template <class Tile> __host__ __device__ constexpr unsigned long long tensor_descriptor_fields(major order) {
  constexpr unsigned long long swizzle_code = Tile::swizzle == 128 ? 2 : Tile::swizzle == 64 ? 4 : 6;
  return swizzle_code << 61 | 1ull << 46 | descriptor_strides<Tile>(order);
}

/// Bytes to add to the operand's address for element (mn, k). The permutation acts on addresses, so none is applied
/// here.
template <class Tile> __host__ __device__ constexpr int descriptor_step(major order, int mn, int k) {
  return order == major::k ? Tile::linear_offset(mn, k) : Tile::linear_offset(k, mn);
}

template <class Tile>
__host__ __device__ constexpr unsigned long long matrix_descriptor(unsigned address, major order) {
  return descriptor_fields<Tile>(order) | (address & 0x3ffff) >> 4;
}
template <class Tile>
__host__ __device__ constexpr unsigned long long tensor_descriptor(unsigned address, major order) {
  return tensor_descriptor_fields<Tile>(order) | (address & 0x3ffff) >> 4;
}

/// A descriptor `bytes` further on, a multiple of 16. Only the lower word changes: as a sum of 64 bits each step's
/// would be two registers that compilers keep throughout a loop.
__host__ __device__ constexpr unsigned long long descriptor_at(unsigned long long descriptor, int bytes) {
  return descriptor >> 32 << 32 | (unsigned(descriptor) + unsigned(bytes >> 4));
}

} // namespace tk
