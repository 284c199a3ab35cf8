// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/LaunchRegisters.h"

#include <algorithm>

namespace tkc::plan {
namespace {

/// An instruction has 64 rows, of a warpgroup's 128 threads, and sums of 32 bits.
constexpr int64_t rowsOfThreads = 2;
/// Of a left operand in registers: 64 rows of 32 bytes.
constexpr int leftOperand = 4;
/// Sums begin at the 25th register, and two more stay free: so ptxas 13.0 says for every type and width ("Insufficient
/// registers … Try to compile with register target of … or higher", C7602).
constexpr int besideSums = 26;

int registersOf(const Stmt &product, const Role &role) {
  const Var *sums = role.findVar(product.dest);
  if (!sums || sums->type.layout.kind != Layout::Mma)
    return 0;
  const int64_t cols = sums->type.division == Division::Cols ? sums->type.cols / role.instances : sums->type.cols;
  return static_cast<int>(cols / rowsOfThreads) + (product.aShared ? 0 : leftOperand) + besideSums;
}

} // namespace

WidestProduct widestProduct(const Plan &plan) {
  WidestProduct widest;
  for (const Role &role : plan.roles)
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) {
        if (stmt.kind != StmtKind::Product || stmt.isSynchronous() || stmt.isTensorProduct())
          return;
        if (const int registers = registersOf(stmt, role); registers > widest.registers)
          widest = {&role, &stmt, registers};
      });
  return widest;
}

int launchRegisters(const Plan &plan, int64_t registers) {
  const int64_t spread = std::max((plan.threads + 127) / 128 * 128, 1);
  return static_cast<int>(registers / spread / 8 * 8);
}

} // namespace tkc::plan
