// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMM by pairs of blocks: C = A · B in bf16, 256×256 tiles of C a pair. Each block loads its 128 rows of A and its
// half of B's columns; one thread of the first block multiplies for both; each block takes its 128 rows to C. One pair
// is launched a tile; those that run take over the tiles of pairs that have not started (cluster launch control). Warps
// 0 to 3 results, 4 loads, 5 products, 6 asks for tiles. Shared memory: a 64 KiB, b 64 KiB, c 32 KiB.
#include "tk/barrier.h"
#include "tk/cluster_launch.h"
#include "tk/fragment.h"
#include "tk/raster.h"
#include "tk/shared_copy.h"
#include "tk/sync.h"
#include "tk/tcgen05.h"
#include "tk/tma.h"

#include "support.h"

namespace gemm_pair {

using a_tile = tk::shared_tile<tk::bf16, 128, 64>;
using b_tile = tk::shared_tile<tk::bf16, 64, 128>;
using c_tile = tk::shared_tile<tk::bf16, 128, 64>;

struct shared_memory {
  a_tile a[4];
  b_tile b[4];
  c_tile c[2];
  tk::launch_response response[2];
  tk::barrier full[4];
  tk::barrier empty[4];
  tk::barrier acc_full[2];
  tk::barrier acc_empty[2];
  tk::barrier tile_full[2];
  tk::barrier tile_empty[2];
  tk::u32 tensor;
};

/// The tiles of a role: first that of the pair itself, then those that it takes over.
struct tile_walk {
  shared_memory &shared;
  int tile; ///< -1: there is none any more
  tk::ring<2> at;

  /// `by_warp`: all threads of a warp call together, else a single thread.
  __device__ __forceinline__ void next(bool by_warp) {
    shared.tile_full[at.slot].wait(at.phase);
    const tk::launch_answer answer = tk::read_response(shared.response[at.slot]);
    if (by_warp)
      __syncwarp();
    if (!by_warp || tk::lane() == 0)
      shared.tile_empty[at.slot].arrive_at(0);
    at.advance();
    tile = answer.cancelled ? answer.x / 2 : -1;
  }
};

__global__ void __launch_bounds__(224, 1)
    kernel(const __grid_constant__ tk::tensor_map a_map, const __grid_constant__ tk::tensor_map b_map,
           const __grid_constant__ tk::tensor_map c_map, int M, int N, int K) {
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  const int warp = tk::warp_index();
  const int rank = tk::cluster_rank();
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < 4; ++slot) {
      shared.full[slot].init(1);
      shared.empty[slot].init(1);
    }
    for (int slot = 0; slot < 2; ++slot) {
      shared.acc_full[slot].init(1);
      shared.acc_empty[slot].init(8); // the warps of both blocks
      shared.tile_full[slot].init(1);
      shared.tile_empty[slot].init(13); // of both blocks: result warps, loads, requests; the products' thread
    }
    tk::barrier_init_fence();
  }
  if (warp == 5)
    tk::pair_allocate<512>(shared.tensor);
  tk::tensor_fence_before_sync();
  tk::cluster_sync();
  tk::tensor_fence_after_sync();
  const tk::u32 tensor = shared.tensor;

  const int m_tiles = (M + 255) / 256;
  const int n_tiles = (N + 255) / 256;
  const int k_tiles = (K + 63) / 64;
  tile_walk walk{shared, int(blockIdx.x) / 2, {}};

  if (warp == 4) { // loads
    if (tk::elect_one()) {
      tk::ring<4> stage;
      for (; walk.tile >= 0; walk.next(false)) {
        const auto [m, n] = tk::raster(walk.tile, m_tiles, n_tiles, 4);
        for (int k = 0; k < k_tiles; ++k) {
          shared.empty[stage.slot].wait(stage.phase ^ 1);
          if (rank == 0)
            shared.full[stage.slot].expect_bytes(2 * (a_tile::byte_count + b_tile::byte_count));
          tk::tma_load_pair(shared.a[stage.slot], a_map, shared.full[stage.slot], k * 64, m * 256 + rank * 128);
          tk::tma_load_pair(shared.b[stage.slot], b_map, shared.full[stage.slot], n * 256 + rank * 128, k * 64);
          stage.advance();
        }
      }
    }
  } else if (warp == 5) { // products
    if (rank == 0 && tk::elect_one()) {
      tk::ring<4> stage;
      tk::ring<2> acc_slot;
      for (; walk.tile >= 0; walk.next(false)) {
        const tk::tensor_tile<float, 128, 256> acc{tensor + acc_slot.slot * 256};
        shared.acc_empty[acc_slot.slot].wait(acc_slot.phase ^ 1);
        tk::tensor_fence_after_sync();
        for (int k = 0; k < k_tiles; ++k) {
          shared.full[stage.slot].wait(stage.phase);
          tk::tensor_fence_after_sync();
          tk::pair_mma(acc, shared.a[stage.slot].all(), shared.b[stage.slot].all(), k > 0);
          tk::pair_commit(shared.empty[stage.slot]);
          stage.advance();
        }
        tk::pair_commit(shared.acc_full[acc_slot.slot]);
        acc_slot.advance();
      }
    }
    __syncwarp();
  } else if (warp == 6) { // requests
    if (tk::elect_one()) {
      while (walk.tile >= 0) {
        shared.tile_full[walk.at.slot].expect_bytes(tk::launch_response::byte_count);
        if (rank == 0) {
          shared.tile_empty[walk.at.slot].wait(walk.at.phase ^ 1);
          tk::cancel_launch_multicast(shared.response[walk.at.slot], shared.tile_full[walk.at.slot]);
        }
        walk.next(false);
      }
    }
  } else { // results
    tk::ring<2> acc_slot;
    tk::ring<2> piece_slot;
    for (; walk.tile >= 0; walk.next(true)) {
      const auto [m, n] = tk::raster(walk.tile, m_tiles, n_tiles, 4);
      const tk::tensor_tile<float, 128, 256> acc{tensor + acc_slot.slot * 256};
      shared.acc_full[acc_slot.slot].wait(acc_slot.phase);
      tk::tensor_fence_after_sync();
#pragma unroll
      for (int piece = 0; piece < 4; ++piece) {
        auto x = tk::tensor_load<tk::fragment<float, 128, 64, tk::lane_rows>>(acc.cols_of<64>(piece));
        tk::tensor_wait_load(x);
        if (piece == 3) {
          tk::tensor_fence_before_sync();
          __syncwarp();
          if (tk::lane() == 0)
            shared.acc_empty[acc_slot.slot].arrive_at(0);
        }
        c_tile &c = shared.c[piece_slot.slot];
        if (threadIdx.x == 0)
          tk::bulk_wait_read<1>();
        tk::sync(1, 128);
        tk::store_shared(c, tk::cast<tk::bf16>(x));
        tk::fence_proxy_async();
        tk::sync(1, 128);
        if (threadIdx.x == 0) {
          tk::tma_store(c_map, c, n * 256 + piece * 64, m * 256 + rank * 128);
          tk::bulk_commit();
        }
        piece_slot.advance();
      }
      acc_slot.advance();
    }
    if (threadIdx.x == 0)
      tk::bulk_wait<0>();
  }
  tk::tensor_fence_before_sync();
  tk::cluster_sync(); // the other block may still read and arrive here
  if (warp == 5) {
    tk::tensor_fence_after_sync();
    tk::pair_release<512>(tensor);
  }
}

} // namespace gemm_pair

namespace {

void run(int M, int N, int K) {
  const support::matrix a(M, K, 1), b(K, N, 2);
  support::matrix c(M, N, 0);
  const int bytes = sizeof(gemm_pair::shared_memory) + 1024;
  support::allow_shared(gemm_pair::kernel, bytes);
  const int tiles = (M + 255) / 256 * ((N + 255) / 256);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(2 * tiles);
  config.blockDim = dim3(224);
  config.dynamicSmemBytes = size_t(bytes);
  config.attrs = &attribute;
  config.numAttrs = 1;
  support::check(cudaLaunchKernelEx(&config, gemm_pair::kernel, a.map(128), b.map(64), c.map(128, true), M, N, K));
  support::check(cudaDeviceSynchronize());
  c.fetch();
  std::printf("gemm by pairs %d × %d × %d: %d wrong\n", M, N, K, support::count_wrong_of_product(c, a, b));
}

} // namespace

int main() {
  run(256, 256, 64);
  run(520, 776, 200);
}
