// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register tiles of packed elements from shared tiles, where these lie by pairs.
#pragma once

#include "tk/packed.h"
#include "tk/shared.h"

namespace tk {

/// The lowest `Bytes` bytes of words ← shared memory, one access.
template <int Bytes> __device__ __forceinline__ void load_shared_bytes(u32 address, u32 *words) {
  if constexpr (Bytes == 1)
    words[0] = *shared_pointer<u8>(address);
  else if constexpr (Bytes == 2)
    words[0] = *shared_pointer<u16>(address);
  else
    load_shared_words<Bytes / 4>(address, words);
}

/// Whether a thread holds a byte of each word of a row, and of two rows in turn, as the matrix engine of NVIDIA's GPUs
/// takes 16-bit operands; eight elements of it are one word.
template <class X> __device__ constexpr bool holds_bytes_of_words() {
  if constexpr (is_integer4<typename X::element> && X::has_rows && X::has_cols) {
    if constexpr (X::layout::run == 2 && X::layout::threads_per_row == 4 && X::row_slots % 2 == 0 && X::cols % 16 == 0)
      return X::index(0, 1) == 1 && X::index(1, 0) == 2 && X::index(0, 2) == 4;
  }
  return false;
}

/// X, and the words that its bytes are of, as they lie in memory. Whatever is not used of the two takes no register.
template <tile X> struct bytes_of_words : X {
  u32 words[X::row_slots][X::cols / 8];
};

/// Where byte `col` of a row is that begins at offset `start`, by one exclusive or: a permutation moves pieces of 16
/// bytes within rows of 32, 64 or 128.
template <class Tile> __device__ __forceinline__ u32 offset_in_row(u32 start, int col) {
  using L = typename Tile::layout;
  static_assert(sizeof(typename Tile::element) == 1 && L::grain == 16);
  const u32 panel = u32(col / L::row_bytes * L::panel_bytes), at = u32(col % L::row_bytes);
  return panel + (L::swizzle == 0 ? start + at : start ^ at);
}

/// Threads of a row read the same words, as many at once as there may be, and each keeps its byte.
template <tile X, class Tile, int Rows, int Cols>
__device__ __forceinline__ bytes_of_words<X> load_bytes_of_words(const shared_slice<Tile, Rows, Cols> &from) {
  using L = typename X::layout;
  constexpr int count = X::cols % 32 == 0 ? 4 : 2; // words, of eight columns each
  const int thread = rank<L>(), byte = thread % 4;
  bytes_of_words<X> result;
#pragma unroll
  for (int a = 0; a < X::row_slots; a += 2) {
    const u32 start = u32(Tile::offset(L::row(thread, a), 0));
#pragma unroll
    for (int c = 0; c < X::cols / 8; c += count) {
      u32 *const upper = result.words[a] + c, *const lower = result.words[a + 1] + c;
      const u32 address = from.address + offset_in_row<Tile>(start, c * 4);
      load_shared_words<count>(address, upper);
      load_shared_words<count>(address + 8 * Tile::layout::row_bytes,
                               lower); // eight rows on, where all is permuted alike
#pragma unroll
      for (int i = 0; i < count; i += 2)
        result.data.words[X::index(a, 2 * (c + i)) / 8] =
            (two_bytes(upper[i], lower[i], byte) & 0xffff) | two_bytes(upper[i + 1], lower[i + 1], byte) << 16;
    }
  }
  return result;
}

/// To 16 bits from the words themselves: a byte is then on its own, and a multiplication moves its upper half. Where
/// bytes lie together, instructions that are half as fast would do both.
template <class T, tile X>
  requires is_float16<T>
__device__ __forceinline__ with_element<T, X> cast(const bytes_of_words<X> &x) {
  using L = typename X::layout;
  with_element<T, X> result;
  const int byte = rank<L>() % 4;
  const u32 apart = u32(computed_here(0x1001)); // in a register, or shifts would be made of it
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
    for (int c = 0; c < X::cols / 8; ++c)
      result.data.words[X::index(a, 2 * c) / 2] =
          widen2_apart<T, typename X::element>(one_byte(x.words[a][c], byte) * apart);
  return result;
}
template <class T, tile X>
  requires(!is_float16<T>)
__device__ __forceinline__ with_element<T, X> cast(const bytes_of_words<X> &x) {
  return cast<T>(static_cast<const X &>(x));
}

/// X ← slice, from its first row and column on, by as many neighbours as a thread holds, at most 16.
template <tile X, class Tile, int Rows, int Cols>
__device__ __forceinline__ auto load_pairs(const shared_slice<Tile, Rows, Cols> &from) {
  using T = typename X::element;
  using L = typename X::layout;
  static_assert(same<typename pair_of<T>::type, typename Tile::element>, "cast afterwards");
  static_assert(Rows >= X::rows && 2 * Cols >= X::cols, "the tile does not fit");
  static_assert(X::has_cols && L::run % 2 == 0, "a thread holds both elements of a pair");
  if constexpr (holds_bytes_of_words<X>()) {
    return load_bytes_of_words<X>(from);
  } else {
    X result;
    constexpr int count = L::run < 16 ? L::run : 16;
    const int thread = rank<L>();
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
      for (int b = 0; b < X::col_slots; b += count) {
        u32 words[(count + 7) / 8];
        load_shared_bytes<count / 2>(from.address + Tile::offset(L::row(thread, a), L::col(thread, b) / 2), words);
#pragma unroll
        for (int i = 0; i < count; ++i)
          result.set(a, b + i, T{u8(words[i / 8] >> i % 8 * 4 & 15)});
      }
    return result;
  }
}
template <tile X, class T, int Rows, int Cols, int Swizzle, int Grain>
__device__ __forceinline__ auto load_pairs(const shared_tile<T, Rows, Cols, Swizzle, Grain> &from) {
  return load_pairs<X>(from.all());
}

} // namespace tk
