// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions of register tiles: `row_*` along the columns gives a column (of a row a scalar), `col_*` along the rows
// gives a row (of a column a scalar).
//
// Three steps: each thread its own elements, then lanes of a warp by shuffles, then, where a row or column lies in more
// than one warp, warps through a `scratch`. The result is in every thread that holds part of the row or column. The
// first step alone (`thread_row_sum`) and the rest (`finish_row_sum`) serve loops that keep parts until the end.
#pragma once

#include "tk/barrier.h"
#include "tk/elementwise.h"
#include "tk/sync.h"

namespace tk {

/// Shared memory through which `Warps` warps combine: two buffers used in turn, so that one barrier a use is enough.
/// Needs: 2 · Warps · `Elements` · 8 bytes; all threads of the warps take part, in the same order. What is larger than
/// 8 bytes, an f64 and where it stands, takes two elements.
template <class T> inline constexpr int slots_of = (sizeof(T) + 7) / 8;
template <int Warps, int Elements> struct scratch_memory {
  alignas(16) u64 slots[2][Warps][Elements];
};
template <int Warps, int Elements> struct scratch {
  static constexpr int warps = Warps, elements = Elements;
  scratch_memory<Warps, Elements> &memory;
  int barrier_id;
  int turn = 0;

  template <class T> __device__ __forceinline__ T &slot(int warp, int i) {
    return reinterpret_cast<T &>(memory.slots[turn][warp][i * slots_of<T>]);
  }
  /// This warp's number among those that combine.
  __device__ __forceinline__ int warp() const { return threadIdx.x / warp_size % Warps; }
  __device__ __forceinline__ void sync() { tk::sync(barrier_id, Warps * warp_size); }
  __device__ __forceinline__ void next() { turn ^= 1; }
};
/// What one of several groups of `Warps` warps has of a scratch: each combines what it alone holds. All groups take
/// part, as they meet at one barrier.
template <int Warps, class S> struct group_scratch {
  static constexpr int warps = Warps, elements = S::elements;
  S &all;

  template <class T> __device__ __forceinline__ T &slot(int warp, int i) {
    return all.template slot<T>(all.warp() / Warps * Warps + warp, i);
  }
  __device__ __forceinline__ int warp() const { return all.warp() % Warps; }
  __device__ __forceinline__ void sync() { all.sync(); }
  __device__ __forceinline__ void next() { all.next(); }
};
template <int Warps, class S> __device__ __forceinline__ group_scratch<Warps, S> of_group(S &all) { return {all}; }
/// For reductions that stay within a warp.
struct no_scratch {
  static constexpr int warps = 1, elements = 0;
};

struct sum_operation {
  template <class T> __device__ static T identity() { return T(0); }
  template <class T> __device__ __forceinline__ T operator()(T x, T y) const {
    if constexpr (same<T, int> || same<T, i64>)
      return wrapping_add(x, y);
    else
      return x + y;
  }
};
struct product_operation {
  template <class T> __device__ static T identity() { return T(1); }
  template <class T> __device__ __forceinline__ T operator()(T x, T y) const {
    if constexpr (same<T, int> || same<T, i64>)
      return wrapping_mul(x, y);
    else
      return x * y;
  }
};
struct max_operation {
  template <class T> __device__ static T identity() {
    if constexpr (same<T, int>)
      return -2147483647 - 1;
    else if constexpr (same<T, i64>)
      return -0x7fffffffffffffff - 1;
    else
      return T(-inf);
  }
  template <class T> __device__ __forceinline__ T operator()(T x, T y) const { return max(x, y); }
};
struct min_operation {
  template <class T> __device__ static T identity() {
    if constexpr (same<T, int>)
      return 2147483647;
    else if constexpr (same<T, i64>)
      return 0x7fffffffffffffff;
    else
      return T(inf);
  }
  template <class T> __device__ __forceinline__ T operator()(T x, T y) const { return min(x, y); }
};

/// The same of numbers; of NaN alone NaN, where whoever takes it ignores that, and the beginning is an element.
struct max_or_nan_operation : max_operation {};
struct min_or_nan_operation : min_operation {};

/// A value and where it stands, for argmax and argmin: the first of equals wins.
template <class T> struct located {
  T value;
  int index;
};
template <class T> inline constexpr bool is_located = false;
template <class T> inline constexpr bool is_located<located<T>> = true;

template <bool Largest> struct first_extreme {
  template <class L> __device__ static L identity() {
    if constexpr (Largest)
      return {max_operation::identity<decltype(L::value)>(), 2147483647};
    else
      return {min_operation::identity<decltype(L::value)>(), 2147483647};
  }
  template <class L> __device__ __forceinline__ L operator()(L x, L y) const {
    const bool better = Largest ? y.value > x.value : y.value < x.value;
    const bool earlier = y.value == x.value && y.index < x.index;
    return better || earlier ? y : x;
  }
};

template <class F> inline constexpr bool is_extreme = same<F, max_operation> || same<F, min_operation>;
/// The first element of a thread, as the beginning of what it combines. Extrema ignore NaN: those of NaN alone, and
/// where they stand, are as of nothing.
template <class F, class T> __device__ __forceinline__ T begin_with(F f, T x) {
  if constexpr (is_located<T> || (is_extreme<F> && (same<T, float> || same<T, double>)))
    return f(F::template identity<T>(), x);
  else
    return x;
}

template <int Mask, class T> __device__ __forceinline__ located<T> shuffle_xor(located<T> x) {
  return {shuffle_xor<Mask>(x.value), shuffle_xor<Mask>(x.index)};
}

/// Combines x over the lanes whose numbers differ in the bits from From to To (powers of two, To excluded).
template <int From, int To, class F, class T> __device__ __forceinline__ T combine_lanes(F f, T x) {
  constexpr bool is_sum_of_all = From == 1 && To == warp_size && same<F, sum_operation> && same<T, int>;
  if constexpr (is_sum_of_all && adds_lanes_at_once)
    return sum_of_lanes(x);
  else if constexpr (From < To)
    return combine_lanes<From * 2, To>(f, f(x, shuffle_xor<From>(x)));
  else
    return x;
}

/// Of the threads of a row, those in one warp; their lanes' numbers are L::lane_step apart.
template <class L> inline constexpr int lanes_per_row = L::threads_per_row < warp_size ? L::threads_per_row : warp_size;
template <class L> inline constexpr int warps_per_row = L::threads_per_row / lanes_per_row<L>;
/// Combines x over the lanes of a row, and over those of a column.
template <class L, class F, class T> __device__ __forceinline__ T combine_row_lanes(F f, T x) {
  return combine_lanes<L::lane_step, L::lane_step * lanes_per_row<L>>(f, x);
}
template <class L, class F, class T> __device__ __forceinline__ T combine_column_lanes(F f, T x) {
  return combine_lanes<L::lane_step * lanes_per_row<L>, warp_size>(f, combine_lanes<1, L::lane_step>(f, x));
}

/// A value for each row slot of X as a column; of a row, which has but one, as a scalar.
template <class X, class T> __device__ __forceinline__ auto as_column(const T (&values)[X::row_slots]) {
  if constexpr (X::has_rows) {
    column<T, X::rows, typename X::layout> result;
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a)
      result.set(a, 0, values[a]);
    return result;
  } else {
    return values[0];
  }
}
/// A value for each column slot of X as a row; of a column as a scalar.
template <class X, class T> __device__ __forceinline__ auto as_row(const T (&values)[X::col_slots]) {
  if constexpr (X::has_cols) {
    row<T, X::cols, typename X::layout> result;
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b)
      result.set(0, b, values[b]);
    return result;
  } else {
    return values[0];
  }
}

/// This thread's own combinations along the columns, one a row slot.
template <class F, tile X, class T> __device__ __forceinline__ void reduce_own_cols(F f, const X &x, T *result) {
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a) {
    result[a] = begin_with(f, x.at(a, 0));
#pragma unroll
    for (int b = 1; b < X::col_slots; ++b)
      result[a] = f(result[a], x.at(a, b));
  }
}

/// That of a row, of which threads have many elements and wait for nothing else: in four parts side by side.
template <class F, tile X> __device__ __forceinline__ auto reduce_own_row(F f, const X &x) {
  constexpr int count = X::col_slots < 4 ? X::col_slots : 4;
  typename X::element parts[count];
#pragma unroll
  for (int b = 0; b < X::col_slots; ++b)
    parts[b % count] = b == 0 ? begin_with(f, x.at(0, 0)) : b < count ? x.at(0, b) : f(parts[b % count], x.at(0, b));
#pragma unroll
  for (int i = 1; i < count; ++i)
    parts[0] = f(parts[0], parts[i]);
  return parts[0];
}

/// Where in a warp's part of the scratch row slot `a` of this lane's row lies, where each row of a warp has an element.
template <class L> __device__ __forceinline__ int told_row(int a) {
  constexpr int lanes = lanes_per_row<L>, step = L::lane_step;
  return a * (warp_size / lanes) + lane() % step + lane() / (step * lanes) * step;
}
/// The first lane of each row tells the other warps what it has of its row slots.
template <class L, int Rows, class T, class S>
__device__ __forceinline__ void tell_rows(const T (&x)[Rows], S &through) {
  static_assert(S::elements >= Rows * (warp_size / lanes_per_row<L>)*slots_of<T>, "scratch too small");
  const int warp = through.warp();
  if (lane() / L::lane_step % lanes_per_row<L> == 0)
#pragma unroll
    for (int a = 0; a < Rows; ++a)
      through.template slot<T>(warp, told_row<L>(a)) = x[a];
}

/// Rows of which each group of L's warps holds a share of the columns: the groups follow each other in the scratch.
template <class L, int Rows, class F, class T, class S>
__device__ __forceinline__ void combine_groups(F f, T (&x)[Rows], S &&through) {
  constexpr int group = L::threads / warp_size;
  static_assert(plain<S>::warps % group == 0, "whole groups");
  const int warp = through.warp();
  tell_rows<L>(x, through);
  through.sync();
#pragma unroll
  for (int a = 0; a < Rows; ++a) {
    x[a] = through.template slot<T>(warp % group, told_row<L>(a));
    for (int other = warp % group + group; other < plain<S>::warps; other += group)
      x[a] = f(x[a], through.template slot<T>(other, told_row<L>(a)));
  }
  through.next();
}

/// Combines what each thread of a row holds of its `Rows` row slots.
template <class L, int Rows, class F, class T, class S>
__device__ __forceinline__ void combine_cols(F f, T (&x)[Rows], S &&through) {
#pragma unroll
  for (int a = 0; a < Rows; ++a)
    x[a] = combine_row_lanes<L>(f, x[a]);
  if constexpr (warps_per_row<L> > 1) {
    constexpr int warps = warps_per_row<L>;
    static_assert(plain<S>::warps * warp_size >= L::threads && plain<S>::elements >= Rows * slots_of<T>,
                  "scratch too small");
    const int warp = through.warp();
    if (lane() == 0)
#pragma unroll
      for (int a = 0; a < Rows; ++a)
        through.template slot<T>(warp, a) = x[a];
    through.sync();
#pragma unroll
    for (int a = 0; a < Rows; ++a) {
      if constexpr (warps >= 4 && warps <= warp_size && adds_lanes_at_once && same<F, sum_operation> && same<T, int>) {
        // Each lane reads one warp's, and an instruction adds up those of all lanes.
        const T part = through.template slot<T>(warp / warps * warps + lane() % warps, a);
        x[a] = sum_of_lanes(lane() < warps ? part : T(0));
        continue;
      }
      x[a] = through.template slot<T>(warp / warps * warps, a);
#pragma unroll
      for (int other = 1; other < warps; ++other)
        x[a] = f(x[a], through.template slot<T>(warp / warps * warps + other, a));
    }
    through.next();
  } else if constexpr (plain<S>::warps * warp_size > L::threads) {
    combine_groups<L>(f, x, through);
  }
}

/// A column of combinations along the columns, of a row a scalar; of a column, which all threads of a row hold, itself.
template <class F, tile X, class S> __device__ __forceinline__ auto reduce_cols(F f, const X &x, S &&through) {
  typename X::element sums[X::row_slots];
  reduce_own_cols(f, x, sums);
  if constexpr (X::has_cols)
    combine_cols<typename X::layout>(f, sums, through);
  return as_column<X>(sums);
}

/// Where in a warp's part of the scratch column slot b lies, and whether this lane writes it. A column has one element.
template <class X> __device__ __forceinline__ int scratch_element(int b) {
  constexpr int lanes = lanes_per_row<typename X::layout>, step = X::layout::lane_step;
  return X::has_cols ? b * lanes + lane() / step % lanes : 0;
}
template <class X> __device__ __forceinline__ bool writes_scratch() {
  constexpr int step = X::layout::lane_step;
  return lane() == (X::has_cols ? lane() / step % lanes_per_row<typename X::layout> * step : 0);
}
template <class X>
inline constexpr int scratch_elements = X::has_cols ? X::cols / warps_per_row<typename X::layout> : 1;

/// A row of combinations along the rows, of a column a scalar; of a row, which is all rows of the layout, itself.
/// Columns lie in all warps of the layout (and of the scratch, which may join several groups): each warp writes its
/// partial results, all warps combine them.
template <class F, tile X, class S> __device__ __forceinline__ auto reduce_rows(F f, const X &x, S &&through) {
  using T = typename X::element;
  using L = typename X::layout;
  T sums[X::col_slots];
#pragma unroll
  for (int b = 0; b < X::col_slots; ++b) {
    sums[b] = begin_with(f, x.at(0, b));
#pragma unroll
    for (int a = 1; a < X::row_slots; ++a)
      sums[b] = f(sums[b], x.at(a, b));
    if constexpr (X::has_rows)
      sums[b] = combine_column_lanes<L>(f, sums[b]);
  }
  constexpr int warps = plain<S>::warps;
  static_assert(!X::has_rows || warps * warp_size >= L::threads || warps_per_row<L> * warp_size >= L::threads,
                "a column lies in every warp of the layout, unless these hold one row");
  if constexpr (X::has_rows && warps > warps_per_row<L>) {
    static_assert(plain<S>::elements >= scratch_elements<X> * slots_of<T>, "scratch too small");
    const int warp = through.warp();
    const int part = warp % warps_per_row<L>;
    if (writes_scratch<X>())
#pragma unroll
      for (int b = 0; b < X::col_slots; ++b)
        through.template slot<T>(warp, scratch_element<X>(b)) = sums[b];
    through.sync();
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b) {
      sums[b] = through.template slot<T>(part, scratch_element<X>(b));
      for (int other = part + warps_per_row<L>; other < warps; other += warps_per_row<L>)
        sums[b] = f(sums[b], through.template slot<T>(other, scratch_element<X>(b)));
    }
    through.next();
  }
  return as_row<X>(sums);
}

/// Along the columns: rows spread over more than one warp, or groups of warps, need a scratch.
template <tile X, class S = no_scratch> __device__ __forceinline__ auto row_sum(const X &x, S &&through = {}) {
  return reduce_cols(sum_operation{}, x, through);
}
template <tile X, class S = no_scratch> __device__ __forceinline__ auto row_prod(const X &x, S &&through = {}) {
  return reduce_cols(product_operation{}, x, through);
}
template <tile X, class S = no_scratch> __device__ __forceinline__ auto row_max(const X &x, S &&through = {}) {
  return reduce_cols(max_operation{}, x, through);
}
template <tile X, class S = no_scratch> __device__ __forceinline__ auto row_max_or_nan(const X &x, S &&through = {}) {
  return reduce_cols(max_or_nan_operation{}, x, through);
}
template <tile X, class S = no_scratch> __device__ __forceinline__ auto row_min(const X &x, S &&through = {}) {
  return reduce_cols(min_operation{}, x, through);
}
template <tile X, class S = no_scratch> __device__ __forceinline__ auto row_min_or_nan(const X &x, S &&through = {}) {
  return reduce_cols(min_or_nan_operation{}, x, through);
}

/// How many elements are 1, of a row of zeros and ones. They are counted as floats: a comparison gives one, where a
/// predicate would have to be selected by, and what adds floats does nothing else then.
template <tile X, class S = no_scratch>
  requires(!X::has_rows && X::has_cols)
__device__ __forceinline__ int row_count(const X &x, S &&through = {}) {
  static_assert(X::col_slots < 1 << 23, "floats are exact");
  float parts[2] = {};
#pragma unroll
  for (int b = 0; b < X::col_slots; ++b)
    parts[b % 2] += x.at(0, b) != 0 ? 1.0f : 0.0f;
  int counts[1] = {int(parts[0] + parts[1])};
  combine_cols<typename X::layout>(sum_operation{}, counts, through);
  return counts[0];
}

/// Along the rows: columns spread over more than one warp need a scratch.
template <tile X, class S = no_scratch> __device__ __forceinline__ auto col_sum(const X &x, S &&through = {}) {
  return reduce_rows(sum_operation{}, x, through);
}
template <tile X, class S = no_scratch> __device__ __forceinline__ auto col_prod(const X &x, S &&through = {}) {
  return reduce_rows(product_operation{}, x, through);
}
template <tile X, class S = no_scratch> __device__ __forceinline__ auto col_max(const X &x, S &&through = {}) {
  return reduce_rows(max_operation{}, x, through);
}
template <tile X, class S = no_scratch> __device__ __forceinline__ auto col_max_or_nan(const X &x, S &&through = {}) {
  return reduce_rows(max_or_nan_operation{}, x, through);
}
template <tile X, class S = no_scratch> __device__ __forceinline__ auto col_min(const X &x, S &&through = {}) {
  return reduce_rows(min_operation{}, x, through);
}
template <tile X, class S = no_scratch> __device__ __forceinline__ auto col_min_or_nan(const X &x, S &&through = {}) {
  return reduce_rows(min_or_nan_operation{}, x, through);
}

/// Each thread's part of row_sum and row_max, to be put together over a loop, and what makes the whole of the parts.
template <tile X> __device__ __forceinline__ auto thread_row_sum(const X &x) {
  if constexpr (!X::has_rows) {
    return reduce_own_row(sum_operation{}, x);
  } else if constexpr (!X::has_cols) { // all threads of a row hold it, and one gives it
    using L = typename X::layout;
    const bool gives = rank<L>() / L::lane_step % L::threads_per_row == 0;
    return map([&](auto v) { return gives ? v : decltype(v)(0); }, x);
  } else {
    typename X::element sums[X::row_slots];
    reduce_own_cols(sum_operation{}, x, sums);
    return as_column<X>(sums);
  }
}
template <tile X>
  requires(!X::has_rows)
__device__ __forceinline__ auto thread_row_max(const X &x) {
  return reduce_own_row(max_operation{}, x);
}
template <tile X>
  requires(!X::has_rows)
__device__ __forceinline__ auto thread_row_max_or_nan(const X &x) {
  return reduce_own_row(max_or_nan_operation{}, x);
}
template <class T, int Rows, class L, class S = no_scratch>
__device__ __forceinline__ auto finish_row_sum(column<T, Rows, L> x, S &&through = {}) {
  T sums[x.row_slots];
#pragma unroll
  for (int a = 0; a < x.row_slots; ++a)
    sums[a] = x.at(a, 0);
  combine_cols<L>(sum_operation{}, sums, through);
  return as_column<column<T, Rows, L>>(sums);
}
/// Of a row that all threads of the scratch hold, whose part is a number.
template <class F, class T, class S> __device__ __forceinline__ T finish_row(F f, T x, S &through) {
  constexpr int threads = S::warps * warp_size;
  T parts[1] = {x};
  combine_cols<row_layout<threads, threads, 1>>(f, parts, through);
  return parts[0];
}
template <class S> __device__ __forceinline__ float finish_row_sum(float x, S &through) {
  return finish_row(sum_operation{}, x, through);
}
template <class S> __device__ __forceinline__ float finish_row_max(float x, S &through) {
  return finish_row(max_operation{}, x, through);
}

/// Where it was found; 0 where there was nothing but NaN.
template <class X> __device__ __forceinline__ auto index_of(const X &x) {
  const auto index = [](auto found) { return found.index == 2147483647 ? 0 : found.index; };
  if constexpr (tile<X>)
    return map(index, x);
  else
    return index(x);
}

/// The number of the only element along an axis, as `row_argmax` and its like say it.
template <tile X> __device__ __forceinline__ auto only_index(const X &x) {
  return map([](auto) { return 0; }, x);
}

/// Number, from 0, of the first largest or smallest element, which is no NaN; 0 over nothing but NaN. `first`: the
/// number of the first element of x, of which other groups of warps may have those before.
template <bool Largest, tile X, class S>
__device__ __forceinline__ auto row_extreme(const X &x, S &&through, int first) {
  if constexpr (!X::has_cols) {
    return only_index(x);
  } else {
    const auto pairs = map([](auto v, int i) { return located<decltype(v)>{v, i}; }, x, col_index<X>() + first);
    return index_of(reduce_cols(first_extreme<Largest>{}, pairs, through));
  }
}
template <bool Largest, tile X, class S>
__device__ __forceinline__ auto col_extreme(const X &x, S &&through, int first) {
  if constexpr (!X::has_rows) {
    return only_index(x);
  } else {
    const auto pairs = map([](auto v, int i) { return located<decltype(v)>{v, i}; }, x, row_index<X>() + first);
    return index_of(reduce_rows(first_extreme<Largest>{}, pairs, through));
  }
}
template <tile X, class S = no_scratch>
__device__ __forceinline__ auto row_argmax(const X &x, S &&through = {}, int first = 0) {
  return row_extreme<true>(x, through, first);
}
template <tile X, class S = no_scratch>
__device__ __forceinline__ auto row_argmin(const X &x, S &&through = {}, int first = 0) {
  return row_extreme<false>(x, through, first);
}
template <tile X, class S = no_scratch>
__device__ __forceinline__ auto col_argmax(const X &x, S &&through = {}, int first = 0) {
  return col_extreme<true>(x, through, first);
}
template <tile X, class S = no_scratch>
__device__ __forceinline__ auto col_argmin(const X &x, S &&through = {}, int first = 0) {
  return col_extreme<false>(x, through, first);
}

} // namespace tk
