// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the HIP runtime's interface that emitted files and their test programs use, for machines without ROCm.
// Names are the HIP Runtime API's; emulator/amdgpu/HipRuntime.cpp implements them.
#pragma once

#ifndef __host__
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#endif
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)                                                                                         \
  TKC_LAUNCH_BOUNDS_OF(__VA_ARGS__, TKC_LAUNCH_BOUNDS_2, TKC_LAUNCH_BOUNDS_1, )(__VA_ARGS__)
#define TKC_LAUNCH_BOUNDS_OF(a, b, name, ...) name
#define TKC_LAUNCH_BOUNDS_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define TKC_LAUNCH_BOUNDS_2(threads, waves)                                                                            \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))

#include "../vector_types.h"

#include <stddef.h>

enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorInvalidConfiguration = 9,
  hipErrorInvalidDeviceFunction = 98,
  hipErrorNotFound = 500,
  hipErrorLaunchFailure = 719,
  hipErrorNotSupported = 801,
};
enum hipMemcpyKind {
  hipMemcpyHostToHost,
  hipMemcpyHostToDevice,
  hipMemcpyDeviceToHost,
  hipMemcpyDeviceToDevice,
  hipMemcpyDefault,
};
enum hipDeviceAttribute_t {
  hipDeviceAttributeMaxSharedMemoryPerBlock = 1,
  hipDeviceAttributeWarpSize = 2,
  hipDeviceAttributeMultiprocessorCount = 3,
};
enum hipFuncAttribute { hipFuncAttributeMaxDynamicSharedMemorySize = 8 };

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;

struct hipDeviceProp_t {
  char name[256];
  char gcnArchName[256];
  size_t sharedMemPerBlock;
  int warpSize, multiProcessorCount, maxThreadsPerBlock, major, minor;
};

extern "C" {
hipError_t hipMalloc(void **memory, size_t bytes);
hipError_t hipFree(void *memory);
hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream = nullptr);
hipError_t hipMemset(void *to, int value, size_t bytes);
hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream = nullptr);
hipError_t hipGetDevice(int *device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device);
hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device);
hipError_t hipDeviceSynchronize(void);
hipError_t hipDeviceReset(void);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);
const char *hipGetErrorString(hipError_t error);
hipError_t hipEventCreate(hipEvent_t *event);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t from, hipEvent_t to);
hipError_t hipFuncSetAttribute(const void *kernel, hipFuncAttribute attribute, int value);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t shared);
hipError_t hipLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                           hipStream_t stream);
// What Clang makes of `kernel<<<…>>>(…)`.
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, hipStream_t *stream);
}

template <class T> hipError_t hipMalloc(T **memory, size_t bytes) {
  return hipMalloc(reinterpret_cast<void **>(memory), bytes);
}

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...)                                                   \
  (kernel)<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__)
