// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block-scaled products: one tile d[128, N] = (a · scales)[128, K] · (b · scales)ᵀ, b stored [N, K], of float8 and
// 6-bit floats with powers of two, and of 4-bit floats with powers of two or float8. Every warp fills shared memory, a
// thread of warp 4 brings the scale factors to tensor memory and multiplies.
#include "tk/memory.h"
#include "tk/sync.h"
#include "tk/tcgen05_scaled.h"

#include "support.h"

namespace scaled {

constexpr int n = 64, row_bytes = 128;

template <class Format> constexpr int depth = row_bytes * 8 / Format::bits;
template <class Format> constexpr int factors = row_bytes / 32 * Format::each;

/// Bytes of a row in global memory: 6-bit floats come without padding.
template <class T> constexpr int packed_bytes = tk::is_padded<T> ? row_bytes * 3 / 4 : row_bytes;

template <class Format, class TA, class TB> struct shared_memory {
  tk::shared_tile<TA, 128, row_bytes> a;
  tk::shared_tile<TB, n, row_bytes> b;
  alignas(128) tk::u8 scales_a[128 * factors<Format>], scales_b[128 * factors<Format>];
  tk::barrier done;
  tk::u32 tensor;
};

/// tile ← packed rows.
template <class T, int Rows> __device__ void fill(tk::shared_tile<T, Rows, row_bytes> &tile, const tk::u8 *packed) {
  constexpr int bytes = packed_bytes<T>, chunk = bytes / 8;
  for (int i = threadIdx.x; i < Rows * bytes; i += 160)
    tile.at(i / bytes, i % bytes / chunk * 16 + i % bytes % chunk)->bits = packed[i];
}

/// a: [128, bytes], b: [n, bytes], scales: [128, factors] and [n, factors].
template <class Format, class TA, class TB>
__global__ void __launch_bounds__(160, 1)
    kernel(const tk::u8 *a, const tk::u8 *b, const tk::u8 *scales_a, const tk::u8 *scales_b, float *d) {
  auto &shared = tk::shared_at<shared_memory<Format, TA, TB>>(0);
  using scales = tk::tensor_scales<128, factors<Format>>;
  const int warp = tk::warp_index();
  if (threadIdx.x == 0) {
    shared.done.init(1);
    tk::barrier_init_fence();
  }
  if (warp == 4)
    tk::tensor_allocate<128>(shared.tensor);
  fill(shared.a, a);
  fill(shared.b, b);
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
/// Of a sign and so many bits of exponent and mantissa.
double narrow(int code, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1), mantissa = code & ((1 << mantissa_bits) - 1);
  const double magnitude = exponent ? std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)
                                    : std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return code >> (exponent_bits + mantissa_bits) & 1 ? -magnitude : magnitude;
}
double f8e4m3(int code) { return narrow(code, 4, 3); }

/// Element k of a row of packed ones.
template <class Format, class T> double element(const tk::u8 *row, int k) {
  if (Format::bits == 4)
    return f4(row[k / 2] >> k % 2 * 4 & 15);
  if (!tk::is_padded<T>)
    return f8e4m3(row[k]);
  const int first = k * 6, code = (row[first / 8] | row[first / 8 + (first % 8 > 2)] << 8) >> first % 8 & 63;
  return tk::same<T, tk::f6e2m3_padded> ? narrow(code, 2, 3) : narrow(code, 3, 2);
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

template <class Format, class TA, class TB = TA> void run(const char *name) {
  constexpr int n = scaled::n, depth = scaled::depth<Format>, factors = scaled::factors<Format>;
  unsigned state = 7;
  const auto random = [&](unsigned below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
  };
  // float8: no larger than 15 and no NaN; scales: 2^-3 to 2^3, or float8 from 2^-3 to 14.
  const auto any = [&] { return tk::u8(random(256)); };
  const auto float8 = [&] { return tk::u8(random(0x58) | random(2) << 7); };
  const auto rows = [&]<class T>(int count, T) {
    const size_t size = size_t(count) * scaled::packed_bytes<T>;
    return Format::bits == 4 || tk::is_padded<T> ? bytes(size, any) : bytes(size, float8);
  };
  const auto scale = [&] { return tk::u8(Format::powers_of_two ? 124 + random(7) : 0x20 + random(0x34)); };
  const bytes a = rows(128, TA{}), b = rows(n, TB{});
  const bytes scales_a(128 * factors, scale), scales_b(n * factors, scale);
  const bytes d(128 * n * 4, [] { return tk::u8(0xff); });
  const int shared_bytes = sizeof(scaled::shared_memory<Format, TA, TB>) + 1024;
  support::allow_shared(scaled::kernel<Format, TA, TB>, shared_bytes);
  scaled::kernel<Format, TA, TB>
      <<<1, 160, shared_bytes>>>(a.data, b.data, scales_a.data, scales_b.data, reinterpret_cast<float *>(d.data));
  support::check(cudaDeviceSynchronize());
  std::vector<float> result(128 * n);
  support::check(cudaMemcpy(result.data(), d.data, result.size() * 4, cudaMemcpyDeviceToHost));
  const auto at = [&]<class T>(const bytes &x, const bytes &scales, int row, int k, T) {
    const double value = element<Format, T>(x.host.data() + row * scaled::packed_bytes<T>, k);
    const int factor = scales.host[row * factors + k / (depth / factors)];
    return value * (Format::powers_of_two ? std::ldexp(1.0, factor - 127) : f8e4m3(factor));
  };
  int wrong = 0;
  for (int i = 0; i < 128; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int k = 0; k < depth; ++k) {
        const double term = at(a, scales_a, i, k, TA{}) * at(b, scales_b, j, k, TB{});
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
  run<tk::mxf8, tk::f6e2m3_padded>("6 bits, powers of two for 32");
  run<tk::mxf8, tk::f6e3m2_padded, tk::f6e2m3_padded>("6 bits, of both kinds");
  run<tk::mxf8, tk::f8e4m3, tk::f6e3m2_padded>("float8 and 6 bits");
  run<tk::mxf4, tk::f8e4m3>("4 bits, powers of two for 32");
  run<tk::nvf4, tk::f8e4m3>("4 bits, float8 for 16");
}
