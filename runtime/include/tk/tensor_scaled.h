// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block-scaled products of data-centre Blackwell with scales in shared memory: the thread that issues a product first
// has them copied to tensor memory. What one thread issues, copies and products, is done in order, so the same columns
// serve every step of a loop.
#pragma once

#include "tk/packed.h"
#include "tk/tcgen05_scaled.h"

namespace tk {

/// The scales of some rows of a scale_tile, from row `first` on.
template <class Tile, int Rows> struct scale_slice {
  using tile_type = Tile;
  static constexpr int rows = Rows;
  u32 address; ///< of the whole tile
  int first;

  __device__ __forceinline__ scale_slice T() const { return *this; }
};

/// Scales of Rows rows of an operand, Count of each along k, in the order in which they are copied to tensor memory.
template <class Element, int Rows, int Count> struct alignas(1024) scale_tile {
  using element = Element;
  static constexpr int rows = Rows, cols = Count;
  u8 bytes[Rows * Count];

  /// Rows that differ by 32 are neighbours in memory.
  __device__ __forceinline__ static constexpr int row_in_memory(int i) {
    return i / 128 * 128 + i % 4 * 32 + i % 128 / 4;
  }
  __device__ __forceinline__ Element *at(int r, int s) {
    return reinterpret_cast<Element *>(bytes + scale_offset<tensor_scales<Rows, Count>>(r, s));
  }
  __device__ __forceinline__ scale_slice<scale_tile, Rows> all() const { return {shared_address(bytes), 0}; }
  __device__ __forceinline__ scale_slice<scale_tile, Rows> T() const { return all(); }
  template <int Part> __device__ __forceinline__ scale_slice<scale_tile, Part> rows_of(int i) const {
    static_assert(Part % 32 == 0, "a column of tensor memory has the scales of 32 rows");
    return {shared_address(bytes), i * Part};
  }
};

/// How operands of these types are stored and scaled.
template <class Element, class Scale> struct scaled_format : mxf8 {};
template <> struct scaled_format<f4e2m1_pair, f8e8m0> : mxf4 {};
template <> struct scaled_format<f4e2m1_pair, f8e4m3> : nvf4 {};

/// Scales ← a slice: of whole groups of 128 rows these alone, else all rows of the tile.
template <class Slice> struct copied_scales {
  using tile = typename Slice::tile_type;
  static constexpr bool alone = Slice::rows % 128 == 0;
  using all = tensor_scales<alone ? Slice::rows : tile::rows, tile::cols>;

  /// Copies them to the columns from `column` on; returns those of the slice.
  template <int Blocks> __device__ __forceinline__ static all copy(const Slice &slice, u32 column) {
    const int first = alone ? slice.first : 0;
    tensor_copy<Blocks>(all{column}, slice.address + u32(first * tile::cols));
    return {column + u32(slice.first - first) / 32};
  }
};

template <int Blocks, int N, class A, class B, class ScalesA, class ScalesB, int Width>
__device__ __forceinline__ void
tensor_mma_scaled_through(const tensor_tile<float, 128, N> &d, const A &a, const B &b, const ScalesA &scales_a,
                          const ScalesB &scales_b, const tensor_tile<int, 128, Width> &through, bool accumulate) {
  using of_a = copied_scales<ScalesA>;
  using of_b = copied_scales<ScalesB>;
  using format = scaled_format<typename A::element, typename ScalesA::tile_type::element>;
  static_assert(of_a::all::width + of_b::all::width <= Width, "columns for the scales");
  const auto left = of_a::template copy<Blocks>(scales_a, through.address);
  const auto right = of_b::template copy<Blocks>(scales_b, through.address + of_a::all::width);
  tensor_mma_scaled_steps<format, Blocks>(d, a, b, left, right, accumulate);
}

/// d[128, N] (+)= (a · scales)[128, K] · (b · scales)[K, N] by one thread, asynchronously; all in shared memory, k
/// contiguous. The scales pass through the columns of `through`. Packed operands count pairs along k.
template <int N, class A, class B, class ScalesA, class ScalesB, int Width>
__device__ __forceinline__ void tensor_mma_scaled(const tensor_tile<float, 128, N> &d, const A &a, const B &b,
                                                  const ScalesA &scales_a, const ScalesB &scales_b,
                                                  const tensor_tile<int, 128, Width> &through, bool accumulate = true) {
  tensor_mma_scaled_through<1>(d, a, b, scales_a, scales_b, through, accumulate);
}

/// The same by a pair of blocks for d[256, N]: each has its 128 rows of d and a with their scales, its half of b's
/// columns, and the scales of all of them.
template <int N, class A, class B, class ScalesA, class ScalesB, int Width>
__device__ __forceinline__ void pair_mma_scaled(const tensor_tile<float, 128, N> &d, const A &a, const B &b,
                                                const ScalesA &scales_a, const ScalesB &scales_b,
                                                const tensor_tile<int, 128, Width> &through, bool accumulate = true) {
  tensor_mma_scaled_through<2>(d, a, b, scales_a, scales_b, through, accumulate);
}

} // namespace tk
