// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What instrumented kernels record: when each role began to do what. One thread of a warp writes 4 bytes a record to
// memory of the warp's own, and waits for nothing. tk/host/trace.h has the other end.
#pragma once

#include "tk/clock.h"

namespace tk {

/// Where to, of whom. Without records nobody writes.
struct trace {
  static constexpr int most_blocks = 12;

  u64 *records; ///< 8 << shift bytes for each warp of each chosen block, aligned to as many
  u64 *ends;    ///< `end_words` for each of them
  u32 shift;
  u32 leaders;             ///< bit w: warp w of a block records
  int warps;               ///< of a block
  int count;               ///< of chosen blocks; below 0: all
  int blocks[most_blocks]; ///< their numbers
};

/// Of each warp: all cycles and the global time at its start, the same at its end, the multiprocessor and in the upper
/// half the words of a unit, and how many bytes of records it has written.
inline constexpr int end_words = 6;

/// The most events of a group.
inline constexpr int most_in_group = 60;

/// The records of one warp: its first ones. All its threads have one; `writes` holds for one of them.
///
/// They are units of words. One that begins with x, x − 1 says what groups follow: of `x & 0xffff` events, from number
/// `x >> 16` on. A group is the cycles of each, and of an odd last one twice. No two readings of the clock are such a
/// pair: the second would have to be 2^32 − 1 cycles later. A unit is as many words as are stored at once, 2 or 4:
/// which of them costs less depends on where the compiler puts what stands beside the records.
template <int Words = 2> class recorder {
public:
  __device__ __forceinline__ recorder(const trace &to, bool writes) : to(to) {
    const int warp = int(threadIdx.x) / warp_size, block = int(blockIdx.x);
    if (!writes || !to.records || !(to.leaders >> warp & 1))
      return;
    int chosen = to.count < 0 ? block : -1;
#pragma unroll
    for (int i = 0; i < trace::most_blocks; ++i)
      if (i < to.count && to.blocks[i] == block)
        chosen = i;
    if (chosen < 0)
      return;
    const u64 number = u64(chosen * to.warps + warp);
    const u64 first = reinterpret_cast<u64>(to.records + (number << to.shift));
    place = {first, u32(first) + (8u << to.shift) - most_in_group * 4};
    u64 *end = to.ends + number * end_words;
    end[0] = clock_all_cycles();
    end[1] = global_time();
    end[4] = multiprocessor() | u64(Words) << 32;
  }

  /// From here on groups of these events are recorded: one, or one in each iteration of a loop.
  template <int First, int Count> __device__ __forceinline__ void group() {
    constexpr u32 what = u32(First) << 16 | u32(Count);
    store_pair<0>(place, what, what - 1);
    advance<Words * 4>(place);
  }

  /// From here on the role does what the plan calls event `Number` of its group of `Count`, which no branch parts; the
  /// text is for readers. Costs a read of the clock, and one store for two.
  template <int Number, int Count> __device__ __forceinline__ void record(const char *) {
    constexpr int in_unit = Number % Words;
    constexpr bool is_last = Number == Count - 1;
    const u32 cycles = kept[in_unit] = clock_cycles();
    if constexpr (Words == 4 && in_unit == 3)
      store_quad<4 * (Number - 3)>(place, kept[0], kept[1], kept[2], cycles);
    else if constexpr (in_unit % 2 == 1 && (Words == 2 || is_last))
      store_pair<4 * (Number - 1)>(place, kept[in_unit - 1], cycles);
    if constexpr (is_last && in_unit == 2)
      store_pair<4 * (Number - 2)>(place, kept[0], kept[1]);
    if constexpr (is_last && in_unit % 2 == 0)
      store_pair<4 * Number>(place, cycles, cycles);
    if constexpr (is_last)
      advance<(Count + Words - 1) / Words * Words * 4>(place);
  }

  /// After the last one.
  __device__ __forceinline__ void finish() {
    if (place.end == 0)
      return;
    const u64 at = place.at - reinterpret_cast<u64>(to.records);
    u64 *end = to.ends + (at >> to.shift) / 8 * end_words;
    end[2] = clock_all_cycles();
    end[3] = global_time();
    end[5] = at & ((u64(8) << to.shift) - 1);
  }

private:
  const trace &to;
  word_place place = {0, 0}; ///< of who writes nothing: no room
  u32 kept[Words];           ///< records of the unit that is not stored yet
};

} // namespace tk
