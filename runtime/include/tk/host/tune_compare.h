// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares what two schedules of a kernel computed, on the device. Both are roundings of the same numbers: an element
// may differ by so much of itself and of its row's root mean square. Tiles that are missing, stale or added twice
// differ by as much as the row.
#pragma once

#include "tk/host/test.h"
#include "tk/types.h"

namespace tk::tune {

struct rows {
  static constexpr int max_dims = 8;
  int rank;
  long long dims[max_dims], strides[max_dims]; ///< elements; the last dim is contiguous
  long long count() const {
    long long n = 1;
    for (int d = 0; d < rank - 1; ++d)
      n *= dims[d];
    return n;
  }
};

struct difference {
  unsigned long long wrong = 0, first = ~0ull; ///< elements, and the first of them, row-major
};

template <class T> __device__ double value_of(T x) {
  if constexpr (same<T, f8e8m0>)
    return double(__builtin_bit_cast(u8, x)); // its exponent
  else if constexpr (same<T, double> || same<T, i64> || same<T, int> || same<T, i8> || same<T, u8> || same<T, bool>)
    return double(x);
  else
    return double(cast_scalar<float>(x));
}
/// By how much equal numbers of a type may differ: integers are rounded numbers, or exact.
template <class T>
inline constexpr double absolute_slack =
    same<T, f8e8m0> || same<T, i64> || same<T, int> || same<T, i8> || same<T, u8> ? 1 : 0;

constexpr int compare_threads = 256;

template <class T>
__global__ void compare_rows(const T *got, const T *wanted, rows shape, long long count, double slack,
                             difference *result) {
  __shared__ double partial[compare_threads];
  const long long columns = shape.dims[shape.rank - 1];
  for (long long row = blockIdx.x; row < count; row += gridDim.x) {
    long long offset = 0, rest = row;
    for (int d = shape.rank - 2; d >= 0; --d) {
      offset += rest % shape.dims[d] * shape.strides[d];
      rest /= shape.dims[d];
    }
    double sum = 0;
    for (long long c = threadIdx.x; c < columns; c += blockDim.x)
      if (const double x = value_of(wanted[offset + c]); x - x == 0) // finite
        sum += x * x;
    partial[threadIdx.x] = sum;
    for (int half = compare_threads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (int(threadIdx.x) < half)
        partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    __syncthreads();
    const double size = ::sqrt(partial[0] / double(columns));
    __syncthreads();
    for (long long c = threadIdx.x; c < columns; c += blockDim.x) {
      const double x = value_of(got[offset + c]), y = value_of(wanted[offset + c]);
      const double allowed = absolute_slack<T> + slack * ((y < 0 ? -y : y) + size);
      const double apart = x < y ? y - x : x - y;
      if (x == y || (x != x && y != y) || (apart <= allowed && y - y == 0)) // near to what is finite
        continue;
      atomicAdd(&result->wrong, 1ull);
      atomicMin(&result->first, static_cast<unsigned long long>(row * columns + c));
    }
  }
}

template <class T>
void launch_compare(const void *got, const void *wanted, const rows &shape, double slack, difference *result) {
  compare_rows<<<2048, compare_threads>>>(static_cast<const T *>(got), static_cast<const T *>(wanted), shape,
                                          shape.count(), slack, result);
}

/// Roundings of 16 units in the last place of the coarser of the tensor's type and what came before it.
inline double slack_of(unsigned type, double roundoff) {
  constexpr int mantissa_bits[] = {52, 23, 23, 10, 7, 3, 2, 63, 63, 63, 63, 63, 63, 1, 3, 2, 63, 63};
  const double own = std::ldexp(1.0, -mantissa_bits[type] - 1);
  return 16 * (own > roundoff ? own : roundoff);
}

/// Of a type as tkc numbers them. Packed elements are compared by cases alone.
inline difference compare(const test::tensor &t, const void *got, const void *wanted, double roundoff) {
  using launcher = void (*)(const void *, const void *, const rows &, double, difference *);
  constexpr launcher launchers[] = {
      launch_compare<double>, launch_compare<float>,  launch_compare<float>, launch_compare<half>, launch_compare<bf16>,
      launch_compare<f8e4m3>, launch_compare<f8e5m2>, launch_compare<i64>,   launch_compare<int>,  launch_compare<i8>,
      launch_compare<u8>,     launch_compare<bool>,   launch_compare<f8e8m0>};
  difference found;
  if (t.type >= sizeof launchers / sizeof *launchers || t.count() == 0 || t.dims.size() > rows::max_dims)
    return found;
  rows shape{int(t.dims.size()), {}, {}};
  for (size_t d = 0; d < t.dims.size(); ++d)
    shape.dims[d] = t.dims[d], shape.strides[d] = t.strides[d];
  if (shape.rank == 0)
    shape.rank = 1, shape.dims[0] = 1, shape.strides[0] = 1;
  difference *on_device = nullptr;
  test::check(api::allocate(on_device, sizeof found), "allocation");
  test::check(api::copy_to_device(on_device, &found, sizeof found), "upload");
  launchers[t.type](got, wanted, shape, slack_of(t.type, roundoff), on_device);
  test::check(api::last_error(), "comparison");
  test::check(api::copy_to_host(&found, on_device, sizeof found), "download");
  api::release(on_device);
  return found;
}

} // namespace tk::tune
