// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What HIP's headers define for every file, for a compiler that was told not to read them, and the numbers of a thread
// by the builtins of AMD GPUs. Clang, "AMDGPU Support"; LLVM, "User Guide for AMDGPU Backend", implicit arguments.
#pragma once

#if !defined(__host__)
#define __host__ __attribute__((host))
#endif
#if !defined(__device__)
#define __device__ __attribute__((device))
#endif
#if !defined(__global__)
#define __global__ __attribute__((global))
#endif
#if !defined(__shared__)
#define __shared__ __attribute__((shared))
#endif
#if !defined(__forceinline__)
#define __forceinline__ inline __attribute__((always_inline))
#endif
#if !defined(__grid_constant__)
#define __grid_constant__
#endif

namespace tk {

/// The GPU that this is being compiled for: 950 of gfx950; 90 of gfx90a; 0 for the host.
#if defined(__gfx950__)
inline constexpr int gfx = 950;
#elif defined(__gfx942__)
inline constexpr int gfx = 942;
#elif defined(__gfx90a__)
inline constexpr int gfx = 90;
#else
inline constexpr int gfx = 0;
#endif

/// How a thread holds a T: a bool as a number, as LLVM leaves a single one in memory.
template <class T> struct register_holding {
  using type = T;
};
template <> struct register_holding<bool> {
  using type = unsigned;
};
template <class T> using register_type = typename register_holding<T>::type;

/// A number that the hardware knows, spelled as HIP spells it: `threadIdx.x`.
template <class Read> struct hardware_number {
  struct number {
    __device__ __forceinline__ operator int() const { return Read::value(); }
  };
  number x;
};
struct read_thread {
  __device__ __forceinline__ static int value() { return int(__builtin_amdgcn_workitem_id_x()); }
};
struct read_block {
  __device__ __forceinline__ static int value() { return int(__builtin_amdgcn_workgroup_id_x()); }
};
/// Blocks of the grid and threads of a block: implicit arguments of a kernel, the first words and the sixth half word.
struct read_grid {
  __device__ __forceinline__ static int value() {
    return *(const __attribute__((address_space(4))) int *)(__builtin_amdgcn_implicitarg_ptr());
  }
};
struct read_block_size {
  __device__ __forceinline__ static int value() {
    return ((const __attribute__((address_space(4))) unsigned short *)(__builtin_amdgcn_implicitarg_ptr()))[6];
  }
};
inline constexpr __device__ hardware_number<read_thread> threadIdx{};
inline constexpr __device__ hardware_number<read_block> blockIdx{};
inline constexpr __device__ hardware_number<read_grid> gridDim{};
inline constexpr __device__ hardware_number<read_block_size> blockDim{};

} // namespace tk
