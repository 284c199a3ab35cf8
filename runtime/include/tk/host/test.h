// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs cases on the GPU and compares every element with what it should be: what the programs of
// `tkc test --target=gpu` are made of. A case is a file that tkc wrote; harness/CaseData.h describes it.
#pragma once

#include "tk/host/api.h"
#include "tk/host/case_entry.h"
#include "tk/host/random.h"
#include "tk/host/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace tk::test {

enum class role : uint32_t { in, out, inout, absent };
/// What memory holds before the call.
enum class contents : uint32_t { given, untouched, random };

/// A tensor of a case, on both sides.
struct tensor {
  std::string name;
  uint32_t type = 0; ///< as tkc numbers element types
  role as = role::in;
  std::vector<int64_t> dims, strides;
  size_t size = 0; ///< bytes of its memory
  contents holds = contents::given;
  std::vector<unsigned char> before; ///< if given
  uint64_t seed = 0;                 ///< if random
  std::vector<double> expected, tolerance;
  std::vector<int64_t> expected_integers; ///< of i64, in the place of `expected`
  unsigned char *block = nullptr;         ///< on the device, with `guard` bytes on either side of the memory
  tk_tensor view = {};

  static constexpr size_t guard = 256;
  static constexpr unsigned char untouched = 0xa5;

  int bits_per_element() const {
    constexpr int bits[] = {64, 32, 32, 16, 16, 8, 8, 64, 32, 8, 8, 8, 8, 4, 6, 6, 4, 4};
    return bits[type];
  }
  /// Of an element; of a packed type 1.
  int bytes_per_element() const { return bits_per_element() < 8 ? 1 : bits_per_element() / 8; }
  /// From the start of the memory to the byte that an element begins in, in which it does not begin with bit 0 where
  /// it is packed, and to that behind its last.
  int64_t byte_of(int64_t element) const { return element * bits_per_element() / 8; }
  int bit_of(int64_t element) const { return int(element * bits_per_element() % 8); }
  int64_t end_of(int64_t element) const { return (element * bits_per_element() + bits_per_element() + 7) / 8; }
  /// Bytes that are known before the call. What was made on the device is not.
  unsigned char byte_before(size_t at) const { return holds == contents::given ? before[at] : untouched; }
  bool has_expected() const { return !expected.empty() || !expected_integers.empty(); }
  bool is_compared() const { return holds != contents::random && (as == role::in || has_expected()); }
  int64_t count() const {
    int64_t n = 1;
    for (int64_t dim : dims)
      n *= dim;
    return n;
  }
};

/// What a binary float has: the sign, then `exponent_bits`, then `mantissa_bits`.
inline double narrow_value(uint32_t bits, int exponent_bits, int mantissa_bits, bool has_infinity,
                           bool has_nan = true) {
  const uint32_t exponent_mask = (1u << exponent_bits) - 1;
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent = int(bits >> mantissa_bits & exponent_mask), bias = int(exponent_mask / 2);
  const double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
  if (has_infinity && exponent == int(exponent_mask))
    return mantissa ? NAN : sign * INFINITY;
  if (!has_infinity && has_nan && exponent == int(exponent_mask) && mantissa == (1u << mantissa_bits) - 1)
    return NAN;
  if (exponent == 0)
    return sign * std::ldexp(double(mantissa), 1 - bias - mantissa_bits);
  return sign * std::ldexp(1 + std::ldexp(double(mantissa), -mantissa_bits), exponent - bias);
}

/// `bit`: where a packed element begins in its first byte.
inline double element_value(const unsigned char *at, uint32_t type, int bit) {
  const auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  const auto code = [&](int bits) {
    return uint32_t(at[0] | (bit + bits > 8 ? at[1] << 8 : 0)) >> bit & ((1u << bits) - 1);
  };
  switch (type) {
  case 0:
    return read(double{});
  case 1:
  case 2:
    return read(float{});
  case 3:
    return narrow_value(read(uint16_t{}), 5, 10, true);
  case 4:
    return narrow_value(read(uint16_t{}), 8, 7, true);
  case 5:
    return narrow_value(*at, 4, 3, false);
  case 6:
    return narrow_value(*at, 5, 2, true);
  case 8:
    return read(int32_t{});
  case 9:
    return read(int8_t{});
  case 12:
    return *at == 255 ? NAN : std::ldexp(1.0, *at - 127);
  case 13:
    return narrow_value(code(4), 2, 1, false, false);
  case 14:
    return narrow_value(code(6), 2, 3, false, false);
  case 15:
    return narrow_value(code(6), 3, 2, false, false);
  case 16:
    return code(4);
  case 17:
    return int(code(4) ^ 8) - 8;
  default:
    return *at;
  }
}

/// i64, of which a double does not hold every number.
inline constexpr uint32_t wide_integer = 7;

/// DLPack's type code and bits of an element type.
inline void set_type(tk_tensor &view, uint32_t type) {
  constexpr unsigned char codes[] = {2, 2, 2, 2, 4, 10, 12, 0, 0, 0, 1, 6, 14, 17, 15, 16, 1, 0};
  constexpr unsigned char bits[] = {64, 32, 32, 16, 16, 8, 8, 64, 32, 8, 8, 8, 8, 4, 6, 6, 4, 4};
  view.type_code = codes[type], view.type_bits = bits[type], view.type_lanes = 1;
}

inline void check(api::error error, const char *what) {
  if (error == api::success)
    return;
  std::fprintf(stderr, "%s: %s\n", what, api::text_of(error));
  std::exit(2);
}

class case_data {
public:
  explicit case_data(const std::string &path) {
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      std::exit(2);
    }
    std::fseek(file, 0, SEEK_END);
    bytes.resize(size_t(std::ftell(file)));
    std::rewind(file);
    const bool whole = std::fread(bytes.data(), 1, bytes.size(), file) == bytes.size();
    std::fclose(file);
    if (!whole || bytes.size() < 8 || std::memcmp(bytes.data(), "TKCASE2\n", 8) != 0) {
      std::fprintf(stderr, "%s is no case\n", path.c_str());
      std::exit(2);
    }
    at = 8;
    read_scalars();
    for (uint32_t n = number<uint32_t>(); n > 0; --n)
      read_tensor();
    bytes = {};
  }
  case_data(const case_data &) = delete;
  ~case_data() {
    for (tk::test::tensor &t : tensors)
      api::release(t.block);
    api::release(workspace_block);
  }

  scalar_value scalar(const char *name) const {
    for (const auto &[known, value] : scalars)
      if (known == name)
        return value;
    return {};
  }
  /// Null where the case leaves it out.
  const tk_tensor *tensor(const char *name) const {
    for (const tk::test::tensor &t : tensors)
      if (t.name == name && t.as != role::absent)
        return &t.view;
    return nullptr;
  }

  /// Bytes for a program, each of them 0xFF, NaN in every float type: what a program reads of it, it must have written.
  /// The same block at every call, null where the size is none.
  void *workspace(int64_t size) const {
    if (size <= 0)
      return nullptr;
    if (!workspace_block) {
      const size_t all = size_t(size) + tensor::guard;
      check(api::allocate(workspace_block, all), "allocation");
      check(api::set_bytes(workspace_block, 0xff, size_t(size)), "setting bytes");
      check(api::set_bytes(workspace_block + size, tensor::untouched, tensor::guard), "setting bytes");
      workspace_bytes = size;
    }
    return workspace_block;
  }

  void upload() {
    for (tk::test::tensor &t : tensors) {
      if (t.as == role::absent)
        continue;
      const size_t size = t.size + 2 * tensor::guard;
      if (!t.block)
        check(api::allocate(t.block, size), "allocation");
      check(api::set_bytes(t.block, tensor::untouched, size), "setting bytes");
      if (t.holds == contents::given)
        check(api::copy_to_device(t.block + tensor::guard, t.before.data(), t.size), "upload");
      else if (t.holds == contents::random)
        check(fill_random(t.block + tensor::guard, t.type, t.size / t.bytes_per_element(), t.seed), "random numbers");
      t.view.data = t.block + tensor::guard;
      t.view.device_type = 2;
      check(api::current_device(t.view.device_id), "current device");
      t.view.rank = int32_t(t.dims.size());
      t.view.dims = t.dims.data(), t.view.strides = t.strides.data();
      set_type(t.view, t.type);
    }
  }

  /// The largest error in relation to its tolerance, or what is wrong.
  struct outcome {
    double error = 0, tolerance = 0;
    std::string message;
  };
  outcome compare() {
    outcome result;
    for (tk::test::tensor &t : tensors)
      if (t.as != role::absent)
        compare(t, result);
    check_workspace(result);
    return result;
  }

  std::vector<tk::test::tensor> tensors;

private:
  template <class T> T number() {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return value;
  }
  template <class T> std::vector<T> list(size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes.data() + at, count * sizeof(T));
    at += count * sizeof(T);
    return values;
  }
  std::string string() {
    const auto text = list<char>(number<uint32_t>());
    return {text.begin(), text.end()};
  }

  void read_scalars() {
    for (uint32_t n = number<uint32_t>(); n > 0; --n) {
      std::string name = string();
      scalar_value value;
      value.is_integer = number<uint32_t>() == wide_integer;
      if (value.is_integer)
        value.integer = number<int64_t>();
      else
        value.floating = number<double>();
      scalars.emplace_back(std::move(name), value);
    }
  }
  void read_tensor() {
    tk::test::tensor t;
    t.name = string();
    t.type = number<uint32_t>();
    t.as = role(number<uint32_t>());
    if (t.as != role::absent) {
      const auto rank = number<uint32_t>();
      t.dims = list<int64_t>(rank);
      t.strides = list<int64_t>(rank);
      t.size = number<uint64_t>();
      t.holds = contents(number<uint32_t>());
      if (t.holds == contents::given)
        t.before = list<unsigned char>(t.size);
      else if (t.holds == contents::random)
        t.seed = number<uint64_t>();
      if (t.as != role::in) {
        const auto count = number<uint64_t>();
        if (t.type == wide_integer)
          t.expected_integers = list<int64_t>(count);
        else
          t.expected = list<double>(count);
        t.tolerance = list<double>(count);
      }
    }
    tensors.push_back(std::move(t));
  }

  static void say(outcome &result, const char *format, const std::string &name, long long at, double got, double want,
                  double allowed) {
    char text[256];
    std::snprintf(text, sizeof text, format, name.c_str(), at, got, want, allowed);
    if (result.message.empty())
      result.message = text;
  }

  static void compare(tk::test::tensor &t, outcome &result) {
    if (!t.is_compared())
      return;
    std::vector<unsigned char> block(t.size + 2 * tensor::guard);
    check(api::copy_to_host(block.data(), t.block, block.size()), "download");
    std::vector<bool> is_output(t.size);
    std::vector<int64_t> index(t.dims.size());
    for (int64_t i = 0; i < t.count() && t.as != role::in; ++i) {
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d)
        offset += index[d] * t.strides[d];
      for (int64_t byte = t.byte_of(offset); byte < t.end_of(offset); ++byte)
        is_output[size_t(byte)] = true;
      const unsigned char *at = block.data() + tensor::guard + t.byte_of(offset);
      if (t.type == wide_integer && t.has_expected())
        compare_integer(t, i, at, result);
      else if (t.has_expected())
        compare_element(t, i, element_value(at, t.type, t.bit_of(offset)), result);
      for (size_t d = index.size(); d-- > 0 && ++index[d] == t.dims[d];)
        index[d] = 0;
    }
    for (size_t i = 0; i < block.size(); ++i) {
      const bool inside = i >= tensor::guard && i < tensor::guard + t.size;
      const unsigned char was = inside ? t.byte_before(i - tensor::guard) : tensor::untouched;
      if (block[i] != was && !(inside && is_output[i - tensor::guard]))
        return say(result, "`%s`: byte %lld is no element of an output and was written", t.name,
                   (long long)i - (long long)tensor::guard, 0, 0, 0);
    }
  }

  void check_workspace(outcome &result) const {
    if (!workspace_block)
      return;
    unsigned char behind[tensor::guard];
    check(api::copy_to_host(behind, workspace_block + workspace_bytes, tensor::guard), "download");
    for (size_t i = 0; i < tensor::guard; ++i)
      if (behind[i] != tensor::untouched)
        return say(result, "`%s`: byte %lld behind its end was written", "workspace", (long long)i, 0, 0, 0);
  }

  static void compare_element(const tk::test::tensor &t, int64_t i, double got, outcome &result) {
    const double want = t.expected[size_t(i)], allowed = t.tolerance[size_t(i)];
    const bool same = got == want || (std::isnan(got) && std::isnan(want));
    const double error = same ? 0 : std::fabs(got - want);
    if (!same && !(error <= allowed))
      say(result, "`%s` element %lld is %.9g, not %.9g ± %.3g", t.name, i, got, want, allowed);
    note_error(error, allowed, result);
  }

  /// Two integers that are not equal are at least 1 apart, whatever their doubles are.
  static void compare_integer(const tk::test::tensor &t, int64_t i, const unsigned char *at, outcome &result) {
    int64_t got;
    std::memcpy(&got, at, sizeof got);
    const int64_t want = t.expected_integers[size_t(i)];
    const double allowed = t.tolerance[size_t(i)];
    const double error = got == want ? 0 : std::max(1.0, std::fabs(double(got) - double(want)));
    if (error > allowed && result.message.empty())
      result.message = "`" + t.name + "` element " + std::to_string(i) + " is " + std::to_string(got) + ", not " +
                       std::to_string(want);
    note_error(error, allowed, result);
  }

  static void note_error(double error, double allowed, outcome &result) {
    const double ratio = error / (allowed > 0 ? allowed : 1),
                 worst = result.error / (result.tolerance > 0 ? result.tolerance : 1);
    if (ratio > worst || result.tolerance == 0)
      result.error = error, result.tolerance = allowed;
  }

  mutable unsigned char *workspace_block = nullptr;
  mutable int64_t workspace_bytes = 0;
  std::vector<unsigned char> bytes;
  size_t at = 0;
  std::vector<std::pair<std::string, scalar_value>> scalars;
};

inline std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
}

/// Milliseconds of one call: the median of `repeats`, after two to warm up; before each, L2 is filled with other data
/// where `cold`. The calls leave the data as they may.
inline double time_call(const entry &e, const case_data &data, int repeats, bool cold) {
  constexpr size_t l2_bytes = size_t(256) << 20; // several times what any GPU has
  api::event from, to;
  check(api::create(from), "event");
  check(api::create(to), "event");
  void *other = nullptr;
  if (cold)
    check(api::allocate(other, l2_bytes), "allocation");
  std::vector<float> times;
  for (int i = -2; i < repeats; ++i) {
    if (cold)
      check(api::set_bytes_async(other, i & 0xff, l2_bytes, nullptr), "setting bytes");
    check(api::record(from, nullptr), "event");
    e.call(data, nullptr);
    check(api::record(to, nullptr), "event");
    check(api::wait_for(to), "timed call");
    float ms = 0;
    check(api::milliseconds(ms, from, to), "event");
    if (i >= 0)
      times.push_back(ms);
  }
  api::release(other);
  api::destroy(from);
  api::destroy(to);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// `program [--once | --bench] [INDEX…]`: a line of JSON on standard output when a case begins, and one of what became
/// of it; --once times nothing, --bench times with care and compares only where there is something to compare with. 0
/// if all passed, 1 if not, 2 if it could not run, or go on.
inline int run(const entry *entries, int count, int argc, char **argv) {
  std::string folder = argv[0];
  folder = folder.find('/') == std::string::npos ? "." : folder.substr(0, folder.rfind('/'));
  bool once = false, bench = false;
  std::vector<int> only;
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--once")
      once = true;
    else if (std::string(argv[i]) == "--bench")
      bench = true;
    else
      only.push_back(std::atoi(argv[i]));
  bool all_passed = true;
  for (int i = 0; i < count; ++i) {
    const entry &e = entries[i];
    bool wanted = only.empty();
    for (int index : only)
      wanted |= index == e.index;
    if (!wanted)
      continue;
    std::printf("{\"index\": %d, \"begins\": true}\n", e.index); // should it end the program, this says which one did
    std::fflush(stdout);
    case_data data(folder + "/" + e.file);
    data.upload();
    const tk_status status = e.call(data, nullptr);
    const api::error error = api::synchronize();
    case_data::outcome outcome;
    if (status.code != TK_OK)
      outcome.message = status.message;
    else if (error != api::success)
      outcome.message = api::text_of(error);
    else
      outcome = data.compare();
    const bool passed = outcome.message.empty();
    const double ms = passed && !once ? time_call(e, data, bench ? 21 : 3, bench) : 0;
    all_passed &= passed;
    std::printf("{\"index\": %d, \"kernel\": %s, \"case\": %s, \"passed\": %s, \"maxError\": %.9g, \"tolerance\": "
                "%.9g, \"seconds\": %.9g, "
                "\"message\": %s}\n",
                e.index, quoted(e.kernel).c_str(), quoted(e.description).c_str(), passed ? "true" : "false",
                std::isfinite(outcome.error) ? outcome.error : 1e308, outcome.tolerance, ms * 1e-3,
                quoted(outcome.message).c_str());
    std::fflush(stdout);
    if (error != api::success) { // nothing more can run in this process
      std::fprintf(stderr, "case %d: %s\n", e.index, api::text_of(error));
      return 2;
    }
  }
  return all_passed ? 0 : 1;
}
template <int Count> int run(const entry (&entries)[Count], int argc, char **argv) {
  return run(entries, Count, argc, argv);
}

} // namespace tk::test
