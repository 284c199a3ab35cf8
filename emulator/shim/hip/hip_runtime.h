// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What hipcc's headers declare and emitted files use: keywords, built-in variables, the runtime's interface. Device
// code stands on Clang's builtins.
#pragma once

#include "hip_runtime_api.h"

/// A variable whose three members are what functions give: `threadIdx.x`.
#define TKC_BUILTIN_VARIABLE(name, function)                                                                           \
  struct tkc_##name##_t {                                                                                              \
    __declspec(property(get = get_x)) unsigned x;                                                                      \
    __declspec(property(get = get_y)) unsigned y;                                                                      \
    __declspec(property(get = get_z)) unsigned z;                                                                      \
    static __inline__ __device__ __attribute__((always_inline)) unsigned get_x() { return function(0); }               \
    static __inline__ __device__ __attribute__((always_inline)) unsigned get_y() { return function(1); }               \
    static __inline__ __device__ __attribute__((always_inline)) unsigned get_z() { return function(2); }               \
  };                                                                                                                   \
  static constexpr tkc_##name##_t name{};

namespace tkc_hip {
static __inline__ __device__ __attribute__((always_inline)) unsigned thread_index(int axis) {
  return axis == 0   ? __builtin_amdgcn_workitem_id_x()
         : axis == 1 ? __builtin_amdgcn_workitem_id_y()
                     : __builtin_amdgcn_workitem_id_z();
}
static __inline__ __device__ __attribute__((always_inline)) unsigned block_index(int axis) {
  return axis == 0   ? __builtin_amdgcn_workgroup_id_x()
         : axis == 1 ? __builtin_amdgcn_workgroup_id_y()
                     : __builtin_amdgcn_workgroup_id_z();
}
static __inline__ __device__ __attribute__((always_inline)) unsigned block_size(int axis) {
  return axis == 0   ? __builtin_amdgcn_workgroup_size_x()
         : axis == 1 ? __builtin_amdgcn_workgroup_size_y()
                     : __builtin_amdgcn_workgroup_size_z();
}
/// LLVM's "User Guide for AMDGPU Backend", hidden_block_count_x.
static __inline__ __device__ __attribute__((always_inline)) unsigned grid_size(int axis) {
  return ((__attribute__((address_space(4))) const unsigned *)__builtin_amdgcn_implicitarg_ptr())[axis];
}
} // namespace tkc_hip

TKC_BUILTIN_VARIABLE(threadIdx, tkc_hip::thread_index)
TKC_BUILTIN_VARIABLE(blockIdx, tkc_hip::block_index)
TKC_BUILTIN_VARIABLE(blockDim, tkc_hip::block_size)
TKC_BUILTIN_VARIABLE(gridDim, tkc_hip::grid_size)
#undef TKC_BUILTIN_VARIABLE

static __inline__ __device__ __attribute__((always_inline)) void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
static __inline__ __device__ __attribute__((always_inline)) void __threadfence() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
