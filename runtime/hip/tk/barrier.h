// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one barrier of a block.
#pragma once

#include "tk/ring.h"

namespace tk {

/// Until all threads of the block are here; what each wrote to shared memory is then there for all.
__device__ __forceinline__ void sync_block() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
/// The block's, whatever its number: all of its `threads` come.
__device__ __forceinline__ void sync(int, int) { sync_block(); }

} // namespace tk
