// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work by cluster launch control: a running cluster takes over one that has not started, until there is none. PTX ISA,
// "clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.query_cancel".
#pragma once

#include "tk/barrier.h"

namespace tk {

/// What the request comes back with, in shared memory.
struct alignas(16) launch_response {
  u64 words[2];
  static constexpr int byte_count = 16;
};

/// Asks for one cluster's work, by one thread; `byte_count` bytes complete on the barrier.
__device__ __forceinline__ void cancel_launch(launch_response &to, const barrier &completes) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                   shared_address(&to)),
               "r"(completes.address())
               : "memory");
}
/// The same, with the answer and the bytes in every block of the cluster, at the same places.
__device__ __forceinline__ void cancel_launch_multicast(launch_response &to, const barrier &completes) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all"
               ".b128 [%0], [%1];" ::"r"(shared_address(&to)),
               "r"(completes.address())
               : "memory");
}

/// Whether there was a cluster left, and the blockIdx of its first block.
struct launch_answer {
  bool cancelled;
  int x, y, z;
};
/// To be read once the barrier's phase is complete. Before the next request overwrites it, readers synchronise with the
/// requesting thread.
__device__ __forceinline__ launch_answer read_response(const launch_response &from) {
  u32 cancelled, x = 0, y = 0, z = 0;
  asm volatile("{\n.reg .pred cancelled;\n.reg .b128 response;\n"
               "ld.shared.b128 response, [%4];\n"
               "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 cancelled, response;\n"
               "selp.u32 %3, 1, 0, cancelled;\n"
               "@cancelled clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, %1, %2, _}, response;\n"
               "fence.proxy.async.shared::cta;\n"
               "}\n"
               : "+r"(x), "+r"(y), "+r"(z), "=r"(cancelled)
               : "r"(shared_address(&from))
               : "memory");
  return {cancelled != 0, int(x), int(y), int(z)};
}

/// The number of the cluster, of `Blocks` blocks in a row, whose work is taken over; −1: there is none left.
template <int Blocks> __device__ __forceinline__ int next_cluster(const launch_response &from) {
  const launch_answer answer = read_response(from);
  return answer.cancelled ? answer.x / Blocks : -1;
}

} // namespace tk
