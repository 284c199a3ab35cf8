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
