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

  u64 *records; ///< rings of 1 << shift, one for each warp of each chosen block: event << 32 | cycles, 0 where none is
  u64 *ends;    ///< `end_words` for each of them
  u32 shift;
  u32 mask;                ///< (1 << shift) - 1
  u32 leaders;             ///< bit w: warp w of a block records
  int warps;               ///< of a block
  int count;               ///< of chosen blocks; below 0: all
  int blocks[most_blocks]; ///< their numbers
};

/// Of each ring: all cycles and the global time at its start, the same at its end, the multiprocessor, and where the
/// next record would be. The oldest is there if it was written, else the first.
inline constexpr int end_words = 6;

/// The records of one warp. All its threads have one; `writes` holds for one of them.
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
    const u32 ring = u32(chosen * to.warps + warp);
    u64 *end = to.ends + u64(ring) * end_words;
    end[0] = clock_all_cycles();
    end[1] = global_time();
    end[4] = multiprocessor();
    at = ring << to.shift;
  }

  /// From here on the role does what the plan calls `event`; the text is for readers.
  __device__ __forceinline__ void record(u32 event, const char *) {
    if (at == off)
      return;
    to.records[at] = u64(event + 1) << 32 | clock_cycles();
    at = (at & ~to.mask) | ((at + 1) & to.mask);
  }

  /// After the last one.
  __device__ __forceinline__ void finish() {
    if (at == off)
      return;
    u64 *end = to.ends + u64(at >> to.shift) * end_words;
    end[2] = clock_all_cycles();
    end[3] = global_time();
    end[5] = at & to.mask;
  }

private:
  static constexpr u32 off = ~0u;
  const trace &to;
  u32 at = off; ///< the next record's place
};

} // namespace tk
