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

/// Adds to `before` of each run of columns what all runs before it, and its warps before this one, tell; no total is
/// left to carry. Each lane reads one number: lane i that of warp i % Warps in run i / Warps, in the order of columns.
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
    constexpr int fitting = plain<S>::elements / (X::row_slots * slots_of<T>),
                  at_once = fitting < runs ? fitting : runs;
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

/// The running sum of a row of zeros and ones, told by a bit for each element and by what stands before each run of a
/// thread's: to put elements one after another takes no more (`scatter_counted`), and few registers.
template <int Cols, class L> struct running_count {
  using element = int;
  using layout = L;
  static constexpr bool has_rows = false, has_cols = true;
  static constexpr int rows = 1, cols = Cols;
  static constexpr int row_slots = 1, col_slots = L::template col_slots<Cols>;
  static constexpr int runs = col_slots / L::run, words = (col_slots + 31) / 32;
  u32 taken[words];
  int before[runs];
  int total; ///< of the whole row

  __device__ __forceinline__ bool takes(int b) const { return taken[b / 32] >> b % 32 & 1; }
  __device__ __forceinline__ int at(int, int b) const {
    constexpr int run = L::run;
    int count = before[b / run];
    if constexpr (run <= 32 && 32 % run == 0) {
      count += count_bits(taken[b / 32] >> b / run * run % 32 & (~0u >> (31 - b % run)));
    } else {
#pragma unroll
      for (int i = b / run * run; i <= b; ++i)
        count += takes(i);
    }
    return count;
  }
};
template <int Cols, class L> struct shape_of<running_count<Cols, L>> : row<int, Cols, L> {};

/// Sums over the lanes before this one of `counts`, each two of them in halves of a word: none is above 65535.
template <int Words> __device__ __forceinline__ void scan_halves(u32 (&sums)[Words]) {
#pragma unroll
  for (int i = 0; i < Words; ++i)
#pragma unroll
    for (int d = 1; d < warp_size; d *= 2) {
      const u32 earlier = shuffle_up<warp_size>(sums[i], d);
      sums[i] += lane() >= d ? earlier : 0;
    }
}

/// `cumsum_cols` of a row of zeros and ones that all threads of some warps hold, through a scratch if there are
/// several.
template <tile X, class S = no_scratch>
  requires(!X::has_rows && X::has_cols && X::layout::threads_per_row == X::layout::threads && X::layout::lane_step == 1)
__device__ __forceinline__ auto count_cols(const X &x, S &&through = {}) {
  using L = typename X::layout;
  running_count<X::cols, L> result;
  constexpr int runs = result.runs, words = (runs + 1) / 2, warps = L::threads / warp_size;
  static_assert(warps <= warp_size && warps * warp_size * L::run < 65536, "a run of all threads is counted in 16 bits");
#pragma unroll
  for (int i = 0; i < result.words; ++i)
    result.taken[i] = 0;
#pragma unroll
  for (int b = 0; b < X::col_slots; ++b)
    if (x.at(0, b) != 0)
      result.taken[b / 32] |= 1u << b % 32;
  u32 own[words] = {}, sums[words];
#pragma unroll
  for (int r = 0; r < runs; ++r) {
    int count = 0;
    if constexpr (L::run <= 32 && 32 % L::run == 0) {
      count = count_bits(result.taken[r * L::run / 32] >> r * L::run % 32 & (~0u >> (32 - L::run)));
    } else {
#pragma unroll
      for (int i = 0; i < L::run; ++i)
        count += result.takes(r * L::run + i);
    }
    own[r / 2] |= u32(count) << r % 2 * 16;
  }
#pragma unroll
  for (int i = 0; i < words; ++i)
    sums[i] = own[i];
  scan_halves(sums);
  u32 before[words], all[words];
  if constexpr (warps > 1) {
    static_assert(plain<S>::warps == warps && plain<S>::elements >= (words + 1) / 2, "scratch too small");
    const int warp = through.warp();
    if (lane() == warp_size - 1)
#pragma unroll
      for (int i = 0; i < words; ++i)
        (&through.template slot<u32>(warp, 0))[i] = sums[i];
    through.sync();
#pragma unroll
    for (int i = 0; i < words; ++i) {
      const u32 one = (&through.template slot<u32>(lane() % warps, 0))[i];
      u32 upto = one;
#pragma unroll
      for (int d = 1; d < warps; d *= 2) {
        const u32 earlier = shuffle_up<warps>(upto, d);
        upto += lane() % warps >= d ? earlier : 0;
      }
      all[i] = shuffle<warp_size>(upto, warps - 1);
      before[i] = shuffle<warp_size>(upto - one, warp) + sums[i] - own[i];
    }
    through.next();
  } else {
#pragma unroll
    for (int i = 0; i < words; ++i)
      all[i] = shuffle<warp_size>(sums[i], warp_size - 1), before[i] = sums[i] - own[i];
  }
  result.total = 0;
#pragma unroll
  for (int r = 0; r < runs; ++r) {
    result.before[r] = result.total + int(before[r / 2] >> r % 2 * 16 & 0xffff);
    result.total += int(all[r / 2] >> r % 2 * 16 & 0xffff);
  }
  return result;
}

/// base[first + n] ← the elements of x whose condition was counted, the n-th of them, n from 0, if that is one of the
/// first `limit` places.
template <class Base, int Cols, class L, class X>
__device__ __forceinline__ void scatter_counted(Base base, const running_count<Cols, L> &count, int first, int limit,
                                                const X &x) {
#pragma unroll
  for (int r = 0; r < count.runs; ++r) {
    int place = wrapping_add(first, count.before[r]);
#pragma unroll
    for (int b = r * L::run; b < (r + 1) * L::run; ++b) {
      const bool taken = count.takes(b);
      if (taken && u32(place) < u32(limit))
        base[place] = element_at(x, 0, b);
      place += taken;
    }
  }
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
