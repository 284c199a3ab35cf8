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

  u64 *records; ///< 1 << shift for each warp of each chosen block, aligned to as many: event << 32, and the
                ///< cycles of the record before
  u64 *ends;    ///< `end_words` for each of them
  u32 shift;
  u32 leaders;             ///< bit w: warp w of a block records
  int warps;               ///< of a block
  int count;               ///< of chosen blocks; below 0: all
  int blocks[most_blocks]; ///< their numbers
};

/// Of each warp: all cycles and the global time at its start, the same at its end, the multiprocessor, how many records
/// it has written, and the cycles of the last one.
inline constexpr int end_words = 7;

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
    place = {u32(first), u32(first) + (8u << to.shift) - 8, u32(first >> 32), 0};
    u64 *end = to.ends + number * end_words;
    end[0] = clock_all_cycles();
    end[1] = global_time();
    end[4] = multiprocessor();
  }

  /// From here on the role does what the plan calls `event`; the text is for readers.
  __device__ __forceinline__ void record(u32 event, const char *) { stamp(place, event); }

  /// After the last one.
  __device__ __forceinline__ void finish() {
    if (place.end == 0)
      return;
    const u64 at = (u64(place.high) << 32 | place.at) - reinterpret_cast<u64>(to.records);
    u64 *end = to.ends + (at >> to.shift) / 8 * end_words;
    end[2] = clock_all_cycles();
    end[3] = global_time();
    end[5] = (at & ((u64(8) << to.shift) - 1)) / 8;
    end[6] = place.cycles;
  }

private:
  const trace &to;
  stamps place = {0, 0, 0, 0}; ///< of who writes nothing: no room
};

} // namespace tk
