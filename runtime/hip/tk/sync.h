// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel asks of the machine besides data: who am I.
#pragma once

#include "tk/warp.h"

namespace tk {

/// Which wave of the block this is, known to be the same in all its lanes.
__device__ __forceinline__ int warp_index() { return uniform(threadIdx.x / warp_size); }

} // namespace tk
