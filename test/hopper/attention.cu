// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention forward as the compiler is to print it: o = softmax(scale · q kᵀ) v and its log-sum-exp, heads of 128. A
// block makes 128 rows of o; keys in steps of 128 (causal) or 176, two stages ahead. One producer warp, two consumer
// warpgroups with 64 rows each, which take turns at the matrix engine. S(j + 1) is issued before P(j) · V(j) is waited
// for. Shared memory: q 32 KiB (o leaves through it), k and v 88 KiB each.
#include "tk/elementwise.h"
#include "tk/memory.h"
#include "tk/reduce.h"
#include "tk/shared_copy.h"
#include "tk/sync.h"
#include "tk/tma.h"
#include "tk/wgmma.h"

#include "support.h"

namespace attention {

template <int BN> struct shared_memory {
  tk::shared_tile<tk::bf16, 128, 128> q;
  tk::shared_tile<tk::bf16, BN, 128> k[2];
  tk::shared_tile<tk::bf16, BN, 128> v[2];
  tk::barrier q_full;
  tk::barrier k_full[2];
  tk::barrier k_empty[2];
  tk::barrier v_full[2];
  tk::barrier v_empty[2];
};

template <int BN, bool causal>
__global__ void __launch_bounds__(384, 1)
    kernel(const __grid_constant__ tk::tensor_map q_map, const __grid_constant__ tk::tensor_map k_map,
           const __grid_constant__ tk::tensor_map v_map, const __grid_constant__ tk::tensor_map o_map, float *lse,
           int H, int G, int N, int L, float scale) {
  using scores = tk::fragment<float, 64, BN, tk::mma_layout>;
  using column = tk::column<float, 64, tk::mma_layout>;
  auto &shared = tk::shared_at<shared_memory<BN>>(0);
  const int warpgroup = tk::warpgroup_index();
  if (threadIdx.x == 0) {
    shared.q_full.init(1);
    for (int slot = 0; slot < 2; ++slot) {
      shared.k_full[slot].init(1);
      shared.k_empty[slot].init(2);
      shared.v_full[slot].init(1);
      shared.v_empty[slot].init(2);
    }
    tk::barrier_init_fence();
  }
  tk::sync_block();

  const int i_tiles = (N + 127) / 128;
  const int i = causal ? i_tiles - 1 - int(blockIdx.x) % i_tiles : blockIdx.x % i_tiles;
  const int h = blockIdx.x / i_tiles % H;
  const int b = blockIdx.x / i_tiles / H;
  const int g = h / (H / G);
  const int keys = causal ? min(L, max(0, (i + 1) * 128 + L - N)) : L; // seen by some row of the tile
  const int blocks = (keys + BN - 1) / BN;

  if (warpgroup == 2) { // producer
    tk::release_registers<24>();
    if (tk::warp_index() == 8 && tk::elect_one()) {
      shared.q_full.expect_bytes(shared.q.byte_count);
      tk::tma_load(shared.q, q_map, shared.q_full, 0, i * 128, h, b);
      tk::ring<2> k_stage;
      tk::ring<2> v_stage;
      for (int j = 0; j < blocks; ++j) {
        shared.k_empty[k_stage.slot].wait(k_stage.phase ^ 1);
        shared.k_full[k_stage.slot].expect_bytes(shared.k[0].byte_count);
        tk::tma_load(shared.k[k_stage.slot], k_map, shared.k_full[k_stage.slot], 0, j * BN, g, b);
        k_stage.advance();
        shared.v_empty[v_stage.slot].wait(v_stage.phase ^ 1);
        shared.v_full[v_stage.slot].expect_bytes(shared.v[0].byte_count);
        tk::tma_load(shared.v[v_stage.slot], v_map, shared.v_full[v_stage.slot], 0, j * BN, g, b);
        v_stage.advance();
      }
    }
  } else { // consumer
    tk::claim_registers<240>();
    tk::ring<2> k_stage;
    tk::ring<2> v_stage;
    const float c = scale * tk::log2_e;
    const int first_row = i * 128 + warpgroup * 64;
    const int unmasked = causal ? max(0, min(L, i * 128 + 1 + L - N)) / BN : L / BN; // blocks that all rows see whole
    auto acc = tk::zeros<tk::fragment<float, 64, 128, tk::mma_layout>>();
    auto m = tk::full<column>(-tk::inf);
    auto l = tk::zeros<column>();
    const auto q = shared.q.template rows_of<64>(warpgroup);
    shared.q_full.wait(0);
    if (blocks > 0) {
      scores s;
      shared.k_full[k_stage.slot].wait(k_stage.phase);
      tk::mma_fence();
      tk::mma_async(s, q, shared.k[k_stage.slot].T(), false);
      tk::mma_commit();
      tk::mma_wait<0>(s);
      if (tk::thread_in_warpgroup() == 0)
        shared.k_empty[k_stage.slot].arrive();
      k_stage.advance();
      if (unmasked == 0) {
        const auto seen = tk::row_index<scores>() + (first_row + L - N);
        const auto key = tk::col_index<scores>();
        if (causal)
          s = tk::where(key <= seen && key < L, s, -tk::inf);
        else
          s = tk::where(key < L, s, -tk::inf);
      }
      m = tk::row_max(s);
      auto top = tk::where(m == -tk::inf, 0.0f, m * c);
      s = tk::exp2(tk::fma(s, c, -top));
      l = tk::thread_row_sum(s);
      auto p = tk::cast<tk::bf16>(s);
      if (warpgroup == 1)
        tk::arrive(3, 256);
      for (int j = 1; j < blocks; ++j) {
        shared.k_full[k_stage.slot].wait(k_stage.phase);
        tk::sync(3 + warpgroup, 256);
        tk::mma_fence(s);
        tk::mma_async(s, q, shared.k[k_stage.slot].T(), false);
        tk::mma_commit();
        shared.v_full[v_stage.slot].wait(v_stage.phase);
        tk::mma_fence(acc, p);
        tk::mma_async(acc, p, shared.v[v_stage.slot].all());
        tk::mma_commit();
        tk::arrive(4 - warpgroup, 256);
        tk::mma_wait<1>(s);
        if (tk::thread_in_warpgroup() == 0)
          shared.k_empty[k_stage.slot].arrive();
        k_stage.advance();
        if (j >= unmasked) {
          const auto seen = tk::row_index<scores>() + (first_row + L - N - j * BN);
          const auto key = tk::col_index<scores>();
          if (causal)
            s = tk::where(key <= seen && key < L - j * BN, s, -tk::inf);
          else
            s = tk::where(key < L - j * BN, s, -tk::inf);
        }
        const auto m_new = tk::max(m, tk::row_max(s));
        top = tk::where(m_new == -tk::inf, 0.0f, m_new * c);
        s = tk::exp2(tk::fma(s, c, -top));
        const auto r = tk::exp2(tk::fma(m, c, -top));
        l = l * r + tk::thread_row_sum(s);
        m = m_new;
        tk::mma_wait<0>(acc, p);
        if (tk::thread_in_warpgroup() == 0)
          shared.v_empty[v_stage.slot].arrive();
        v_stage.advance();
        p = tk::cast<tk::bf16>(s);
        acc *= r;
      }
      if (warpgroup == 0)
        tk::sync(3, 256);
      shared.v_full[v_stage.slot].wait(v_stage.phase);
      tk::mma_fence(acc, p);
      tk::mma_async(acc, p, shared.v[v_stage.slot].all());
      tk::mma_commit();
      tk::mma_wait<0>(acc, p);
      if (tk::thread_in_warpgroup() == 0)
        shared.v_empty[v_stage.slot].arrive();
      v_stage.advance();
    }
    const auto total = tk::finish_row_sum(l);
    tk::store_shared(q, tk::cast<tk::bf16>(tk::where(total == 0.0f, 0.0f, acc * tk::rcp(total))));
    tk::fence_proxy_async();
    tk::store(tk::view<float>{lse + (tk::i64(b) * H + h) * N + first_row, 1, N - first_row, 1},
              (m * c + tk::log2(total)) * tk::ln_2);
    tk::sync(1 + warpgroup, 128);
    if (tk::thread_in_warpgroup() == 0) {
      tk::tma_store(o_map, q, 0, first_row, h, b);
      tk::bulk_commit();
      tk::bulk_wait<0>();
    }
  }
}

} // namespace attention

namespace {

/// One row a warp, in f64 sums: the row's maximum, then the sums.
__global__ void reference_kernel(const tk::bf16 *q, const tk::bf16 *k, const tk::bf16 *v, float *o, float *lse, int H,
                                 int G, int N, int L, float scale, bool causal, int step) {
  const int i = blockIdx.x * step, h = blockIdx.y, b = blockIdx.z, lane = threadIdx.x;
  extern __shared__ float s[];
  const size_t head = (size_t(b) * G + h / (H / G)) * L * 128, row = (size_t(b) * H + h) * N + i;
  const int seen = causal ? max(0, min(L, i + 1 + L - N)) : L;
  float top = -INFINITY;
  for (int j = lane; j < seen; j += 32) {
    double sum = 0;
    for (int d = 0; d < 128; ++d)
      sum += double(tk::to_float(q[row * 128 + d])) * tk::to_float(k[head + size_t(j) * 128 + d]);
    s[j] = float(sum * scale);
    top = fmaxf(top, s[j]);
  }
  for (int mask = 1; mask < 32; mask *= 2)
    top = fmaxf(top, __shfl_xor_sync(~0u, top, mask));
  double total = 0;
  for (int j = lane; j < seen; j += 32)
    total += exp(double(s[j]) - top);
  for (int mask = 1; mask < 32; mask *= 2)
    total += __shfl_xor_sync(~0u, total, mask);
  __syncwarp();
  double sums[4] = {};
  for (int j = 0; j < seen; ++j) {
    const double p = exp(double(s[j]) - top);
    for (int n = 0; n < 4; ++n)
      sums[n] += p * tk::to_float(v[head + size_t(j) * 128 + n * 32 + lane]);
  }
  const size_t to = (size_t(b) * H + h) * gridDim.x + blockIdx.x;
  for (int n = 0; n < 4; ++n)
    o[to * 128 + n * 32 + lane] = seen ? float(sums[n] / total) : 0;
  if (lane == 0)
    lse[to] = seen ? float(top + log(total)) : -INFINITY;
}

/// Every step-th row of the result.
template <class T> __global__ void pick_rows(const T *x, T *y, int N, int cols, int step) {
  const size_t head = size_t(blockIdx.z) * gridDim.y + blockIdx.y;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[(head * gridDim.x + blockIdx.x) * cols + c] = x[(head * N + size_t(blockIdx.x) * step) * cols + c];
}

template <int BN, bool causal> void run(int B, int H, int G, int N, int L, bool timed) {
  const size_t queries = size_t(B) * H * N, keys = size_t(B) * G * L;
  support::buffer<tk::bf16> q(queries * 128), k(keys * 128), v(keys * 128), o(queries * 128);
  support::buffer<float> lse(queries);
  support::randomize(q, 1);
  support::randomize(k, 2);
  support::randomize(v, 3);
  using u = unsigned long long;
  const auto type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const auto map = [&](const tk::bf16 *data, int heads, int rows, unsigned box) {
    return support::make_map(data, type, {128, u(rows), u(heads), u(B)}, {256, u(rows) * 256, u(rows) * heads * 256},
                             {64, box, 1, 1});
  };
  const auto q_map = map(q.data, H, N, 128), k_map = map(k.data, G, L, BN), v_map = map(v.data, G, L, BN),
             o_map = map(o.data, H, N, 64);
  const int bytes = sizeof(attention::shared_memory<BN>) + 1024;
  support::allow_shared(attention::kernel<BN, causal>, bytes);
  const float scale = 0.08838834764f;
  const auto launch = [&] {
    attention::kernel<BN, causal>
        <<<(N + 127) / 128 * H * B, 384, bytes>>>(q_map, k_map, v_map, o_map, lse.data, H, G, N, L, scale);
  };
  launch();
  support::check(cudaGetLastError(), "launch");
  support::check(cudaDeviceSynchronize(), "attention");
  const int step = timed ? N / 16 : 1;
  const unsigned rows = (N + step - 1) / step;
  support::buffer<float> reference(size_t(B) * H * rows * 128), reference_lse(size_t(B) * H * rows);
  support::buffer<tk::bf16> picked(size_t(B) * H * rows * 128);
  support::buffer<float> picked_lse(size_t(B) * H * rows);
  support::allow_shared(reference_kernel, L * 4);
  reference_kernel<<<dim3(rows, H, B), 32, L * 4>>>(q.data, k.data, v.data, reference.data, reference_lse.data, H, G, N,
                                                    L, scale, causal, step);
  pick_rows<<<dim3(rows, H, B), 32>>>(o.data, picked.data, N, 128, step);
  pick_rows<<<dim3(rows, H, B), 32>>>(lse.data, picked_lse.data, N, 1, step);
  const double error = support::relative_error(picked, reference);
  double lse_error = 0;
  const auto x = picked_lse.host(), y = reference_lse.host();
  for (size_t n = 0; n < x.size(); ++n)
    lse_error = std::max(lse_error, x[n] == y[n] ? 0.0 : std::abs(double(x[n]) - y[n]));
  const bool good = error < 1e-2 && lse_error < 1e-4;
  std::printf("attention %s B %d H %d G %d N %5d L %5d  error %.2e, lse %.1e %s", causal ? "causal" : "full  ", B, H, G,
              N, L, error, lse_error, good ? "ok" : "WRONG");
  if (timed) {
    const float ms = support::time_ms(launch);
    const double pairs = causal ? double(N) * (N + 1) / 2 : double(N) * L;
    std::printf("  %.3f ms  %.0f TFLOP/s", ms, 4e-9 * B * H * pairs * 128 / ms);
  }
  std::printf("\n");
}

} // namespace

/// With any argument: the checks without the timed sizes, for compute-sanitizer.
int main(int count, char **) {
  run<176, false>(1, 2, 2, 256, 352, false);
  run<176, false>(2, 4, 2, 200, 300, false);
  run<176, false>(1, 1, 1, 1, 1, false);
  run<128, true>(1, 2, 2, 256, 256, false);
  run<128, true>(2, 4, 1, 333, 333, false);
  run<128, true>(1, 2, 1, 300, 700, false);
  run<128, true>(1, 2, 1, 700, 300, false); // rows that see nothing
  if (count > 1)
    return 0;
  run<176, false>(4, 16, 16, 4096, 4096, true);
  run<176, false>(1, 16, 16, 12288, 12288, true);
  run<128, true>(4, 16, 16, 4096, 4096, true);
  run<128, true>(1, 16, 16, 12288, 12288, true);
}
