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

template <class T> __device__ T random_element(u64 bits) {
  if constexpr (same<T, f8e8m0>) { // scales near 1
    return T{u8(124 + bits % 7)};
  } else if constexpr (same<T, i8> || same<T, u8>) {
    return T(bits);
  } else if constexpr (same<T, int> || same<T, i64>) {
    return T(bits & 7);
  } else if constexpr (same<T, bool>) {
    return bits & 1;
  } else { // the sum of eight bytes, which is nearly normal, with mean 0 and standard deviation 1
    int sum = 0;
    for (int byte = 0; byte < 8; ++byte)
      sum += int(bits >> 8 * byte & 255);
    return cast_scalar<T>(float(sum - 1020) * (1 / 209.02f));
  }
}

template <class T> __device__ void write_random(void *data, u64 count, u64 seed) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x)
    static_cast<T *>(data)[i] = random_element<T>(random_bits(seed, i));
}

/// Of the type of that number. One kernel for all types, so that a program has no dozen of kernels to compile for it.
template <class... Types> __global__ void random_elements(void *data, unsigned type, u64 count, u64 seed) {
  unsigned number = 0;
  ((number++ == type ? write_random<Types>(data, count, seed) : void()), ...);
}

/// Of a type as tkc numbers them; bytes of packed elements, which are last, may be any.
inline api::error fill_random(void *data, unsigned type, u64 count, u64 seed) {
  if (count == 0)
    return api::success;
  constexpr auto kernel =
      &random_elements<double, float, float, half, bf16, f8e4m3, f8e5m2, i64, int, i8, u8, bool, f8e8m0, u8, u8, u8,
                       u8, u8>;
  void *parameters[] = {&data, &type, &count, &seed};
  api::launch(reinterpret_cast<const void *>(kernel), 1024, 256, parameters, nullptr);
  return api::last_error();
}

} // namespace tk::test
