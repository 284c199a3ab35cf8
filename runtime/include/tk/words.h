// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses of whole registers, to global memory and to shared memory. Each kind of GPU has this header of its own.
#pragma once

#include "tk/types.h"

namespace tk {

/// One access of Words registers.
template <int Words> __device__ __forceinline__ void load_words(const void *from, u32 *words) {
  if constexpr (Words == 4) {
    const uint4 all = *static_cast<const uint4 *>(from);
    words[0] = all.x, words[1] = all.y, words[2] = all.z, words[3] = all.w;
  } else if constexpr (Words == 2) {
    const uint2 all = *static_cast<const uint2 *>(from);
    words[0] = all.x, words[1] = all.y;
  } else {
    words[0] = *static_cast<const u32 *>(from);
  }
}
/// Written out, because the compiler splits some vector stores that it could not prove aligned.
template <int Words> __device__ __forceinline__ void store_words(void *to, const u32 *words) {
  const size_t address = __cvta_generic_to_global(to);
  if constexpr (Words == 4)
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                 "r"(words[3])
                 : "memory");
  else if constexpr (Words == 2)
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(words[0]), "r"(words[1]) : "memory");
  else
    *static_cast<u32 *>(to) = words[0];
}

/// The address of `p` within the block's shared memory, as PTX instructions take it.
__device__ __forceinline__ u32 shared_address(const void *p) { return u32(__cvta_generic_to_shared(p)); }
/// The generic pointer to a shared address.
template <class T> __device__ __forceinline__ T *shared_pointer(u32 address) {
  return static_cast<T *>(__cvta_shared_to_generic(address));
}

/// One access of Words registers to shared memory.
template <int Words> __device__ __forceinline__ void store_shared_words(u32 address, const u32 *words) {
  if constexpr (Words == 4)
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                 "r"(words[3])
                 : "memory");
  else if constexpr (Words == 2)
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(words[0]), "r"(words[1]) : "memory");
  else
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(words[0]) : "memory");
}
template <int Words> __device__ __forceinline__ void load_shared_words(u32 address, u32 *words) {
  if constexpr (Words == 4)
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
  else if constexpr (Words == 2)
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "r"(address) : "memory");
  else
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(words[0]) : "r"(address) : "memory");
}

/// Byte `at` of a word, and above it that of another, in the low half; above that is anything.
__device__ __forceinline__ u32 two_bytes(u32 low, u32 high, int at) {
  return __byte_perm(low, high, u32(at | (4 + at) << 4));
}

/// Byte `at` of a word by itself.
__device__ __forceinline__ u32 one_byte(u32 word, int at) { return __byte_perm(word, 0, u32(at | 0x4440)); }

/// The word from byte `first`, 0 to 3, of two words on.
__device__ __forceinline__ u32 word_from(u32 low, u32 high, int first) {
  return __funnelshift_r(low, high, u32(first) * 8);
}

/// x, of which the compiler knows nothing: what is computed from it is computed here, and takes no register elsewhere.
__device__ __forceinline__ int computed_here(int x) {
  asm volatile("" : "+r"(x));
  return x;
}
template <class T> __device__ __forceinline__ T *computed_here(T *x) {
  asm volatile("" : "+l"(x));
  return x;
}
/// The same of an address in global memory, which it is still known to be.
template <class T> __device__ __forceinline__ T *global_here(T *x) {
  size_t address = __cvta_generic_to_global(x);
  asm volatile("" : "+l"(address));
  return static_cast<T *>(__cvta_global_to_generic(address));
}

} // namespace tk
