// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile indices: which elements of a range a tile covers, and the ranges that loops and grids run over.
#pragma once

#include "tk/divisor.h"

namespace tk {

/// The number, or the end of i32 that it lies beyond.
__host__ __device__ constexpr int saturated(long long x) {
  return x < -2147483647 - 1 ? -2147483647 - 1 : x > 2147483647 ? 2147483647 : static_cast<int>(x);
}
/// How many elements from `begin` on lie before the tensor; of the least i32 one fewer, and no tile is as large.
__host__ __device__ constexpr int before(int begin) { return begin < -2147483647 ? 2147483647 : -begin; }

/// How many elements are left from the `at`-th on, of those before `end`. That may be as low as i32 goes, where a tile
/// was moved far beyond its tensor, so that `end - at` could wrap.
__host__ __device__ constexpr int left_from(int at, int end) { return at < end ? end - at : 0; }

/// Elements [begin, end) of a dim; `end` is clipped to the range. `index` tiles of the range come before.
struct tile_index {
  int begin, end, index;

  /// Moved by so many elements; it still ends with the tile it was.
  __host__ __device__ constexpr tile_index shifted(int by) const { return {begin + by, end + by, index}; }
  /// The same by whatever an i32 can be, forwards and back: beyond its ends is where no tensor has elements.
  __host__ __device__ constexpr tile_index moved(int by) const { return moved_far(by); }
  __host__ __device__ constexpr tile_index moved_back(int by) const { return moved_far(-static_cast<long long>(by)); }
  __host__ __device__ constexpr tile_index moved_far(long long by) const {
    return {saturated(begin + by), saturated(end + by), index};
  }
};

/// ⌈x / y⌉ for x ≥ 0.
__host__ __device__ constexpr int ceil_div(int x, int y) { return x / y + (x % y != 0); }

/// The range [lo, hi) in tiles of `Size` elements; the last may have fewer.
///   for (const auto k : tk::tiles<64>{0, K})
template <int Size> struct tiles {
  int lo, hi;

  __host__ __device__ constexpr int count() const {
    return hi > lo ? int((static_cast<unsigned>(hi) - static_cast<unsigned>(lo) - 1) / Size) + 1 : 0;
  }
  /// Whether there is an i-th tile; i is not negative.
  __host__ __device__ constexpr bool has(int i) const { return lo + i * Size < hi; }
  __host__ __device__ constexpr tile_index operator[](int i) const {
    const int begin = lo + i * Size;
    return {begin, hi - begin < Size ? hi : begin + Size, i};
  }

  struct iterator {
    tiles range;
    int i;
    __host__ __device__ constexpr tile_index operator*() const { return range[i]; }
    __host__ __device__ constexpr iterator &operator++() {
      ++i;
      return *this;
    }
    __host__ __device__ constexpr bool operator!=(const iterator &other) const { return i != other.i; }
  };
  __host__ __device__ constexpr iterator begin() const { return {*this, 0}; }
  __host__ __device__ constexpr iterator end() const { return {*this, count()}; }

  /// All tiles but the first so many; none if there are no more.
  struct tail {
    tiles range;
    int first;
    __host__ __device__ constexpr iterator begin() const { return {range, first}; }
    __host__ __device__ constexpr iterator end() const {
      const int count = range.count();
      return {range, count < first ? first : count};
    }
  };
  __host__ __device__ constexpr tail from(int first) const { return {*this, first}; }
  __host__ __device__ constexpr tail rest() const { return from(1); }

  /// The first so many tiles; all if there are no more.
  struct head {
    tiles range;
    int most;
    __host__ __device__ constexpr iterator begin() const { return {range, 0}; }
    __host__ __device__ constexpr iterator end() const {
      const int count = range.count();
      return {range, count < most ? count : most};
    }
  };
  __host__ __device__ constexpr head first(int most) const { return {*this, most}; }
};

/// Of a range of tiles every `Of`-th one, from the one of number `first` on: what one of so many has that take them in
/// turns.
///   for (const auto k : tk::tiles_in_turns<64, 3>{{0, K}, warpgroup})
template <int Size, int Of> struct tiles_in_turns {
  tiles<Size> range;
  int first;

  __host__ __device__ constexpr bool any() const { return first < range.count(); }
  __host__ __device__ constexpr tile_index operator[](int i) const { return range[first + i * Of]; }

  struct iterator {
    tiles<Size> range;
    int i;
    __host__ __device__ constexpr tile_index operator*() const { return range[i]; }
    __host__ __device__ constexpr iterator &operator++() {
      i += Of;
      return *this;
    }
    /// The last step may go beyond the end.
    __host__ __device__ constexpr bool operator!=(const iterator &end) const { return i < end.i; }
  };
  __host__ __device__ constexpr iterator begin() const { return {range, first}; }
  __host__ __device__ constexpr iterator end() const { return {range, range.count()}; }

  /// All of them but the first, if there is one.
  struct tail {
    tiles<Size> range;
    int first;
    __host__ __device__ constexpr iterator begin() const { return {range, first}; }
    __host__ __device__ constexpr iterator end() const { return {range, range.count()}; }
  };
  __host__ __device__ constexpr tail rest() const { return {range, first + Of}; }
};

/// Takes the coordinates of a grid position one axis at a time, the fastest first.
struct grid_walk {
  int position;

  __host__ __device__ constexpr int take(int extent) {
    const int coordinate = position % extent;
    position /= extent;
    return coordinate;
  }
  __host__ __device__ constexpr int take(const divisor &extent) {
    const int steps = extent.quotient(position), coordinate = position - steps * extent.value;
    position = steps;
    return coordinate;
  }
};

} // namespace tk
