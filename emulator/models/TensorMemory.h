// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor memory, as the models of moves and of products both use it.
#pragma once

#include "emulator/Models.h"

namespace tkc::emulator {

/// An address of tensor memory.
struct TensorAddress {
  uint32_t lane, column;

  explicit TensorAddress(uint64_t bits)
      : lane(static_cast<uint32_t>(bits >> 16 & 0xffff)), column(static_cast<uint32_t>(bits & 0xffff)) {}
};

/// Checks an access to `count` columns from `column` on, of 16 lanes; what is wrong ends the launch.
void checkTensorAccess(Block &block, uint32_t group, uint32_t column, uint32_t count, uint32_t mask, AccessKind kind,
                       const TensorAgent &agent);

/// All tcgen05 instructions of a kernel name the same number of blocks: 1 or 2.
void checkBlocksTogether(Thread &thread, int blocks, SiteId site);

/// The blocks that an instruction of `cta_group::1` or `::2` works on, of even rank first; an error without a pair.
std::vector<Block *> blocksTogether(Thread &thread, int blocks, SiteId site);

/// An error if the thread's warp has not waited for all of its loads and stores.
void checkMovesAtEnd(Thread &thread);

/// `cta_group::N` of an instruction; 0 if it has none.
int readBlocksTogether(const BoundInstruction &instruction);

} // namespace tkc::emulator
