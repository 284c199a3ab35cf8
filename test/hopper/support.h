// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the hand-written kernels of this folder share on the host: device memory, random inputs, tensor maps, timing,
// comparison. Every run poisons its outputs first and checks every element.
#pragma once

#include "tk/types.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace support {

inline void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// Device memory, filled with NaN patterns.
template <class T> struct buffer {
  T *data = nullptr;
  size_t count = 0;

  explicit buffer(size_t elements) : count(elements) {
    check(cudaMalloc(&data, elements * sizeof(T)), "cudaMalloc");
    poison();
  }
  buffer(const buffer &) = delete;
  ~buffer() { cudaFree(data); }
  void poison() { check(cudaMemset(data, 0xff, count * sizeof(T)), "cudaMemset"); }
  void zero() { check(cudaMemset(data, 0, count * sizeof(T)), "cudaMemset"); }
  std::vector<T> host() const {
    std::vector<T> copy(count);
    check(cudaMemcpy(copy.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return copy;
  }
};

__device__ inline unsigned hash(unsigned long long x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  x ^= x >> 33;
  return unsigned(x);
}

/// Roughly normal values with the given deviation.
template <class T> __global__ void fill_random(T *data, size_t count, unsigned long long seed, float scale) {
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += step) {
    float sum = 0;
    for (int j = 0; j < 4; ++j)
      sum += float(hash((i * 4 + j) ^ seed << 40)) * 0x1p-32f - 0.5f;
    data[i] = tk::cast_scalar<T>(sum * 1.7320508f * scale);
  }
}
template <class T> void randomize(buffer<T> &to, unsigned long long seed, float scale = 1.0f) {
  fill_random<<<1024, 256>>>(to.data, to.count, seed, scale);
  check(cudaGetLastError(), "fill_random");
}

/// ‖x - reference‖ / ‖reference‖ and the largest difference, summed up on the device.
template <class X, class Y> __global__ void compare_kernel(const X *x, const Y *reference, size_t count, double *sums) {
  double difference = 0, norm = 0, largest = 0;
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += step) {
    const double a = tk::to_float(x[i]), b = tk::to_float(reference[i]);
    const double d = a == b ? 0 : fabs(a - b);
    difference += d * d;
    norm += b * b;
    largest = d <= largest ? largest : d; // NaN stays
  }
  atomicAdd(&sums[0], difference);
  atomicAdd(&sums[1], norm);
  if (!(largest <= 1e30))
    sums[2] = 1e300;
}
/// Relative error in the Frobenius norm; infinite if an element is NaN.
template <class X, class Y> double relative_error(const buffer<X> &x, const buffer<Y> &reference) {
  buffer<double> sums(3);
  sums.zero();
  compare_kernel<<<512, 256>>>(x.data, reference.data, x.count, sums.data);
  check(cudaDeviceSynchronize(), "compare");
  const auto host = sums.host();
  if (!(host[2] < 1e200) || !(host[0] >= 0))
    return HUGE_VAL;
  return std::sqrt(host[0] / std::max(host[1], 1e-300));
}

/// Milliseconds of one call: the median of `repeats`, after `warm` calls.
template <class F> float time_ms(F call, int warm = 3, int repeats = 15) {
  cudaEvent_t from, to;
  check(cudaEventCreate(&from), "event");
  check(cudaEventCreate(&to), "event");
  std::vector<float> times;
  for (int i = 0; i < warm + repeats; ++i) {
    cudaEventRecord(from);
    call();
    cudaEventRecord(to);
    check(cudaEventSynchronize(to), "timed call");
    float ms = 0;
    cudaEventElapsedTime(&ms, from, to);
    if (i >= warm)
      times.push_back(ms);
  }
  cudaEventDestroy(from);
  cudaEventDestroy(to);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// A tensor map over a dense tensor; dims, strides (bytes, of dims 1…) and box innermost first.
inline tk::tensor_map make_map(const void *data, CUtensorMapDataType type,
                               std::initializer_list<unsigned long long> dims,
                               std::initializer_list<unsigned long long> strides, std::initializer_list<unsigned> box,
                               int swizzle = 128) {
  using encode_function = decltype(&cuTensorMapEncodeTiled);
  static encode_function encode = [] {
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult result;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &result),
          "entry point");
    return reinterpret_cast<encode_function>(entry);
  }();
  cuuint64_t d[5] = {}, s[5] = {};
  cuuint32_t b[5] = {}, ones[5] = {1, 1, 1, 1, 1};
  std::copy(dims.begin(), dims.end(), d);
  std::copy(strides.begin(), strides.end(), s);
  std::copy(box.begin(), box.end(), b);
  const CUtensorMapSwizzle mode = swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                  : swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                  : swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                  : CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMap map;
  const CUresult result =
      encode(&map, type, unsigned(dims.size()), const_cast<void *>(data), d, s, b, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
             mode, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    std::fprintf(stderr, "cuTensorMapEncodeTiled: %d\n", int(result));
    std::exit(1);
  }
  tk::tensor_map opaque;
  static_assert(sizeof(map) == sizeof(opaque));
  std::copy_n(reinterpret_cast<const char *>(&map), sizeof(map), reinterpret_cast<char *>(&opaque));
  return opaque;
}

/// Raises the kernel's limit of dynamic shared memory.
template <class Kernel> void allow_shared(Kernel kernel, int bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
}

inline int multiprocessors() {
  int count = 0, device = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

} // namespace support
