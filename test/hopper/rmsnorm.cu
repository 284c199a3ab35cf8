// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RMSNorm as the compiler is to print it: y = x / sqrt(mean(x²) + eps) · weight, rows of 4096 in bf16. A block of 256
// threads makes two rows, 128 threads a row, 8 elements a load.
#include "tk/elementwise.h"
#include "tk/memory.h"
#include "tk/reduce.h"

#include "support.h"

namespace rmsnorm {

using layout = tk::row_layout<256, 128, 8>;

struct shared_memory {
  tk::scratch_memory<8, 4> scratch;
};

__global__ void __launch_bounds__(256)
    kernel(const tk::bf16 *x, const tk::bf16 *weight, tk::bf16 *y, int N, float eps) {
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  tk::scratch<8, 4> scratch{shared.scratch, 1};
  const int i = blockIdx.x * 2;
  const auto loaded = tk::load<tk::fragment<tk::bf16, 2, 4096, layout>>(
      tk::view<const tk::bf16, 16>{x + tk::i64(i) * 4096, 4096, N - i, 4096});
  const auto w = tk::load<tk::row<tk::bf16, 4096, layout>>(tk::view<const tk::bf16, 16>{weight, 0, 1, 4096});
  const auto v = tk::cast<float>(loaded);
  const auto mean = tk::row_sum(v * v, scratch) * (1.0f / 4096.0f);
  const auto result = v * tk::rsqrt(mean + eps) * tk::cast<float>(w);
  tk::store(tk::view<tk::bf16, 16>{y + tk::i64(i) * 4096, 4096, N - i, 4096}, tk::cast<tk::bf16>(result));
}

} // namespace rmsnorm

namespace {

__global__ void reference_kernel(const tk::bf16 *x, const tk::bf16 *weight, float *y, int N, float eps) {
  const size_t row = blockIdx.x;
  double sum = 0;
  for (int c = 0; c < 4096; ++c) {
    const double v = tk::to_float(x[row * 4096 + c]);
    sum += v * v;
  }
  for (int c = threadIdx.x; c < 4096; c += blockDim.x)
    y[row * 4096 + c] =
        float(tk::to_float(x[row * 4096 + c]) / sqrt(sum / 4096 + double(eps)) * tk::to_float(weight[c]));
}

void run(int N, bool timed) {
  support::buffer<tk::bf16> x(size_t(N) * 4096), weight(4096), y(size_t(N) * 4096);
  support::randomize(x, 1);
  support::randomize(weight, 2);
  const int bytes = sizeof(rmsnorm::shared_memory) + 1024;
  const auto launch = [&] { rmsnorm::kernel<<<(N + 1) / 2, 256, bytes>>>(x.data, weight.data, y.data, N, 1e-5f); };
  launch();
  support::check(cudaDeviceSynchronize(), "rmsnorm");
  if (!timed) {
    support::buffer<float> reference(size_t(N) * 4096);
    reference_kernel<<<N, 64>>>(x.data, weight.data, reference.data, N, 1e-5f);
    const double error = support::relative_error(y, reference);
    std::printf("rmsnorm %6d × 4096  error %.2e %s\n", N, error, error < 5e-3 ? "ok" : "WRONG");
    return;
  }
  const float ms = support::time_ms(launch);
  const float copy = support::time_ms([&] { cudaMemcpyAsync(y.data, x.data, x.count * 2, cudaMemcpyDeviceToDevice); });
  const double gigabytes = 2.0 * x.count * 2 * 1e-9;
  std::printf("rmsnorm %6d × 4096  %.3f ms  %.0f GB/s, a device copy %.0f GB/s\n", N, ms, gigabytes / ms * 1e3,
              gigabytes / copy * 1e3);
}

} // namespace

/// With any argument: the checks without the timed sizes, for compute-sanitizer.
int main(int count, char **) {
  run(1, false);
  run(777, false);
  if (count > 1)
    return 0;
  run(131072, true);
}
