// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One small kernel, right as it is and wrong in one place at a time: a product of two tiles that the copy engine brings,
// staged through shared memory, and stored by the copy engine. Prints what the emulator says of each.
#include "tk/host/launch.h"
#include "tk/shared_copy.h"
#include "tk/sync.h"
#include "tk/tma.h"
#include "tk/wgmma.h"

#include <cstdio>

enum class bug {
  none,
  shared_out_of_bounds,
  global_out_of_bounds,
  misaligned,
  uninitialised,
  no_block_barrier,
  no_proxy_fence,
  no_wait_for_load,
  no_wait_for_product,
  no_fence_before_product,
  operand_overwritten,
  too_few_arrivals,
  too_many_arrivals,
  too_many_bytes,
  no_initialisation,
  no_wait_for_store,
  too_many_registers,
  wrong_barrier_count,
  lane_left_out,
  divergent_collective,
  different_resizes,
  no_fence_of_read,
};

using tile = tk::shared_tile<tk::bf16, 64, 64>;
using accumulator = tk::fragment<float, 64, 64, tk::mma_layout>;

struct shared_memory {
  tile a, b, c;
  int numbers[128];
  int untouched[4];
  tk::barrier full, other;
};

template <bug Bug> __device__ void plain_accesses(shared_memory &shared, int *out) {
  const int i = threadIdx.x;
  if constexpr (Bug == bug::shared_out_of_bounds)
    (&shared.a)[10].bytes[i] = 1;
  if constexpr (Bug == bug::global_out_of_bounds)
    out[64 * 64 / 2 + i] = 1;
  if constexpr (Bug == bug::misaligned)
    *reinterpret_cast<volatile int *>(reinterpret_cast<char *>(out) + 2) = 1;
  if constexpr (Bug == bug::uninitialised)
    shared.numbers[i] = *static_cast<volatile int *>(&shared.untouched[i % 4]);
  shared.numbers[i] = i;
  if constexpr (Bug != bug::no_block_barrier)
    tk::sync_block();
  shared.untouched[0] = shared.numbers[127 - i] + shared.numbers[i] == 127 ? 7 : 8;
  if constexpr (Bug == bug::lane_left_out)
    shared.numbers[i] = __shfl_sync(0xffff, i, 0);
  if constexpr (Bug == bug::divergent_collective)
    if (i % 32 != 0)
      shared.numbers[i] = __shfl_sync(~0u, i, 1);
}

template <bug Bug>
__global__ void __launch_bounds__(128, 1)
    kernel(const __grid_constant__ tk::tensor_map a, const __grid_constant__ tk::tensor_map b,
           const __grid_constant__ tk::tensor_map c, int *out) {
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  const bool first = threadIdx.x == 0;
  if (first) {
    if constexpr (Bug != bug::no_initialisation)
      shared.full.init(Bug == bug::too_few_arrivals ? 2 : 1);
    shared.other.init(1);
    tk::barrier_init_fence();
  }
  tk::sync_block();
  plain_accesses<Bug>(shared, out);
  if constexpr (Bug == bug::too_many_registers)
    tk::claim_registers<256>();
  if constexpr (Bug == bug::different_resizes) {
    if (threadIdx.x < 32)
      tk::release_registers<104>();
    else
      tk::release_registers<96>();
  }
  if (first) {
    shared.full.expect_bytes(Bug == bug::too_many_bytes ? 32768 : 16384);
    tk::tma_load(shared.a, a, shared.full, 0, 0);
    tk::tma_load(shared.b, b, shared.full, 0, 0);
    if constexpr (Bug == bug::too_many_arrivals)
      shared.full.arrive();
  }
  if constexpr (Bug != bug::no_wait_for_load)
    shared.full.wait(0);

  accumulator x = tk::zeros<accumulator>();
  if constexpr (Bug == bug::no_fence_before_product)
    tk::pin(x);
  else
    tk::mma_fence(x);
  tk::mma_async(x, shared.a.all(), shared.b.all());
  tk::mma_commit();
  if constexpr (Bug == bug::operand_overwritten)
    if (first) {
      shared.other.expect_bytes(8192);
      tk::tma_load(shared.a, b, shared.other, 0, 0);
      shared.other.wait(0);
    }
  if constexpr (Bug != bug::no_wait_for_product)
    tk::mma_wait<0>(x);
  if constexpr (Bug == bug::no_fence_of_read) {
    [[maybe_unused]] const int read = reinterpret_cast<volatile int *>(&shared.b)[threadIdx.x];
    tk::sync(1, 128);
    if (first) {
      shared.other.expect_bytes(8192);
      tk::tma_load(shared.b, b, shared.other, 0, 0);
      shared.other.wait(0);
    }
  }

  tk::store_shared(shared.c, tk::cast<tk::bf16>(x));
  if constexpr (Bug != bug::no_proxy_fence)
    tk::fence_proxy_async();
  tk::sync(1, Bug == bug::wrong_barrier_count ? 160 : 128);
  if (first) {
    tk::tma_store(c, shared.c, 0, 0);
    tk::bulk_commit();
    if constexpr (Bug != bug::no_wait_for_store)
      tk::bulk_wait<0>();
  }
}

struct device_tensor {
  void *data = nullptr;
  int64_t dims[2] = {64, 64};
  tk_tensor tensor;
  tk::tensor_map map;

  explicit device_tensor(float value) {
    cudaMalloc(&data, 64 * 64 * 2);
    unsigned short elements[64 * 64];
    for (unsigned short &element : elements)
      element = static_cast<unsigned short>(__builtin_bit_cast(unsigned, value) >> 16);
    cudaMemcpy(data, elements, sizeof elements, cudaMemcpyHostToDevice);
    tensor = {data, 2, 0, 2, 4, 16, 1, dims, nullptr, 0};
    const tk::host::argument argument{"", &tensor, tk::element::bf16};
    if (!tk::host::encode_map(map, argument, {0, 64, 64, 128, true}))
      std::printf("no map\n");
  }
  float first() const {
    unsigned short element;
    cudaMemcpy(&element, data, sizeof element, cudaMemcpyDeviceToHost);
    return __builtin_bit_cast(float, unsigned(element) << 16);
  }
};

template <bug Bug> void run(const char *name) {
  const device_tensor a(2), b(3), c(0);
  kernel<Bug><<<1, 128, sizeof(shared_memory) + 1024>>>(a.map, b.map, c.map, static_cast<int *>(c.data));
  const cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess)
    std::printf("%s: %g\n", name, c.first());
  else
    std::printf("%s: %s\n", name, cudaGetErrorString(error));
  cudaDeviceReset();
}

int main() {
  run<bug::none>("none");
  run<bug::shared_out_of_bounds>("shared_out_of_bounds");
  run<bug::global_out_of_bounds>("global_out_of_bounds");
  run<bug::misaligned>("misaligned");
  run<bug::uninitialised>("uninitialised");
  run<bug::no_block_barrier>("no_block_barrier");
  run<bug::no_proxy_fence>("no_proxy_fence");
  run<bug::no_wait_for_load>("no_wait_for_load");
  run<bug::no_wait_for_product>("no_wait_for_product");
  run<bug::no_fence_before_product>("no_fence_before_product");
  run<bug::operand_overwritten>("operand_overwritten");
  run<bug::too_few_arrivals>("too_few_arrivals");
  run<bug::too_many_arrivals>("too_many_arrivals");
  run<bug::too_many_bytes>("too_many_bytes");
  run<bug::no_initialisation>("no_initialisation");
  run<bug::no_wait_for_store>("no_wait_for_store");
  run<bug::too_many_registers>("too_many_registers");
  run<bug::wrong_barrier_count>("wrong_barrier_count");
  run<bug::lane_left_out>("lane_left_out");
  run<bug::divergent_collective>("divergent_collective");
  run<bug::different_resizes>("different_resizes");
  run<bug::no_fence_of_read>("no_fence_of_read");
}
