// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of two waves that copies through LDS, right when nothing is planted, and one bug a launch otherwise.
#include "host.h"

enum Bug {
  none,
  lds_out_of_bounds,
  global_out_of_bounds,
  misaligned,
  uninitialised,
  no_block_barrier,
  no_fence,
  no_wait_for_load,
  wait_for_too_few,
  places_differ,
  ends_without_wait,
  no_wave_barrier,
  divergent_operation,
  divergent_barrier,
  crosses_the_end,
  descriptor_too_long,
  misaligned_load,
  product_of_few_lanes,
  read_of_few_lanes,
  misaligned_read,
  number_of_bugs
};

using float4_t = float __attribute__((ext_vector_type(4)));
using short4_t = short __attribute__((ext_vector_type(4)));
using lds_words = __attribute__((address_space(3))) unsigned *;

/// What takes all 64 lanes, by those that have not ended.
template <int Bug> __device__ void by_all_lanes(unsigned *stored, int lane) {
  if constexpr (Bug == product_of_few_lanes) {
    const float4_t sums = __builtin_amdgcn_mfma_f32_16x16x4f32(1, 1, float4_t{}, 0, 0, 0);
    stored[lane] = (unsigned)sums[0];
  }
#ifdef __gfx950__
  if constexpr (Bug == read_of_few_lanes || Bug == misaligned_read) {
    auto *from = (__attribute__((address_space(3))) char *)stored + 8 * (lane % 16) + (Bug == misaligned_read ? 4 : 0);
    const short4_t column = __builtin_amdgcn_ds_read_tr16_b64_v4i16((__attribute__((address_space(3))) short4_t *)from);
    stored[lane] = (unsigned)column[0];
  }
#endif
}

template <int Bug> __global__ void __launch_bounds__(128) copy(const unsigned *x, unsigned *y, int n) {
  __shared__ __attribute__((aligned(16))) unsigned stored[128], loaded[256];
  const int t = threadIdx.x, lane = t % 64, wave = __builtin_amdgcn_readfirstlane(t / 64);
  const int bytes = Bug == crosses_the_end ? 4 * n - 2 : Bug == descriptor_too_long ? 4 * n + 1024 : 4 * n;
  const __amdgpu_buffer_rsrc_t buffer = __builtin_amdgcn_make_buffer_rsrc((void *)x, 0, bytes, 0x27000);

  // Straight to LDS, twice.
  lds_words to = (lds_words)loaded + 128 * wave;
  if (Bug == places_differ)
    to += lane / 32;
  if (Bug == misaligned_load)
    to = (lds_words)((__attribute__((address_space(3))) char *)to + 2);
  __builtin_amdgcn_raw_ptr_buffer_load_lds(buffer, to, 4, 4 * t, 0, 0, 0);
  __builtin_amdgcn_raw_ptr_buffer_load_lds(buffer, to + 64, 4, 4 * t + (Bug == descriptor_too_long ? 1024 : 512), 0, 0,
                                           0);
  if (Bug == ends_without_wait)
    return;
  if (Bug == product_of_few_lanes || Bug == read_of_few_lanes || Bug == misaligned_read) {
    __builtin_amdgcn_s_waitcnt(0x0f70);
    stored[t] = t;
    __syncthreads();
    if (Bug != misaligned_read && lane >= 20)
      return;
    by_all_lanes<Bug>(stored, lane);
  }
  if (Bug == wait_for_too_few)
    __builtin_amdgcn_s_waitcnt(0x0f71);
  else if (Bug != no_wait_for_load)
    __builtin_amdgcn_s_waitcnt(0x0f70);

  // Through registers.
  if (Bug != uninitialised || t != 77)
    stored[Bug == lds_out_of_bounds && t == 9 ? 400 : t] = x[Bug == global_out_of_bounds ? t + 4 * n : t];
  if (Bug == misaligned && t == 3)
    *(unsigned *)((char *)y + 2) = 1;
  if (Bug == no_wave_barrier && (t & 1) == 0)
    stored[t + 1] = stored[t];
  if (Bug == divergent_operation && lane < 20)
    y[t] = __builtin_amdgcn_ds_swizzle(t, 0x041f);
  if (Bug != no_block_barrier && Bug != no_fence)
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  if (Bug != no_block_barrier && (Bug != divergent_barrier || t != 70))
    __builtin_amdgcn_s_barrier();
  if (Bug != no_block_barrier && Bug != no_fence)
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  if (Bug == no_block_barrier)
    __builtin_amdgcn_wave_barrier();
  y[t] = stored[127 - t] + loaded[127 - t] + loaded[128 + t];
}

template <int Bug> static void launch(const char *name, const unsigned *x, unsigned *y, int n) {
  copy<Bug><<<1, 128>>>(x, y, n);
  bool right = true;
  const std::vector<unsigned> result = download(y, 128);
  for (unsigned t = 0; t < 128; ++t) {
    const auto loaded = [](unsigned i) { return (i < 128 ? 0 : 64) + (i % 128 < 64 ? i % 128 : 128 + i % 128 - 64); };
    right = right && result[t] == (127 - t) + loaded(127 - t) + loaded(128 + t);
  }
  report(name, right);
}

int main() {
  constexpr int n = 256;
  std::vector<unsigned> numbers(n);
  for (unsigned i = 0; i < n; ++i)
    numbers[i] = i;
  const unsigned *x = upload(numbers);
  unsigned *y = upload(std::vector<unsigned>(128));
  launch<none>("none", x, y, n);
  launch<lds_out_of_bounds>("lds_out_of_bounds", x, y, n);
  launch<global_out_of_bounds>("global_out_of_bounds", x, y, n);
  launch<misaligned>("misaligned", x, y, n);
  launch<uninitialised>("uninitialised", x, y, n);
  launch<no_block_barrier>("no_block_barrier", x, y, n);
  launch<no_fence>("no_fence", x, y, n);
  launch<no_wait_for_load>("no_wait_for_load", x, y, n);
  launch<wait_for_too_few>("wait_for_too_few", x, y, n);
  launch<places_differ>("places_differ", x, y, n);
  launch<ends_without_wait>("ends_without_wait", x, y, n);
  launch<no_wave_barrier>("no_wave_barrier", x, y, n);
  launch<divergent_operation>("divergent_operation", x, y, n);
  launch<divergent_barrier>("divergent_barrier", x, y, n);
  launch<crosses_the_end>("crosses_the_end", x, y, n);
  launch<descriptor_too_long>("descriptor_too_long", x, y, n);
  launch<misaligned_load>("misaligned_load", x, y, n);
  launch<product_of_few_lanes>("product_of_few_lanes", x, y, n);
  launch<read_of_few_lanes>("read_of_few_lanes", x, y, n);
  launch<misaligned_read>("misaligned_read", x, y, n);
}
