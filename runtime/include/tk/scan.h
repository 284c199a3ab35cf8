// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running sums of register tiles.
//
// The elements of a row (or column) come in groups that the lanes of a warp, then its warps, hold in order: a scan in
// the thread, among lanes by shuffles, among warps through a scratch, and a carry from group to group.
#pragma once

#include "tk/reduce.h"

namespace tk {

/// Sum of x over the lanes before this one, lanes counted in steps of Step; `total` over all of them in the warp (or in
/// the group of Width lanes).
template <int Step, int Width, class T> __device__ __forceinline__ T scan_lanes(T x, T &total) {
  const int position = lane() % Width;
#pragma unroll
  for (int d = Step; d < Width; d *= 2) {
    const T before = shuffle_up<Width>(x, d);
    if (position >= d)
      x = sum_operation{}(x, before);
  }
  total = shuffle<Width>(x, Width - Step + lane() % Step);
  const T before = shuffle_up<Width>(x, Step);
  return position >= Step ? before : T(0);
}

/// Sum of the warps' totals before this warp's in its order; `total` becomes the sum of all. `first` is the first warp
/// of the order, `step` and `count` give the others.
template <class S, class T>
__device__ __forceinline__ T scan_warps(S &through, int i, int first, int step, int count, T &total) {
  T before = T(0), sum = T(0);
  for (int n = 0; n < count; ++n) {
    const int warp = first + n * step;
    if (warp == through.warp())
      before = sum;
    sum = sum_operation{}(sum, through.template slot<T>(warp, i));
  }
  total = sum;
  return before;
}

/// Adds to `before` of each run of columns what all runs before it, and its warps before this one, tell; no total is left
/// to carry. Each lane reads one number: lane i that of warp i % Warps in run i / Warps, in the order of columns.
template <int Warps, int Runs, class S, class T>
__device__ __forceinline__ void scan_runs(S &through, int first, T (&before)[Runs], T (&total)[Runs]) {
  constexpr sum_operation plus;
  constexpr int count = Warps * Runs;
  T sum = lane() < count ? through.template slot<T>(first + lane() % Warps, lane() / Warps) : T(0);
#pragma unroll
  for (int d = 1; d < count; d *= 2) {
    const T earlier = shuffle_up<warp_size>(sum, d);
    if (lane() >= d)
      sum = plus(earlier, sum);
  }
#pragma unroll
  for (int r = 0; r < Runs; ++r) {
    const int place = r * Warps + through.warp() - first;
    const T earlier = shuffle<warp_size>(sum, place == 0 ? 0 : place - 1);
    before[r] = plus(before[r], place == 0 ? T(0) : earlier);
    total[r] = T(0);
  }
}

/// Sum of what the groups of L's warps before this one tell of element `i`, each by this warp's counterpart in it.
template <class L, class T, class S> __device__ __forceinline__ T sum_of_groups_before(S &through, int i) {
  constexpr int group = L::threads / warp_size;
  const int warp = through.warp();
  T x = T(0);
  for (int before = warp % group; before < warp / group * group; before += group)
    x = sum_operation{}(x, through.template slot<T>(before, i));
  return x;
}

/// Calls f for the rows, and for `count` runs of columns from the first on, each with a slot of its own.
template <tile X, int Runs, class F> __device__ __forceinline__ void for_each_told(int first, int count, F f) {
#pragma unroll
  for (int r = first; r < Runs && r < first + count; ++r)
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a)
      f(a, r, (r - first) * X::row_slots + a);
}

/// Running sums along the columns. Rows in more than one warp need a scratch of `row_slots` elements; rows of which
/// each group of L's warps holds a share of the columns one of all groups, with an element for each row of a warp.
template <tile X, class S = no_scratch> __device__ __forceinline__ X cumsum_cols(X x, S &&through = {}) {
  using T = typename X::element;
  using L = typename X::layout;
  constexpr sum_operation plus; // whole numbers wrap
  if constexpr (!X::has_cols)   // all threads of a row hold its one element
    return x;
  constexpr int step = L::lane_step, lanes = lanes_per_row<L>, warps = warps_per_row<L>;
  constexpr int runs = X::col_slots / L::run;
  T before[X::row_slots][runs], total[X::row_slots][runs];
#pragma unroll
  for (int r = 0; r < runs; ++r)
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a) {
      const int b = r * L::run;
#pragma unroll
      for (int i = 1; i < L::run; ++i)
        x.set(a, b + i, plus(x.at(a, b + i - 1), x.at(a, b + i)));
      before[a][r] = scan_lanes<step, step * lanes>(x.at(a, b + L::run - 1), total[a][r]);
    }
  if constexpr (warps > 1) {
    static_assert(plain<S>::warps * warp_size >= L::threads && plain<S>::elements >= X::row_slots, "scratch too small");
    constexpr int fitting = plain<S>::elements / (X::row_slots * slots_of<T>), at_once = fitting < runs ? fitting : runs;
    const int warp = through.warp();
#pragma unroll
    for (int first = 0; first < runs; first += at_once) {
      for_each_told<X, runs>(first, at_once, [&](int a, int r, int slot) {
        if (lane() == 0)
          through.template slot<T>(warp, slot) = total[a][r];
      });
      through.sync();
      if constexpr (X::row_slots == 1 && at_once == runs && runs * warps <= warp_size) {
        scan_runs<warps>(through, warp / warps * warps, before[0], total[0]);
      } else {
        for_each_told<X, runs>(first, at_once, [&](int a, int r, int slot) {
          before[a][r] = plus(before[a][r], scan_warps(through, slot, warp / warps * warps, 1, warps, total[a][r]));
        });
      }
      through.next();
    }
  }
  T carry[X::row_slots] = {};
#pragma unroll
  for (int r = 0; r < runs; ++r)
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a) {
#pragma unroll
      for (int i = 0; i < L::run; ++i)
        x.set(a, r * L::run + i, plus(x.at(a, r * L::run + i), plus(before[a][r], carry[a])));
      carry[a] = plus(carry[a], total[a][r]);
    }
  if constexpr (warps == 1 && plain<S>::warps * warp_size > L::threads) {
    tell_rows<L>(carry, through);
    through.sync();
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a) {
      const T earlier = sum_of_groups_before<L, T>(through, told_row<L>(a));
#pragma unroll
      for (int b = 0; b < X::col_slots; ++b)
        x.set(a, b, plus(x.at(a, b), earlier));
    }
    through.next();
  }
  return x;
}

/// Running sums along the rows that one group of L's warps holds, through a scratch of these warps and
/// `scratch_elements<X>` elements. `carry`, zeros at first, becomes the sums of its columns.
template <tile X, class S>
__device__ __forceinline__ X cumsum_group_rows(X x, S &&through, typename X::element (&carry)[X::col_slots]) {
  using T = typename X::element;
  using L = typename X::layout;
  constexpr sum_operation plus; // whole numbers wrap
  constexpr int warps = warps_per_row<L>;
  // Lanes of a column are neighbours, or a row's are.
  constexpr int step = L::lane_step == 1 ? lanes_per_row<L> : 1, width = L::lane_step == 1 ? warp_size : L::lane_step;
#pragma unroll
  for (int a = 0; a < X::row_slots; a += L::row_run) {
    T total[X::col_slots] = {};
#pragma unroll
    for (int i = 0; i < L::row_run; ++i)
#pragma unroll
      for (int b = 0; b < X::col_slots; ++b) {
        T sum;
        const T before = scan_lanes<step, width>(x.at(a + i, b), sum);
        x.set(a + i, b, plus(x.at(a + i, b), plus(before, total[b])));
        total[b] = plus(total[b], sum);
      }
    const int warp = through.warp();
    if (writes_scratch<X>())
#pragma unroll
      for (int b = 0; b < X::col_slots; ++b)
        through.template slot<T>(warp, scratch_element<X>(b)) = total[b];
    through.sync();
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b) {
      const T earlier =
          scan_warps(through, scratch_element<X>(b), warp % warps, warps, plain<S>::warps / warps, total[b]);
#pragma unroll
      for (int i = 0; i < L::row_run; ++i)
        x.set(a + i, b, plus(x.at(a + i, b), plus(earlier, carry[b])));
      carry[b] = plus(carry[b], total[b]);
    }
    through.next();
  }
  return x;
}

/// Running sums along the rows, through a scratch of `scratch_elements<X>` elements. Where it has more warps than the
/// layout, the rows of a group of the layout's warps follow those of the group before.
template <tile X, class S> __device__ __forceinline__ X cumsum_rows(X x, S &&through) {
  using T = typename X::element;
  using L = typename X::layout;
  constexpr int group = L::threads / warp_size;
  if constexpr (!X::has_rows) // all rows of the layout are its one row
    return x;
  static_assert(plain<S>::warps % group == 0 && plain<S>::elements >= scratch_elements<X>, "scratch too small");
  T total[X::col_slots] = {};
  if constexpr (plain<S>::warps == group) {
    return cumsum_group_rows(x, through, total);
  } else {
    x = cumsum_group_rows(x, of_group<group>(through), total);
    if (writes_scratch<X>())
#pragma unroll
      for (int b = 0; b < X::col_slots; ++b)
        through.template slot<T>(through.warp(), scratch_element<X>(b)) = total[b];
    through.sync();
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b) {
      const T earlier = sum_of_groups_before<L, T>(through, scratch_element<X>(b));
#pragma unroll
      for (int a = 0; a < X::row_slots; ++a)
        x.set(a, b, sum_operation{}(x.at(a, b), earlier));
    }
    through.next();
    return x;
  }
}

} // namespace tk
