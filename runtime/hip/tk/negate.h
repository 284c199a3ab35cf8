// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The negation of i32, which wraps: that of the least number is itself.
#pragma once

namespace tk {

__device__ __forceinline__ int negate(int x) { return int(0u - unsigned(x)); }

} // namespace tk
