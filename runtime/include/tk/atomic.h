// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic updates of global memory by register tiles, unordered.
#pragma once

#include "tk/atomic_element.h"
#include "tk/memory.h"

namespace tk {

struct atomic_add_operation {
  template <class T> __device__ __forceinline__ void operator()(T *to, T x) const { atomic_add_element(to, x); }
};
struct atomic_max_operation {
  template <class T> __device__ __forceinline__ void operator()(T *to, T x) const { atomic_max_element(to, x); }
};
struct atomic_min_operation {
  template <class T> __device__ __forceinline__ void operator()(T *to, T x) const { atomic_min_element(to, x); }
};

template <class F, class T, int Align, tile X>
__device__ __forceinline__ void atomic_update(F f, const view<T, Align> &to, const X &x) {
  static_assert(same<T, typename X::element>, "cast first");
  const bool mine = stores<X>();
  for_each_chunk<X, 1>(to, [&](int a, int b, int r, int c, bool exists) {
    if (exists && mine)
      f(to.at(r, c), x.at(a, b));
  });
}

/// Two or four f32 at once; each is added atomically, the group is not.
template <int Count, tile X> __device__ __forceinline__ void atomic_add_chunk(float *to, const X &x, int a, int b) {
  float values[Count];
#pragma unroll
  for (int i = 0; i < Count; ++i)
    values[i] = x.at(a, b + i);
  atomic_add_elements<Count>(to, values);
}

/// The elements that exist += x. f32 and f64, f16, bf16, i32; f32 by chunks where the view promises alignment.
template <class T, int Align, tile X> __device__ __forceinline__ void atomic_add(const view<T, Align> &to, const X &x) {
  constexpr int count = same<T, float> ? chunk_elements<X, view<T, Align>>() : 1;
  if constexpr (count > 1) {
    const bool mine = stores<X>();
    for_each_chunk<X, count>(to, [&](int a, int b, int r, int c, bool exists) {
      if (exists && mine)
        atomic_add_chunk<count>(to.at(r, c), x, a, b);
    });
  } else {
    atomic_update(atomic_add_operation{}, to, x);
  }
}
/// The elements that exist ← the larger of them and x. f32, i32.
template <class T, int Align, tile X> __device__ __forceinline__ void atomic_max(const view<T, Align> &to, const X &x) {
  atomic_update(atomic_max_operation{}, to, x);
}
template <class T, int Align, tile X> __device__ __forceinline__ void atomic_min(const view<T, Align> &to, const X &x) {
  atomic_update(atomic_min_operation{}, to, x);
}

/// base[offsets] += x where the condition holds, every one where offsets are equal.
template <class T, class Offsets, class Condition, class X>
__device__ __forceinline__ void atomic_add(T *base, const Offsets &offsets, const Condition &condition, const X &x) {
  for_each_target(atomic_add_operation{}, base, offsets, condition, x);
}
template <class T, class Offsets, class Condition, class X>
__device__ __forceinline__ void atomic_max(T *base, const Offsets &offsets, const Condition &condition, const X &x) {
  for_each_target(atomic_max_operation{}, base, offsets, condition, x);
}
template <class T, class Offsets, class Condition, class X>
__device__ __forceinline__ void atomic_min(T *base, const Offsets &offsets, const Condition &condition, const X &x) {
  for_each_target(atomic_min_operation{}, base, offsets, condition, x);
}

} // namespace tk
