// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers between roles (mbarriers), their rings, and barriers among warps of one role (named barriers).
#pragma once

#include "tk/ring.h"
#include "tk/shared.h"

namespace tk {

/// An mbarrier in shared memory. A phase completes when all arrivals and all announced bytes have come; phases are told
/// apart by their parity. PTX ISA, "mbarrier".
struct alignas(8) barrier {
  u64 state;

  __device__ __forceinline__ u32 address() const { return shared_address(&state); }
  /// Of the barrier at the same place in block `rank` of the cluster.
  __device__ __forceinline__ u32 address_at(u32 rank) const {
    u32 remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address()), "r"(rank));
    return remote;
  }

  /// By one thread, before `barrier_init_fence` and a block barrier.
  __device__ __forceinline__ void init(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
  }
  /// One arrival, which orders this thread's earlier accesses before the phase's completion.
  __device__ __forceinline__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  /// One arrival for all threads of the warp, which come here together.
  __device__ __forceinline__ void arrive_warp() {
    asm volatile("bar.warp.sync -1;" ::: "memory");
    if (threadIdx.x % 32 == 0)
      arrive();
  }
  /// One arrival at the same barrier of block `rank` of the cluster. Not `.release.cluster`, which waits for all of the
  /// thread's memory traffic and costs a GEMM a quarter of its speed: it tells that a slot was read, not what was
  /// written.
  __device__ __forceinline__ void arrive_at(u32 rank) {
    asm volatile("{\n.reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}\n" ::"r"(address()),
                 "r"(rank)
                 : "memory");
  }
  /// The same, and it tells what this thread has written.
  __device__ __forceinline__ void arrive_written_at(u32 rank) {
    asm volatile("{\n.reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}\n" ::"r"(address()),
                 "r"(rank)
                 : "memory");
  }
  /// One arrival at block `rank` for all threads of the warp, which come here together.
  __device__ __forceinline__ void arrive_warp_at(u32 rank) {
    asm volatile("bar.warp.sync -1;" ::: "memory");
    if (threadIdx.x % 32 == 0)
      arrive_at(rank);
  }
  /// The same, and it tells what they have written.
  __device__ __forceinline__ void arrive_warp_written_at(u32 rank) {
    asm volatile("bar.warp.sync -1;" ::: "memory");
    if (threadIdx.x % 32 == 0)
      arrive_written_at(rank);
  }
  /// One arrival, and `bytes` that the copy engine will bring in this phase.
  __device__ __forceinline__ void expect_bytes(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  /// `bytes` that the copy engine will bring in this phase, without an arrival: one of this thread's comes later.
  __device__ __forceinline__ void announce_bytes(int bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  /// The same at block `rank` of the cluster.
  __device__ __forceinline__ void announce_bytes_at(u32 rank, int bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(address_at(rank)), "r"(bytes)
                 : "memory");
  }
  /// One arrival and the bytes at block `rank` of the cluster; it tells what this thread has written, too.
  __device__ __forceinline__ void expect_bytes_at(u32 rank, int bytes) {
    asm volatile("{\n.reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [remote], %2;\n}\n" ::"r"(address()),
                 "r"(rank), "r"(bytes)
                 : "memory");
  }
  /// Until the phase of this parity has completed. `phase ^ 1` of a fresh barrier is complete.
  __device__ __forceinline__ void wait(int phase) {
    asm volatile("{\n.reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra finished;\n"
                 "bra again;\n"
                 "finished:\n}\n" ::"r"(address()),
                 "r"(phase)
                 : "memory");
  }
};

/// Makes initialised barriers visible to the copy engine and to other blocks of the cluster.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Named barrier `id` (0–15; 0 is the whole block's) among `threads` threads.
__device__ __forceinline__ void sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// Arrives at a named barrier without waiting.
__device__ __forceinline__ void arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void sync_block() { asm volatile("bar.sync 0;" ::: "memory"); }
/// After these the threads see what each has written to global memory, and may overwrite what each has read there.
/// PTX ISA, "bar.sync": memory accesses before it are performed relative to all threads that take part.
__device__ __forceinline__ void sync_global(int id, int threads) { sync(id, threads); }
__device__ __forceinline__ void sync_block_global() { sync_block(); }
__device__ __forceinline__ void sync_warp() { asm volatile("bar.warp.sync -1;" ::: "memory"); }

} // namespace tk
