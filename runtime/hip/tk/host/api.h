// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The HIP runtime's functions that launchers and test programs use, under the names that all kinds of GPU share. Each
// kind has this header of its own.
#pragma once

#include <cstddef>
#include <hip/hip_runtime.h>

namespace tk::api {

using stream = ihipStream_t *;
using error = hipError_t;
using event = hipEvent_t;
inline constexpr error success = hipSuccess;

inline const char *text_of(error e) { return hipGetErrorString(e); }
inline error last_error() { return hipGetLastError(); }

inline error current_device(int &id) { return hipGetDevice(&id); }
inline error synchronize() { return hipDeviceSynchronize(); }

template <class T> error allocate(T *&block, size_t bytes) {
  return hipMalloc(reinterpret_cast<void **>(&block), bytes);
}
inline error release(void *block) { return hipFree(block); }
inline error set_bytes(void *to, int value, size_t bytes) { return hipMemset(to, value, bytes); }
inline error set_bytes_async(void *to, int value, size_t bytes, stream on) {
  return hipMemsetAsync(to, value, bytes, on);
}
inline error copy_to_device(void *to, const void *from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyHostToDevice);
}
inline error copy_to_host(void *to, const void *from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost);
}

inline error launch(const void *kernel, unsigned blocks, unsigned threads, void **parameters, stream on) {
  return hipLaunchKernel(kernel, dim3(blocks), dim3(threads), parameters, 0, on);
}

inline error create(event &e) { return hipEventCreate(&e); }
inline error destroy(event e) { return hipEventDestroy(e); }
inline error record(event e, stream on) { return hipEventRecord(e, on); }
inline error wait_for(event e) { return hipEventSynchronize(e); }
inline error milliseconds(float &ms, event from, event to) { return hipEventElapsedTime(&ms, from, to); }

} // namespace tk::api
