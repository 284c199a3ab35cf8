// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that each block has of its own, in its shared memory.
#pragma once

#include "tk/memory.h"

namespace tk {

/// Where an element of it lies. To a function of addresses in any memory it is one; those of shared memory alone are
/// shorter.
template <class T> struct local_pointer {
  T *element;
  __device__ __forceinline__ T &operator*() const { return *element; }
  __device__ __forceinline__ T &operator[](int i) const { return element[i]; }
  __device__ __forceinline__ operator T *() const { return element; }
};
template <class T, class Offsets, class Condition>
__device__ __forceinline__ auto gather(local_pointer<T> base, const Offsets &offsets, const Condition &condition,
                                       converted<T> otherwise) {
  return map([&](auto offset, bool exists) { return exists ? base[offset] : otherwise; }, offsets, condition);
}
template <class T, class Offsets, class Condition, class X>
__device__ __forceinline__ void scatter(local_pointer<T> base, const Offsets &offsets, const Condition &condition,
                                        const X &x) {
  using shape = broadcast_type<T, Offsets, X>;
  if (!stores<shape>())
    return;
#pragma unroll
  for (int a = 0; a < shape::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < shape::col_slots; ++b)
      if (element_at(condition, a, b))
        base[element_at(offsets, a, b)] = T(element_at(x, a, b));
}

/// What `global` is for a tensor of the caller, for one of so many elements along each dim, without gaps.
template <class T, int... Dims> struct local {
  static constexpr int rank = sizeof...(Dims), count = (1 * ... * Dims);
  T data[count];

  /// Elements from one index along a dim to the next.
  static __device__ __forceinline__ constexpr int stride(int dim) {
    constexpr int dims[] = {Dims...};
    int stride = 1;
    for (int d = rank - 1; d > dim; --d)
      stride *= dims[d];
    return stride;
  }

  /// As `global` has it: the memory begins at a multiple of 128 bytes.
  __device__ __forceinline__ constexpr bool wide(int bytes = 16) const {
    constexpr int dims[] = {Dims...};
    return dims[rank - 1] * int(sizeof(T)) % bytes == 0;
  }

  template <class... I> __device__ __forceinline__ local_pointer<T> at(I... i) {
    static_assert(sizeof...(I) == rank, "an index a dim");
    const int indices[] = {i...};
    int offset = 0;
#pragma unroll
    for (int d = 0; d < rank; ++d)
      offset += indices[d] * stride(d);
    return {data + offset};
  }
};

} // namespace tk
