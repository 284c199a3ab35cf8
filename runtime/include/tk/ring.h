// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions in rings of buffers.
#pragma once

#include "tk/config.h"

namespace tk {

/// A position in a ring of `Stages` buffers: which slot, and the parity of the round.
template <int Stages> struct ring {
  int slot = 0;
  int phase = 0;

  __device__ __forceinline__ void advance() {
    if constexpr (Stages == 1) {
      phase ^= 1;
    } else {
      ++slot;
      if (slot == Stages) {
        slot = 0;
        phase ^= 1;
      }
    }
  }
  /// The same `Count` times, of which there are no more than stages.
  template <int Count> __device__ __forceinline__ void advance() {
    static_assert(Count <= Stages);
    slot += Count;
    if (slot >= Stages) {
      slot -= Stages;
      phase ^= 1;
    }
  }
  /// The same `count` times.
  __device__ __forceinline__ void advance(int count) {
    slot += count;
    phase ^= slot / Stages & 1;
    slot %= Stages;
  }
};

} // namespace tk
