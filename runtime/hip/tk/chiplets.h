// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks go around the dies of a GPU; tiles that follow each other share operands, and each die has an L2 of its own.
#pragma once

#include "tk/config.h"

namespace tk {

/// Block number `block` of `blocks`, counted die by die: those that the same of `Dies` dies runs follow each other.
template <int Dies> __host__ __device__ constexpr int by_chiplet(int block, int blocks) {
  const int die = block % Dies, longer = blocks % Dies; // the first dies may have a block more
  return die * (blocks / Dies) + (die < longer ? die : longer) + block / Dies;
}

} // namespace tk
