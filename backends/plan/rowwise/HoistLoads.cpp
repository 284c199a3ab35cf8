// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/rowwise/HoistLoads.h"

#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <optional>

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

/// Whether all blocks load the same, in a loop in each iteration.
bool readsAlike(const plan::Stmt &stmt, const std::string &iteration, const plan::Role &role, const plan::Plan &plan) {
  const auto param = std::find_if(plan.params.begin(), plan.params.end(),
                                  [&](const ir::Param &param) { return param.name == stmt.view.tensor; });
  const bool isAlike = std::all_of(stmt.operands.begin(), stmt.operands.end(),
                                   [&](const std::string &operand) { return operand == iteration; });
  const plan::Var *loaded = role.findVar(stmt.dest);
  return isLoad(stmt) && isAlike && !stmt.hasElse && param != plan.params.end() && param->mode == ir::ParamMode::In &&
         loaded && loaded->type.kind != plan::VarType::Scalar;
}

int64_t blocksAtOnce(const plan::Role &role, const plan::Plan &plan, const arch::Description &arch) {
  return arch.registersPerMultiprocessor /
         ((plan::registersAlive(role) + plan::otherRegisters) * std::max(plan.threads, 1));
}

/// The role's statements, or those of one of its loops.
plan::Body &bodyIn(plan::Role &role, std::optional<size_t> loop) { return loop ? role.body[*loop].body : role.body; }

void hoistIn(std::optional<size_t> loop, plan::Role &role, const plan::Plan &plan, const arch::Description &arch,
             std::vector<std::string> &tensors) {
  const std::string iteration = loop ? role.body[*loop].dest : std::string();
  const plan::Body &body = bodyIn(role, loop);
  const auto firstLoad =
      std::find_if(body.begin(), body.end(), [](const plan::Stmt &stmt) { return plan::any(stmt, isLoad); });
  auto place = static_cast<size_t>(firstLoad - body.begin());
  bool behindBarrier = false;
  for (size_t i = place; i < bodyIn(role, loop).size(); ++i) {
    const plan::Stmt &stmt = bodyIn(role, loop)[i];
    behindBarrier = behindBarrier || plan::any(stmt, hasBarrier);
    if (!behindBarrier || !readsAlike(stmt, iteration, role, plan))
      continue;
    plan::Role moved = role;
    const auto begin = bodyIn(moved, loop).begin();
    std::rotate(begin + ptrdiff_t(place), begin + ptrdiff_t(i), begin + ptrdiff_t(i + 1));
    if (blocksAtOnce(moved, plan, arch) < fewestBlocks)
      continue;
    role = std::move(moved);
    tensors.push_back(bodyIn(role, loop)[place++].view.tensor);
  }
}

} // namespace

std::vector<std::string> hoistLoads(plan::Role &role, const plan::Plan &plan, const arch::Description &arch) {
  std::vector<std::string> tensors;
  hoistIn(std::nullopt, role, plan, arch, tensors);
  for (size_t i = 0; i < role.body.size(); ++i)
    if (role.body[i].kind == Kind::For && role.body[i].prologue.empty())
      hoistIn(i, role, plan, arch, tensors);
  return tensors;
}

} // namespace tkc::planner
