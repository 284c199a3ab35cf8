// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of one call's arguments. The first thing that is wrong is kept; checks after it do nothing, so that launchers
// read as a list. No state outlives the call.
#pragma once

#include "tk/host/tensor.h"

#include <cstdarg>
#include <cstdio>

namespace tk::host {

inline const char *name_of(element type) {
  constexpr const char *names[] = {"f64", "f32",  "f16",    "bf16",   "f8e4m3", "f8e5m2", "i64", "i32", "i8",
                                   "u8",  "bool", "f8e8m0", "f4e2m1", "f6e2m3", "f6e3m2", "u4",  "i4"};
  return names[static_cast<int>(type)];
}

inline int bits_of(element type) { return type_bits[static_cast<int>(type)]; }
/// Of so many elements, which end with a byte.
inline int64_t bytes_of(element type, int64_t count = 1) { return count * bits_of(type) / 8; }

/// The fewest elements that fill whole bytes: of a packed type, what rows consist of.
inline int group_of(element type) { return bits_of(type) == 4 ? 2 : bits_of(type) == 6 ? 4 : 1; }

/// Quotient and remainder as .tk has them: integers floor, and a divisor of 0 gives 0.
template <class A, class B> auto divide(A a, B b) {
  if constexpr (A(1) / A(2) != 0 || B(1) / B(2) != 0)
    return a / b;
  else
    return b == 0 ? decltype(a / b)(0) : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
template <class A, class B> auto modulo(A a, B b) { return b == 0 ? decltype(a % b)(0) : a - divide(a, b) * b; }
/// The quotient, rounded up.
template <class A, class B> auto ceildiv(A a, B b) {
  if constexpr (A(1) / A(2) != 0 || B(1) / B(2) != 0)
    return __builtin_ceil(a / b);
  else
    return -divide(-a, b);
}

/// Of schedules with costs, the cheapest that was offered; of equal ones the first.
struct cheapest {
  int number = -1; ///< by which the launcher knows it
  double cost = 0;

  void offer(int of, double costs) {
    if (number < 0 || costs < cost) {
      number = of;
      cost = costs;
    }
  }
};

/// A tensor argument after its first checks: null `data` where it was left out.
struct argument {
  const char *name = "";
  const tk_tensor *tensor = nullptr;
  element type = element::f32;
  int lanes = 1; ///< 2: the last dim and the strides of the tensor count pairs

  explicit operator bool() const { return tensor != nullptr; }
  char *data() const { return tensor ? static_cast<char *>(tensor->data) + tensor->byte_offset : nullptr; }
  int rank() const { return tensor->rank; }
  int64_t dim(int i) const { return tensor->dims[i] * (i == rank() - 1 ? lanes : 1); }
  int64_t stride(int i) const {
    if (tensor->strides)
      return tensor->strides[i] * (i == rank() - 1 ? 1 : lanes);
    int64_t stride = 1;
    for (int d = tensor->rank - 1; d > i; --d)
      stride *= dim(d);
    return stride;
  }
  bool is_empty() const {
    for (int d = 0; d < rank(); ++d)
      if (dim(d) == 0)
        return true;
    return false;
  }
};

class call {
public:
  explicit call(const char *name) : kernel(name) { status_.code = TK_OK, status_.message[0] = 0; }

  bool ok() const { return status_.code == TK_OK; }
  const tk_status &status() const { return status_; }

  void fail(tk_status_code code, const char *format, ...) {
    if (!ok())
      return;
    status_.code = code;
    const int used = std::snprintf(status_.message, sizeof status_.message, "%s: ", kernel);
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(status_.message + used, sizeof status_.message - used, format, arguments);
    va_end(arguments);
  }

  /// Null, rank, element type, contiguous last dim, device memory. Bytes are taken for pairs of the integers of four
  /// bits that `pairs` names: frameworks have no such type.
  argument tensor(const char *name, const tk_tensor *t, int rank, bool optional = false,
                  element pairs = element::uint8) {
    argument result{name, nullptr, element::f32};
    if (!ok())
      return result;
    if (!t) {
      if (!optional)
        fail(TK_BAD_ARGUMENT, "`%s` is null", name);
      return result;
    }
    if (t->rank != rank) {
      fail(TK_BAD_ARGUMENT, "`%s` has %d dims, it needs %d", name, t->rank, rank);
      return result;
    }
    if (rank > 0 && !t->dims) {
      fail(TK_BAD_ARGUMENT, "the dims of `%s` are null", name);
      return result;
    }
    if (!read_type(*t, result.type)) {
      fail(TK_BAD_ARGUMENT, "`%s` has element type code %d with %d bits, which no kernel takes", name, t->type_code,
           t->type_bits);
      return result;
    }
    result.tensor = t;
    result.lanes = t->type_lanes;
    if (result.type == element::uint8 && pairs != element::uint8)
      result.type = pairs, result.lanes = 2;
    for (int d = 0; d < rank; ++d)
      if (t->dims[d] < 0 || result.dim(d) > INT32_MAX)
        fail(TK_BAD_ARGUMENT, "dim %d of `%s` is %lld; dims go up to 2147483647", d, name, (long long)result.dim(d));
    if (ok() && result.is_empty()) // NumPy and CuPy say then that all strides are 0
      return result;
    if (ok() && rank > 0 && result.stride(rank - 1) != 1 && result.dim(rank - 1) > 1)
      fail(TK_BAD_ARGUMENT, "the last dim of `%s` has stride %lld, it must be contiguous", name,
           (long long)result.stride(rank - 1));
    if (bits_of(result.type) < 8)
      check_packed(result);
    if (ok() && !t->data)
      fail(TK_BAD_ARGUMENT, "the data of `%s` is null", name);
    if (ok() && t->device_type != 2 && t->device_type != 3 && t->device_type != 13 && t->device_type != 10 &&
        t->device_type != 11)
      fail(TK_BAD_ARGUMENT, "`%s` is not in the memory of a CUDA device", name);
    if (ok() && bits_of(result.type) >= 8 &&
        reinterpret_cast<uintptr_t>(result.data()) % static_cast<uintptr_t>(bytes_of(result.type)) != 0)
      fail(TK_BAD_ARGUMENT, "the data of `%s` is not aligned to its %d-byte elements", name,
           static_cast<int>(bytes_of(result.type)));
    return result;
  }

  /// Scalars of a type parameter and the tensors of one must agree.
  void same_type(const argument &a, element expected, const char *why) {
    if (ok() && a && a.type != expected)
      fail(TK_BAD_ARGUMENT, "`%s` is %s, it must be %s%s", a.name, name_of(a.type), name_of(expected), why);
  }

  void dim(const argument &a, int i, int64_t expected, const char *expression) {
    if (ok() && a && a.dim(i) != expected)
      fail(TK_BAD_ARGUMENT, "dim %d of `%s` is %lld, but `%s` is %lld here", i, a.name, (long long)a.dim(i), expression,
           (long long)expected);
  }

  /// The value of a symbol from the dim that binds it: `symbol + offset`.
  int bind(const argument &a, int i, int offset) {
    if (!ok() || !a)
      return 0;
    if (a.dim(i) - offset < 0)
      fail(TK_BAD_ARGUMENT, "dim %d of `%s` is %lld, it must be at least %d", i, a.name, (long long)a.dim(i), offset);
    return static_cast<int>(a.dim(i) - offset);
  }

  void require(bool holds, const char *condition) {
    if (!holds)
      fail(TK_BAD_ARGUMENT, "the kernel asks for `%s`, which does not hold", condition);
  }

  /// What is written may not have one element at two indices, as a broadcast tensor has.
  void distinct(const argument &written) {
    if (!ok() || !written || written.is_empty())
      return;
    for (int d = 0; d < written.rank(); ++d)
      if (written.dim(d) > 1 && written.stride(d) == 0)
        fail(TK_BAD_ARGUMENT, "`%s` is written, and its elements along dim %d are one in memory", written.name, d);
  }

  /// What is written may share no element with another argument.
  void disjoint(const argument &written, const argument &other) {
    if (ok() && written && other && overlap(written, other))
      fail(TK_BAD_ARGUMENT, "`%s` is written and overlaps `%s`", written.name, other.name);
  }

private:
  /// Rows of a packed type are whole groups.
  void check_packed(const argument &a) {
    const int group = group_of(a.type);
    bool whole = true;
    for (int d = 0; d < a.rank(); ++d)
      whole &= d == a.rank() - 1 ? a.dim(d) % group == 0 : a.dim(d) == 1 || a.stride(d) % group == 0;
    if (!whole)
      fail(TK_BAD_ARGUMENT, "elements of `%s` share bytes: its last dim and its other strides must be multiples of %d",
           a.name, group);
  }

  static bool read_type(const tk_tensor &t, element &type) {
    for (int i = 0; i < static_cast<int>(sizeof type_codes); ++i)
      if (type_codes[i] == t.type_code && type_bits[i] == t.type_bits &&
          (t.type_lanes == 1 || (t.type_lanes == 2 && t.type_bits == 4))) {
        type = static_cast<element>(i);
        return true;
      }
    return false;
  }

  /// The bytes from the element that is lowest in memory to the end of the highest.
  struct range {
    const char *begin, *end;
  };
  static range bytes_in(const argument &a) {
    int64_t lowest = 0, highest = 0;
    for (int d = 0; d < a.rank(); ++d) {
      const int64_t last = (a.dim(d) - 1) * a.stride(d);
      (last < 0 ? lowest : highest) += last;
    }
    return {a.data() + bytes_of(a.type, lowest), a.data() + bytes_of(a.type, highest + 1)};
  }

  static bool overlap(const argument &a, const argument &b) {
    if (a.is_empty() || b.is_empty())
      return false;
    const range in_a = bytes_in(a), in_b = bytes_in(b);
    if (in_a.end <= in_b.begin || in_b.end <= in_a.begin)
      return false;
    return !are_interleaved(a, b, b.data() - a.data());
  }

  /// Slices of one tensor (q, k and v side by side, say) overlap as ranges but share nothing: with equal strides, an
  /// element is shared only if the distance between the bases is a sum of index differences times strides.
  static bool are_interleaved(const argument &a, const argument &b, int64_t bytes_apart) {
    if (a.rank() != b.rank() || a.type != b.type || bytes_apart * 8 % bits_of(a.type) != 0)
      return false;
    for (int d = 0; d < a.rank(); ++d)
      if (a.stride(d) != b.stride(d))
        return false;
    return !reaches(a, b, bytes_apart * 8 / bits_of(a.type), 0);
  }

  /// Whether differences along the dims from the `taken`-th longest stride on can add up to `distance`.
  static bool reaches(const argument &a, const argument &b, int64_t distance, unsigned taken) {
    int longest = -1;
    for (int d = 0; d < a.rank(); ++d)
      if (!(taken >> d & 1) && (longest < 0 || a.stride(d) > a.stride(longest)))
        longest = d;
    if (longest < 0)
      return distance == 0;
    const int64_t stride = a.stride(longest), limit_up = a.dim(longest) - 1, limit_down = b.dim(longest) - 1;
    if (stride <= 0)
      return true; // elements that coincide by themselves: no claim
    const int64_t nearest = distance / stride;
    for (int64_t step = nearest - 1; step <= nearest + 1; ++step)
      if (step <= limit_up && -step <= limit_down && reaches(a, b, distance - step * stride, taken | 1u << longest))
        return true;
    return false;
  }

  const char *kernel;
  tk_status status_;
};

} // namespace tk::host
