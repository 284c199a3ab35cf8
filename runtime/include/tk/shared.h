// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles and vectors in shared memory, and slices of tiles as operands.
#pragma once

#include "tk/swizzle.h"
#include "tk/words.h"

namespace tk {

template <class T, int Rows, int Cols, int Swizzle, int Grain> struct shared_tile;

/// A block of rows and columns of a shared tile, as an operand: logically Rows × Cols, stored transposed if Transposed.
template <class Tile, int Rows, int Cols, bool Transposed = false> struct shared_slice {
  using element = typename Tile::element;
  using tile_type = Tile;
  static constexpr int rows = Rows, cols = Cols;
  static constexpr bool transposed = Transposed;
  u32 address;

  __device__ __forceinline__ shared_slice<Tile, Cols, Rows, !Transposed> T() const { return {address}; }
};

/// Rows × Cols elements as tile_layout places them, at an address that is a multiple of permuted_rows · Swizzle
/// (1024 serves all, where that is 8 rows).
template <class Element, int Rows, int Cols, int Swizzle = 128, int Grain = 16>
struct alignas(Swizzle ? permuted_rows *Swizzle : 16) shared_tile : tile_layout<Element, Rows, Cols, Swizzle, Grain> {
  using element = Element;
  using layout = tile_layout<Element, Rows, Cols, Swizzle, Grain>;
  using layout::linear_offset, layout::offset, layout::panel_cols;
  u8 bytes[layout::byte_count];

  __device__ __forceinline__ Element *at(int r, int c) { return reinterpret_cast<Element *>(bytes + offset(r, c)); }
  __device__ __forceinline__ const Element *at(int r, int c) const {
    return reinterpret_cast<const Element *>(bytes + offset(r, c));
  }
  __device__ __forceinline__ u32 address() const { return shared_address(bytes); }

  __device__ __forceinline__ shared_slice<shared_tile, Rows, Cols> all() const { return {address()}; }
  /// The tile transposed, as an operand.
  __device__ __forceinline__ shared_slice<shared_tile, Cols, Rows, true> T() const { return {address()}; }
  /// The i-th group of Count rows; Count is a multiple of permuted_rows.
  template <int Count> __device__ __forceinline__ shared_slice<shared_tile, Count, Cols> rows_of(int i) const {
    static_assert(Count % permuted_rows == 0, "a slice starts at a swizzle atom");
    return {address() + u32(i * Count * layout::row_bytes)};
  }
  /// The i-th group of Count columns; whole panels, or an even part of one.
  template <int Count> __device__ __forceinline__ shared_slice<shared_tile, Rows, Count> cols_of(int i) const {
    static_assert(Count % panel_cols == 0 || panel_cols % Count == 0, "a slice may not straddle panels");
    return {address() + u32(linear_offset(0, i * Count))};
  }
};

/// Elements in shared memory, contiguous: a column or a row of a tile.
template <class Element, int Count> struct alignas(16) shared_vector {
  using element = Element;
  static constexpr int count = Count;
  static constexpr int byte_count = Count * int(sizeof(Element));
  Element elements[Count];

  /// The i-th group of Part elements.
  template <int Part> __device__ __forceinline__ shared_vector<Element, Part> &part(int i) {
    static_assert(Part * sizeof(Element) % 16 == 0, "vectors are aligned");
    return *reinterpret_cast<shared_vector<Element, Part> *>(elements + i * Part);
  }

  __device__ __forceinline__ u32 address() const { return shared_address(elements); }
};

/// The T that lies `offset` bytes after the beginning of dynamic shared memory, a multiple of 1024 as declared:
/// compilers count on it, and rounding up would cost a register throughout.
template <class T> __device__ __forceinline__ T &shared_at(int offset) {
  alignas(1024) extern __shared__ u8 dynamic_shared[];
  return *reinterpret_cast<T *>(dynamic_shared + offset);
}

} // namespace tk
