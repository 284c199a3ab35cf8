// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every matrix instruction on ones, which gives its depth; and sums that tell the GPUs' ways of rounding apart.
#include "host.h"

#include <cstring>

template <class T, int N> using vector = T __attribute__((ext_vector_type(N)));

/// Lanes' registers of 1 in a type of `Bits` bits, from a pattern of 64.
template <class T> static __device__ T ones(unsigned long pattern) {
  unsigned long words[4] = {pattern, pattern, pattern, pattern};
  T value;
  __builtin_memcpy(&value, words, sizeof value);
  return value;
}

constexpr unsigned long f32_ones = 0x3f8000003f800000, f16_ones = 0x3c003c003c003c00, bf16_ones = 0x3f803f803f803f80,
                        i8_ones = 0x0101010101010101, f64_ones = 0x3ff0000000000000;
#if defined(__gfx950__)
constexpr unsigned long f8_ones = 0x3838383838383838, bf8_ones = 0x3c3c3c3c3c3c3c3c;
#else
constexpr unsigned long f8_ones = 0x4040404040404040, bf8_ones = 0x4040404040404040;
#endif

// Each: the builtin, types of a and of the result's elements, their number, patterns of a and b.
#define OF_ALL(X)                                                                                                      \
  X(f32_32x32x1f32, float, float, 32, f32_ones, f32_ones)                                                              \
  X(f32_16x16x1f32, float, float, 16, f32_ones, f32_ones)                                                              \
  X(f32_4x4x1f32, float, float, 4, f32_ones, f32_ones)                                                                 \
  X(f32_32x32x2f32, float, float, 16, f32_ones, f32_ones)                                                              \
  X(f32_16x16x4f32, float, float, 4, f32_ones, f32_ones)                                                               \
  X(f32_32x32x4f16, halves4, float, 32, f16_ones, f16_ones)                                                            \
  X(f32_16x16x4f16, halves4, float, 16, f16_ones, f16_ones)                                                            \
  X(f32_4x4x4f16, halves4, float, 4, f16_ones, f16_ones)                                                               \
  X(f32_32x32x8f16, halves4, float, 16, f16_ones, f16_ones)                                                            \
  X(f32_16x16x16f16, halves4, float, 4, f16_ones, f16_ones)                                                            \
  X(i32_32x32x4i8, int, int, 32, i8_ones, i8_ones)                                                                     \
  X(i32_16x16x4i8, int, int, 16, i8_ones, i8_ones)                                                                     \
  X(i32_4x4x4i8, int, int, 4, i8_ones, i8_ones)                                                                        \
  X(f32_32x32x4bf16_1k, shorts4, float, 32, bf16_ones, bf16_ones)                                                      \
  X(f32_16x16x4bf16_1k, shorts4, float, 16, bf16_ones, bf16_ones)                                                      \
  X(f32_4x4x4bf16_1k, shorts4, float, 4, bf16_ones, bf16_ones)                                                         \
  X(f32_32x32x8bf16_1k, shorts4, float, 16, bf16_ones, bf16_ones)                                                      \
  X(f32_16x16x16bf16_1k, shorts4, float, 4, bf16_ones, bf16_ones)                                                      \
  X(f64_16x16x4f64, double, double, 4, f64_ones, f64_ones)
#if defined(__gfx90a__)
#define OF_SOME(X)                                                                                                     \
  X(i32_32x32x8i8, int, int, 16, i8_ones, i8_ones)                                                                     \
  X(i32_16x16x16i8, int, int, 4, i8_ones, i8_ones)                                                                     \
  X(f32_32x32x2bf16, shorts2, float, 32, bf16_ones, bf16_ones)                                                         \
  X(f32_16x16x2bf16, shorts2, float, 16, bf16_ones, bf16_ones)                                                         \
  X(f32_4x4x2bf16, shorts2, float, 4, bf16_ones, bf16_ones)                                                            \
  X(f32_32x32x4bf16, shorts2, float, 16, bf16_ones, bf16_ones)                                                         \
  X(f32_16x16x8bf16, shorts2, float, 4, bf16_ones, bf16_ones)
#else
#define OF_FLOAT8(X)                                                                                                   \
  X(i32_16x16x32_i8, long, int, 4, i8_ones, i8_ones)                                                                   \
  X(i32_32x32x16_i8, long, int, 16, i8_ones, i8_ones)                                                                  \
  X(f32_16x16x32_bf8_bf8, long, float, 4, bf8_ones, bf8_ones)                                                          \
  X(f32_16x16x32_bf8_fp8, long, float, 4, bf8_ones, f8_ones)                                                           \
  X(f32_16x16x32_fp8_bf8, long, float, 4, f8_ones, bf8_ones)                                                           \
  X(f32_16x16x32_fp8_fp8, long, float, 4, f8_ones, f8_ones)                                                            \
  X(f32_32x32x16_bf8_bf8, long, float, 16, bf8_ones, bf8_ones)                                                         \
  X(f32_32x32x16_bf8_fp8, long, float, 16, bf8_ones, f8_ones)                                                          \
  X(f32_32x32x16_fp8_bf8, long, float, 16, f8_ones, bf8_ones)                                                          \
  X(f32_32x32x16_fp8_fp8, long, float, 16, f8_ones, f8_ones)
#if defined(__gfx942__)
#define OF_SOME(X)                                                                                                     \
  OF_FLOAT8(X)                                                                                                         \
  X(f32_16x16x8_xf32, floats2, float, 4, f32_ones, f32_ones)                                                           \
  X(f32_32x32x4_xf32, floats2, float, 16, f32_ones, f32_ones)
#elif defined(__gfx950__)
#define OF_SOME(X)                                                                                                     \
  OF_FLOAT8(X)                                                                                                         \
  X(f32_16x16x32_f16, halves8, float, 4, f16_ones, f16_ones)                                                           \
  X(f32_32x32x16_f16, halves8, float, 16, f16_ones, f16_ones)                                                          \
  X(f32_16x16x32_bf16, bfloats8, float, 4, bf16_ones, bf16_ones)                                                       \
  X(f32_32x32x16_bf16, bfloats8, float, 16, bf16_ones, bf16_ones)                                                      \
  X(i32_16x16x64_i8, ints4, int, 4, i8_ones, i8_ones)                                                                  \
  X(i32_32x32x32_i8, ints4, int, 16, i8_ones, i8_ones)
#else
#define OF_SOME(X)
#endif
#endif

using halves4 = vector<_Float16, 4>;
using halves8 = vector<_Float16, 8>;
using bfloats8 = vector<__bf16, 8>;
using shorts2 = vector<short, 2>;
using shorts4 = vector<short, 4>;
using floats2 = vector<float, 2>;
using ints4 = vector<int, 4>;
using ints8 = vector<int, 8>;

/// depths[i]: what every element of the i-th product is, 0 if they differ.
__global__ void __launch_bounds__(64) depths(int *results) {
  int i = 0;
#define PRODUCT(name, operand, element, count, a, b)                                                                   \
  {                                                                                                                    \
    const auto d =                                                                                                     \
        __builtin_amdgcn_mfma_##name(ones<operand>(a), ones<operand>(b), vector<element, count>{}, 0, 0, 0);           \
    bool same = true;                                                                                                  \
    for (int j = 1; j < count; ++j)                                                                                    \
      same = same && d[j] == d[0];                                                                                     \
    results[64 * i++ + threadIdx.x] = same ? (int)d[0] : 0;                                                            \
  }
  OF_ALL(PRODUCT)
  OF_SOME(PRODUCT)
  results[64 * i + threadIdx.x] = -1;
}

/// Element (0, 0) of a product of 16-bit numbers, with k = 0, 1, … in lanes 0, 16, …, and 1 as the other operand.
template <bool IsBf16> static __device__ float sum_of(const unsigned short *terms, float c) {
  const int lane = threadIdx.x;
  unsigned short a[4], b[4];
  for (int i = 0; i < 4; ++i) {
    a[i] = terms[lane / 16 * 4 + i];
    b[i] = IsBf16 ? 0x3f80 : 0x3c00;
  }
  vector<float, 4> d = {c, c, c, c};
  if constexpr (IsBf16) {
    shorts4 x, y;
    __builtin_memcpy(&x, a, 8), __builtin_memcpy(&y, b, 8);
    d = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, d, 0, 0, 0);
  } else {
    halves4 x, y;
    __builtin_memcpy(&x, a, 8), __builtin_memcpy(&y, b, 8);
    d = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, d, 0, 0, 0);
  }
  return d[0];
}

__global__ void __launch_bounds__(64) sums(const unsigned short *terms, float *results) {
  results[64 * 0 + threadIdx.x] = sum_of<true>(terms, 1);       // 2^24 + 1 + 1
  results[64 * 1 + threadIdx.x] = sum_of<true>(terms + 16, 0);  // a denormal bf16
  results[64 * 2 + threadIdx.x] = sum_of<false>(terms + 32, 0); // a denormal f16
  results[64 * 3 + threadIdx.x] = sum_of<true>(terms + 48, 0);  // 1 + 2^-30 - 1
#if !defined(__gfx90a__)
  const auto byte =
      __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(threadIdx.x < 16 ? 0x38 : 0, 0x38, vector<float, 4>{}, 0, 0, 0);
  results[64 * 4 + threadIdx.x] = byte[0]; // the code 0x38, squared
#endif
#if defined(__gfx950__)
  // Ones of 4 bits; of A the first 32 of k count eight times, by byte 1 of the scales.
  const int scale = threadIdx.x < 16 ? 130 << 8 : 127 << 8;
  const ints8 fours = ones<ints8>(0x2222222222222222);
  const auto scaled =
      __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(fours, fours, vector<float, 4>{}, 4, 4, 1, scale, 0, 127);
  const auto mixed = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(ones<ints8>(f8_ones), fours, vector<float, 16>{},
                                                                     0, 4, 0, 0, 0, 0);
  results[64 * 5 + threadIdx.x] = scaled[0];
  results[64 * 6 + threadIdx.x] = mixed[0];
#endif
}

int main() {
  int *results = upload(std::vector<int>(64 * 64));
  depths<<<1, 64>>>(results);
  std::vector<int> got = download(results, 64 * 64);
  for (int i = 0; got[64 * i] != -1; ++i) {
    bool same = true;
    for (int lane = 0; lane < 64; ++lane)
      same = same && got[64 * i + lane] == got[64 * i];
    std::printf("%d%s", same ? got[64 * i] : 0, got[64 * (i + 1)] == -1 ? "\n" : " ");
  }
  report("depths", true);

  std::vector<unsigned short> terms(64);
  terms[0] = 0x4b80, terms[1] = 0x3f80;                       // 2^24, 1
  terms[16] = 0x0001;                                         // 2^-133
  terms[32] = 0x0001;                                         // 2^-24
  terms[48] = 0x3f80, terms[49] = 0x3080, terms[50] = 0xbf80; // 1, 2^-30, -1
  float *floats = upload(std::vector<float>(64 * 8));
  sums<<<1, 64>>>(upload(terms), floats);
  const std::vector<float> sum = download(floats, 64 * 8);
  for (int i = 0; i < 7; ++i)
    std::printf("%g%s", (double)sum[64 * i], i == 6 ? "\n" : " ");
  std::printf("%.0f\n", (double)sum[0]);
  report("sums", true);
}
