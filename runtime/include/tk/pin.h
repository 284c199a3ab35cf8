// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers that an asynchronous engine reads or writes: what keeps the compiler from touching them meanwhile.
#pragma once

#include "tk/fragment.h"

namespace tk {

template <class T> inline constexpr bool is_const = false;
template <class T> inline constexpr bool is_const<const T> = true;

/// Keeps the compiler from moving accesses to a register tile across this point; of a constant one, from letting go of
/// its registers before.
template <tile X> __device__ __forceinline__ void pin(X &x) {
  if constexpr (is_const<X> && decltype(x.data)::packed) {
#pragma unroll
    for (int i = 0; i < x.data.word_count; ++i)
      asm volatile("" ::"r"(x.data.words[i]) : "memory");
  } else if constexpr (is_const<X>) {
#pragma unroll
    for (int i = 0; i < X::size; ++i)
      asm volatile("" ::"r"(__builtin_bit_cast(u32, x.data.values[i])) : "memory");
  } else if constexpr (same<typename X::element, float>) {
#pragma unroll
    for (int i = 0; i < X::size; ++i)
      asm volatile("" : "+f"(x.data.values[i])::"memory");
  } else if constexpr (same<typename X::element, int>) {
#pragma unroll
    for (int i = 0; i < X::size; ++i)
      asm volatile("" : "+r"(x.data.values[i])::"memory");
  } else if constexpr (same<typename X::element, tf32>) {
#pragma unroll
    for (int i = 0; i < X::size; ++i)
      asm volatile("" : "+r"(x.data.values[i].bits)::"memory");
  } else {
#pragma unroll
    for (int i = 0; i < x.data.word_count; ++i)
      asm volatile("" : "+r"(x.data.words[i])::"memory");
  }
}

} // namespace tk
