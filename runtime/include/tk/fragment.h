// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register tiles as values: `fragment` (rows × columns), `column` (one element a row) and `row` (one a column).
//
// `map(f, x, y, …)` applies f to corresponding elements; fragments, columns, rows and scalars broadcast against each
// other as NumPy's [R, C], [R, 1], [1, C] and [1, 1] do. Everything element-wise is a line on top of it. Layouts are in
// layout.h; the thread's rank in its group is `threadIdx.x % Layout::threads`.
#pragma once

#include "tk/in_place.h"
#include "tk/layout.h"
#include "tk/types.h"

namespace tk {

/// `Count` values of a thread. Types narrower than a register are packed, value 0 in the low bits, as the matrix engine
/// and stmatrix want them.
template <class T, int Count> struct registers {
  static constexpr bool packed = false;
  register_type<T> values[Count];
  __device__ __forceinline__ T get(int i) const { return T(values[i]); }
  __device__ __forceinline__ void set(int i, T value) { values[i] = value; }
};

template <class T, int Count>
  requires((is_storage_float<T> && sizeof(T) < 4) || same<T, i8> || same<T, u8>)
struct registers<T, Count> {
  static constexpr bool packed = true;
  static constexpr int per_word = 4 / sizeof(T);
  static constexpr int bits = 8 * sizeof(T);
  static constexpr int word_count = (Count + per_word - 1) / per_word;
  u32 words[word_count];

  __device__ __forceinline__ T get(int i) const {
    const u32 raw = words[i / per_word] >> (i % per_word * bits);
    if constexpr (sizeof(T) == 1)
      return __builtin_bit_cast(T, u8(raw));
    else
      return __builtin_bit_cast(T, u16(raw));
  }
  __device__ __forceinline__ void set(int i, T value) {
    const int shift = i % per_word * bits;
    u32 raw;
    if constexpr (sizeof(T) == 1)
      raw = __builtin_bit_cast(u8, value);
    else
      raw = __builtin_bit_cast(u16, value);
    u32 &word = words[i / per_word];
    word = (word & ~(((1u << bits) - 1) << shift)) | raw << shift;
  }
};

/// Eight a word, as they lie in memory.
template <class T, int Count>
  requires is_integer4<T>
struct registers<T, Count> {
  static constexpr bool packed = true;
  static constexpr int per_word = 8;
  static constexpr int word_count = (Count + per_word - 1) / per_word;
  u32 words[word_count];

  __device__ __forceinline__ T get(int i) const { return T{u8(words[i / per_word] >> i % per_word * 4 & 15)}; }
  __device__ __forceinline__ void set(int i, T value) {
    const int shift = i % per_word * 4;
    u32 &word = words[i / per_word];
    word = (word & ~(15u << shift)) | u32(value.bits) << shift;
  }
};

/// Which axes a value has, and its extent along them; scalars have none.
template <class X> struct shape_of {
  using element = X;
  using layout = void;
  static constexpr bool has_rows = false, has_cols = false;
  static constexpr int rows = 1, cols = 1;
};

template <class T, int Rows, int Cols, class Layout> struct fragment {
  static_assert(Layout::template fits<Rows, Cols>, "the layout cannot hold a tile of this shape");
  using element = T;
  using layout = Layout;
  static constexpr bool has_rows = true, has_cols = true;
  static constexpr int rows = Rows, cols = Cols;
  static constexpr int row_slots = Layout::template row_slots<Rows>;
  static constexpr int col_slots = Layout::template col_slots<Cols>;
  static constexpr int size = row_slots * col_slots;
  registers<T, size> data;

  __host__ __device__ static constexpr int index(int a, int b) { return Layout::template index<Rows, Cols>(a, b); }
  __device__ __forceinline__ T at(int a, int b) const { return data.get(index(a, b)); }
  __device__ __forceinline__ void set(int a, int b, T value) { data.set(index(a, b), value); }
};

template <class T, int Rows, class Layout> struct column {
  using element = T;
  using layout = Layout;
  static constexpr bool has_rows = true, has_cols = false;
  static constexpr int rows = Rows, cols = 1;
  static constexpr int row_slots = Layout::template row_slots<Rows>;
  static constexpr int col_slots = 1;
  static constexpr int size = row_slots;
  registers<T, size> data;

  __host__ __device__ static constexpr int index(int a, int) { return a; }
  __device__ __forceinline__ T at(int a, int) const { return data.get(a); }
  __device__ __forceinline__ void set(int a, int, T value) { data.set(a, value); }
};

template <class T, int Cols, class Layout> struct row {
  using element = T;
  using layout = Layout;
  static constexpr bool has_rows = false, has_cols = true;
  static constexpr int rows = 1, cols = Cols;
  static constexpr int row_slots = 1;
  static constexpr int col_slots = Layout::template col_slots<Cols>;
  static constexpr int size = col_slots;
  registers<T, size> data;

  __host__ __device__ static constexpr int index(int, int b) { return b; }
  __device__ __forceinline__ T at(int, int b) const { return data.get(b); }
  __device__ __forceinline__ void set(int, int b, T value) { data.set(b, value); }
};

template <class T, int Rows, int Cols, class Layout>
struct shape_of<fragment<T, Rows, Cols, Layout>> : fragment<T, Rows, Cols, Layout> {};
template <class T, int Rows, class Layout> struct shape_of<column<T, Rows, Layout>> : column<T, Rows, Layout> {};
template <class T, int Cols, class Layout> struct shape_of<row<T, Cols, Layout>> : row<T, Cols, Layout> {};

/// What `col_index` gives: a row that is known to hold the numbers of its columns (masks.h).
template <int Cols, class Layout> struct column_numbers : row<int, Cols, Layout> {};
template <int Cols, class Layout> struct shape_of<column_numbers<Cols, Layout>> : row<int, Cols, Layout> {};

template <class X> struct shape_of<const X> : shape_of<X> {};

template <class X>
concept tile = shape_of<X>::has_rows || shape_of<X>::has_cols;
template <class... X>
concept some_tile = (tile<X> || ...);

/// fragment, column or row, by the axes it has.
template <class T, bool HasRows, bool HasCols, int Rows, int Cols, class Layout> struct tile_type {
  using type = fragment<T, Rows, Cols, Layout>;
};
template <class T, int Rows, int Cols, class Layout> struct tile_type<T, true, false, Rows, Cols, Layout> {
  using type = column<T, Rows, Layout>;
};
template <class T, int Rows, int Cols, class Layout> struct tile_type<T, false, true, Rows, Cols, Layout> {
  using type = row<T, Cols, Layout>;
};

template <class... X> struct first_layout;
template <class X, class... More> struct first_layout<X, More...> : first_layout<More...> {};
template <tile X, class... More> struct first_layout<X, More...> {
  using type = typename X::layout;
};
/// The layout of a result: that of the first operand that has rows. Accumulators of 64 and of 128 rows spread columns
/// alike, so a row may be in the layout of either.
template <tile X, class... More>
  requires(!shape_of<X>::has_rows && (shape_of<More>::has_rows || ...))
struct first_layout<X, More...> : first_layout<More...> {};

/// The tile of T to which all of X broadcast.
template <class T, class... X>
using broadcast_type = typename tile_type<T, (shape_of<X>::has_rows || ...), (shape_of<X>::has_cols || ...),
                                          (0 | ... | (shape_of<X>::has_rows ? shape_of<X>::rows : 0)),
                                          (0 | ... | (shape_of<X>::has_cols ? shape_of<X>::cols : 0)),
                                          typename first_layout<X...>::type>::type;

/// X with elements of T.
template <class T, tile X> using with_element = broadcast_type<T, X>;

template <class X> __device__ __forceinline__ auto element_at(const X &x, int a, int b) {
  if constexpr (tile<X>)
    return x.at(a, b);
  else
    return x;
}

template <class F, class... X> __device__ __forceinline__ auto map(F f, const X &...x) {
  using T = decltype(f(element_at(x, 0, 0)...));
  broadcast_type<T, X...> result;
#pragma unroll
  for (int a = 0; a < result.row_slots; ++a)
#pragma unroll
    for (int b = 0; b < result.col_slots; ++b)
      result.set(a, b, f(element_at(x, a, b)...));
  return result;
}

/// The calling thread's rank among those that hold a tile of this layout.
template <class Layout> __device__ __forceinline__ int rank() { return threadIdx.x % Layout::threads; }

/// Every element `value`.
template <tile X, class T> __device__ __forceinline__ X full(T value) {
  X result;
#pragma unroll
  for (int i = 0; i < X::size; ++i)
    result.data.set(i, cast_scalar<typename X::element>(value));
  return result;
}
template <tile X> __device__ __forceinline__ X zeros() { return full<X>(typename X::element{}); }

/// A column or a row repeated to the shape of X.
template <tile X, tile Y> __device__ __forceinline__ X broadcast(const Y &y) {
  X result;
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b)
      result.set(a, b, y.at(a, b));
  return result;
}

/// Columns [i · Count, (i + 1) · Count) of a fragment; i is known when compiling (an unrolled loop's index).
template <int Count, class T, int Rows, int Cols, class Layout>
__device__ __forceinline__ auto cols_of(const fragment<T, Rows, Cols, Layout> &x, int i) {
  fragment<T, Rows, Count, Layout> result;
#pragma unroll
  for (int a = 0; a < result.row_slots; ++a)
#pragma unroll
    for (int b = 0; b < result.col_slots; ++b)
      result.set(a, b, x.at(a, i * result.col_slots + b));
  return result;
}

/// The `Count` elements from (a, b) on, consecutive columns of one run, as 32-bit words; and back.
template <int Count, tile X> __device__ __forceinline__ void chunk_words(const X &x, int a, int b, u32 *words) {
  using T = typename X::element;
  constexpr int count = Count * int(sizeof(T)) / 4;
  if constexpr (decltype(x.data)::packed) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      words[i] = x.data.words[X::index(a, b) * int(sizeof(T)) / 4 + i];
  } else if constexpr (sizeof(T) == 1) { // bool
#pragma unroll
    for (int i = 0; i < count; ++i)
      words[i] = u32(x.at(a, b + 4 * i)) | u32(x.at(a, b + 4 * i + 1)) << 8 | u32(x.at(a, b + 4 * i + 2)) << 16 |
                 u32(x.at(a, b + 4 * i + 3)) << 24;
  } else {
    struct element_words {
      u32 raw[count / Count];
    };
#pragma unroll
    for (int i = 0; i < count; ++i)
      words[i] = __builtin_bit_cast(element_words, x.at(a, b + i / (count / Count))).raw[i % (count / Count)];
  }
}
template <int Count, tile X> __device__ __forceinline__ void set_chunk_words(X &x, int a, int b, const u32 *words) {
  using T = typename X::element;
  constexpr int count = Count * int(sizeof(T)) / 4;
  if constexpr (decltype(x.data)::packed) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      x.data.words[X::index(a, b) * int(sizeof(T)) / 4 + i] = words[i];
  } else if constexpr (sizeof(T) == 1) { // bool
#pragma unroll
    for (int i = 0; i < Count; ++i)
      x.set(a, b + i, (words[i / 4] >> 8 * (i % 4) & 0xff) != 0);
  } else {
    struct element_words {
      u32 raw[count / Count];
    };
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      element_words element;
#pragma unroll
      for (int j = 0; j < count / Count; ++j)
        element.raw[j] = words[i * (count / Count) + j];
      x.set(a, b + i, __builtin_bit_cast(T, element));
    }
  }
}

/// Row numbers of X as a column and column numbers as a row, from 0, i32.
template <tile X> __device__ __forceinline__ column<int, X::rows, typename X::layout> row_index() {
  column<int, X::rows, typename X::layout> result;
#pragma unroll
  for (int a = 0; a < result.row_slots; ++a)
    result.set(a, 0, X::layout::row(rank<typename X::layout>(), a));
  return result;
}
template <tile X> __device__ __forceinline__ column_numbers<X::cols, typename X::layout> col_index() {
  begin_masks();
  column_numbers<X::cols, typename X::layout> result;
  const int thread = thread_in_place(rank<typename X::layout>());
#pragma unroll
  for (int b = 0; b < result.col_slots; ++b)
    result.set(0, b, X::layout::col(thread, b));
  return result;
}

/// Which columns of X come before column `end`: numbers known when compiling are compared with one of the thread's own.
template <tile X> __device__ __forceinline__ row<bool, X::cols, typename X::layout> cols_before(int end) {
  using L = typename X::layout;
  begin_masks();
  row<bool, X::cols, L> result;
  const int left = end - L::col(int(threadIdx.x) % L::threads_per_row, 0);
#pragma unroll
  for (int b = 0; b < result.col_slots; ++b)
    result.set(0, b, L::col(0, b) < left);
  return result;
}

/// Elements converted to T; see cast_scalar.
template <class T, tile X> __device__ __forceinline__ with_element<T, X> cast(const X &x) {
  using From = typename X::element;
  with_element<T, X> result;
  if constexpr (is_float16<T> && same<From, float> && X::size % 2 == 0) {
#pragma unroll
    for (int i = 0; i < X::size; i += 2)
      result.data.words[i / 2] = pack2<T>(x.data.get(i), x.data.get(i + 1));
  } else if constexpr (is_float8<T> && same<From, float> && X::size % 4 == 0) {
#pragma unroll
    for (int i = 0; i < X::size; i += 4)
      result.data.words[i / 4] = pack2_float8<T>(x.data.get(i), x.data.get(i + 1)) |
                                 u32(pack2_float8<T>(x.data.get(i + 2), x.data.get(i + 3))) << 16;
  } else if constexpr (is_float16<T> && is_integer8<From> && X::size % 2 == 0) {
#pragma unroll
    for (int i = 0; i < X::size; i += 2)
      result.data.words[i / 2] = widen2_bytes<T, From>(x.data.words[i / 4], i % 4);
  } else if constexpr (is_float16<T> && is_integer4<From> && X::size % 2 == 0) {
#pragma unroll
    for (int i = 0; i < X::size; i += 2)
      result.data.words[i / 2] = widen2_integers<T, From>(x.data.words[i / 8], i % 8 / 2);
  } else if constexpr (same<T, float> && is_integer4<From>) {
#pragma unroll
    for (int i = 0; i < X::size; ++i)
      result.data.set(i, widen_half_byte<same<From, i4>>(x.data.words[i / 8], i % 8));
  } else if constexpr (same<T, float> && (is_float16<From> || is_float8<From> || is_integer8<From>) &&
                       X::size % 2 == 0) {
    constexpr int bits = 8 * sizeof(From);
#pragma unroll
    for (int i = 0; i < X::size; i += 2) {
      float low, high;
      unpack2<From>(x.data.words[i * bits / 32] >> (i * bits % 32), low, high);
      result.data.set(i, low);
      result.data.set(i + 1, high);
    }
  } else {
#pragma unroll
    for (int i = 0; i < X::size; ++i)
      result.data.set(i, cast_scalar<T>(x.data.get(i)));
  }
  return result;
}
template <class T, class X>
  requires(!tile<X>)
__device__ __forceinline__ T cast(X x) {
  return cast_scalar<T>(x);
}

} // namespace tk
