// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kind of copy of a box, from or to some column of a tensor. Prints at which columns the emulator refuses it.
#include "tk/host/launch.h"
#include "tk/padded.h"
#include "tk/shared.h"
#include "tk/sync.h"
#include "tk/tma.h"

#include <cstdio>
#include <initializer_list>

namespace {

enum class kind { load, vector_load, multicast, pair_load, store, add };

constexpr int rows = 8, row_bytes = 128;

template <class T> struct shared_memory {
  tk::shared_tile<T, rows, row_bytes / int(sizeof(T))> tile;
  tk::shared_vector<T, row_bytes / int(sizeof(T))> vector;
  tk::barrier full;
};

template <kind Kind, class T> __device__ void load(shared_memory<T> &shared, const tk::tensor_map &map, int column) {
  constexpr int bytes = tk::is_padded<T> ? rows * row_bytes * 3 / 4 : rows * row_bytes;
  const int rank = int(tk::cluster_rank());
  if constexpr (Kind == kind::load) {
    shared.full.expect_bytes(bytes);
    tk::tma_load(shared.tile, map, shared.full, column, 0);
  } else if constexpr (Kind == kind::vector_load) {
    shared.full.expect_bytes(row_bytes);
    tk::tma_load(shared.vector, map, shared.full, column);
  } else if constexpr (Kind == kind::multicast) {
    shared.full.expect_bytes(bytes);
    if (rank == 0)
      tk::tma_load_multicast(shared.tile, map, shared.full, 3, column, 0);
  } else {
    if (rank == 0)
      shared.full.expect_bytes(2 * bytes);
    tk::tma_load_pair(shared.tile, map, shared.full, column, 0);
  }
  if (Kind != kind::pair_load || rank == 0)
    shared.full.wait(0);
}

template <kind Kind, class T>
__global__ void __launch_bounds__(1) kernel(const __grid_constant__ tk::tensor_map map, int column) {
  auto &shared = tk::shared_at<shared_memory<T>>(0);
  shared.full.init(1);
  tk::barrier_init_fence();
  for (int i = 0; i < rows * row_bytes; ++i)
    shared.tile.bytes[i] = 0;
  tk::fence_proxy_async();
  tk::cluster_sync();
  if constexpr (Kind == kind::store)
    tk::tma_store(map, shared.tile, column, 0);
  else if constexpr (Kind == kind::add)
    tk::tma_add(map, shared.tile, column, 0);
  else
    load<Kind>(shared, map, column);
  tk::bulk_commit();
  tk::bulk_wait<0>();
  tk::cluster_sync();
}

/// A tensor of 16 rows of 512 bytes, or, for vectors, one row of it; in elements of six bits 384 bytes.
template <kind Kind, class T> tk::tensor_map map_of(tk::element type, void *data) {
  constexpr bool is_vector = Kind == kind::vector_load;
  int64_t dims[] = {16, 512 / int64_t(sizeof(T))};
  const auto code = static_cast<size_t>(type);
  const tk_tensor tensor = {
      data,    2, 0, is_vector ? 1 : 2, tk::type_codes[code], tk::type_bits[code], 1, is_vector ? dims + 1 : dims,
      nullptr, 0};
  const tk::host::argument argument{"", &tensor, type};
  tk::tensor_map map;
  const bool stored = Kind == kind::store || Kind == kind::add;
  if (!tk::host::encode_map(map, argument,
                            {is_vector ? -1 : 0, rows, row_bytes / int(sizeof(T)), is_vector ? 0 : 128, stored}))
    std::printf("no map\n");
  return map;
}

template <kind Kind, class T> void run(const char *name, tk::element type, std::initializer_list<int> columns) {
  for (const int column : columns) {
    void *data = nullptr;
    cudaMalloc(&data, 16 * 512);
    cudaMemset(data, 0, 16 * 512);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(Kind == kind::multicast || Kind == kind::pair_load ? 2 : 1);
    config.blockDim = dim3(1);
    config.dynamicSmemBytes = sizeof(shared_memory<T>) + 1024;
    config.attrs = &attribute;
    config.numAttrs = config.gridDim.x == 2;
    cudaLaunchKernelEx(&config, kernel<Kind, T>, map_of<Kind, T>(type, data), column);
    const cudaError_t error = cudaDeviceSynchronize();
    std::printf("%s, from %d: %s\n", name, column, error == cudaSuccess ? "ok" : cudaGetErrorString(error));
    cudaDeviceReset();
  }
}

} // namespace

int main(int count, char **) {
  if (count > 1) {
    run<kind::pair_load, float>("load by a pair, f32", tk::element::f32, {4, 3});
    return 0;
  }
  run<kind::load, float>("load, f32", tk::element::f32, {0, 4, 36, -4, 1, 2, 3, 5, 33, -1});
  run<kind::load, tk::bf16>("load, bf16", tk::element::bf16, {8, 4});
  run<kind::load, tk::u8>("load, u8", tk::element::uint8, {16, 8});
  run<kind::load, tk::f6e2m3_padded>("load, f6e2m3", tk::element::f6e2m3, {128, 16});
  run<kind::vector_load, float>("load of a vector, f32", tk::element::f32, {4, 33});
  run<kind::multicast, float>("load for a cluster, f32", tk::element::f32, {4, 2});
  run<kind::store, tk::bf16>("store, bf16", tk::element::bf16, {8, -8, 1});
  run<kind::add, float>("add, f32", tk::element::f32, {4, 5});
}
