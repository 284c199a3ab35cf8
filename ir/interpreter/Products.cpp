// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products, reductions and running sums. Each adds in the order of the elements, rounding every step.
#include "ir/interpreter/Worker.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace tkc::ir::interpreter {
namespace {

template <class T> T add(T x, T y) {
  if constexpr (std::is_integral_v<T>)
    return wrappingAdd(x, y);
  else
    return x + y;
}
template <class T> T multiply(T x, T y) {
  if constexpr (std::is_integral_v<T>)
    return wrappingMultiply(x, y);
  else
    return x * y;
}

/// c += a · b, one product after another for each element; four at a time keep the row of c in registers.
template <class T>
void multiplyInto(T *c, const T *a, const T *b, int64_t rows, int64_t cols, int64_t depth, int64_t strideA,
                  int64_t strideB, int64_t strideC) {
  for (int64_t i = 0; i < rows; ++i) {
    T *__restrict out = c + i * strideC;
    const T *x = a + i * strideA;
    int64_t k = 0;
    for (; k + 4 <= depth; k += 4) {
      const T x0 = x[k], x1 = x[k + 1], x2 = x[k + 2], x3 = x[k + 3];
      const T *__restrict y0 = b + k * strideB;
      const T *__restrict y1 = y0 + strideB, *__restrict y2 = y1 + strideB, *__restrict y3 = y2 + strideB;
      for (int64_t j = 0; j < cols; ++j)
        out[j] = add(add(add(add(out[j], multiply(x0, y0[j])), multiply(x1, y1[j])), multiply(x2, y2[j])),
                     multiply(x3, y3[j]));
    }
    for (; k < depth; ++k) {
      const T x0 = x[k];
      const T *__restrict y0 = b + k * strideB;
      for (int64_t j = 0; j < cols; ++j)
        out[j] = add(out[j], multiply(x0, y0[j]));
    }
  }
}

template <class T> T lowest() {
  if constexpr (std::is_integral_v<T>)
    return std::numeric_limits<T>::min();
  else
    return -std::numeric_limits<T>::infinity();
}
template <class T> T highest() {
  if constexpr (std::is_integral_v<T>)
    return std::numeric_limits<T>::max();
  else
    return std::numeric_limits<T>::infinity();
}

/// Reduces `count` elements, `stride` apart. `max` and `min` ignore NaN; over nothing they are −inf and inf.
template <class T> T reduceLine(ReduceKind kind, const T *x, int64_t count, int64_t stride) {
  T result{};
  switch (kind) {
  case ReduceKind::Sum:
    for (int64_t i = 0; i < count; ++i)
      result = add(result, x[i * stride]);
    return result;
  case ReduceKind::Prod:
    result = 1;
    for (int64_t i = 0; i < count; ++i)
      result = multiply(result, x[i * stride]);
    return result;
  case ReduceKind::Max:
  case ReduceKind::ArgMax:
    result = lowest<T>();
    for (int64_t i = 0; i < count; ++i)
      result = x[i * stride] > result ? x[i * stride] : result;
    return result;
  case ReduceKind::Min:
  case ReduceKind::ArgMin:
    result = highest<T>();
    for (int64_t i = 0; i < count; ++i)
      result = x[i * stride] < result ? x[i * stride] : result;
    return result;
  }
  return result;
}

/// Where `wanted` first stands; 0 where nothing does (no elements, or NaN alone).
template <class T> int32_t firstPlace(T wanted, const T *x, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i)
    if (x[i * stride] == wanted)
      return static_cast<int32_t>(i);
  return 0;
}

} // namespace

void Worker::dot(const Step &step) {
  const int a = step.operands[0], b = step.operands[1], out = step.results[0];
  const int64_t depth = std::min(cols(a), rows(b));
  const Slot &slot = info(out);
  withStorage(slot.storage, [&](auto zero) {
    using T = decltype(zero);
    T *c = data<T>(out);
    std::fill_n(c, slot.rows * slot.cols, T{});
    if (step.operands.size() == 3) {
      const Strided<T> start = strided(data<T>(step.operands[2]), info(step.operands[2]));
      for (int64_t r = 0; r < rows(out); ++r)
        for (int64_t col = 0; col < cols(out); ++col)
          c[r * slot.cols + col] = start.row(r)[col * start.colStride];
    }
    multiplyInto(c, data<T>(a), data<T>(b), rows(out), cols(out), depth, info(a).cols, info(b).cols, slot.cols);
  });
}

/// No scale that exists is NaN or below zero: instructions on packed numbers ignore its sign.
bool Worker::checkScales(const Op &op, int scales) {
  const Slot &slot = info(scales);
  for (int64_t r = 0; r < existingRows(scales); ++r)
    for (int64_t c = 0; c < existingCols(scales); ++c) {
      const float scale = data<float>(scales)[r * slot.cols + c];
      if (scale >= 0)
        continue;
      const std::string text = std::isnan(scale) ? "NaN" : fmt::format("{}", scale);
      return fail(op.loc, fmt::format("a scale is {}; scales are numbers from 0 on: GPUs ignore their sign", text));
    }
  return true;
}

/// out = accumulator + (a · its scales) @ (b · its scales).
bool Worker::dotScaled(const Step &step) {
  const int a = step.operands[0], b = step.operands[2], out = step.results[0];
  if (!checkScales(*step.op, step.operands[1]) || !checkScales(*step.op, step.operands[3]))
    return false;
  const Slot &slot = info(out);
  const auto scaled = [&](int x, int scales) {
    const int64_t rowBlock = info(x).rows / info(scales).rows, colBlock = info(x).cols / info(scales).cols;
    std::vector<float> values(info(x).rows * info(x).cols);
    for (int64_t r = 0; r < rows(x); ++r)
      for (int64_t c = 0; c < cols(x); ++c) {
        const int64_t at = r * info(x).cols + c;
        values[at] = data<float>(x)[at] * data<float>(scales)[r / rowBlock * info(scales).cols + c / colBlock];
      }
    return values;
  };
  const std::vector<float> x = scaled(a, step.operands[1]), y = scaled(b, step.operands[3]);
  float *c = data<float>(out);
  std::fill_n(c, slot.rows * slot.cols, 0.0f);
  if (step.operands.size() == 5) {
    const Strided<float> start = strided(data<float>(step.operands[4]), info(step.operands[4]));
    for (int64_t r = 0; r < rows(out); ++r)
      for (int64_t col = 0; col < cols(out); ++col)
        c[r * slot.cols + col] = start.row(r)[col * start.colStride];
  }
  multiplyInto(c, x.data(), y.data(), rows(out), cols(out), std::min(cols(a), rows(b)), info(a).cols, info(b).cols,
               slot.cols);
  return true;
}

void Worker::reduce(const Step &step) {
  const int in = step.operands[0], out = step.results[0];
  const ReduceKind kind = step.op->reduce;
  const bool across = step.op->axis == 1;
  const int64_t lines = across ? rows(in) : cols(in);
  const int64_t count = across ? cols(in) : rows(in);
  const int64_t stride = across ? 1 : info(in).cols;
  const int64_t lineStride = across ? info(in).cols : 1;
  withStorage(info(in).storage, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t line = 0; line < lines; ++line) {
      const T *x = data<T>(in) + line * lineStride;
      const T value = reduceLine(kind, x, count, stride);
      if (kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin)
        data<int32_t>(out)[line] = firstPlace(value, x, count, stride);
      else
        data<T>(out)[line] = value;
    }
  });
}

void Worker::cumsum(const Step &step) {
  const int in = step.operands[0], out = step.results[0];
  const int64_t numRows = rows(in), numCols = cols(in), stride = info(in).cols;
  withStorage(info(out).storage, [&](auto zero) {
    using T = decltype(zero);
    const T *x = data<T>(in);
    T *y = data<T>(out);
    for (int64_t r = 0; r < numRows; ++r)
      for (int64_t c = 0; c < numCols; ++c) {
        const bool first = step.op->axis == 1 ? c == 0 : r == 0;
        const int64_t at = r * stride + c;
        y[at] = first ? x[at] : add(y[at - (step.op->axis == 1 ? 1 : stride)], x[at]);
      }
  });
}

} // namespace tkc::ir::interpreter
