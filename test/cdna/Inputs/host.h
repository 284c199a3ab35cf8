// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the programs of this folder have in common.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

template <class T> T *upload(const std::vector<T> &values) {
  T *memory;
  if (hipMalloc(&memory, values.size() * sizeof(T)) != hipSuccess)
    std::exit(2);
  (void)hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice);
  return memory;
}
template <class T> std::vector<T> download(const T *memory, size_t count) {
  std::vector<T> values(count);
  (void)hipMemcpy(values.data(), memory, count * sizeof(T), hipMemcpyDeviceToHost);
  return values;
}

inline void report(const char *name, bool right) {
  const hipError_t error = hipDeviceSynchronize();
  std::printf("%s: %s\n", name, error != hipSuccess ? hipGetErrorString(error) : right ? "right" : "wrong");
  (void)hipDeviceReset();
}

inline std::vector<float> numbers(size_t count, int seed) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = (float)((int)(i * 7 + i / 5 + seed) % 9 - 4);
  return values;
}
