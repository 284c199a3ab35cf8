// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What instrumented kernels record: when each role began to do what. One thread of a warp writes 8 bytes a record to a
// ring of the warp's own, and waits for nothing. tk/host/trace.h has the other end.
#pragma once

#include "tk/clock.h"

namespace tk {

/// Where to, of whom. Without records nobody writes.
struct trace {
  static constexpr int most_blocks = 12;

  u64 *records; ///< 8 << shift bytes for each warp of each chosen block, aligned to as many: groups, each from a
                ///< multiple of 8 bytes on, of the group's first event, 16 bits of how many, and of their cycles
  u64 *ends;    ///< `end_words` for each of them
  u32 shift;
  u32 leaders;             ///< bit w: warp w of a block records
  int warps;               ///< of a block
  int count;               ///< of chosen blocks; below 0: all
  int blocks[most_blocks]; ///< their numbers
};

/// Of each warp: all cycles and the global time at its start, the same at its end, the multiprocessor, and how many
/// bytes of records it has written.
inline constexpr int end_words = 6;

/// The most events of a group.
inline constexpr int most_in_group = 60;

/// The records of one warp: its first ones. All its threads have one; `writes` holds for one of them.
class recorder {
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
    constexpr u32 largest_group = (most_in_group + 2) * 4;
    place = {u32(first), u32(first) + (8u << to.shift) - largest_group, u32(first >> 32)};
    u64 *end = to.ends + number * end_words;
    end[0] = clock_all_cycles();
    end[1] = global_time();
    end[4] = multiprocessor();
  }

  /// From here on the role does what the plan calls event `First + Number`, one of `Count` that follow each other
  /// without a branch; the text is for readers. Costs a read of the clock, and one store for two.
  template <int Number, int First, int Count> __device__ __forceinline__ void record(const char *) {
    if constexpr (Number == 0)
      even = u32(First) | u32(Count) << 16;
    else if constexpr (Number % 2 == 1) // now, as the clock's last answer is there by now
      store_words<4 * (Number - 1), 2>(place, even, odd);
    (Number % 2 == 0 ? odd : even) = clock_cycles();
  }

  /// The last of `Count` events was a while ago.
  template <int Count> __device__ __forceinline__ void end_group() {
    store_words<Count / 2 * 8, Count % 2 + 1>(place, even, odd);
    place.at += place.at < place.end ? (Count / 2 + 1) * 8 : 0;
  }

  /// After the last one.
  __device__ __forceinline__ void finish() {
    if (place.end == 0)
      return;
    const u64 at = (u64(place.high) << 32 | place.at) - reinterpret_cast<u64>(to.records);
    u64 *end = to.ends + (at >> to.shift) / 8 * end_words;
    end[2] = clock_all_cycles();
    end[3] = global_time();
    end[5] = at & ((u64(8) << to.shift) - 1);
  }

private:
  const trace &to;
  word_place place = {0, 0, 0}; ///< of who writes nothing: no room
  u32 even, odd;                ///< words of the group that are not stored yet
};

} // namespace tk
