// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMM as the compiler is to print it: C = A · B in bf16. A block makes 128×256 tiles of C; K in steps of 64, 4 stages
// ahead. One producer warp, two consumer warpgroups with 64 rows each. Shared memory: a 64 KiB, b 128 KiB, c 32 KiB.
#include "tk/barrier.h"
#include "tk/fragment.h"
#include "tk/raster.h"
#include "tk/shared_copy.h"
#include "tk/sync.h"
#include "tk/tma.h"
#include "tk/wgmma.h"

#include "support.h"

namespace gemm {

using a_tile = tk::shared_tile<tk::bf16, 128, 64>;
using b_tile = tk::shared_tile<tk::bf16, 64, 256>;
using c_tile = tk::shared_tile<tk::bf16, 64, 64>;

struct shared_memory {
  a_tile a[4];
  b_tile b[4];
  c_tile c[2][2]; // a ring of two for each consumer
  tk::barrier full[4];
  tk::barrier empty[4];
};

__global__ void __launch_bounds__(384, 1)
    kernel(const __grid_constant__ tk::tensor_map a_map, const __grid_constant__ tk::tensor_map b_map,
           const __grid_constant__ tk::tensor_map c_map, int M, int N, int K) {
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  const int warpgroup = tk::warpgroup_index();
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < 4; ++slot) {
      shared.full[slot].init(1);
      shared.empty[slot].init(2);
    }
    tk::barrier_init_fence();
  }
  tk::sync_block();

  const int m_tiles = (M + 127) / 128;
  const int n_tiles = (N + 255) / 256;
  const int k_tiles = (K + 63) / 64;
  const int tiles = m_tiles * n_tiles;

  if (warpgroup == 2) { // producer
    tk::release_registers<40>();
    if (tk::warp_index() == 8 && tk::elect_one()) {
      tk::ring<4> stage;
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const auto [m, n] = tk::raster(tile, m_tiles, n_tiles, 8);
        for (int k = 0; k < k_tiles; ++k) {
          shared.empty[stage.slot].wait(stage.phase ^ 1);
          shared.full[stage.slot].expect_bytes(a_tile::byte_count + b_tile::byte_count);
          tk::tma_load(shared.a[stage.slot], a_map, shared.full[stage.slot], k * 64, m * 128);
          tk::tma_load(shared.b[stage.slot], b_map, shared.full[stage.slot], n * 256, k * 64);
          stage.advance();
        }
      }
    }
  } else { // consumer
    tk::claim_registers<232>();
    tk::ring<4> stage;
    tk::ring<2> piece_slot;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const auto [m, n] = tk::raster(tile, m_tiles, n_tiles, 8);
      tk::fragment<float, 64, 256, tk::mma_layout> acc;
      int previous = 0;
      for (int k = 0; k < k_tiles; ++k) {
        shared.full[stage.slot].wait(stage.phase);
        tk::mma_fence();
        tk::mma_async(acc, shared.a[stage.slot].rows_of<64>(warpgroup), shared.b[stage.slot].all(), k > 0);
        tk::mma_commit();
        tk::mma_wait<1>();
        if (k > 0 && tk::thread_in_warpgroup() == 0)
          shared.empty[previous].arrive();
        previous = stage.slot;
        stage.advance();
      }
      tk::mma_wait<0>(acc);
      if (k_tiles > 0 && tk::thread_in_warpgroup() == 0)
        shared.empty[previous].arrive();

#pragma unroll
      for (int piece = 0; piece < 4; ++piece) {
        c_tile &c = shared.c[warpgroup][piece_slot.slot];
        if (tk::thread_in_warpgroup() == 0)
          tk::bulk_wait_read<1>();
        tk::sync(1 + warpgroup, 128);
        tk::store_shared(c, tk::cast<tk::bf16>(tk::cols_of<64>(acc, piece)));
        tk::fence_proxy_async();
        tk::sync(1 + warpgroup, 128);
        if (tk::thread_in_warpgroup() == 0) {
          tk::tma_store(c_map, c, n * 256 + piece * 64, m * 128 + warpgroup * 64);
          tk::bulk_commit();
        }
        piece_slot.advance();
      }
    }
    if (tk::thread_in_warpgroup() == 0)
      tk::bulk_wait<0>();
  }
}

} // namespace gemm

namespace gemm_cluster {

using gemm::a_tile, gemm::b_tile, gemm::c_tile, gemm::shared_memory;

/// The same by clusters of two blocks, one below the other: each loads half of b for both.
__global__ void __cluster_dims__(2) __launch_bounds__(384, 1)
    kernel(const __grid_constant__ tk::tensor_map a_map, const __grid_constant__ tk::tensor_map b_map,
           const __grid_constant__ tk::tensor_map c_map, int M, int N, int K) {
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  const int warpgroup = tk::warpgroup_index();
  const int rank = tk::cluster_rank();
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < 4; ++slot) {
      shared.full[slot].init(1);
      shared.empty[slot].init(4); // both consumers of both blocks
    }
    tk::barrier_init_fence();
  }
  tk::cluster_sync();

  const int m_tiles = (M + 255) / 256; // of both blocks
  const int n_tiles = (N + 255) / 256;
  const int k_tiles = (K + 63) / 64;
  const int tiles = m_tiles * n_tiles;

  if (warpgroup == 2) { // producer
    tk::release_registers<40>();
    if (tk::warp_index() == 8 && tk::elect_one()) {
      tk::ring<4> stage;
      for (int tile = blockIdx.x / 2; tile < tiles; tile += gridDim.x / 2) {
        const auto [m, n] = tk::raster(tile, m_tiles, n_tiles, 4);
        for (int k = 0; k < k_tiles; ++k) {
          shared.empty[stage.slot].wait(stage.phase ^ 1);
          shared.full[stage.slot].expect_bytes(a_tile::byte_count + b_tile::byte_count);
          tk::tma_load(shared.a[stage.slot], a_map, shared.full[stage.slot], k * 64, m * 256 + rank * 128);
          tk::tma_load_multicast(shared.b[stage.slot].cols_of<128>(rank), b_map, shared.full[stage.slot], 3,
                                 n * 256 + rank * 128, k * 64);
          stage.advance();
        }
      }
    }
  } else { // consumer
    tk::claim_registers<232>();
    tk::ring<4> stage;
    tk::ring<2> piece_slot;
    for (int tile = blockIdx.x / 2; tile < tiles; tile += gridDim.x / 2) {
      const auto [m, n] = tk::raster(tile, m_tiles, n_tiles, 4);
      tk::fragment<float, 64, 256, tk::mma_layout> acc;
      int previous = 0;
      for (int k = 0; k < k_tiles; ++k) {
        shared.full[stage.slot].wait(stage.phase);
        tk::mma_fence();
        tk::mma_async(acc, shared.a[stage.slot].rows_of<64>(warpgroup), shared.b[stage.slot].all(), k > 0);
        tk::mma_commit();
        tk::mma_wait<1>();
        if (k > 0 && tk::thread_in_warpgroup() % 64 == 0)
          shared.empty[previous].arrive_at(tk::thread_in_warpgroup() / 64);
        previous = stage.slot;
        stage.advance();
      }
      tk::mma_wait<0>(acc);
      if (k_tiles > 0 && tk::thread_in_warpgroup() % 64 == 0)
        shared.empty[previous].arrive_at(tk::thread_in_warpgroup() / 64);

#pragma unroll
      for (int piece = 0; piece < 4; ++piece) {
        c_tile &c = shared.c[warpgroup][piece_slot.slot];
        if (tk::thread_in_warpgroup() == 0)
          tk::bulk_wait_read<1>();
        tk::sync(1 + warpgroup, 128);
        tk::store_shared(c, tk::cast<tk::bf16>(tk::cols_of<64>(acc, piece)));
        tk::fence_proxy_async();
        tk::sync(1 + warpgroup, 128);
        if (tk::thread_in_warpgroup() == 0) {
          tk::tma_store(c_map, c, n * 256 + piece * 64, m * 256 + rank * 128 + warpgroup * 64);
          tk::bulk_commit();
        }
        piece_slot.advance();
      }
    }
    if (tk::thread_in_warpgroup() == 0)
      tk::bulk_wait<0>();
  }
  tk::cluster_sync(); // the other block may still send here
}

} // namespace gemm_cluster

namespace {

__global__ void reference_kernel(const tk::bf16 *a, const tk::bf16 *b, float *c, int M, int N, int K) {
  const int n = blockIdx.x * 32 + threadIdx.x, m = blockIdx.y * 8 + threadIdx.y;
  if (m >= M || n >= N)
    return;
  double sum = 0;
  for (int k = 0; k < K; ++k)
    sum += double(tk::to_float(a[size_t(m) * K + k])) * double(tk::to_float(b[size_t(k) * N + n]));
  c[size_t(m) * N + n] = float(sum);
}

void run(int M, int N, int K, bool timed, bool cluster) {
  support::buffer<tk::bf16> a(size_t(M) * K), b(size_t(K) * N), c(size_t(M) * N);
  support::randomize(a, 1);
  support::randomize(b, 2);
  using u = unsigned long long;
  const auto type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const auto a_map = support::make_map(a.data, type, {u(K), u(M)}, {u(K) * 2}, {64, 128});
  const auto b_map = support::make_map(b.data, type, {u(N), u(K)}, {u(N) * 2}, {64, 64});
  const auto c_map = support::make_map(c.data, type, {u(N), u(M)}, {u(N) * 2}, {64, 64});
  const int bytes = sizeof(gemm::shared_memory) + 1024;
  support::allow_shared(gemm::kernel, bytes);
  const int tiles = (cluster ? (M + 255) / 256 * 2 : (M + 127) / 128) * ((N + 255) / 256);
  support::allow_shared(gemm_cluster::kernel, bytes);
  const int grid = std::min(tiles, support::multiprocessors() / 2 * 2);
  const auto launch = [&] {
    if (cluster)
      gemm_cluster::kernel<<<grid, 384, bytes>>>(a_map, b_map, c_map, M, N, K);
    else
      gemm::kernel<<<grid, 384, bytes>>>(a_map, b_map, c_map, M, N, K);
  };
  launch();
  support::check(cudaGetLastError(), "launch");
  support::check(cudaDeviceSynchronize(), "gemm");
  double error = -1;
  if (!timed) {
    support::buffer<float> reference(size_t(M) * N);
    reference_kernel<<<dim3((N + 31) / 32, (M + 7) / 8), dim3(32, 8)>>>(a.data, b.data, reference.data, M, N, K);
    error = support::relative_error(c, reference);
    std::printf("gemm %5d × %5d × %5d  error %.2e %s\n", M, N, K, error, error < 5e-3 ? "ok" : "WRONG");
    return;
  }
  const float ms = support::time_ms(launch);
  std::printf("gemm %5d × %5d × %5d  %.3f ms  %.0f TFLOP/s\n", M, N, K, ms, 2e-9 * M * N * K / ms);
}

} // namespace

/// With any argument: the checks without the timed sizes, for compute-sanitizer.
int main(int count, char **) {
  for (const bool cluster : {false, true}) {
    std::printf(cluster ? "clusters of two\n" : "single blocks\n");
    run(256, 512, 192, false, cluster);
    run(1000, 776, 136, false, cluster);
    run(1, 8, 8, false, cluster);
    run(2048, 2048, 2048, false, cluster);
    if (count > 1)
      continue;
    run(4096, 4096, 4096, true, cluster);
    run(8192, 8192, 8192, true, cluster);
  }
}
