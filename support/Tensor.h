// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dense tensor on the host, as the interpreter, the reference evaluator and the harness exchange it.
#pragma once

#include "support/ElemType.h"
#include "support/Number.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tkc {

/// Row-major. Every element is kept as a double that the element type represents exactly; those of i64, which a double
/// may not hold, as integers.
struct Tensor {
  ElemType elem = ElemType::F32;
  std::vector<int64_t> dims;
  std::vector<double> data;
  std::vector<int64_t> integers = {}; ///< of i64, in the place of `data`

  int64_t numElements() const {
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    return count;
  }
  bool isOfIntegers() const { return elem == ElemType::I64; }
  /// Elements that have a value: none of an output before the call.
  size_t numValues() const { return isOfIntegers() ? integers.size() : data.size(); }
  void resize(size_t count) {
    if (isOfIntegers())
      integers.resize(count);
    else
      data.resize(count);
  }
  Number at(size_t i) const { return isOfIntegers() ? Number::ofInteger(integers[i]) : Number(data[i]); }
  /// Rounds to the element type.
  void set(size_t i, Number value) {
    const Number rounded = roundTo(elem, value);
    if (isOfIntegers())
      integers[i] = rounded.toInteger();
    else
      data[i] = rounded.toDouble();
  }
  /// From a tensor of the same type.
  void copy(size_t to, const Tensor &from, size_t at) {
    if (isOfIntegers())
      integers[to] = from.integers[at];
    else
      data[to] = from.data[at];
  }
  void fill(Number value) {
    for (size_t i = 0; i < numValues(); ++i)
      set(i, value);
  }
  /// Makes every element what no kernel means to store.
  void poison();
};

/// `value` rounded to the nearest `elem`, ties to even; types of up to 8 bits saturate (f8e4m3 to ±448, f8e5m2 to
/// ±57344, f6e2m3 to ±7.5, f6e3m2 to ±28, f4e2m1 to ±6); f8e8m0 rounds up to a power of two; NaN stays NaN (where there
/// is none, the largest number); integers truncate toward zero and saturate; tf32 keeps 10 bits of mantissa.
double roundTo(ElemType elem, double value);

/// Bytes beyond which nobody asks for more alignment: a line of L2.
inline constexpr int64_t maxAlignment = 128;

/// The arguments of one call: tensors and scalars by parameter name, symbols by name.
struct CallArguments {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, Number> scalars;
  std::map<std::string, int64_t> symbols; ///< every dim symbol of the kernel
  /// Of tensors: the largest power of two, up to maxAlignment, at multiples of which every row begins in memory, in
  /// bytes.
  std::map<std::string, int64_t> alignments;
  int64_t multiprocessors = 0; ///< of the GPU; 0: nobody knows it
};

} // namespace tkc
