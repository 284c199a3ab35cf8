// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compiler is to compute where it is used, for the sake of registers. nvcc needs none of it.
#pragma once

#include "tk/config.h"

namespace tk {

/// Before a tile is masked.
__device__ __forceinline__ void begin_masks() {}
/// After it.
__device__ __forceinline__ void end_masks() {}

/// Whether code that is seldom run is better there once for each register than for one that is found when it runs.
inline constexpr bool repeats_code = false;

/// The number of a thread, for what is computed from it.
__device__ __forceinline__ int thread_in_place(int thread) { return thread; }

/// A condition to branch on that is the same for all threads.
__device__ __forceinline__ bool tested_in_place(bool x) { return x; }

} // namespace tk
