// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every emitted file and every program of cases includes. The emulator lets Clang compile this once for each GPU
// and side, and begins each file from there (Frontend.cpp): a third of a small program's time went into these headers.
#ifdef __HIP__
#include <hip/hip_runtime.h>
#else
#include "tkc_emulator_prelude.h"
#endif

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

// What the program of cases (runtime/include/tk/host/test.h) uses of these templates. Nobody calls the function: its
// instantiations are kept with the headers, and every file would make them again otherwise.
#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
namespace tkc_emulator {

template <class T> inline void instantiate(const std::vector<T> &from, const T &value) {
  std::vector<T> list(from.size()), other;
  list = from;
  list = std::move(other);
  other = {};
  list.push_back(value);
  list.push_back(T(value));
  list.resize(from.size());
  other = std::move(list);
  if (!other.empty() && from.data() && other.data())
    list[0] = other[0] = from[0];
  for (T element : other)
    list[0] = element;
  for (const T &element : from)
    list[0] = element;
}

inline std::string instantiate(const char *text, const std::string &from, long long number) {
  instantiate<double>({}, 0);
  instantiate<float>({}, 0);
  instantiate<std::int64_t>({}, 0);
  instantiate<int>({}, 0);
  instantiate<unsigned char>({}, 0);
  std::vector<char> chars(from.size());
  chars.data()[0] = *text;
  std::vector<bool> bits(from.size());
  bits[0] = bits[1];
  if (!bits[0])
    bits[1] = true;
  std::vector<float> times;
  std::sort(times.begin(), times.end());
  std::string result = text, same = {chars.begin(), chars.end()};
  same = std::move(result);
  result = text;
  for (const char c : from) {
    result += c;
    result += text;
  }
  if (from == result || from == text || std::string(text) == text)
    result = result.substr(0, result.rfind('/') + result.find('/'));
  result = text + from + text + std::to_string(number) + text;
  return result + std::string(result.c_str()) + std::to_string(int(number)) + std::to_string(long(number));
}

} // namespace tkc_emulator
#endif
