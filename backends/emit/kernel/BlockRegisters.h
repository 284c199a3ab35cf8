// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many registers the threads of a block may have, as a kernel's launch bounds say it.
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::cuda {

/// The registers that each thread has at first, with so many blocks on a multiprocessor whose registers change hands.
int launchRegisters(int threads, int blocks);

/// The registers that each role has, if all have as many and two blocks' worth is there: then none changes hands.
int sharedOut(const plan::Plan &plan);

/// How many blocks a multiprocessor is to hold at once; 0: as many as the compiler likes. The compiler would rather spill
/// than have one block less at once. Warps that multiply by themselves want all registers a thread may have; a single
/// loading warp beside them takes no block's place. Blocks with tensor memory, of whose shared memory a multiprocessor
/// has one block's worth, are alone there.
int blocksAtOnce(const plan::Plan &plan);

} // namespace tkc::cuda
