// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions and launches, each with one constraint of docs/hardware-rules.md broken. Prints what becomes of each, or
// of those alone whose names are arguments: on a GPU a fault ends the process (test/gpu/probe.py). What ptxas refuses,
// nvcc does not see.
#include "tk/barrier.h"
#include "tk/host/launch.h"
#include "tk/shared.h"
#include "tk/sync.h"

#include <cstdio>
#include <cstring>

namespace {

enum class rule {
  none,
  named_barrier_number,
  named_barrier_threads,
  arrivals,
  mbarrier_alignment,
  mbarrier_not_published,
  expected_bytes,
  cp_async_alignment,
  cp_async_source,
  bulk_source,
  bulk_destination,
  bulk_size,
  bulk_of_nothing,
  bulk_store_source,
  bulk_add_destination,
  matrix_row_alignment,
  vector_update_alignment,
  registers_below,
  registers_not_of_eight,
  registers_shrunk_by_inc,
  cluster_block,
  cluster_wait,
  box_place,
  map_alignment,
  no_map,
  coordinate_count,
  multicast_block,
  rows_that_end,
  far_box,
  descriptor_base,
  descriptor_base_offset,
};

using tk::u32;
using tk::u64;

struct storage {
  alignas(1024) char bytes[16384];
  u64 barrier;
};

__device__ u32 address_of(const void *shared) { return static_cast<u32>(__cvta_generic_to_shared(shared)); }

template <rule R> __device__ void plain(u32 at, u32 barrier, char *global) {
  if constexpr (R == rule::named_barrier_number)
    asm volatile("bar.sync %0, 128;" ::"r"(16));
  if constexpr (R == rule::named_barrier_threads)
    asm volatile("bar.sync 1, %0;" ::"r"(100));
  if constexpr (R == rule::arrivals)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(1 << 20));
  if constexpr (R == rule::mbarrier_alignment)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier - 4));
  if constexpr (R == rule::expected_bytes)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(1 << 20));
  if constexpr (R == rule::cp_async_alignment)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + 8), "l"(global));
  if constexpr (R == rule::cp_async_source)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(global + 2));
  if constexpr (R == rule::matrix_row_alignment) {
    u32 words[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at + threadIdx.x % 32 * 16 + 8));
  }
  if constexpr (R == rule::vector_update_alignment)
    asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(global + 8), "f"(1.0f));
#ifndef __NVCC__
  if constexpr (R == rule::registers_below)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 16;");
  if constexpr (R == rule::registers_not_of_eight)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 100;");
#endif
  if constexpr (R == rule::registers_shrunk_by_inc)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 24;");
  if constexpr (R == rule::cluster_block) {
    u32 remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(remote) : "r"(at));
  }
  if constexpr (R == rule::cluster_wait)
    asm volatile("barrier.cluster.wait.acquire.aligned;");
}

template <rule R> __device__ void bulk(u32 at, u32 barrier, char *global) {
  constexpr bool faults = R == rule::bulk_source || R == rule::bulk_destination || R == rule::bulk_size;
  if constexpr (faults || R == rule::bulk_of_nothing || R == rule::mbarrier_not_published)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     at + (R == rule::bulk_destination ? 8 : 0)),
                 "l"(global + (R == rule::bulk_source ? 8 : 0)),
                 "r"(R == rule::bulk_size         ? 24
                     : R == rule::bulk_of_nothing ? 0
                                                  : 32),
                 "r"(barrier));
  if constexpr (R == rule::bulk_store_source)
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 32;" ::"l"(global), "r"(at + 8));
  if constexpr (R == rule::bulk_add_destination)
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 32;" ::"l"(global + 8),
                 "r"(at));
}

template <rule R> __device__ void box(u32 at, u32 barrier, const void *map) {
  if constexpr (R == rule::box_place || R == rule::map_alignment || R == rule::no_map)
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {0, 0}], "
                 "[%2];" ::"r"(at + (R == rule::box_place ? 64 : 0)),
                 "l"(map), "r"(barrier));
  if constexpr (R == rule::coordinate_count)
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {0, 0, 0}], "
                 "[%2];" ::"r"(at),
                 "l"(map), "r"(barrier));
  if constexpr (R == rule::multicast_block)
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {0, 0}], [%2], %3;" ::"r"(at),
                 "l"(map), "r"(barrier), "h"(static_cast<unsigned short>(3)));
  if constexpr (R == rule::rows_that_end)
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {0, 0}], [%1];\n"
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(map),
                 "r"(at));
  if constexpr (R == rule::far_box)
    asm volatile("{\n.reg .pred p;\n"
                 "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%2], 8192;\n"
                 "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];\n"
                 "WAITS:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%2], 0;\n@!p bra WAITS;\n}\n" ::"r"(at),
                 "l"(map), "r"(barrier), "r"(0x7ffffff8), "r"(-0x7fffffff));
}

/// A product of 64 by 8 whose operands lie with a swizzle of 128 bytes.
template <rule R> __device__ void product(u32 at) {
  const u64 offset = R == rule::descriptor_base_offset ? 1ull << 49 : 0;
  const u64 place = (at + (R == rule::descriptor_base ? 128 : 0)) >> 4;
  const u64 descriptor = 1ull << 62 | 64ull << 32 | 1ull << 16 | offset | place;
  float x[4] = {};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 0, 1, 1, 0, 0;"
               : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
               : "l"(descriptor), "l"(descriptor));
}

template <rule R>
__global__ void __launch_bounds__(128, 1) kernel(const __grid_constant__ tk::tensor_map map, char *global) {
  storage &shared = tk::shared_at<storage>(0);
  if constexpr (R == rule::rows_that_end) {
    for (int i = threadIdx.x; i < int(sizeof shared.bytes); i += 128)
      shared.bytes[i] = 1;
    tk::fence_proxy_async();
  }
  const u32 at = address_of(shared.bytes), barrier = address_of(&shared.barrier);
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
  if constexpr (R != rule::none && R != rule::mbarrier_not_published)
    tk::barrier_init_fence();
  __syncthreads();
  plain<R>(at, barrier, global);
  if (threadIdx.x == 0) {
    bulk<R>(at, barrier, global);
    const char *own = reinterpret_cast<const char *>(&map);
    box<R>(at, barrier, R == rule::no_map ? global : own + (R == rule::map_alignment ? 16 : 0));
  }
  if constexpr (R == rule::descriptor_base || R == rule::descriptor_base_offset)
    product<R>(at);
}

constexpr int64_t rows = 64, cols = 64;

/// Of so many of the columns.
tk::tensor_map map_of(void *data, int64_t width) {
  int64_t dims[] = {rows, width}, strides[] = {cols, 1};
  const tk_tensor tensor = {data, 2, 0, 2, 4, 16, 1, dims, strides, 0};
  tk::tensor_map map;
  if (!tk::host::encode_map(map, {"", &tensor, tk::element::bf16}, {0, int(rows), int(cols), 128, false}))
    std::printf("no map\n");
  return map;
}

/// The program's arguments: the names to run, or none for all.
char **chosen;

bool isChosen(const char *name) {
  for (char **each = chosen; *each; ++each)
    if (std::strcmp(*each, name) == 0)
      return true;
  return !*chosen;
}

/// Elements beyond column `width` that were written; before, all are 0.
int behind(const void *data, int64_t width) {
  static unsigned short elements[rows * cols];
  int count = 0;
  if (cudaMemcpy(elements, data, sizeof elements, cudaMemcpyDeviceToHost) == cudaSuccess)
    for (int64_t i = 0; i < rows * cols; ++i)
      count += i % cols >= width && elements[i] != 0;
  return count;
}

template <rule R> void run(const char *name) {
  if (!isChosen(name))
    return;
  constexpr int64_t width = R == rule::rows_that_end ? 60 : cols;
  char *data = nullptr;
  cudaMalloc(&data, rows * cols * 2);
  cudaMemset(data, 0, rows * cols * 2);
  kernel<R><<<1, 128, sizeof(storage) + 1024>>>(map_of(data, width), data);
  std::printf("%s: %s", name, cudaGetErrorString(cudaDeviceSynchronize()));
  if (const int count = behind(data, width))
    std::printf(", %d elements were written behind the rows", count);
  std::printf("\n");
  cudaDeviceReset();
}

struct shape {
  dim3 grid = 1, block = 128, cluster = 1;
  int shared = sizeof(storage) + 1024;
};

/// `asked`: of shared memory, before the launch; 0: nothing is asked for.
void launch(const char *name, const shape &of, int asked = 0) {
  if (!isChosen(name))
    return;
  char *data = nullptr;
  cudaMalloc(&data, rows * cols * 2);
  const void *function = reinterpret_cast<const void *>(kernel<rule::none>);
  cudaError_t error =
      asked ? cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, asked) : cudaSuccess;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = of.cluster.x, attribute.val.clusterDim.y = of.cluster.y,
  attribute.val.clusterDim.z = of.cluster.z;
  cudaLaunchConfig_t config{};
  config.gridDim = of.grid, config.blockDim = of.block, config.dynamicSmemBytes = of.shared, config.attrs = &attribute;
  config.numAttrs = 1;
  tk::tensor_map map{};
  void *arguments[] = {&map, &data};
  if (error == cudaSuccess)
    error = cudaLaunchKernelExC(&config, function, arguments);
  std::printf("%s: %s\n", name, cudaGetErrorString(error));
  cudaFree(data);
}

/// By the launcher of emitted files.
void launch_checked(long long blocks) {
  tk::host::call c("k");
  struct arguments {};
  tk::host::launch(c, {}, static_cast<void (*)(arguments)>(nullptr), arguments{}, blocks, false, 128, 0, nullptr);
  std::printf("%s\n", c.status().message);
}

} // namespace

#define RUN(NAME) run<rule::NAME>(#NAME)

int main(int, char **arguments) {
  chosen = arguments + 1;
  RUN(none);
  RUN(named_barrier_number);
  RUN(named_barrier_threads);
  RUN(arrivals);
  RUN(mbarrier_alignment);
  RUN(mbarrier_not_published);
  RUN(expected_bytes);
  RUN(cp_async_alignment);
  RUN(cp_async_source);
  RUN(bulk_source);
  RUN(bulk_destination);
  RUN(bulk_size);
  RUN(bulk_of_nothing);
  RUN(bulk_store_source);
  RUN(bulk_add_destination);
  RUN(matrix_row_alignment);
  RUN(vector_update_alignment);
  RUN(registers_below);
  RUN(registers_not_of_eight);
  RUN(registers_shrunk_by_inc);
  RUN(cluster_block);
  RUN(cluster_wait);
  RUN(box_place);
  RUN(map_alignment);
  RUN(no_map);
  RUN(coordinate_count);
  RUN(multicast_block);
  RUN(rows_that_end);
  RUN(far_box);
  RUN(descriptor_base);
  RUN(descriptor_base_offset);
  launch("launch", {});
  launch("blocks_along_y", {.grid = {1, 65536}});
  launch("blocks_along_z", {.grid = {1, 1, 65536}});
  launch("threads", {.block = 1056});
  launch("threads_along_z", {.block = {1, 1, 65}});
  launch("more_threads_than_bounds", {.block = 160});
  launch("grid_of_no_clusters", {.grid = 3, .cluster = 2});
  launch("large_cluster", {.grid = 16, .cluster = 16});
  launch("shared_not_asked_for", {.shared = 64 << 10});
  launch("shared_99", {.shared = 99 << 10}, 99 << 10);
  launch("shared_163", {.shared = 163 << 10}, 163 << 10);
  launch("shared_227", {.shared = 227 << 10}, 227 << 10);
  launch("shared_228", {.shared = 228 << 10}, 228 << 10);
  if (isChosen("launcher"))
    launch_checked(1ll << 31);
}
