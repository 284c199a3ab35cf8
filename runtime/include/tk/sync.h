// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel asks of the machine besides data and barriers: who am I, register budgets, fences, clusters, dependent
// launches.
#pragma once

#include "tk/warp.h"

namespace tk {

/// Which warpgroup (four warps) of the block this is, known to be the same in all its threads.
__device__ __forceinline__ int warpgroup_index() { return u32(uniform(int(threadIdx.x))) / 128; }
__device__ __forceinline__ int warp_index() { return u32(uniform(int(threadIdx.x))) / 32; }
__device__ __forceinline__ int thread_in_warpgroup() { return threadIdx.x % 128; }

/// True in one thread of the calling warp, all of whose threads call.
__device__ __forceinline__ bool elect_one() {
  u32 elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, -1;\nselp.u32 %0, 1, 0, p;\n}\n" : "=r"(elected));
  return elected;
}

/// Registers a thread from here on, executed by a whole warpgroup: a multiple of 8 in 24…256. Needs
/// `__launch_bounds__(threads, 1)`.
template <int Registers> __device__ __forceinline__ void claim_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers> __device__ __forceinline__ void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

/// This thread's stores to shared memory become visible to the copy and matrix engines (once a barrier has told them).
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// The same for global memory.
__device__ __forceinline__ void fence_proxy_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// Of a cluster in two directions, with `Along` blocks in the first, block `rank` has places rank % Along and
/// rank / Along. These are the blocks that have its place in the second direction, as bits of a mask …
template <int Along> __device__ __forceinline__ u32 cluster_along(u32 rank) {
  return ((1u << Along) - 1) << rank / Along * Along;
}
/// … those that have its place in the first, of `Across` such blocks …
template <int Along, int Across> __device__ __forceinline__ u32 cluster_across(u32 rank) {
  u32 first = 0;
#pragma unroll
  for (int place = 0; place < Across; ++place)
    first |= 1u << place * Along;
  return first << rank % Along;
}
/// … and the `n`th of all these: of the first kind before those of the second that are left.
template <int Along> __device__ __forceinline__ int cluster_mate(int rank, int n) {
  const int other = n - Along + (n - Along >= rank / Along ? 1 : 0);
  return n < Along ? rank / Along * Along + n : other * Along + rank % Along;
}
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Programmatic dependent launch: waits until the kernels that this one depends on have finished and flushed.
__device__ __forceinline__ void wait_for_dependencies() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
/// Lets the kernels that depend on this one start, once all blocks have said so or ended. Only blocks of a small grid say
/// so. Those of a large one end one after another, and the next kernel's blocks would take their places in that order:
/// neighbours, which read the same operands, would then be far apart (docs/notes/early-launch.md).
__device__ __forceinline__ void launch_dependents() {
  constexpr unsigned small_grid = 512; // blocks
  if (gridDim.x <= small_grid)
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

} // namespace tk
