// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose place between reads of operands is given: between them, or in turns with another half of the block's
// waves.
// Clang, "AMDGPU Builtins": sched_group_barrier; "AMD Instinct MI300 Instruction Set Architecture", S_SETPRIO. W. Hu et
// al. found both ways on MI300X and MI355X ("HipKittens", 2025).
#pragma once

#include "tk/barrier.h"
#include "tk/mma.h"

namespace tk {

/// How one wave contracts a · b, both in shared memory: in steps of `bytes` of each row or column, instruction by
/// instruction of `each` bytes.
template <class Acc, class A, class B> struct mma_plan {
  using L = typename Acc::layout;
  using T = typename A::element;
  static constexpr int tile = L::tile, waves = L::threads / 64;
  static constexpr int slabs = Acc::rows / L::slab, blocks = Acc::cols / tile, k_bytes = A::cols * int(sizeof(T));
  static constexpr int a_bytes = read_bytes<tile, A, true, k_bytes>(), b_bytes = read_bytes<tile, B, false, k_bytes>();
  static constexpr int bytes = a_bytes < b_bytes ? a_bytes : b_bytes, words = bytes / 4;
  static constexpr int each = mfma_bytes<T>() < bytes ? mfma_bytes<T>() : bytes;
  static constexpr int steps = k_bytes / (64 / tile * bytes);
  using left_reads = operand_reads<A, true, tile, bytes>;
  using right_reads = operand_reads<B, false, tile, bytes>;
  /// Instructions of all steps.
  static constexpr int products = steps * (bytes / each) * slabs * blocks;
  static constexpr int shared_loads =
      steps * (slabs * left_reads::instructions_of_step + blocks * right_reads::instructions_of_step);
};

/// Parts of `All` things, of which number I of Parts gets as many as the others, or one more.
template <int All, int I, int Parts> inline constexpr int share_of = All * (I + 1) / Parts - All * I / Parts;

/// Tells the compiler an order of instructions of the straight code before: Count of a kind, then what the next call
/// says.
template <int Kind, int Count> __device__ __forceinline__ void schedule_group() {
  if constexpr (Count > 0)
    __builtin_amdgcn_sched_group_barrier(Kind, Count, 0);
}
inline constexpr int scheduled_product = 0x8, scheduled_shared_load = 0x100;

template <int I, int Products, int SharedLoads> __device__ __forceinline__ void schedule_products() {
  if constexpr (I < Products) {
    schedule_group<scheduled_product, 1>();
    schedule_group<scheduled_shared_load, share_of<SharedLoads, I, Products>>();
    schedule_products<I + 1, Products, SharedLoads>();
  }
}

/// acc += a · b as tk::mma, in this order: the first step's operands; then the products, and between them the other
/// reads of shared memory, so that each step's come while the step before multiplies. Loads to shared memory stay
/// before all reads: to the compiler they may write what is read.
template <class Acc, class A, class B>
__device__ __forceinline__ void mma_interleaved(Acc &acc, const A &a, const B &b, bool accumulate = true) {
  using plan = mma_plan<Acc, A, B>;
  mma(acc, a, b, accumulate);
  constexpr int first = plan::shared_loads / plan::steps;
  schedule_group<scheduled_shared_load, first>();
  schedule_products<0, plan::products, plan::shared_loads - first>();
}

/// The same with a in registers.
template <class Acc, class T, int M, int K, class L, class B>
__device__ __forceinline__ void mma_interleaved(Acc &acc, const fragment<T, M, K, L> &a, const B &b,
                                                bool accumulate = true) {
  mma(acc, a, b, accumulate);
  constexpr int bytes = L::run * int(sizeof(T)), k_bytes = K * int(sizeof(T));
  constexpr int steps = k_bytes / (64 / L::tile * bytes), slabs = M / L::slab, blocks = B::cols / L::tile;
  constexpr int each = mfma_bytes<T>() > bytes && steps % 2 == 0 ? mfma_bytes<T>() : bytes;
  constexpr int products = k_bytes / (64 / L::tile * each) * slabs * blocks;
  constexpr int loads_of_step = blocks * operand_reads<B, false, L::tile, bytes>::instructions_of_step;
  schedule_group<scheduled_shared_load, loads_of_step>();
  schedule_products<0, products, (steps - 1) * loads_of_step>();
}

/// The same in `Turns` parts of k, each: operands to registers, a barrier, products, and but for the last part a
/// barrier. Waves that run a barrier behind the others load while those multiply.
template <int Turns, class Acc, class A, class B>
__device__ __forceinline__ void mma_in_turns(Acc &acc, const A &a, const B &b, bool accumulate = true) {
  using plan = mma_plan<Acc, A, B>;
  static_assert(plan::steps % Turns == 0, "parts of whole steps");
  constexpr int steps = plan::steps / Turns;
  check_accumulator<Acc>();
  if (!accumulate)
    acc = zeros<Acc>();
  const typename plan::left_reads left_reads(a, threadIdx.x / 64 % plan::waves);
  const typename plan::right_reads right_reads(b, 0);
#pragma unroll
  for (int turn = 0; turn < Turns; ++turn) {
    u32 left[steps][plan::slabs][plan::words], right[steps][plan::blocks][plan::words];
#pragma unroll
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int slab = 0; slab < plan::slabs; ++slab)
        left_reads.load(slab * plan::waves, turn * steps + step, left[step][slab]);
#pragma unroll
      for (int block = 0; block < plan::blocks; ++block)
        right_reads.load(block, turn * steps + step, right[step][block]);
    }
    sync_block();
    __builtin_amdgcn_sched_barrier(0);
    __builtin_amdgcn_s_setprio(1);
#pragma unroll
    for (int step = 0; step < steps; ++step)
#pragma unroll
      for (int i = 0; i < plan::words; i += plan::each / 4)
#pragma unroll
        for (int block = 0; block < plan::blocks; ++block)
#pragma unroll
          for (int slab = 0; slab < plan::slabs; ++slab)
            mfma<typename A::element, typename B::element, plan::tile, plan::each>(
                acc.data.values + (slab * plan::blocks + block) * (plan::tile * plan::tile / 64), left[step][slab] + i,
                right[step][block] + i);
    __builtin_amdgcn_s_setprio(0);
    __builtin_amdgcn_sched_barrier(0);
    if (turn + 1 < Turns)
      sync_block();
  }
}

} // namespace tk
