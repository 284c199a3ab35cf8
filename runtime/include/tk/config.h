// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lets a plain C++ compiler read the headers that only compute (layouts, shared-memory offsets, descriptors), so that
// they can be tested on a machine without CUDA.
#pragma once

#if !defined(__CUDACC__)
#define __host__
#define __device__
#define __forceinline__ inline
#endif

namespace tk {

/// Of the device that this is being compiled for, 10 · major + minor; 0 for the host. Code for one of several devices
/// stands behind `if constexpr` on it.
#if defined(__CUDA_ARCH__)
inline constexpr int compute_capability = __CUDA_ARCH__ / 10;
#else
inline constexpr int compute_capability = 0;
#endif

/// How a thread holds a T.
template <class T> using register_type = T;

} // namespace tk
