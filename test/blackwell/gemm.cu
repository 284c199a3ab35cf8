// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMM on data-centre Blackwell as the compiler is to print it: C = A · B in bf16. A block makes 128×256 tiles of C; K
// in steps of 64, 4 stages ahead. Warp 4 loads, a thread of warp 5 issues the products into one of two accumulators in
// tensor memory, warps 0 to 3 take the other one to C meanwhile. Shared memory: a 64 KiB, b 128 KiB, c 32 KiB.
#include "tk/barrier.h"
#include "tk/fragment.h"
#include "tk/raster.h"
#include "tk/shared_copy.h"
#include "tk/sync.h"
#include "tk/tcgen05.h"
#include "tk/tma.h"

#include "support.h"

namespace gemm {

using a_tile = tk::shared_tile<tk::bf16, 128, 64>;
using b_tile = tk::shared_tile<tk::bf16, 64, 256>;
using c_tile = tk::shared_tile<tk::bf16, 128, 64>;

struct shared_memory {
  a_tile a[4];
  b_tile b[4];
  c_tile c[2];
  tk::barrier full[4];
  tk::barrier empty[4];
  tk::barrier acc_full[2];
  tk::barrier acc_empty[2];
  tk::u32 tensor;
};

__global__ void __launch_bounds__(192, 1)
    kernel(const __grid_constant__ tk::tensor_map a_map, const __grid_constant__ tk::tensor_map b_map,
           const __grid_constant__ tk::tensor_map c_map, int M, int N, int K) {
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  const int warp = tk::warp_index();
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < 4; ++slot) {
      shared.full[slot].init(1);
      shared.empty[slot].init(1);
    }
    for (int slot = 0; slot < 2; ++slot) {
      shared.acc_full[slot].init(1);
      shared.acc_empty[slot].init(4);
    }
    tk::barrier_init_fence();
  }
  if (warp == 5)
    tk::tensor_allocate<512>(shared.tensor);
  tk::tensor_fence_before_sync();
  tk::sync_block();
  tk::tensor_fence_after_sync();
  const tk::u32 tensor = shared.tensor;

  const int m_tiles = (M + 127) / 128;
  const int n_tiles = (N + 255) / 256;
  const int k_tiles = (K + 63) / 64;
  const int tiles = m_tiles * n_tiles;

  if (warp == 4) { // loads
    if (tk::elect_one()) {
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
  } else if (warp == 5) { // products
    if (tk::elect_one()) {
      tk::ring<4> stage;
      tk::ring<2> acc_slot;
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const tk::tensor_tile<float, 128, 256> acc{tensor + acc_slot.slot * 256};
        shared.acc_empty[acc_slot.slot].wait(acc_slot.phase ^ 1);
        tk::tensor_fence_after_sync();
        for (int k = 0; k < k_tiles; ++k) {
          shared.full[stage.slot].wait(stage.phase);
          tk::tensor_fence_after_sync();
          tk::tensor_mma(acc, shared.a[stage.slot].all(), shared.b[stage.slot].all(), k > 0);
          tk::tensor_commit(shared.empty[stage.slot]);
          stage.advance();
        }
        tk::tensor_commit(shared.acc_full[acc_slot.slot]);
        acc_slot.advance();
      }
    }
    __syncwarp();
  } else { // results
    tk::ring<2> acc_slot;
    tk::ring<2> piece_slot;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const auto [m, n] = tk::raster(tile, m_tiles, n_tiles, 8);
      const tk::tensor_tile<float, 128, 256> acc{tensor + acc_slot.slot * 256};
      shared.acc_full[acc_slot.slot].wait(acc_slot.phase);
      tk::tensor_fence_after_sync();
#pragma unroll
      for (int piece = 0; piece < 4; ++piece) {
        auto x = tk::tensor_load<tk::fragment<float, 128, 64, tk::lane_rows>>(acc.cols_of<64>(piece));
        tk::tensor_wait_load(x);
        if (piece == 3) {
          tk::tensor_fence_before_sync();
          shared.acc_empty[acc_slot.slot].arrive_warp();
        }
        c_tile &c = shared.c[piece_slot.slot];
        if (threadIdx.x == 0)
          tk::bulk_wait_read<1>();
        tk::sync(1, 128);
        tk::store_shared(c, tk::cast<tk::bf16>(x));
        tk::fence_proxy_async();
        tk::sync(1, 128);
        if (threadIdx.x == 0) {
          tk::tma_store(c_map, c, n * 256 + piece * 64, m * 128);
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
  tk::sync_block();
  if (warp == 5) {
    tk::tensor_fence_after_sync();
    tk::tensor_release<512>(tensor);
  }
}

} // namespace gemm

namespace {

void run(int M, int N, int K) {
  const support::matrix a(M, K, 1), b(K, N, 2);
  support::matrix c(M, N, 0);
  const int bytes = sizeof(gemm::shared_memory) + 1024;
  support::allow_shared(gemm::kernel, bytes);
  const int tiles = (M + 127) / 128 * ((N + 255) / 256);
  gemm::kernel<<<std::min(tiles, 2), 192, bytes>>>(a.map(128), b.map(64), c.map(128, true), M, N, K);
  support::check(cudaDeviceSynchronize());
  c.fetch();
  std::printf("gemm %d × %d × %d: %d wrong\n", M, N, K, support::count_wrong_of_product(c, a, b));
}

} // namespace

int main() {
  run(128, 256, 64);
  run(264, 520, 200);
  run(256, 768, 512);
}
