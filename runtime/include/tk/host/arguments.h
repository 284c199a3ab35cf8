// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What launchers make of checked arguments: tensors as kernels take them, sizes of grids, views that programs hand on.
#pragma once

#include "tk/global.h"
#include "tk/host/check.h"

namespace tk::host {

/// The argument as a kernel takes it. An argument that was left out gives null data.
template <class T, int Rank> global<T, Rank> make_global(const argument &a) {
  global<T, Rank> result{};
  if (!a)
    return result;
  if constexpr (same<pointer<T>, T *>)
    result.data = reinterpret_cast<T *>(a.data());
  else
    result.data = {reinterpret_cast<decltype(result.data.bytes)>(a.data()), 0};
  unsigned long long bits = reinterpret_cast<uintptr_t>(a.data()) * 8 | 128;
  bits |= static_cast<unsigned long long>(a.dim(Rank - 1) * bits_of(a.type));
  for (int d = 0; d < Rank; ++d) {
    result.dims[d] = static_cast<int>(a.dim(d));
    if (d < Rank - 1) {
      // The rows beyond one that is alone are nowhere, but have to be aligned as all are.
      result.strides[d] = a.dim(d) > 1 ? a.stride(d) : 0;
      if (a.dim(d) > 1)
        bits |= static_cast<unsigned long long>(a.stride(d) * bits_of(a.type));
    }
  }
  result.aligned = static_cast<int>((bits & -bits) / 8);
  return result;
}

/// The largest power of two, up to 128, at multiples of which every row of a tensor begins, in bytes. Where there is
/// but one along a dim, its stride says nothing. Nothing is amiss with a tensor that was left out.
inline int alignment(const argument &a) {
  if (!a)
    return 128;
  unsigned long long starts = reinterpret_cast<uintptr_t>(a.data()) | 128;
  for (int d = 0; d < a.rank() - 1; ++d)
    if (a.dim(d) > 1)
      starts |= static_cast<unsigned long long>(bytes_of(a.type, a.stride(d)));
  return static_cast<int>(starts & -starts);
}

struct device {
  int id = 0;
  int multiprocessors = 0;
  int code = 0; ///< which of a file's codes it runs
};

/// ⌈(hi - lo) / size⌉, at least 0.
inline long long steps(long long lo, long long hi, long long size) {
  return hi <= lo ? 0 : (hi - lo + size - 1) / size;
}

/// When a launch may begin.
enum class order {
  after_all,        ///< when everything before it on the stream has ended
  overlap_previous, ///< when the kernel before it says so; this one waits for its end before it touches global memory
};

/// A view that a program hands to a kernel; `offset` in elements.
template <int Rank> struct strided {
  int64_t dims[Rank], strides[Rank];
  tk_tensor tensor;

  strided(const void *data, element type, int device, const int64_t (&of_dims)[Rank], const int64_t (&of_strides)[Rank],
          int64_t offset) {
    for (int d = 0; d < Rank; ++d)
      dims[d] = of_dims[d], strides[d] = of_strides[d];
    tensor = {const_cast<void *>(data),          2, device, Rank,    type_codes[static_cast<int>(type)],
              type_bits[static_cast<int>(type)], 1, dims,   strides, static_cast<uint64_t>(bytes_of(type, offset))};
  }
  strided(const strided &) = delete; // `tensor` points into this
};

/// A program's workspace, of which `needed` bytes are used.
inline void check_workspace(call &c, const void *workspace, int64_t available, int64_t needed) {
  if (available < needed || (needed > 0 && !workspace))
    c.fail(TK_BAD_ARGUMENT, "a workspace of %lld bytes is needed, this has %lld", (long long)needed,
           workspace ? (long long)available : 0);
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    c.fail(TK_BAD_ARGUMENT, "the workspace is not aligned to 256 bytes");
}

// Functions of scalars in programs' arguments.
inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline float rsqrt(float x) { return 1 / __builtin_sqrtf(x); }
inline float rcp(float x) { return 1 / x; }
template <class A, class B> auto min(A x, B y) { return y < x ? y : x; }
template <class A, class B> auto max(A x, B y) { return x < y ? y : x; }

} // namespace tk::host
