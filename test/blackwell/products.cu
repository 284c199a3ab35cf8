// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Single products d[M, N] = a[M, K] · b[K, N] of every type, in slabs of 64 and 128 rows, with operands stored either
// way or a in tensor memory, and results read in every layout. Threads fill shared memory; a thread of warp 4
// multiplies.
#include "tk/memory.h"
#include "tk/shared_copy.h"
#include "tk/sync.h"
#include "tk/tcgen05.h"

#include "support.h"

namespace products {

constexpr int n = 48;

enum class order { plain, transposed, in_tensor_memory };

template <class T> struct number { // what an element is made of
  __device__ static T from(int x) {
    if constexpr (sizeof(T) == 1 && !tk::is_float8<T>)
      return T(x);
    else
      return tk::cast_scalar<T>(x * 0.25f);
  }
};

/// a(i, k) and b(k, j), small integers; of u8 not negative.
template <class T> __host__ __device__ int element(int x, int y) {
  const int value = (x * 7 + y * 13 + x * y) % 9;
  return tk::same<T, tk::u8> ? value : value - 4;
}

template <class TA, class TB, int M, int K, order OfA, bool TransposedB> struct shared_memory {
  tk::shared_tile<TA, OfA == order::transposed ? K : M, OfA == order::transposed ? M : K> a;
  tk::shared_tile<TB, TransposedB ? n : K, TransposedB ? K : n> b;
  tk::barrier done;
  tk::u32 tensor;
};

template <class TA, class TB, class D, class Layout, int M, int K, order OfA, bool TransposedB>
__global__ void __launch_bounds__(160, 1) kernel(D *d) {
  auto &shared = tk::shared_at<shared_memory<TA, TB, M, K, OfA, TransposedB>>(0);
  constexpr int slab = M % 128 == 0 ? 128 : 64;
  const int warp = tk::warp_index();
  if (threadIdx.x == 0) {
    shared.done.init(1);
    tk::barrier_init_fence();
  }
  if (warp == 4)
    tk::tensor_allocate<256>(shared.tensor);
  for (int i = threadIdx.x; i < M * K; i += 160)
    *(OfA == order::transposed ? shared.a.at(i % K, i / K) : shared.a.at(i / K, i % K)) =
        number<TA>::from(element<TA>(i / K, i % K));
  for (int i = threadIdx.x; i < K * n; i += 160)
    *(TransposedB ? shared.b.at(i % n, i / n) : shared.b.at(i / n, i % n)) =
        number<TB>::from(element<TB>(i / n + 100, i % n));
  tk::fence_proxy_async();
  tk::tensor_fence_before_sync();
  tk::sync_block();
  tk::tensor_fence_after_sync();
  const tk::u32 tensor = shared.tensor;
  const tk::tensor_tile<D, M, n, slab> acc{tensor};
  const tk::tensor_tile<TA, M, K, slab> left{tensor + 128};
  if constexpr (OfA == order::in_tensor_memory) {
    if (warp != 4) {
      tk::tensor_store(left, tk::load_shared<tk::fragment<TA, M, K, Layout>>(shared.a));
      tk::tensor_wait_store();
    }
    tk::tensor_fence_before_sync();
    tk::sync_block();
    tk::tensor_fence_after_sync();
  }
  if (warp == 4) {
    if (tk::elect_one()) {
      const auto multiply = [&](const auto &a) {
        if constexpr (TransposedB)
          tk::tensor_mma(acc, a, shared.b.T(), false);
        else
          tk::tensor_mma(acc, a, shared.b.all(), false);
      };
      if constexpr (OfA == order::plain)
        multiply(shared.a.all());
      else if constexpr (OfA == order::transposed)
        multiply(shared.a.T());
      else
        multiply(left);
      tk::tensor_commit(shared.done);
    }
    __syncwarp();
  } else {
    shared.done.wait(0);
    tk::tensor_fence_after_sync();
    auto x = tk::tensor_load<tk::fragment<D, M, n, Layout>>(acc);
    tk::tensor_wait_load(x);
    tk::store(tk::view<D>{d, n, M, n}, x);
  }
  tk::tensor_fence_before_sync();
  tk::sync_block();
  if (warp == 4)
    tk::tensor_release<256>(tensor);
}

template <class TA, class TB, class D, class Layout, int M, int K, order OfA, bool TransposedB>
void run(const char *name) {
  D *d = nullptr;
  support::check(cudaMalloc(reinterpret_cast<void **>(&d), M * n * sizeof(D)));
  support::check(cudaMemset(d, 0xff, M * n * sizeof(D)));
  const auto function = kernel<TA, TB, D, Layout, M, K, OfA, TransposedB>;
  const int bytes = sizeof(shared_memory<TA, TB, M, K, OfA, TransposedB>) + 1024;
  support::allow_shared(function, bytes);
  function<<<1, 160, bytes>>>(d);
  support::check(cudaDeviceSynchronize());
  std::vector<D> result(M * n);
  support::check(cudaMemcpy(result.data(), d, M * n * sizeof(D), cudaMemcpyDeviceToHost));
  const double unit = tk::same<D, int> ? 1 : 1.0 / 16; // exact
  int wrong = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < n; ++j) {
      int sum = 0;
      for (int k = 0; k < K; ++k)
        sum += element<TA>(i, k) * element<TB>(k + 100, j);
      wrong += result[i * n + j] != sum * unit;
    }
  std::printf("%s: %d wrong\n", name, wrong);
  cudaFree(d);
}

} // namespace products

int main() {
  using namespace products;
  using tk::bf16, tk::half, tk::tf32, tk::f8e4m3, tk::f8e5m2, tk::i8, tk::u8;
  using tk::lane_rows, tk::mma_layout, tk::tensor_layout;
  run<bf16, bf16, float, lane_rows, 128, 64, order::plain, true>("bf16");
  run<bf16, bf16, float, tensor_layout, 128, 128, order::transposed, false>("bf16, stored the other way");
  run<half, half, float, tensor_layout, 256, 64, order::plain, false>("f16, two slabs");
  run<half, half, float, mma_layout, 64, 64, order::transposed, true>("f16, 64 rows");
  run<bf16, bf16, float, mma_layout, 192, 64, order::plain, false>("bf16, three slabs of 64 rows");
  run<bf16, bf16, float, lane_rows, 128, 64, order::in_tensor_memory, false>("bf16, a in tensor memory");
  run<bf16, bf16, float, tensor_layout, 256, 64, order::in_tensor_memory, true>("bf16, a in tensor memory, two slabs");
  run<half, half, float, mma_layout, 64, 128, order::in_tensor_memory, false>("f16, a in tensor memory, 64 rows");
  run<tf32, tf32, float, tensor_layout, 128, 32, order::plain, true>("tf32");
  run<tf32, tf32, float, lane_rows, 128, 64, order::in_tensor_memory, true>("tf32, a in tensor memory");
  run<f8e4m3, f8e5m2, float, lane_rows, 128, 128, order::plain, true>("float8");
  run<f8e5m2, f8e4m3, float, mma_layout, 64, 128, order::transposed, false>("float8, stored the other way, 64 rows");
  run<f8e4m3, f8e4m3, float, lane_rows, 128, 64, order::in_tensor_memory, true>("float8, a in tensor memory");
  run<i8, u8, int, tensor_layout, 128, 64, order::plain, true>("i8 and u8");
  run<u8, i8, int, lane_rows, 128, 96, order::transposed, false>("u8 and i8, stored the other way");
}
