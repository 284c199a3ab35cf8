// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffer::grain: how many bytes of a row a swizzle keeps together.
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::plan {

inline constexpr int chunkGrain = 16;  ///< what every swizzle keeps together
inline constexpr int productGrain = 8; ///< the least that reads of products go by
inline constexpr int wordGrain = 4;    ///< bytes of a bank
inline constexpr int rowsOfWords = 32; ///< rows after which a swizzle of this grain repeats; others repeat after 16

/// The least grain that a tile's shape allows. Panels lie one after another, and each begins where the swizzle does.
inline int leastGrain(const Buffer &buffer) {
  const bool isOnePanel = sharedBytes(buffer.elem, buffer.cols) <= bytes(buffer.swizzle);
  return isOnePanel || buffer.rows % rowsOfWords == 0 ? wordGrain : productGrain;
}

} // namespace tkc::plan
