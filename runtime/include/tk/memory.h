// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register tiles to and from global memory, by the threads that hold them.
//
// A `view` is the rectangle that a tile covers, with the bounds of what exists: loads give `otherwise` outside and
// stores leave it alone. Gathers and scatters take an offset and a condition an element. A column or a row is held by
// several threads: one of them stores it.
#pragma once

#include "tk/fragment.h"
#include "tk/in_place.h"
#include "tk/tiles.h"
#include "tk/warp.h"
#include "tk/words.h"

namespace tk {

/// Element (r, c) of a tile lies at base[r · row_stride + c · col_stride] and exists if row_begin ≤ r < row_end, and
/// likewise for c. Align: bytes that divide the base address, the row pitch and the column bounds, a promise that makes
/// accesses of so many bytes possible; then col_stride is 1.
template <class T, int Align = sizeof(T)> struct view {
  using element = T;
  static constexpr int align = Align;
  pointer<T> base;
  i64 row_stride;
  int row_end, col_end;
  i64 col_stride = 1;
  int row_begin = 0, col_begin = 0;

  __device__ __forceinline__ pointer<T> at(int r, int c) const {
    return base + r * row_stride + (Align > int(sizeof(T)) ? i64(c) : c * col_stride);
  }
  __device__ __forceinline__ bool has_row(int r) const { return r >= row_begin && r < row_end; }
  __device__ __forceinline__ bool has_col(int c) const { return c >= col_begin && c < col_end; }
  /// How many columns before `col_end` there are from c on.
  __device__ __forceinline__ int cols_from(int c) const { return left_from(c, col_end); }
};

/// How chunks are loaded, if nothing is said.
struct plain_access {
  template <int Words> static __device__ __forceinline__ void load(const void *from, u32 *words) {
    load_words<Words>(from, words);
  }
};

/// Moves the `Count` elements from (a, b) on, consecutive in memory, in one access.
template <int Count, class Access = plain_access, tile X>
__device__ __forceinline__ void load_chunk(X &x, int a, int b, const typename X::element *from) {
  if constexpr (Count == 1) {
    x.set(a, b, *from);
  } else {
    constexpr int count = Count * int(sizeof(typename X::element)) / 4;
    u32 words[count];
    Access::template load<count>(from, words);
    set_chunk_words<Count>(x, a, b, words);
  }
}
template <int Count, tile X>
__device__ __forceinline__ void store_chunk(const X &x, int a, int b, typename X::element *to) {
  if constexpr (Count == 1) {
    *to = x.at(a, b);
  } else {
    constexpr int count = Count * int(sizeof(typename X::element)) / 4;
    u32 words[count];
    chunk_words<Count>(x, a, b, words);
    store_words<count>(to, words);
  }
}

/// How many elements of X a view lets a thread move at once: consecutive ones, 4, 8 or 16 bytes.
template <class X, class View> __device__ constexpr int chunk_elements() {
  constexpr int size = sizeof(typename View::element);
  constexpr int allowed = View::align > 16 ? 16 / size : View::align / size;
  const int count = allowed < X::layout::run ? allowed : X::layout::run;
  return X::has_cols && count * size >= 4 ? count : 1;
}

/// Calls f(a, b, r, c, exists) for each chunk of the thread's elements.
template <class X, int Count, class View, class F> __device__ __forceinline__ void for_each_chunk(const View &v, F f) {
  using L = typename X::layout;
  const int thread = thread_in_place(rank<L>());
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a) {
    const int r = X::has_rows ? L::row(thread, a) : 0;
    const bool row_exists = v.has_row(r);
#pragma unroll
    for (int b = 0; b < X::col_slots; b += Count) {
      const int c = X::has_cols ? L::col(thread, b) : 0;
      f(a, b, r, c, row_exists && v.has_col(c));
    }
  }
}

/// The tile that the view covers, `otherwise` where there is nothing.
template <tile X, class Access = plain_access, class T, int Align>
  requires(!packed_element<T>)
__device__ __forceinline__ X load(const view<T, Align> &from, typename X::element otherwise = typename X::element{}) {
  using E = typename X::element;
  static_assert(sizeof(E) == sizeof(T), "load the stored type, then cast");
  constexpr int count = chunk_elements<X, view<T, Align>>();
  X result = full<X>(otherwise);
  for_each_chunk<X, count>(from, [&](int a, int b, int r, int c, bool exists) {
    if (exists)
      load_chunk<count, Access>(result, a, b, from.at(r, c));
  });
  return result;
}

/// How many packed elements of X a view lets a thread move at once: those that it holds side by side where the view is
/// aligned, else a group of them, or one where it holds less.
template <class X, class T, int Align> __device__ constexpr int packed_chunk_elements() {
  constexpr int group = packing<T>::elements, run = X::layout::run;
  if (!X::has_cols || run % group != 0)
    return 1;
  return run < group * Align ? run : group * Align; // columns end with multiples of the latter
}

/// The bits of so many bytes, by accesses as wide as their number and the alignment allow.
template <int Bytes, int Align, class Access>
__device__ __forceinline__ void load_bytes(const unsigned char *from, u32 *words) {
  constexpr int each = (Bytes | Align | 16) & -(Bytes | Align | 16);
#pragma unroll
  for (int i = 0; i < Bytes; i += each) {
    if constexpr (each >= 4)
      Access::template load<each / 4>(from + i, words + i / 4);
    else if constexpr (each == 2)
      words[i / 4] |= u32(*reinterpret_cast<const u16 *>(from + i)) << i % 4 * 8;
    else
      words[i / 4] |= u32(from[i]) << i % 4 * 8;
  }
}
template <int Bytes, int Align> __device__ __forceinline__ void store_bytes(unsigned char *to, const u32 *words) {
  constexpr int each = (Bytes | Align | 16) & -(Bytes | Align | 16);
#pragma unroll
  for (int i = 0; i < Bytes; i += each) {
    if constexpr (each >= 4)
      store_words<each / 4>(to + i, words + i / 4);
    else if constexpr (each == 2)
      *reinterpret_cast<u16 *>(to + i) = u16(words[i / 4] >> i % 4 * 8);
    else
      to[i] = u8(words[i / 4] >> i % 4 * 8);
  }
}

/// The tile of packed elements: by whole groups where a thread holds them and they are neighbours in memory.
template <tile X, class Access = plain_access, packed_element T, int Align>
__device__ __forceinline__ X load(const view<T, Align> &from, typename X::element otherwise = typename X::element{}) {
  using E = typename X::element;
  constexpr int bits = packing<T>::bits, count = packed_chunk_elements<X, T, Align>(), bytes = count * bits / 8;
  X result = full<X>(otherwise);
  for_each_chunk<X, count>(from, [&](int a, int b, int r, int c, bool exists) {
    if constexpr (count > 1) {
      if (exists && from.col_stride == 1) {
        u32 words[(bytes + 3) / 4] = {};
        load_bytes<bytes, Align, Access>(from.at(r, c).group(), words);
#pragma unroll
        for (int i = 0; i < count; ++i)
          result.set(a, b + i, E{u8(bits_at<bits>(words, i))});
        return;
      }
    }
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (from.has_row(r) && from.has_col(c + i))
        result.set(a, b + i, *from.at(r, c + i));
  });
  return result;
}

/// Whether this thread is the one that stores its part of a column or a row.
template <tile X> __device__ __forceinline__ bool stores() {
  using L = typename X::layout;
  const int thread = rank<L>();
  if constexpr (!X::has_cols)
    return thread / L::lane_step % L::threads_per_row == 0;
  else if constexpr (!X::has_rows)
    return thread == thread / L::lane_step % L::threads_per_row * L::lane_step;
  else
    return true;
}

/// The elements that exist ← x.
template <class T, int Align, tile X>
  requires(!packed_element<T>)
__device__ __forceinline__ void store(const view<T, Align> &to, const X &x) {
  static_assert(same<T, typename X::element>, "cast first");
  constexpr int count = chunk_elements<X, view<T, Align>>();
  const bool mine = stores<X>();
  for_each_chunk<X, count>(to, [&](int a, int b, int r, int c, bool exists) {
    if (exists && mine)
      store_chunk<count>(x, a, b, to.at(r, c));
  });
}

/// Whole groups of packed elements, which a thread holds, or two neighbouring threads by halves.
template <packed_element T, int Align, tile X>
__device__ __forceinline__ void store(const view<T, Align> &to, const X &x) {
  using L = typename X::layout;
  constexpr int bits = packing<T>::bits, group = packing<T>::elements;
  constexpr bool is_half = L::run * 2 == group && L::threads_per_row > 1 && L::lane_step == 1;
  static_assert(X::has_cols && (L::run % group == 0 || is_half),
                "a thread holds the elements of a group, or half of it");
  constexpr int count = is_half ? L::run : packed_chunk_elements<X, T, Align>();
  constexpr int bytes = (is_half ? group : count) * bits / 8;
  const bool mine = stores<X>() && (!is_half || lane() % 2 == 0);
  for_each_chunk<X, count>(to, [&](int a, int b, int r, int c, bool exists) {
    u32 words[(bytes + 3) / 4] = {};
#pragma unroll
    for (int i = 0; i < count; ++i)
      put_bits<bits>(words, i, x.at(a, b + i).bits);
    if constexpr (is_half)
      words[0] |= shuffle_xor<1>(words[0]) << count * bits; // only the first one's are stored
    if (exists && mine)
      store_bytes<bytes, is_half ? 1 : Align>(to.at(r, c).group(), words);
  });
}

/// base[offsets] where the condition holds, else `otherwise`; offsets and condition are tiles that broadcast. Of many
/// elements of a row the base is known before, else each element's branch computes it from the start of the tensor.
template <class T, class Offsets, class Condition>
__device__ __forceinline__ auto gather(const T *base, const Offsets &offsets, const Condition &condition,
                                       converted<T> otherwise) {
  using shape = shape_of<broadcast_type<int, Offsets, Condition>>;
  if constexpr (!shape::has_rows && shape::has_cols)
    if constexpr (shape::layout::template col_slots<shape::cols> >= 8)
      base = global_here(base);
  return map([&](auto offset, bool exists) { return exists ? base[offset] : otherwise; }, offsets, condition);
}

template <class T, class Byte, class Offsets, class Condition>
__device__ __forceinline__ auto gather(packed_pointer<T, Byte> base, const Offsets &offsets, const Condition &condition,
                                       converted<T> otherwise) {
  return map([&](auto offset, bool exists) { return exists ? base[offset] : otherwise; }, offsets, condition);
}

/// Calls f(pointer, value) for the elements of x whose condition holds, each once.
template <class F, class T, class Offsets, class Condition, class X>
__device__ __forceinline__ void for_each_target(F f, T *base, const Offsets &offsets, const Condition &condition,
                                                const X &x) {
  using shape = broadcast_type<T, Offsets, X>;
  if (!stores<shape>())
    return;
  base = computed_here(base); // else each element's address is computed from the start of the tensor
#pragma unroll
  for (int a = 0; a < shape::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < shape::col_slots; ++b)
      if (element_at(condition, a, b))
        f(base + element_at(offsets, a, b), T(element_at(x, a, b)));
}

/// base[offsets] ← x where the condition holds.
template <class T, class Offsets, class Condition, class X>
__device__ __forceinline__ void scatter(T *base, const Offsets &offsets, const Condition &condition, const X &x) {
  for_each_target([](T *to, T value) { *to = value; }, base, offsets, condition, x);
}

} // namespace tk
