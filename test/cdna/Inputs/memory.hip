// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers that know where they end, loads to LDS, atomics, transposing reads.
#include "host.h"

using lds = __attribute__((address_space(3))) void *;
using uint4_t = unsigned __attribute__((ext_vector_type(4)));
using short4_t = short __attribute__((ext_vector_type(4)));
using half2_t = _Float16 __attribute__((ext_vector_type(2)));

static __device__ __amdgpu_buffer_rsrc_t buffer_of(const void *x, int bytes) {
  return __builtin_amdgcn_make_buffer_rsrc((void *)x, 0, bytes, 0x27000);
}

/// y = x up to n numbers, zeros beyond; nothing is written beyond m.
__global__ void __launch_bounds__(64) copy(const unsigned *x, unsigned *y, int n, int m) {
  const __amdgpu_buffer_rsrc_t from = buffer_of(x, 4 * n), to = buffer_of(y, 4 * m);
  const uint4_t value = __builtin_amdgcn_raw_buffer_load_b128(from, 16 * threadIdx.x, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b128(value, to, 16 * threadIdx.x, 0, 0);
}

__global__ void __launch_bounds__(64) count(float *sum, int *numbers, half2_t *pair) {
  __hip_atomic_fetch_add(sum, (float)threadIdx.x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __builtin_amdgcn_raw_ptr_buffer_atomic_add_i32(1, buffer_of(numbers, 8), 4 * (threadIdx.x % 3), 0, 0);
  __builtin_amdgcn_global_atomic_fadd_v2f16((half2_t __attribute__((address_space(1))) *)pair, half2_t{1, 2});
}

/// Three slots, two loads ahead, waited for by count; 16 bytes a lane where the GPU can.
__global__ void __launch_bounds__(128) ring(const unsigned *x, unsigned *y, int steps, int n) {
#if defined(__gfx950__)
  constexpr int words = 4;
#else
  constexpr int words = 1;
#endif
  __shared__ __attribute__((aligned(16))) unsigned slots[3][128 * words];
  const int t = threadIdx.x, wave = __builtin_amdgcn_readfirstlane(t / 64);
  const __amdgpu_buffer_rsrc_t from = buffer_of(x, 4 * n);
  const auto fill = [&](int step) {
    __builtin_amdgcn_raw_ptr_buffer_load_lds(from, (lds)(slots[step % 3] + wave * 64 * words), 4 * words,
                                             (step * 128 + t) * 4 * words, 0, 0, 0);
  };
  fill(0);
  fill(1);
  unsigned sum = 0;
  for (int step = 0; step < steps; ++step) {
    __builtin_amdgcn_s_waitcnt(0x0f71);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    fill(step + 2);
    for (int i = 0; i < words; ++i)
      sum = sum * 3 + slots[step % 3][(127 - t) * words + i];
  }
  __builtin_amdgcn_s_waitcnt(0x0f70);
  y[t] = sum;
}

#if defined(__gfx950__)
/// Lane l of 16 gets column l of the 4 × 16 matrix whose rows its neighbours point to.
__global__ void __launch_bounds__(64) transpose(const short *x, short *y) {
  __shared__ __attribute__((aligned(16))) short tile[16][16];
  const int lane = threadIdx.x;
  for (int i = 0; i < 4; ++i)
    tile[lane / 4][lane % 4 * 4 + i] = x[lane * 4 + i];
  __syncthreads();
  const int in = lane % 16, part = lane / 16;
  using pointer = __attribute__((address_space(3))) short4_t *;
  const short4_t column = __builtin_amdgcn_ds_read_tr16_b64_v4i16((pointer)&tile[part * 4 + in / 4][in % 4 * 4]);
  for (int i = 0; i < 4; ++i)
    y[lane * 4 + i] = column[i];
  const auto swapped = __builtin_amdgcn_permlane32_swap(lane, lane + 100, false, false);
  const auto rows = __builtin_amdgcn_permlane16_swap(lane, lane + 100, false, false);
  y[256 + 4 * lane] = swapped[0], y[257 + 4 * lane] = swapped[1];
  y[258 + 4 * lane] = rows[0], y[259 + 4 * lane] = rows[1];
}
#else
__global__ void transpose(const short *, short *) {}
#endif

int main() {
  hipDeviceProp_t properties;
  (void)hipGetDeviceProperties(&properties, 0);
  const bool is950 = properties.sharedMemPerBlock > 65536;
  std::vector<unsigned> numbers(4096);
  for (unsigned i = 0; i < 4096; ++i)
    numbers[i] = i * 7 + 1;
  const unsigned *x = upload(numbers);
  unsigned *y = upload(std::vector<unsigned>(256, 99));

  copy<<<1, 64>>>(x, y, 130, 201);
  std::vector<unsigned> result = download(y, 256);
  bool right = true;
  for (unsigned i = 0; i < 256; ++i)
    right = right && result[i] == (i < 130 ? numbers[i] : i < 201 ? 0 : 99);
  report("bounds", right);

  float *sum = upload(std::vector<float>(1));
  int *counts = upload(std::vector<int>(4));
  half2_t *pair = upload(std::vector<half2_t>(1, half2_t{0, 0}));
  count<<<2, 64>>>(sum, counts, pair);
  const std::vector<int> counted = download(counts, 3);
  const half2_t halves = download(pair, 1)[0];
  report("atomics", download(sum, 1)[0] == 4032 && counted[0] == 44 && counted[1] == 42 && counted[2] == 0 &&
                        (float)halves[0] == 128 && (float)halves[1] == 256);

  const int words = is950 ? 4 : 1, steps = 5, n = (128 * 4 + 77) * words;
  ring<<<1, 128>>>(x, y, steps, n);
  result = download(y, 128);
  right = true;
  for (int t = 0; t < 128; ++t) {
    unsigned expected = 0;
    for (int step = 0; step < steps; ++step)
      for (int i = 0; i < words; ++i) {
        const int at = (step * 128 + 127 - t) * words + i;
        expected = expected * 3 + (at < n ? numbers[at] : 0);
      }
    right = right && result[t] == expected;
  }
  report("ring", right);

  if (is950) {
    std::vector<short> elements(256);
    for (int i = 0; i < 256; ++i)
      elements[i] = (short)(i * 5);
    short *z = upload(std::vector<short>(512));
    transpose<<<1, 64>>>(upload(elements), z);
    const std::vector<short> got = download(z, 512);
    right = true;
    for (int lane = 0; lane < 64; ++lane)
      for (int i = 0; i < 4; ++i)
        right = right && got[lane * 4 + i] == elements[(lane / 16 * 4 + i) * 16 + lane % 16];
    for (int lane = 0; lane < 64; ++lane) {
      const short *of = got.data() + 256 + 4 * lane;
      right = right && of[0] == (lane < 32 ? lane : lane + 68) && of[1] == (lane < 32 ? lane + 32 : lane + 100) &&
              of[2] == (lane % 32 < 16 ? lane : lane + 84) && of[3] == (lane % 32 < 16 ? lane + 16 : lane + 100);
    }
    report("lanes of gfx950", right);
  }
}
