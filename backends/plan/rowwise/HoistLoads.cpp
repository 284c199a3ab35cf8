// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/rowwise/HoistLoads.h"

#include "ir/plan/verify/Verify.h"

#include <algorithm>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

/// So many blocks hide each other's waiting. LayerNorm of 4096 columns, whose blocks became three from four, lost 6 %;
/// of 2048, seven from nine, it won 2 % (docs/performance.md).
constexpr int64_t fewestBlocks = 4;

bool isLoad(const plan::Stmt &stmt) { return stmt.kind == Kind::Load; }

/// A barrier of the block, as reductions over several warps have one.
bool hasBarrier(const plan::Stmt &stmt) {
  return stmt.kind == Kind::Sync || (stmt.kind == Kind::Compute && !stmt.ref.buffer.empty());
}

bool readsAlike(const plan::Stmt &stmt, const plan::Role &role, const plan::Plan &plan) {
  const auto param = std::find_if(plan.params.begin(), plan.params.end(),
                                  [&](const ir::Param &param) { return param.name == stmt.view.tensor; });
  const plan::Var *loaded = role.findVar(stmt.dest);
  return isLoad(stmt) && stmt.operands.empty() && param != plan.params.end() && param->mode == ir::ParamMode::In &&
         loaded && loaded->type.kind != plan::VarType::Scalar && !loaded->type.layout.aligned;
}

int64_t blocksAtOnce(const plan::Role &role, const plan::Plan &plan, const arch::Description &arch) {
  return arch.registersPerMultiprocessor /
         ((plan::registersAlive(role) + plan::otherRegisters) * std::max(plan.threads, 1));
}

} // namespace

std::vector<std::string> hoistLoads(plan::Role &role, const plan::Plan &plan, const arch::Description &arch) {
  std::vector<std::string> tensors;
  const auto firstLoad =
      std::find_if(role.body.begin(), role.body.end(), [](const plan::Stmt &stmt) { return plan::any(stmt, isLoad); });
  auto place = static_cast<size_t>(firstLoad - role.body.begin());
  bool behindBarrier = false;
  for (size_t i = place; i < role.body.size(); ++i) {
    behindBarrier = behindBarrier || plan::any(role.body[i], hasBarrier);
    if (!behindBarrier || !readsAlike(role.body[i], role, plan))
      continue;
    plan::Role moved = role;
    const auto begin = moved.body.begin();
    std::rotate(begin + ptrdiff_t(place), begin + ptrdiff_t(i), begin + ptrdiff_t(i + 1));
    if (blocksAtOnce(moved, plan, arch) < fewestBlocks)
      continue;
    role = std::move(moved);
    tensors.push_back(role.body[place++].view.tensor);
  }
  return tensors;
}

} // namespace tkc::planner
