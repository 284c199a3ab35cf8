// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors in global memory, as kernels take them.
#pragma once

#include "tk/atomic.h"
#include "tk/memory.h"

namespace tk {

/// Strides in elements; that of the last dim is 1. `aligned`: base address, strides and the last dim are multiples of
/// so many bytes, a power of two and at most 16.
template <class T, int Rank> struct global {
  pointer<T> data;
  i64 strides[Rank > 1 ? Rank - 1 : 1];
  int dims[Rank];
  int aligned;

  /// Whether accesses of so many bytes are possible wherever a tile starts at a multiple of them.
  __device__ __forceinline__ bool wide(int bytes = 16) const { return aligned >= bytes; }

  __device__ __forceinline__ i64 stride(int dim) const { return dim == Rank - 1 ? 1 : strides[dim]; }

  template <class... I> __device__ __forceinline__ pointer<T> at(I... i) const {
    static_assert(sizeof...(I) == Rank, "an index a dim");
    const int indices[] = {i...};
    pointer<T> element = data + indices[Rank - 1];
#pragma unroll
    for (int d = 0; d < Rank - 1; ++d)
      element += indices[d] * strides[d];
    return element;
  }

  /// One past the last element, where no stride is negative.
  __device__ __forceinline__ pointer<T> end() const {
    pointer<T> element = data + dims[Rank - 1];
#pragma unroll
    for (int d = 0; d < Rank - 1; ++d)
      element += (dims[d] - 1) * strides[d];
    return element;
  }
};

/// Whether a dim of so many elements has element `index`.
__device__ __forceinline__ bool within(int index, int extent) { return index >= 0 && index < extent; }

/// The same rectangle, an element at a time.
template <class T, int Align> __device__ __forceinline__ view<T> narrow(const view<T, Align> &v) {
  return {v.base, v.row_stride, v.row_end, v.col_end, v.col_stride, v.row_begin, v.col_begin};
}

/// load and store by as many bytes as the view is aligned to where `wide` holds, which is the same for all threads,
/// else by elements.
template <tile X, class Access = plain_access, class T, int Align>
__device__ __forceinline__ X load(bool wide, const view<T, Align> &from,
                                  typename X::element otherwise = typename X::element{}) {
  return tested_in_place(wide) ? load<X, Access>(from, otherwise) : load<X>(narrow(from), otherwise);
}
template <class T, int Align, tile X>
__device__ __forceinline__ void store(bool wide, const view<T, Align> &to, const X &x) {
  if (tested_in_place(wide))
    store(to, x);
  else
    store(narrow(to), x);
}

/// The elements that exist += x, by 8 or 16 bytes where `wide` holds.
template <class T, int Align, tile X>
__device__ __forceinline__ void atomic_add(bool wide, const view<T, Align> &to, const X &x) {
  if (tested_in_place(wide))
    atomic_add(to, x);
  else
    atomic_add(narrow(to), x);
}

} // namespace tk
