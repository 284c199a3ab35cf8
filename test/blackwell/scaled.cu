// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block-scaled products: one tile d[128, N] = (a · scales)[128, K] · (b · scales)ᵀ, b stored [N, K], of float8 with
// powers of two, and of 4-bit floats with powers of two or float8. Every warp fills shared memory, a thread of warp 4
// brings the scale factors to tensor memory and multiplies.
#include "tk/memory.h"
#include "tk/sync.h"
#include "tk/tcgen05_scaled.h"

#include "support.h"

namespace scaled {

constexpr int n = 64, row_bytes = 128;

template <class Format> constexpr int depth = row_bytes * 8 / Format::bits;
template <class Format> constexpr int factors = row_bytes / 32 * Format::each;

template <class Format, class T> struct shared_memory {
  tk::shared_tile<T, 128, row_bytes> a;
  tk::shared_tile<T, n, row_bytes> b;
  alignas(128) tk::u8 scales_a[128 * factors<Format>], scales_b[128 * factors<Format>];
  tk::barrier done;
  tk::u32 tensor;
};

/// a: [128, bytes], b: [n, bytes], scales: [128, factors] and [n, factors].
template <class Format, class T>
__global__ void __launch_bounds__(160, 1)
    kernel(const tk::u8 *a, const tk::u8 *b, const tk::u8 *scales_a, const tk::u8 *scales_b, float *d) {
  auto &shared = tk::shared_at<shared_memory<Format, T>>(0);
  using scales = tk::tensor_scales<128, factors<Format>>;
  const int warp = tk::warp_index();
  if (threadIdx.x == 0) {
    shared.done.init(1);
    tk::barrier_init_fence();
  }
  if (warp == 4)
    tk::tensor_allocate<128>(shared.tensor);
  for (int i = threadIdx.x; i < 128 * row_bytes; i += 160)
    shared.a.at(i / row_bytes, i % row_bytes)->bits = a[i];
  for (int i = threadIdx.x; i < n * row_bytes; i += 160)
    shared.b.at(i / row_bytes, i % row_bytes)->bits = b[i];
  for (int i = threadIdx.x; i < 128 * factors<Format>; i += 160) {
    const int row = i / factors<Format>, s = i % factors<Format>;
    shared.scales_a[tk::scale_offset<scales>(row, s)] = scales_a[i];
    shared.scales_b[tk::scale_offset<scales>(row, s)] = row < n ? scales_b[i] : 0;
  }
  tk::fence_proxy_async();
  tk::tensor_fence_before_sync();
  tk::sync_block();
  tk::tensor_fence_after_sync();
  const tk::u32 tensor = shared.tensor;
  const tk::tensor_tile<float, 128, n> acc{tensor};
  if (warp == 4) {
    if (tk::elect_one()) {
      const scales of_a{tensor + 64}, of_b{tensor + 96};
      tk::tensor_copy(of_a, tk::shared_address(shared.scales_a));
      tk::tensor_copy(of_b, tk::shared_address(shared.scales_b));
      tk::tensor_mma_scaled<Format>(acc, shared.a.all(), shared.b.T(), of_a, of_b, false);
      tk::tensor_commit(shared.done);
    }
    __syncwarp();
  } else {
    shared.done.wait(0);
    tk::tensor_fence_after_sync();
    auto x = tk::tensor_load<tk::fragment<float, 128, n, tk::lane_rows>>(acc);
    tk::tensor_wait_load(x);
    tk::store(tk::view<float>{d, n, 128, n}, x);
  }
  tk::tensor_fence_before_sync();
  tk::sync_block();
  if (warp == 4)
    tk::tensor_release<128>(tensor);
}

} // namespace scaled

namespace {

double f4(int code) {
  constexpr double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return code & 8 ? -magnitudes[code & 7] : magnitudes[code & 7];
}
double f8e4m3(int code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const double magnitude = exponent ? std::ldexp(8 + mantissa, exponent - 10) : std::ldexp(mantissa, -9);
  return code & 128 ? -magnitude : magnitude;
}

struct bytes {
  std::vector<tk::u8> host;
  tk::u8 *data = nullptr;

  template <class F> bytes(size_t count, F f) : host(count) {
    for (tk::u8 &byte : host)
      byte = f();
    support::check(cudaMalloc(reinterpret_cast<void **>(&data), count));
    support::check(cudaMemcpy(data, host.data(), count, cudaMemcpyHostToDevice));
  }
};

template <class Format, class T> void run(const char *name) {
  constexpr int n = scaled::n, depth = scaled::depth<Format>, factors = scaled::factors<Format>;
  unsigned state = 7;
  const auto random = [&](unsigned below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
  };
  // float8: no larger than 15 and no NaN; scales: 2^-3 to 2^3, or float8 from 2^-3 to 14.
  const auto element = [&] { return tk::u8(Format::bits == 4 ? random(256) : random(0x58) | random(2) << 7); };
  const auto scale = [&] { return tk::u8(Format::powers_of_two ? 124 + random(7) : 0x20 + random(0x34)); };
  const bytes a(128 * scaled::row_bytes, element), b(n * scaled::row_bytes, element);
  const bytes scales_a(128 * factors, scale), scales_b(n * factors, scale);
  const bytes d(128 * n * 4, [] { return tk::u8(0xff); });
  const int shared_bytes = sizeof(scaled::shared_memory<Format, T>) + 1024;
  support::allow_shared(scaled::kernel<Format, T>, shared_bytes);
  scaled::kernel<Format, T>
      <<<1, 160, shared_bytes>>>(a.data, b.data, scales_a.data, scales_b.data, reinterpret_cast<float *>(d.data));
  support::check(cudaDeviceSynchronize());
  std::vector<float> result(128 * n);
  support::check(cudaMemcpy(result.data(), d.data, result.size() * 4, cudaMemcpyDeviceToHost));
  const auto at = [&](const bytes &x, const bytes &scales, int row, int k) {
    const int code = x.host[(row * depth + k) * Format::bits / 8];
    const double value = Format::bits == 4 ? f4(k % 2 ? code >> 4 : code & 15) : f8e4m3(code);
    const int factor = scales.host[row * factors + k / (depth / factors)];
    return value * (Format::powers_of_two ? std::ldexp(1.0, factor - 127) : f8e4m3(factor));
  };
  int wrong = 0;
  for (int i = 0; i < 128; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int k = 0; k < depth; ++k) {
        const double term = at(a, scales_a, i, k) * at(b, scales_b, j, k);
        sum += term, size += std::fabs(term);
      }
      // Each of at most 8 instructions cuts its terms off 25 bits below the largest, and its sum to 24 bits.
      wrong += !(std::fabs(result[i * n + j] - sum) <= size * 8 * 0x1p-23);
    }
  std::printf("%s: %d wrong\n", name, wrong);
}

} // namespace

int main() {
  run<tk::mxf8, tk::f8e4m3>("float8, powers of two for 32");
  run<tk::mxf4, tk::f8e4m3>("4 bits, powers of two for 32");
  run<tk::nvf4, tk::f8e4m3>("4 bits, float8 for 16");
}
