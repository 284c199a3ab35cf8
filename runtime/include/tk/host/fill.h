// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `y = 0;` in programs: one value for every element of a view, in stream order.
#pragma once

#include "tk/host/api.h"
#include "tk/host/check.h"
#include "tk/types.h"

namespace tk::host {

/// Dims from the innermost out.
template <class T, int Rank> struct fill_arguments {
  T *data;
  i64 dims[Rank], strides[Rank];
  i64 count;
  double value;
};

template <class T, int Rank> __global__ void fill_elements(const __grid_constant__ fill_arguments<T, Rank> g) {
  const T value = cast_scalar<T>(g.value);
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < g.count; i += i64(gridDim.x) * blockDim.x) {
    i64 rest = i, at = 0;
#pragma unroll
    for (int d = 0; d < Rank; ++d) {
      at += rest % g.dims[d] * g.strides[d];
      rest /= g.dims[d];
    }
    g.data[at] = value;
  }
}

/// `value` is rounded to T as a store does. `offset` and strides in elements.
template <class T, int Rank>
void fill(call &c, void *data, const i64 (&dims)[Rank], const i64 (&strides)[Rank], i64 offset, double value,
          api::stream stream) {
  if (!c.ok())
    return;
  fill_arguments<T, 1> dense{static_cast<T *>(data) + offset, {1}, {1}, 1, value};
  fill_arguments<T, Rank> spread{dense.data, {}, {}, 1, value};
  bool is_dense = true;
  for (int i = 0; i < Rank; ++i) {
    const int d = Rank - 1 - i;
    is_dense &= dims[d] == 1 || strides[d] == spread.count;
    spread.dims[i] = dims[d], spread.strides[i] = strides[d];
    spread.count *= dims[d];
  }
  if (spread.count == 0)
    return;
  dense.dims[0] = dense.count = spread.count;
  const bool is_zero = value == 0 && !__builtin_signbit(value);
  const i64 needed = (spread.count + 255) / 256;
  const auto blocks = static_cast<unsigned>(needed < 65536 ? needed : 65536);
  void *parameters[] = {is_dense ? static_cast<void *>(&dense) : &spread};
  const auto kernel = is_dense ? reinterpret_cast<const void *>(&fill_elements<T, 1>)
                               : reinterpret_cast<const void *>(&fill_elements<T, Rank>);
  const api::error error = is_dense && is_zero
                               ? api::set_bytes_async(dense.data, 0, static_cast<size_t>(spread.count) * sizeof(T),
                                                      stream) // 0 in every type
                               : api::launch(kernel, blocks, 256, parameters, stream);
  if (error != api::success)
    c.fail(TK_CUDA_ERROR, "%s", api::text_of(error));
}

} // namespace tk::host
