// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one barrier of a block.
#pragma once

#include "tk/ring.h"

namespace tk {

/// Until all threads of the block are here; what each wrote to shared memory is then there for all.
__device__ __forceinline__ void sync_block() {
  // Waits for this thread's accesses to shared memory alone: a fence would for its loads to it, too, which are waited
  // for by count.
  constexpr int shared_accesses = 0xc07f;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "singlethread");
  __builtin_amdgcn_s_waitcnt(shared_accesses);
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "singlethread");
}
/// The same, and of global memory as well: what each has written there is seen, and what each has read may be
/// overwritten. Waits for all accesses of the thread.
__device__ __forceinline__ void sync_block_global() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_waitcnt(0);
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
/// The block's, whatever its number: all of its `threads` come.
__device__ __forceinline__ void sync(int, int) { sync_block(); }

} // namespace tk
