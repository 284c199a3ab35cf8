// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random inputs made on the device, for timing: floats are nearly normal, i8 and u8 take every value, other integers
// are in 0..7.
#pragma once

#include "tk/host/api.h"
#include "tk/types.h"

namespace tk::test {

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014), its `i`-th number.
__device__ inline u64 random_bits(u64 seed, u64 i) {
  u64 z = seed + (i + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

template <class T> __global__ void random_elements(T *data, u64 count, u64 seed) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
    const u64 bits = random_bits(seed, i);
    if constexpr (same<T, f8e8m0>) { // scales near 1
      data[i] = T{u8(124 + bits % 7)};
    } else if constexpr (same<T, i8> || same<T, u8>) {
      data[i] = T(bits);
    } else if constexpr (same<T, int> || same<T, i64>) {
      data[i] = T(bits & 7);
    } else if constexpr (same<T, bool>) {
      data[i] = bits & 1;
    } else { // the sum of eight bytes, which is nearly normal, with mean 0 and standard deviation 1
      int sum = 0;
      for (int byte = 0; byte < 8; ++byte)
        sum += int(bits >> 8 * byte & 255);
      data[i] = cast_scalar<T>(float(sum - 1020) * (1 / 209.02f));
    }
  }
}

template <class T> void launch_random(void *data, u64 count, u64 seed) {
  void *parameters[] = {&data, &count, &seed};
  api::launch(reinterpret_cast<const void *>(&random_elements<T>), 1024, 256, parameters, nullptr);
}

/// Of a type as tkc numbers them.
inline api::error fill_random(void *data, unsigned type, u64 count, u64 seed) {
  if (count == 0)
    return api::success;
  using launcher = void (*)(void *, u64, u64);
  constexpr launcher launchers[] = {
      launch_random<double>, launch_random<float>,  launch_random<float>,  launch_random<half>, launch_random<bf16>,
      launch_random<f8e4m3>, launch_random<f8e5m2>, launch_random<i64>,    launch_random<int>,  launch_random<i8>,
      launch_random<u8>,     launch_random<bool>,   launch_random<f8e8m0>, launch_random<u8>,   launch_random<u8>,
      launch_random<u8>}; // bytes of packed elements may be any
  launchers[type](data, count, seed);
  return api::last_error();
}

} // namespace tk::test
