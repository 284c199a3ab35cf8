// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main kernel of attention's backward as the compiler is to print it, heads of 128. A block owns 128 keys, keeps dk
// and dv in registers and walks over the queries, 64 a step, two stages ahead; two consumer warpgroups with 64 keys
// each. Scores are computed with keys down, so that p and ds are left operands of dv and dk as they stand; only ds
// passes through shared memory, for dq, of which each warpgroup makes 64 columns. dq is added up in f32 by the copy
// engine.
#include "tk/copy.h"
#include "tk/elementwise.h"
#include "tk/shared_copy.h"
#include "tk/sync.h"
#include "tk/tma.h"
#include "tk/wgmma.h"

#include "support.h"

namespace backward {

struct shared_memory {
  tk::shared_tile<tk::bf16, 128, 128> k;
  tk::shared_tile<tk::bf16, 128, 128> v;
  tk::shared_tile<tk::bf16, 64, 128> q[2];
  tk::shared_tile<tk::bf16, 64, 128> dO[2];
  tk::shared_tile<tk::bf16, 128, 64> ds;
  tk::shared_tile<float, 64, 64> dq[2]; // one a warpgroup
  tk::shared_vector<float, 64> lse2[2];
  tk::shared_vector<float, 64> delta[2];
  tk::barrier kv_full;
  tk::barrier q_full[2];
  tk::barrier q_empty[2];
  tk::barrier do_full[2];
  tk::barrier do_empty[2];
};

template <bool causal>
__global__ void __launch_bounds__(384, 1)
    kernel(const __grid_constant__ tk::tensor_map q_map, const __grid_constant__ tk::tensor_map k_map,
           const __grid_constant__ tk::tensor_map v_map, const __grid_constant__ tk::tensor_map do_map,
           const float *lse2, const float *delta, const __grid_constant__ tk::tensor_map dq_map,
           const __grid_constant__ tk::tensor_map dk_map, const __grid_constant__ tk::tensor_map dv_map, int H, int G,
           int N, int L, float scale) {
  using scores = tk::fragment<float, 64, 64, tk::mma_layout>;
  using gradient = tk::fragment<float, 64, 128, tk::mma_layout>;
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  const int warpgroup = tk::warpgroup_index();
  if (threadIdx.x == 0) {
    shared.kv_full.init(1);
    for (int slot = 0; slot < 2; ++slot) {
      shared.q_full[slot].init(33);   // the announcement of bytes, and each lane that copies
      shared.q_empty[slot].init(256); // each thread that reads lse2
      shared.do_full[slot].init(33);
      shared.do_empty[slot].init(256);
    }
    tk::barrier_init_fence();
  }
  tk::sync_block();

  const int j_tiles = (L + 127) / 128;
  const int i_tiles = (N + 63) / 64;
  const int j = blockIdx.x % j_tiles;
  const int h = blockIdx.x / j_tiles % H;
  const int b = blockIdx.x / j_tiles / H;
  const int g = h / (H / G);
  const int first = causal ? min(i_tiles, max(0, j * 128 + N - L) / 64) : 0; // earlier queries see none of these keys
  const tk::i64 head = (tk::i64(b) * H + h) * N;

  if (warpgroup == 2) { // producer
    tk::release_registers<24>();
    if (tk::warp_index() == 8) {
      if (tk::elect_one()) {
        shared.kv_full.expect_bytes(shared.k.byte_count + shared.v.byte_count);
        tk::tma_load(shared.k, k_map, shared.kv_full, 0, j * 128, g, b);
        tk::tma_load(shared.v, v_map, shared.kv_full, 0, j * 128, g, b);
      }
      tk::ring<2> q_stage;
      tk::ring<2> do_stage;
      for (int i = first; i < i_tiles; ++i) {
        shared.q_empty[q_stage.slot].wait(q_stage.phase ^ 1);
        if (tk::elect_one()) {
          shared.q_full[q_stage.slot].expect_bytes(shared.q[0].byte_count);
          tk::tma_load(shared.q[q_stage.slot], q_map, shared.q_full[q_stage.slot], 0, i * 64, h, b);
        }
        tk::copy_to_shared<32>(shared.lse2[q_stage.slot], lse2 + head + i * 64, N - i * 64, tk::lane());
        shared.q_full[q_stage.slot].arrive();
        q_stage.advance();
        shared.do_empty[do_stage.slot].wait(do_stage.phase ^ 1);
        if (tk::elect_one()) {
          shared.do_full[do_stage.slot].expect_bytes(shared.dO[0].byte_count);
          tk::tma_load(shared.dO[do_stage.slot], do_map, shared.do_full[do_stage.slot], 0, i * 64, h, b);
        }
        tk::copy_to_shared<32>(shared.delta[do_stage.slot], delta + head + i * 64, N - i * 64, tk::lane());
        shared.do_full[do_stage.slot].arrive();
        do_stage.advance();
      }
    }
  } else { // consumer
    tk::claim_registers<240>();
    tk::ring<2> q_stage;
    tk::ring<2> do_stage;
    const float c = scale * tk::log2_e;
    const int first_key = j * 128 + warpgroup * 64;
    const auto k = shared.k.rows_of<64>(warpgroup);
    const auto v = shared.v.rows_of<64>(warpgroup);
    auto dk = tk::zeros<gradient>();
    auto dv = tk::zeros<gradient>();
    shared.kv_full.wait(0);
    for (int i = first; i < i_tiles; ++i) {
      scores s;
      scores dp;
      shared.q_full[q_stage.slot].wait(q_stage.phase);
      tk::mma_fence();
      tk::mma_async(s, k, shared.q[q_stage.slot].T(), false);
      tk::mma_commit();
      shared.do_full[do_stage.slot].wait(do_stage.phase);
      tk::mma_fence();
      tk::mma_async(dp, v, shared.dO[do_stage.slot].T(), false);
      tk::mma_commit();
      tk::mma_wait<1>(s);
      if (causal && i * 64 + L - N < j * 128 + 127)
        s = tk::where(tk::row_index<scores>() + (first_key - i * 64 + N - L) <= tk::col_index<scores>(), s, -tk::inf);
      if (j * 128 + 128 > L)
        s = tk::where(tk::row_index<scores>() < L - first_key, s, -tk::inf);
      s = tk::exp2(tk::fma(s, c, -tk::load_shared<tk::row<float, 64, tk::mma_layout>>(shared.lse2[q_stage.slot])));
      tk::mma_wait<0>(dp);
      dp = dp - tk::load_shared<tk::row<float, 64, tk::mma_layout>>(shared.delta[do_stage.slot]);
      auto p = tk::cast<tk::bf16>(s);
      auto ds = tk::cast<tk::bf16>(s * dp);
      tk::mma_fence(dv, p);
      tk::mma_async(dv, p, shared.dO[do_stage.slot].all());
      tk::mma_commit();
      tk::store_shared(shared.ds.rows_of<64>(warpgroup), ds);
      tk::fence_proxy_async();
      tk::sync(3, 256); // both halves of ds are there
      tk::fragment<float, 64, 64, tk::mma_layout> dq;
      tk::mma_fence();
      tk::mma_async(dq, shared.ds.T(), shared.k.cols_of<64>(warpgroup), false);
      tk::mma_commit();
      tk::mma_fence(dk, ds);
      tk::mma_async(dk, ds, shared.q[q_stage.slot].all());
      tk::mma_commit();
      tk::mma_wait<1>(dq, dv, p);
      shared.do_empty[do_stage.slot].arrive();
      if (tk::thread_in_warpgroup() == 0)
        tk::bulk_wait_read<0>();
      do_stage.advance();
      tk::sync(3, 256); // both have read ds, and the last dq has left
      tk::store_shared(shared.dq[warpgroup], dq);
      tk::fence_proxy_async();
      tk::sync(1 + warpgroup, 128);
      if (tk::thread_in_warpgroup() == 0) {
        tk::tma_add(dq_map, shared.dq[warpgroup], warpgroup * 64, i * 64, h, b);
        tk::bulk_commit();
      }
      tk::mma_wait<0>(dk, ds);
      shared.q_empty[q_stage.slot].arrive();
      q_stage.advance();
    }
    tk::sync(3, 256); // both have read k
    tk::store_shared(v, tk::cast<tk::bf16>(dv));
    tk::store_shared(k, tk::cast<tk::bf16>(dk * scale));
    tk::fence_proxy_async();
    tk::sync(1 + warpgroup, 128);
    if (tk::thread_in_warpgroup() == 0) {
      tk::tma_store(dv_map, v, 0, first_key, h, b);
      tk::tma_store(dk_map, k, 0, first_key, h, b);
      tk::bulk_commit();
      tk::bulk_wait<0>();
    }
  }
}

} // namespace backward

namespace {

/// p and ds of one query row against every key, in f64: what the gradients are sums of. One warp a row.
__global__ void row_weights(const tk::bf16 *q, const tk::bf16 *k, const tk::bf16 *v, const tk::bf16 *dO, double *p,
                            double *ds, float *lse2, float *delta, int H, int G, int N, int L, float scale,
                            bool causal) {
  const int i = blockIdx.x, h = blockIdx.y, b = blockIdx.z, lane = threadIdx.x;
  const size_t head = (size_t(b) * G + h / (H / G)) * L * 128, row = (size_t(b) * H + h) * N + i;
  const int seen = causal ? max(0, min(L, i + 1 + L - N)) : L;
  double total = 0, weighted = 0;
  for (int j = lane; j < L; j += 32) {
    double s = 0, t = 0;
    for (int d = 0; d < 128; ++d) {
      s += double(tk::to_float(q[row * 128 + d])) * tk::to_float(k[head + size_t(j) * 128 + d]);
      t += double(tk::to_float(dO[row * 128 + d])) * tk::to_float(v[head + size_t(j) * 128 + d]);
    }
    const double e = j < seen ? exp(s * scale) : 0;
    p[row * L + j] = e;
    ds[row * L + j] = t;
    total += e;
    weighted += e * t;
  }
  for (int mask = 1; mask < 32; mask *= 2) {
    total += __shfl_xor_sync(~0u, total, mask);
    weighted += __shfl_xor_sync(~0u, weighted, mask);
  }
  const double correction = total > 0 ? weighted / total : 0;
  for (int j = lane; j < L; j += 32) {
    const double e = total > 0 ? p[row * L + j] / total : 0;
    p[row * L + j] = e;
    ds[row * L + j] = e * (ds[row * L + j] - correction);
  }
  if (lane == 0) {
    lse2[row] = total > 0 ? float(log2(total)) : INFINITY;
    delta[row] = float(correction);
  }
}

/// dq without its scale, one row of queries a block.
__global__ void reference_dq(const tk::bf16 *k, const double *ds, float *dq, int H, int G, int N, int L) {
  const int d = threadIdx.x;
  const size_t row = (size_t(blockIdx.z) * H + blockIdx.y) * N + blockIdx.x;
  const size_t head = (size_t(blockIdx.z) * G + blockIdx.y / (H / G)) * L * 128;
  double sum = 0;
  for (int j = 0; j < L; ++j)
    sum += ds[row * L + j] * tk::to_float(k[head + size_t(j) * 128 + d]);
  dq[row * 128 + d] = float(sum);
}
/// Σ over the queries of w[i, j] · x[i, d], one key a block.
__global__ void reference_dkv(const tk::bf16 *x, const double *w, float *out, int H, int N, int L, float scale) {
  const int d = threadIdx.x, j = blockIdx.x;
  const size_t head = size_t(blockIdx.z) * H + blockIdx.y;
  double sum = 0;
  for (int i = 0; i < N; ++i)
    sum += w[(head * N + i) * L + j] * tk::to_float(x[(head * N + i) * 128 + d]);
  out[(head * L + j) * 128 + d] = float(sum * scale);
}

template <bool causal> void run(int B, int H, int G, int N, int L, bool timed) {
  const size_t queries = size_t(B) * H * N, keys = size_t(B) * G * L, head_keys = size_t(B) * H * L;
  support::buffer<tk::bf16> q(queries * 128), k(keys * 128), v(keys * 128), dO(queries * 128);
  support::buffer<tk::bf16> dk(head_keys * 128), dv(head_keys * 128);
  support::buffer<float> dq(queries * 128), lse2(queries), delta(queries);
  support::randomize(q, 1);
  support::randomize(k, 2);
  support::randomize(v, 3);
  support::randomize(dO, 4);
  const float scale = 0.08838834764f;
  using u = unsigned long long;
  const auto map = [&](const void *data, CUtensorMapDataType type, int size, int heads, int rows, unsigned box_cols,
                       unsigned box) {
    return support::make_map(data, type, {128, u(rows), u(heads), u(B)},
                             {u(128 * size), u(rows) * 128 * size, u(rows) * heads * 128 * size},
                             {box_cols, box, 1, 1});
  };
  const auto bf16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const auto q_map = map(q.data, bf16, 2, H, N, 64, 64), do_map = map(dO.data, bf16, 2, H, N, 64, 64),
             k_map = map(k.data, bf16, 2, G, L, 64, 128), v_map = map(v.data, bf16, 2, G, L, 64, 128),
             dk_map = map(dk.data, bf16, 2, H, L, 64, 64), dv_map = map(dv.data, bf16, 2, H, L, 64, 64),
             dq_map = map(dq.data, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, H, N, 32, 64);
  const int bytes = sizeof(backward::shared_memory) + 1024;
  support::allow_shared(backward::kernel<causal>, bytes);
  const auto launch = [&] {
    backward::kernel<causal><<<(L + 127) / 128 * H * B, 384, bytes>>>(
        q_map, k_map, v_map, do_map, lse2.data, delta.data, dq_map, dk_map, dv_map, H, G, N, L, scale);
  };
  const char *name = causal ? "causal" : "full  ";
  if (timed) {
    lse2.zero();
    delta.zero();
    dq.zero();
    support::randomize(lse2, 5, 1.0f);
    const float ms = support::time_ms(launch);
    const double pairs = causal ? double(N) * (N + 1) / 2 : double(N) * L;
    std::printf("backward %s B %d H %d N %5d L %5d  %.3f ms  %.0f TFLOP/s\n", name, B, H, N, L, ms,
                10e-9 * B * H * pairs * 128 / ms);
    return;
  }
  support::buffer<double> p(queries * L), ds(queries * L);
  support::buffer<float> dq_reference(queries * 128), dk_reference(head_keys * 128), dv_reference(head_keys * 128);
  row_weights<<<dim3(N, H, B), 32>>>(q.data, k.data, v.data, dO.data, p.data, ds.data, lse2.data, delta.data, H, G, N,
                                     L, scale, causal);
  reference_dq<<<dim3(N, H, B), 128>>>(k.data, ds.data, dq_reference.data, H, G, N, L);
  reference_dkv<<<dim3(L, H, B), 128>>>(q.data, ds.data, dk_reference.data, H, N, L, scale);
  reference_dkv<<<dim3(L, H, B), 128>>>(dO.data, p.data, dv_reference.data, H, N, L, 1.0f);
  dq.zero();
  launch();
  support::check(cudaGetLastError(), "launch");
  support::check(cudaDeviceSynchronize(), "backward");
  const double q_error = support::relative_error(dq, dq_reference), k_error = support::relative_error(dk, dk_reference),
               v_error = support::relative_error(dv, dv_reference);
  const bool good = q_error < 1e-2 && k_error < 1e-2 && v_error < 1e-2;
  std::printf("backward %s B %d H %d G %d N %5d L %5d  error dq %.2e dk %.2e dv %.2e %s\n", name, B, H, G, N, L,
              q_error, k_error, v_error, good ? "ok" : "WRONG");
}

} // namespace

/// With any argument: the checks without the timed sizes, for compute-sanitizer.
int main(int count, char **) {
  run<false>(1, 2, 2, 256, 256, false);
  run<false>(2, 4, 2, 200, 300, false);
  run<true>(1, 2, 2, 256, 256, false);
  run<true>(2, 4, 1, 333, 333, false);
  run<true>(1, 2, 1, 300, 700, false);
  run<true>(1, 2, 1, 700, 300, false); // rows that see nothing
  run<false>(1, 2, 2, 2048, 2048, false);
  if (count > 1)
    return 0;
  run<false>(4, 16, 16, 4096, 4096, true);
  run<false>(1, 16, 16, 12288, 12288, true);
  run<true>(4, 16, 16, 4096, 4096, true);
  run<true>(1, 16, 16, 12288, 12288, true);
}
