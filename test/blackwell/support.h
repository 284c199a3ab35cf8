// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the hand-written kernels of this folder share on the host: matrices with small random elements, their tensor
// maps, comparison with float64.
#pragma once

#include "tk/host/launch.h"
#include "tk/types.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace support {

inline void check(cudaError_t error) {
  if (error == cudaSuccess)
    return;
  std::printf("%s\n", cudaGetErrorString(error));
  std::exit(1);
}

/// Multiples of 1/8 from -1 to 1: exact in every type, products of a few hundred of them too.
inline double small_number(unsigned &state) {
  state = state * 1664525u + 1013904223u;
  return (int(state >> 16) % 17 - 8) / 8.0;
}

inline unsigned short to_bf16(float x) { // of numbers that fit, or rounded to nearest even
  unsigned bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline float from_bf16(unsigned short x) {
  const unsigned bits = unsigned(x) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// A matrix of bf16 on the device, and the same on the host.
struct matrix {
  int rows, cols;
  std::vector<double> host;
  void *data = nullptr;
  int64_t dims[2];
  tk_tensor tensor;

  /// `seed` 0: NaN everywhere, for results.
  matrix(int rows, int cols, unsigned seed) : rows(rows), cols(cols), host(size_t(rows) * cols), dims{rows, cols} {
    check(cudaMalloc(&data, host.size() * 2));
    std::vector<unsigned short> bits(host.size(), 0x7fff);
    if (seed != 0)
      for (size_t i = 0; i < host.size(); ++i) {
        host[i] = small_number(seed);
        bits[i] = to_bf16(float(host[i]));
      }
    check(cudaMemcpy(data, bits.data(), bits.size() * 2, cudaMemcpyHostToDevice));
    tensor = {data, 2, 0, 2, 4, 16, 1, dims, nullptr, 0};
  }
  matrix(const matrix &) = delete;

  double at(int r, int c) const { return host[size_t(r) * cols + c]; }

  /// Boxes of box_rows × 64, swizzled by 128 bytes.
  tk::tensor_map map(int box_rows, bool stored = false) const {
    tk::tensor_map result;
    const tk::host::argument argument{"", &tensor, tk::element::bf16};
    if (!tk::host::encode_map(result, argument, {0, box_rows, 64, 128, stored})) {
      std::printf("no tensor map\n");
      std::exit(1);
    }
    return result;
  }

  void fetch() {
    std::vector<unsigned short> bits(host.size());
    check(cudaMemcpy(bits.data(), data, bits.size() * 2, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < host.size(); ++i)
      host[i] = from_bf16(bits[i]);
  }
};

/// How many elements of x are further from `wanted(r, c)` than `tolerance` times its size and `floor`.
template <class F> int count_wrong(const matrix &x, F wanted, double tolerance, double floor) {
  int wrong = 0;
  for (int r = 0; r < x.rows; ++r)
    for (int c = 0; c < x.cols; ++c) {
      const double reference = wanted(r, c);
      wrong += !(std::fabs(x.at(r, c) - reference) <= tolerance * std::fabs(reference) + floor);
    }
  return wrong;
}

/// The last place of a bf16 result: half of it is lost by rounding.
constexpr double bf16_rounding = 1.0 / 256;

/// How many elements of c are not a · b, rounded once.
inline int count_wrong_of_product(const matrix &c, const matrix &a, const matrix &b) {
  const auto wanted = [&](int m, int n) {
    double sum = 0;
    for (int k = 0; k < a.cols; ++k)
      sum += a.at(m, k) * b.at(k, n);
    return sum;
  };
  return count_wrong(c, wanted, bf16_rounding, 0);
}

template <class Kernel> void allow_shared(Kernel kernel, int bytes) {
  check(
      cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

} // namespace support
