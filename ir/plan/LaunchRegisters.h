// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a product of a warpgroup asks of the registers that a thread has when its block starts. ptxas holds each single
// instruction to these, whatever setmaxnreg claims later. How many tiles are alive at once, it holds to what was
// claimed.
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::plan {

struct WidestProduct {
  const Role *role = nullptr; ///< null where warpgroups multiply nothing into registers
  const Stmt *product = nullptr;
  int registers = 0; ///< a thread
};

/// Of the products of warpgroups into registers, the one whose instruction takes the most.
WidestProduct widestProduct(const Plan &plan);

/// A thread's registers at launch, of so many in all: a multiprocessor's four parts have a quarter of them each, and
/// warps are spread over the parts.
int launchRegisters(const Plan &plan, int64_t registers);

} // namespace tkc::plan
