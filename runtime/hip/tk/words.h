// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses of whole registers, to global memory and to shared memory (LDS), whose addresses are 32-bit numbers.
#pragma once

#include "tk/types.h"

namespace tk {

template <int Words> struct word_vector {
  using type [[gnu::vector_size(Words * 4)]] = u32;
};
template <> struct word_vector<1> {
  using type = u32;
};
/// So many words that move at once.
template <int Words> using words_at_once = typename word_vector<Words>::type;
template <class T> using in_global = __attribute__((address_space(1))) T;
template <class T> using in_shared = __attribute__((address_space(3))) T;

template <int Words> __device__ __forceinline__ void split(words_at_once<Words> all, u32 *words) {
  if constexpr (Words == 1)
    words[0] = all;
  else
#pragma unroll
    for (int i = 0; i < Words; ++i)
      words[i] = all[i];
}
template <int Words> __device__ __forceinline__ words_at_once<Words> join(const u32 *words) {
  words_at_once<Words> all;
  if constexpr (Words == 1)
    all = words[0];
  else
#pragma unroll
    for (int i = 0; i < Words; ++i)
      all[i] = words[i];
  return all;
}

/// One access of Words registers.
template <int Words> __device__ __forceinline__ void load_words(const void *from, u32 *words) {
  split<Words>(*(const in_global<words_at_once<Words>> *)(from), words);
}
template <int Words> __device__ __forceinline__ void store_words(void *to, const u32 *words) {
  *(in_global<words_at_once<Words>> *)(to) = join<Words>(words);
}

/// The address of `p` within the block's shared memory.
__device__ __forceinline__ u32 shared_address(const void *p) { return u32(u64((const in_shared<u8> *)(p))); }
/// The pointer to a shared address.
template <class T> __device__ __forceinline__ T *shared_pointer(u32 address) {
  return (T *)((in_shared<T> *)(u64(address)));
}

/// One access of Words registers to shared memory.
template <int Words> __device__ __forceinline__ void store_shared_words(u32 address, const u32 *words) {
  *(in_shared<words_at_once<Words>> *)(u64(address)) = join<Words>(words);
}
template <int Words> __device__ __forceinline__ void load_shared_words(u32 address, u32 *words) {
  split<Words>(*(const in_shared<words_at_once<Words>> *)(u64(address)), words);
}

/// Three words at a multiple of 16 bytes, of which a vector would be four.
struct alignas(16) three_words {
  u32 each[3];
};
template <> __device__ __forceinline__ void store_shared_words<3>(u32 address, const u32 *words) {
  auto *to = (in_shared<three_words> *)(u64(address));
  to->each[0] = words[0], to->each[1] = words[1], to->each[2] = words[2];
}
template <> __device__ __forceinline__ void load_shared_words<3>(u32 address, u32 *words) {
  const auto *from = (const in_shared<three_words> *)(u64(address));
  words[0] = from->each[0], words[1] = from->each[1], words[2] = from->each[2];
}

/// Byte `at` of a word, and above it that of another, in the low half; above that is anything.
__device__ __forceinline__ u32 two_bytes(u32 low, u32 high, int at) {
  return (low >> 8 * at & 0xff) | (high >> 8 * at & 0xff) << 8;
}

/// Byte `at` of a word by itself.
__device__ __forceinline__ u32 one_byte(u32 word, int at) { return word >> 8 * at & 0xff; }

/// The word from byte `first`, 0 to 3, of two words on.
__device__ __forceinline__ u32 word_from(u32 low, u32 high, int first) {
  return u32((u64(high) << 32 | low) >> first * 8);
}

/// x, of which the compiler knows nothing: what is computed from it is computed here, and takes no register elsewhere.
__device__ __forceinline__ int computed_here(int x) {
  asm volatile("" : "+v"(x));
  return x;
}
template <class T> __device__ __forceinline__ T *computed_here(T *x) {
  asm volatile("" : "+v"(x));
  return x;
}
/// The same of an address in global memory; the compiler takes it to be in any.
template <class T> __device__ __forceinline__ T *global_here(T *x) { return x; }

} // namespace tk
