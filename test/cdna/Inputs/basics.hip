// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small kernels of what every kernel stands on: indices and edges, LDS, lanes that exchange values, matrix products.
#include "host.h"

using float4_t = float __attribute__((ext_vector_type(4)));
using float16_t = float __attribute__((ext_vector_type(16)));
using short4_t = short __attribute__((ext_vector_type(4)));

struct Arguments {
  const float *x, *y;
  float *z;
  int n;
};

__global__ void __launch_bounds__(128) add(const Arguments g) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < g.n)
    g.z[i] = g.x[i] + g.y[i] * (float)gridDim.x;
}

/// Every wave sums its 64 numbers by DPP and permutes, the block its waves' sums through LDS.
__global__ void __launch_bounds__(256) sum(const float *x, float *sums, int n) {
  __shared__ float of_wave[4];
  const int t = threadIdx.x, lane = t % 64;
  float value = t < n ? x[t] : 0;
  const auto bits = [](float v) { return __builtin_bit_cast(int, v); };
  const auto number = [](int v) { return __builtin_bit_cast(float, v); };
  value += number(__builtin_amdgcn_update_dpp(0, bits(value), 0xb1, 0xf, 0xf, true)); // quad: 1 0 3 2
  value += number(__builtin_amdgcn_update_dpp(0, bits(value), 0x4e, 0xf, 0xf, true)); // quad: 2 3 0 1
  value += number(__builtin_amdgcn_mov_dpp(bits(value), 0x141, 0xf, 0xf, true));      // half rows mirrored
  value += number(__builtin_amdgcn_mov_dpp(bits(value), 0x140, 0xf, 0xf, true));      // rows mirrored
  value += number(__builtin_amdgcn_ds_swizzle(bits(value), 0x401f));                  // lane ^ 16
  value += number(__builtin_amdgcn_ds_bpermute((lane ^ 32) * 4, bits(value)));
  if (lane == 0)
    of_wave[t / 64] = value;
  __syncthreads();
  if (t == 0)
    sums[0] = of_wave[0] + of_wave[1] + of_wave[2] + of_wave[3];
  const unsigned long long odd = __builtin_amdgcn_ballot_w64(lane % 2 != 0);
  if (t == 1)
    sums[1] = (float)__builtin_popcountll(odd);
  if (t == 77)
    sums[2] = (float)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  const float third = number(__builtin_amdgcn_readlane(bits((float)lane), 3));
  if (t == 2)
    sums[3] = third;
}

/// 32 × 32, through dynamic LDS.
__global__ void __launch_bounds__(1024) transpose(const float *x, float *y) {
  extern __shared__ float tile[];
  const int t = threadIdx.y * 32 + threadIdx.x;
  tile[threadIdx.y * 33 + threadIdx.x] = x[t];
  __syncthreads();
  y[t] = tile[threadIdx.x * 33 + threadIdx.y];
}

static __device__ short to_bf16(float x) { return (short)(__builtin_bit_cast(unsigned, x) >> 16); }

/// c[16, 16] = a[16, 16] · b[16, 16] of small integers, one wave.
__global__ void __launch_bounds__(64) product16(const float *a, const float *b, float *c) {
  const int lane = threadIdx.x, row = lane % 16, part = lane / 16;
  short4_t x, y;
  for (int i = 0; i < 4; ++i) {
    x[i] = to_bf16(a[row * 16 + part * 4 + i]);
    y[i] = to_bf16(b[(part * 4 + i) * 16 + row]);
  }
  float4_t d = {};
  d = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, d, 0, 0, 0);
  for (int i = 0; i < 4; ++i)
    c[(part * 4 + i) * 16 + row] = d[i];
}

/// c[32, 32] = a[32, 64] · b[64, 32] in f32, one wave, 2 of k at a time.
__global__ void __launch_bounds__(64) product32(const float *a, const float *b, float *c) {
  const int lane = threadIdx.x, row = lane % 32, part = lane / 32;
  float16_t d = {};
  for (int k = 0; k < 64; k += 2)
    d = __builtin_amdgcn_mfma_f32_32x32x2f32(a[row * 64 + k + part], b[(k + part) * 32 + row], d, 0, 0, 0);
  for (int i = 0; i < 16; ++i)
    c[(i / 4 * 8 + part * 4 + i % 4) * 32 + row] = d[i];
}

static bool is_product(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &c, int n,
                       int depth) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < depth; ++k)
        sum += a[i * depth + k] * b[k * n + j];
      if (sum != c[i * n + j])
        return false;
    }
  return true;
}

int main() {
  hipDeviceProp_t properties;
  (void)hipGetDeviceProperties(&properties, 0);
  std::printf("%s\n", properties.gcnArchName);
  const std::vector<float> x = numbers(1024, 0), y = numbers(1024, 3);
  float *dx = upload(x), *dy = upload(y), *dz = upload(std::vector<float>(1024));

  add<<<3, 128>>>({dx, dy, dz, 333});
  std::vector<float> z = download(dz, 1024);
  bool right = z[333] == 0;
  for (int i = 0; i < 333; ++i)
    right = right && z[i] == x[i] + 3 * y[i];
  report("add", right);

  hipLaunchKernelGGL(sum, dim3(1), dim3(256), 0, nullptr, dx, dz, 200);
  z = download(dz, 4);
  float total = 0;
  for (int i = 0; i < 200; ++i)
    total += x[i];
  report("sum", z[0] == total && z[1] == 32 && z[2] == 13 && z[3] == 3);

  transpose<<<1, dim3(32, 32), 33 * 32 * 4>>>(dx, dz);
  z = download(dz, 1024);
  right = true;
  for (int i = 0; i < 1024; ++i)
    right = right && z[i] == x[i % 32 * 32 + i / 32];
  report("transpose", right);

  product16<<<1, 64>>>(dx, dy, dz);
  report("product16", is_product(x, y, download(dz, 256), 16, 16));
  const std::vector<float> a = numbers(32 * 64, 1), b = numbers(32 * 64, 2);
  product32<<<1, 64>>>(upload(a), upload(b), dz);
  report("product32", is_product(a, b, download(dz, 1024), 32, 64));
}
