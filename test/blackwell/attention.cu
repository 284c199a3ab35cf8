// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention forward on data-centre Blackwell as the compiler is to print it, bf16, heads of 128. A block has two tiles
// of 128 queries; keys in blocks of 128. Two softmax groups, a tile each; one group that rescales the accumulators when
// a row's maximum has moved and stores results; a thread for products; a thread for loads. Scores, their exponentials
// (over them) and accumulators are in tensor memory, all of it. Shared memory: q 64 KiB, k 64 KiB, v 64 KiB.
#include "tk/barrier.h"
#include "tk/elementwise.h"
#include "tk/fragment.h"
#include "tk/memory.h"
#include "tk/reduce.h"
#include "tk/shared_copy.h"
#include "tk/sync.h"
#include "tk/tcgen05.h"
#include "tk/tma.h"

#include "support.h"

namespace attention {

using tile = tk::shared_tile<tk::bf16, 128, 128>;
using scores = tk::tensor_tile<float, 128, 128>;
using weights = tk::tensor_tile<tk::bf16, 128, 128>;
using column = tk::column<float, 128, tk::lane_rows>;

struct shared_memory {
  tile q[2]; // the results too
  tile k[2];
  tile v[2];
  tk::shared_vector<float, 128> factor[2]; // of the accumulator's rows; at last their sums
  tk::barrier q_full;
  tk::barrier k_full[2], k_empty[2];
  tk::barrier v_full[2], v_empty[2];
  tk::barrier s_full[2];
  tk::barrier p_full[2];
  tk::barrier o_full[2];
  tk::barrier o_ready[2];
  tk::barrier factor_full[2], factor_empty[2];
  tk::u32 tensor;
};

__device__ __forceinline__ scores scores_of(tk::u32 tensor, int t) { return {tensor + t * 128}; }
__device__ __forceinline__ weights weights_of(tk::u32 tensor, int t) { return {tensor + t * 128}; }
__device__ __forceinline__ scores result_of(tk::u32 tensor, int t) { return {tensor + 256 + t * 128}; }

__device__ __forceinline__ void multiply(shared_memory &shared, tk::u32 tensor, int blocks) {
  tk::ring<2> k_stage;
  tk::ring<2> v_stage;
  const auto score = [&](int t) {
    tk::tensor_mma(scores_of(tensor, t), shared.q[t].all(), shared.k[k_stage.slot].T(), false);
    tk::tensor_commit(shared.s_full[t]);
  };
  shared.q_full.wait(0);
  shared.k_full[0].wait(0);
  tk::tensor_fence_after_sync();
  score(0);
  score(1);
  tk::tensor_commit(shared.k_empty[0]);
  k_stage.advance();
  for (int j = 0; j < blocks; ++j) {
    shared.v_full[v_stage.slot].wait(v_stage.phase);
    if (j + 1 < blocks)
      shared.k_full[k_stage.slot].wait(k_stage.phase);
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      shared.p_full[t].wait(j % 2);
      if (j > 0)
        shared.o_ready[t].wait((j - 1) % 2);
      tk::tensor_fence_after_sync();
      tk::tensor_mma(result_of(tensor, t), weights_of(tensor, t), shared.v[v_stage.slot].all(), j > 0);
      tk::tensor_commit(shared.o_full[t]);
      if (j + 1 < blocks)
        score(t);
    }
    tk::tensor_commit(shared.v_empty[v_stage.slot]);
    if (j + 1 < blocks)
      tk::tensor_commit(shared.k_empty[k_stage.slot]);
    v_stage.advance();
    k_stage.advance();
  }
}

/// `first_row`: of the tile. `unmasked`: blocks that all its rows see whole.
template <bool causal>
__device__ __forceinline__ void softmax(shared_memory &shared, tk::u32 tensor, int t, int blocks, int unmasked,
                                        int first_row, int N, int L, float c, float *lse) {
  using fragment = tk::fragment<float, 128, 128, tk::lane_rows>;
  auto m = tk::full<column>(-tk::inf);
  auto l = tk::zeros<column>();
  for (int j = 0; j < blocks; ++j) {
    shared.s_full[t].wait(j % 2);
    tk::tensor_fence_after_sync();
    auto s = tk::tensor_load<fragment>(scores_of(tensor, t));
    tk::tensor_wait_load(s);
    if (j >= unmasked) {
      const auto key = tk::col_index<fragment>();
      if (causal) {
        const auto seen = tk::row_index<fragment>() + (first_row + L - N - j * 128);
        s = tk::where(key <= seen && key < L - j * 128, s, -tk::inf);
      } else {
        s = tk::where(key < L - j * 128, s, -tk::inf);
      }
    }
    const auto m_new = tk::max(m, tk::row_max(s));
    const auto top = tk::where(m_new == -tk::inf, 0.0f, m_new * c);
    const auto r = tk::exp2(tk::fma(m, c, -top));
    m = m_new;
    if (j > 0) {
      shared.factor_empty[t].wait(j % 2);
      tk::store_shared(shared.factor[t], r);
      shared.factor_full[t].arrive();
    }
    l = l * r;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto p = tk::exp2(tk::fma(tk::cols_of<32>(s, i), c, -top));
      tk::tensor_store(weights_of(tensor, t).cols_of<32>(i), tk::cast<tk::bf16>(p));
      l = l + tk::row_sum(p);
    }
    tk::tensor_wait_store();
    tk::tensor_fence_before_sync();
    shared.p_full[t].arrive();
  }
  shared.factor_empty[t].wait(blocks % 2);
  tk::store_shared(shared.factor[t], l);
  shared.factor_full[t].arrive();
  tk::store(tk::view<float>{lse + first_row, 1, N - first_row, 1},
            tk::where(l == 0.0f, -tk::inf, (m * c + tk::log2(l)) * tk::ln_2));
}

__device__ __forceinline__ void rescale(shared_memory &shared, const tk::tensor_map &o_map, tk::u32 tensor, int blocks,
                                        int first_row) {
  using piece = tk::fragment<float, 128, 32, tk::lane_rows>;
  for (int j = 1; j < blocks; ++j)
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      shared.factor_full[t].wait((j - 1) % 2);
      const auto r = tk::load_shared<column>(shared.factor[t]);
      shared.factor_empty[t].arrive();
      shared.o_full[t].wait((j - 1) % 2);
      tk::tensor_fence_after_sync();
      if (__any_sync(~0u, r.at(0, 0) != 1.0f)) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          auto x = tk::tensor_load<piece>(result_of(tensor, t).cols_of<32>(i));
          tk::tensor_wait_load(x);
          tk::tensor_store(result_of(tensor, t).cols_of<32>(i), x * r);
        }
        tk::tensor_wait_store();
      }
      tk::tensor_fence_before_sync();
      shared.o_ready[t].arrive();
    }
#pragma unroll
  for (int t = 0; t < 2; ++t) {
    shared.factor_full[t].wait((blocks - 1) % 2);
    const auto l = tk::load_shared<column>(shared.factor[t]);
    const auto r = tk::where(l == 0.0f, 0.0f, tk::rcp(l));
    shared.o_full[t].wait((blocks - 1) % 2);
    tk::tensor_fence_after_sync();
#pragma unroll
    for (int i = 0; i < 2; ++i) { // a panel of the tile each
      auto x = tk::tensor_load<tk::fragment<float, 128, 64, tk::lane_rows>>(result_of(tensor, t).cols_of<64>(i));
      tk::tensor_wait_load(x);
      tk::store_shared(shared.q[t].cols_of<64>(i), tk::cast<tk::bf16>(x * r));
    }
    tk::fence_proxy_async();
    tk::sync(1, 128);
    if (tk::thread_in_warpgroup() == 0) {
      tk::tma_store(o_map, shared.q[t], 0, first_row + t * 128);
      tk::bulk_commit();
    }
  }
  if (tk::thread_in_warpgroup() == 0)
    tk::bulk_wait<0>();
}

/// q, o: [heads · N, 128], k, v: [heads · L, 128].
template <bool causal>
__global__ void __launch_bounds__(512, 1)
    kernel(const __grid_constant__ tk::tensor_map q_map, const __grid_constant__ tk::tensor_map k_map,
           const __grid_constant__ tk::tensor_map v_map, const __grid_constant__ tk::tensor_map o_map, float *lse,
           int N, int L, float scale) {
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  const int warp = tk::warp_index();
  const int warpgroup = tk::warpgroup_index();
  if (threadIdx.x == 0) {
    shared.q_full.init(1);
    for (int i = 0; i < 2; ++i) {
      shared.k_full[i].init(1);
      shared.k_empty[i].init(1);
      shared.v_full[i].init(1);
      shared.v_empty[i].init(1);
      shared.s_full[i].init(1);
      shared.o_full[i].init(1);
      shared.p_full[i].init(128);
      shared.o_ready[i].init(128);
      shared.factor_full[i].init(128);
      shared.factor_empty[i].init(128);
    }
    tk::barrier_init_fence();
  }
  if (warp == 12)
    tk::tensor_allocate<512>(shared.tensor);
  tk::tensor_fence_before_sync();
  tk::sync_block();
  tk::tensor_fence_after_sync();
  const tk::u32 tensor = shared.tensor;

  const int tiles = (N + 255) / 256;
  const int i = tiles - 1 - int(blockIdx.x) % tiles;
  const int head = blockIdx.x / tiles;
  const int keys = causal ? tk::min(L, tk::max(0, (i + 1) * 256 + L - N)) : L; // seen by some row
  const int blocks = tk::max(1, (keys + 127) / 128);

  if (warpgroup == 3) {
    tk::release_registers<96>();
    if (warp == 13 && tk::elect_one()) {
      shared.q_full.expect_bytes(2 * tile::byte_count);
      tk::tma_load(shared.q[0], q_map, shared.q_full, 0, head * N + i * 256);
      tk::tma_load(shared.q[1], q_map, shared.q_full, 0, head * N + i * 256 + 128);
      tk::ring<2> stage;
      for (int j = 0; j < blocks; ++j) {
        shared.k_empty[stage.slot].wait(stage.phase ^ 1);
        shared.k_full[stage.slot].expect_bytes(tile::byte_count);
        tk::tma_load(shared.k[stage.slot], k_map, shared.k_full[stage.slot], 0, head * L + j * 128);
        shared.v_empty[stage.slot].wait(stage.phase ^ 1);
        shared.v_full[stage.slot].expect_bytes(tile::byte_count);
        tk::tma_load(shared.v[stage.slot], v_map, shared.v_full[stage.slot], 0, head * L + j * 128);
        stage.advance();
      }
    }
    if (warp == 12 && tk::elect_one())
      multiply(shared, tensor, blocks);
    __syncwarp();
  } else if (warpgroup == 2) {
    tk::release_registers<96>();
    rescale(shared, o_map, tensor, blocks, head * N + i * 256);
  } else {
    tk::claim_registers<160>();
    const int first_row = i * 256 + warpgroup * 128;
    const int unmasked = causal ? tk::max(0, tk::min(L, first_row + 1 + L - N)) / 128 : L / 128;
    softmax<causal>(shared, tensor, warpgroup, blocks, unmasked, first_row, N, L, scale * tk::log2_e, lse + head * N);
  }
  tk::tensor_fence_before_sync();
  tk::sync_block();
  if (warp == 12) {
    tk::tensor_fence_after_sync();
    tk::tensor_release<512>(tensor);
  }
}

} // namespace attention

namespace {

void run(int heads, int N, int L, bool causal) {
  const support::matrix q(heads * N, 128, 1), k(heads * L, 128, 2), v(heads * L, 128, 3);
  support::matrix o(heads * N, 128, 0);
  float *lse = nullptr;
  support::check(cudaMalloc(reinterpret_cast<void **>(&lse), sizeof(float) * heads * N));
  const float scale = 0.125f;
  const int bytes = sizeof(attention::shared_memory) + 1024;
  const auto kernel = causal ? attention::kernel<true> : attention::kernel<false>;
  support::allow_shared(kernel, bytes);
  kernel<<<heads *((N + 255) / 256), 512, bytes>>>(q.map(128), k.map(128), v.map(128), o.map(128, true), lse, N, L,
                                                   scale);
  support::check(cudaDeviceSynchronize());
  o.fetch();
  std::vector<float> sums(size_t(heads) * N);
  support::check(cudaMemcpy(sums.data(), lse, sums.size() * sizeof(float), cudaMemcpyDeviceToHost));

  // Weights are rounded to bf16: a relative error of 1/512 in each term of a sum with weights that add up to 1 and
  // elements of v up to 1; then the result is rounded.
  std::vector<double> p(L), row(128);
  int wrong = 0, wrong_sums = 0;
  for (int r = 0; r < heads * N; ++r) {
    const int head = r / N, i = r % N, seen = causal ? std::max(0, std::min(L, i + 1 + L - N)) : L;
    double top = -HUGE_VAL, total = 0;
    for (int j = 0; j < seen; ++j) {
      p[j] = 0;
      for (int d = 0; d < 128; ++d)
        p[j] += q.at(r, d) * k.at(head * L + j, d);
      p[j] *= double(scale);
      top = std::max(top, p[j]);
    }
    for (int j = 0; j < seen; ++j)
      total += p[j] = std::exp(p[j] - top);
    std::fill(row.begin(), row.end(), 0);
    for (int j = 0; j < seen; ++j)
      for (int d = 0; d < 128; ++d)
        row[d] += p[j] / total * v.at(head * L + j, d);
    for (int d = 0; d < 128; ++d)
      wrong += !(std::fabs(o.at(r, d) - row[d]) <= 1.0 / 400 + support::bf16_rounding * std::fabs(row[d]));
    wrong_sums += !(std::fabs(sums[r] - (top + std::log(total))) <= 1e-5 * (1 + std::fabs(top)));
  }
  std::printf("attention, %d heads, %d queries, %d keys%s: %d and %d wrong\n", heads, N, L, causal ? ", causal" : "",
              wrong, wrong_sums);
  cudaFree(lse);
}

} // namespace

int main() {
  run(2, 256, 256, false);
  run(1, 300, 424, false);
  run(2, 512, 512, true);
  run(1, 200, 333, true);
}
