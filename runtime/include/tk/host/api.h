// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA runtime's functions that launchers and test programs use, under the names that all kinds of GPU share. Each
// kind has this header of its own.
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>

namespace tk::api {

using stream = CUstream_st *;
using error = cudaError_t;
using event = cudaEvent_t;
inline constexpr error success = cudaSuccess;

inline const char *text_of(error e) { return cudaGetErrorString(e); }
inline error last_error() { return cudaGetLastError(); }

inline error current_device(int &id) { return cudaGetDevice(&id); }
inline error synchronize() { return cudaDeviceSynchronize(); }

template <class T> error allocate(T *&block, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void **>(&block), bytes);
}
inline error release(void *block) { return cudaFree(block); }
inline error set_bytes(void *to, int value, size_t bytes) { return cudaMemset(to, value, bytes); }
inline error set_bytes_async(void *to, int value, size_t bytes, stream on) {
  return cudaMemsetAsync(to, value, bytes, on);
}
inline error copy_to_device(void *to, const void *from, size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
}
inline error copy_to_host(void *to, const void *from, size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
}

inline error launch(const void *kernel, unsigned blocks, unsigned threads, void **parameters, stream on) {
  return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), parameters, 0, on);
}

inline error create(event &e) { return cudaEventCreate(&e); }
inline error destroy(event e) { return cudaEventDestroy(e); }
inline error record(event e, stream on) { return cudaEventRecord(e, on); }
inline error wait_for(event e) { return cudaEventSynchronize(e); }
inline error milliseconds(float &ms, event from, event to) { return cudaEventElapsedTime(&ms, from, to); }

} // namespace tk::api
