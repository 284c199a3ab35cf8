// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One small kernel with tensor memory, right as it is and wrong in one place at a time: p = a · b, then p · b with p as
// an operand in tensor memory. Warps 0 to 3 read and write tensor memory, a thread of warp 4 loads and multiplies.
// Prints what the emulator says of each.
#include "tk/cluster_launch.h"
#include "tk/shared_copy.h"
#include "tk/sync.h"
#include "tk/tcgen05.h"
#include "tk/tma.h"

#include "../../blackwell/support.h"

enum class bug {
  none,
  no_fence_after_commit,
  no_fence_before_product,
  no_fence_after_store,
  no_wait_for_load,
  no_wait_for_store,
  no_wait_for_product,
  no_commit,
  uninitialised_columns,
  out_of_allocation,
  odd_allocation,
  allocation_after_relinquishing,
  too_much_allocated,
  not_freed,
  freed_early,
  lanes_of_another_warp,
  no_proxy_fence,
  operand_overwritten,
  hopper_descriptor,
  wrong_swizzle,
  misaligned_operand,
  wrong_shape,
  wrong_type,
  pair_without_cluster,
  both_groups,
  barrier_of_another_block,
  no_such_block,
  answer_of_none,
  ended_block,
};

using tile_a = tk::shared_tile<tk::bf16, 128, 64>;
using tile_b = tk::shared_tile<tk::bf16, 64, 64>;
using accumulator = tk::tensor_tile<float, 128, 64>;
using operand = tk::tensor_tile<tk::bf16, 128, 64>;

struct shared_memory {
  tile_a a, c;
  tile_b b;
  tk::barrier loaded, first, second, other, stored;
  tk::u32 tensor, more;
};

/// A product whose descriptors are wrong.
template <bug Bug> __device__ void wrong_product(const shared_memory &shared, tk::u32 d) {
  constexpr tk::u32 instruction =
      tk::tensor_instruction<float, tk::bf16, tk::bf16>(tk::major::k, tk::major::mn, 128, 64);
  const auto with = [&](tk::u64 a, tk::u32 bits) {
    tk::tensor_mma_instruction<1, tk::bf16>(d, a, tk::tensor_descriptor<tile_b>(shared.b.address(), tk::major::mn),
                                            bits, false);
  };
  const tk::u64 a = tk::tensor_descriptor<tile_a>(shared.a.address(), tk::major::k);
  if constexpr (Bug == bug::hopper_descriptor)
    with(tk::matrix_descriptor<tile_a>(shared.a.address(), tk::major::k), instruction);
  if constexpr (Bug == bug::wrong_swizzle)
    with(a | 1ull << 61, instruction);
  if constexpr (Bug == bug::misaligned_operand)
    with(a + 128 / 16, instruction);
  if constexpr (Bug == bug::wrong_shape)
    with(a, instruction + (4 << 24));
  if constexpr (Bug == bug::wrong_type)
    with(a, instruction | 1 << 8);
  if constexpr (Bug == bug::pair_without_cluster)
    tk::tensor_mma_instruction<2, tk::bf16>(
        d, a, tk::tensor_descriptor<tile_b>(shared.b.address(), tk::major::mn),
        tk::tensor_instruction<float, tk::bf16, tk::bf16>(tk::major::k, tk::major::mn, 256, 64), false);
}

template <bug Bug> __device__ void allocate(shared_memory &shared) {
  if constexpr (Bug == bug::odd_allocation)
    asm volatile(
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 48;" ::"r"(tk::shared_address(&shared.tensor))
        : "memory");
  else if constexpr (Bug == bug::too_much_allocated)
    asm volatile(
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 512;\n"
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%1], 32;" ::"r"(tk::shared_address(&shared.tensor)),
        "r"(tk::shared_address(&shared.more))
        : "memory");
  else if constexpr (Bug != bug::pair_without_cluster)
    tk::tensor_allocate<Bug == bug::out_of_allocation ? 64 : 256>(shared.tensor);
  if constexpr (Bug == bug::allocation_after_relinquishing)
    tk::tensor_allocate<32>(shared.more);
}

template <bug Bug>
__device__ void multiply(shared_memory &shared, const tk::tensor_map &a, const tk::tensor_map &b, tk::u32 tensor) {
  shared.loaded.expect_bytes(tile_a::byte_count + tile_b::byte_count);
  tk::tma_load(shared.a, a, shared.loaded, 0, 0);
  tk::tma_load(shared.b, b, shared.loaded, 0, 0);
  shared.loaded.wait(0);
  if constexpr (Bug == bug::no_proxy_fence)
    shared.a.at(0, 0)->bits = 0;
  wrong_product<Bug>(shared, tensor);
  tk::tensor_mma(accumulator{tensor}, shared.a.all(), shared.b.all(), Bug == bug::uninitialised_columns);
  if constexpr (Bug == bug::both_groups)
    tk::pair_commit(shared.first, 1);
  else if constexpr (Bug != bug::no_commit)
    tk::tensor_commit(shared.first);
  if constexpr (Bug == bug::operand_overwritten) {
    shared.other.expect_bytes(tile_a::byte_count);
    tk::tma_load(shared.a, a, shared.other, 0, 0);
    shared.other.wait(0);
  }
  if constexpr (Bug == bug::no_commit)
    return;
  shared.stored.wait(0);
  if constexpr (Bug != bug::no_fence_before_product)
    tk::tensor_fence_after_sync();
  tk::tensor_mma(accumulator{tensor + 128}, operand{tensor + 64}, shared.b.all(), false);
  tk::tensor_commit(shared.second);
}

template <bug Bug> __device__ void move(shared_memory &shared, tk::u32 tensor) {
  using fragment = tk::fragment<float, 128, 64, tk::lane_rows>;
  if constexpr (Bug != bug::no_wait_for_product)
    shared.first.wait(0);
  if constexpr (Bug != bug::no_fence_after_commit)
    tk::tensor_fence_after_sync();
  if constexpr (Bug == bug::lanes_of_another_warp) {
    tk::u32 words[4];
    tk::load_lanes<tk::shape_32x32b, 4>(tensor, words);
  }
  fragment p = tk::tensor_load<fragment>(accumulator{tensor});
  if constexpr (Bug != bug::no_wait_for_load)
    tk::tensor_wait_load(p);
  tk::tensor_store(operand{tensor + 64}, tk::cast<tk::bf16>(p));
  if constexpr (Bug != bug::no_wait_for_store)
    tk::tensor_wait_store();
  if constexpr (Bug != bug::no_fence_after_store)
    tk::tensor_fence_before_sync();
  shared.stored.arrive();
  shared.second.wait(0);
  tk::tensor_fence_after_sync();
  p = tk::tensor_load<fragment>(accumulator{tensor + 128});
  tk::tensor_wait_load(p);
  tk::store_shared(shared.c, tk::cast<tk::bf16>(p));
  tk::fence_proxy_async();
  if constexpr (Bug == bug::no_wait_for_store)
    tk::tensor_wait_store();
}

template <bug Bug>
__global__ void __launch_bounds__(160, 1)
    kernel(const __grid_constant__ tk::tensor_map a, const __grid_constant__ tk::tensor_map b,
           const __grid_constant__ tk::tensor_map c) {
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  const int warp = tk::warp_index();
  if (threadIdx.x == 0) {
    for (tk::barrier *barrier : {&shared.loaded, &shared.first, &shared.second, &shared.other})
      barrier->init(1);
    shared.stored.init(128);
    tk::barrier_init_fence();
    shared.tensor = 0;
  }
  __syncthreads();
  if (warp == 4)
    allocate<Bug>(shared);
  tk::tensor_fence_before_sync();
  tk::sync_block();
  tk::tensor_fence_after_sync();
  const tk::u32 tensor = shared.tensor;
  if (warp == 4) {
    if (tk::elect_one())
      multiply<Bug>(shared, a, b, tensor);
    __syncwarp();
    if constexpr (Bug == bug::freed_early)
      tk::tensor_release<256>(tensor);
  } else if constexpr (Bug != bug::no_commit) {
    move<Bug>(shared, tensor);
  }
  tk::tensor_fence_before_sync();
  tk::sync_block();
  if (Bug != bug::no_commit && threadIdx.x == 0) {
    tk::tma_store(c, shared.c, 0, 0);
    tk::bulk_commit();
    tk::bulk_wait<0>();
  }
  if constexpr (Bug != bug::not_freed && Bug != bug::freed_early)
    if (warp == 4)
      tk::tensor_release<Bug == bug::out_of_allocation ? 64 : 256>(tensor);
}

/// Two blocks.
template <bug Bug> __global__ void __launch_bounds__(32, 1) cluster(const __grid_constant__ tk::tensor_map a) {
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  __shared__ tk::launch_response response;
  if (threadIdx.x == 0) {
    shared.loaded.init(1);
    tk::barrier_init_fence();
    response.words[0] = response.words[1] = 0;
  }
  tk::cluster_sync();
  if (threadIdx.x == 0) {
    if constexpr (Bug == bug::barrier_of_another_block) {
      shared.loaded.expect_bytes(tile_a::byte_count);
      tk::load_box(shared.a.address(), a, shared.loaded.address_at(1 - tk::cluster_rank()), tk::coordinates<2>{{0, 0}});
      shared.loaded.wait(0);
    }
    if constexpr (Bug == bug::ended_block)
      if (tk::cluster_rank() == 1) // the threads of block 0 run first
        shared.loaded.arrive_at(0);
    if constexpr (Bug == bug::no_such_block)
      shared.loaded.arrive_at(2);
    if constexpr (Bug == bug::answer_of_none) {
      tk::u32 x, y, z;
      asm volatile("{\n.reg .b128 response;\nld.shared.b128 response, [%3];\n"
                   "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, %1, %2, _}, response;\n}\n"
                   : "=r"(x), "=r"(y), "=r"(z)
                   : "r"(tk::shared_address(&response)));
    }
  }
  if constexpr (Bug != bug::ended_block)
    tk::cluster_sync();
}

template <bug Bug> void run_cluster(const char *name) {
  const support::matrix a(128, 64, 1);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(2);
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = sizeof(shared_memory) + 1024;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, cluster<Bug>, a.map(128));
  std::printf("%s: %s\n", name, cudaGetErrorString(cudaDeviceSynchronize()));
  cudaDeviceReset();
}

template <bug Bug> void run(const char *name) {
  const support::matrix a(128, 64, 1), b(64, 64, 2);
  support::matrix c(128, 64, 0);
  kernel<Bug><<<1, 160, sizeof(shared_memory) + 1024>>>(a.map(128), b.map(64), c.map(128, true));
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) {
    std::printf("%s: %s\n", name, cudaGetErrorString(error));
    cudaDeviceReset();
    return;
  }
  c.fetch();
  std::vector<double> p(128 * 64);
  for (int m = 0; m < 128; ++m)
    for (int n = 0; n < 64; ++n) {
      double sum = 0;
      for (int k = 0; k < 64; ++k)
        sum += a.at(m, k) * b.at(k, n);
      p[m * 64 + n] = support::from_bf16(support::to_bf16(float(sum)));
    }
  const auto wanted = [&](int m, int n) {
    double sum = 0;
    for (int k = 0; k < 64; ++k)
      sum += p[m * 64 + k] * b.at(k, n);
    return sum;
  };
  std::printf("%s: %d wrong\n", name, support::count_wrong(c, wanted, support::bf16_rounding, 0));
}

int main() {
  run<bug::none>("none");
  run<bug::no_fence_after_commit>("no_fence_after_commit");
  run<bug::no_fence_before_product>("no_fence_before_product");
  run<bug::no_fence_after_store>("no_fence_after_store");
  run<bug::no_wait_for_load>("no_wait_for_load");
  run<bug::no_wait_for_store>("no_wait_for_store");
  run<bug::no_wait_for_product>("no_wait_for_product");
  run<bug::no_commit>("no_commit");
  run<bug::uninitialised_columns>("uninitialised_columns");
  run<bug::out_of_allocation>("out_of_allocation");
  run<bug::odd_allocation>("odd_allocation");
  run<bug::allocation_after_relinquishing>("allocation_after_relinquishing");
  run<bug::too_much_allocated>("too_much_allocated");
  run<bug::not_freed>("not_freed");
  run<bug::freed_early>("freed_early");
  run<bug::lanes_of_another_warp>("lanes_of_another_warp");
  run<bug::no_proxy_fence>("no_proxy_fence");
  run<bug::operand_overwritten>("operand_overwritten");
  run<bug::hopper_descriptor>("hopper_descriptor");
  run<bug::wrong_swizzle>("wrong_swizzle");
  run<bug::misaligned_operand>("misaligned_operand");
  run<bug::wrong_shape>("wrong_shape");
  run<bug::wrong_type>("wrong_type");
  run<bug::pair_without_cluster>("pair_without_cluster");
  run<bug::both_groups>("both_groups");
  run_cluster<bug::barrier_of_another_block>("barrier_of_another_block");
  run_cluster<bug::no_such_block>("no_such_block");
  run_cluster<bug::answer_of_none>("answer_of_none");
  run_cluster<bug::ended_block>("ended_block");
}
