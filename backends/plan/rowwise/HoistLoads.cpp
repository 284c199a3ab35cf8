// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/rowwise/HoistLoads.h"

#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

/// So many blocks hide each other's waiting. LayerNorm of 4096 columns, whose blocks became three from four, lost 6 %;
/// of 2048, seven from nine, it won 2 % (docs/performance.md).
constexpr int64_t fewestBlocks = 4;
/// So many threads hide what blocks without barriers wait for. RMSNorm of 496 columns keeps 960 of 1088 threads, and
/// won 10 %; LayerNorm of 316 columns would keep 768 of 1024, and lose 9 % (docs/notes/short-rows.md).
constexpr int64_t fewestThreads = 960;

bool isLoad(const plan::Stmt &stmt) { return stmt.kind == Kind::Load; }

/// A barrier of the block, as reductions over several warps have one.
bool isBarrier(const plan::Stmt &stmt) {
  return stmt.kind == Kind::Sync || (stmt.kind == Kind::Compute && !stmt.ref.buffer.empty());
}

/// A reduction over the threads of a row or column, and whatever has a barrier.
bool isReduction(const plan::Stmt &stmt) {
  return isBarrier(stmt) || (stmt.kind == Kind::Compute && stmt.op == ir::OpKind::Reduce);
}

/// The first statement of a body at which threads wait for a load: it reads what was loaded, or is a barrier.
size_t firstWait(const plan::Body &body) {
  std::set<std::string> loaded;
  const auto waits = [&](const plan::Stmt &stmt) {
    const bool reads = std::any_of(stmt.operands.begin(), stmt.operands.end(),
                                   [&](const std::string &operand) { return loaded.count(operand) != 0; });
    if (isLoad(stmt))
      loaded.insert(stmt.dest);
    return reads || (isBarrier(stmt) && !loaded.empty());
  };
  const auto first =
      std::find_if(body.begin(), body.end(), [&](const plan::Stmt &stmt) { return plan::any(stmt, waits); });
  return static_cast<size_t>(first - body.begin());
}

/// Where hoisted loads begin: before those that the first wait is for. Behind them, nvcc may begin what waits between
/// two hoisted loads, since each asks by a branch how its tensor is aligned; the second would then come a memory
/// latency later.
size_t firstLoad(const plan::Body &body, size_t wait) {
  const auto first = std::find_if(body.begin(), body.begin() + static_cast<ptrdiff_t>(wait),
                                  [](const plan::Stmt &stmt) { return plan::any(stmt, isLoad); });
  return static_cast<size_t>(first - body.begin());
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

/// Whether enough blocks share a multiprocessor by the registers of their tiles.
bool hidesWaiting(const plan::Role &role, bool hasBarrier, const plan::Plan &plan, const arch::Description &arch) {
  const int64_t registers = plan::registersAlive(role) + plan::otherRegisters, threads = std::max(plan.threads, 1);
  const int64_t blocks = arch.registersPerMultiprocessor / (registers * threads);
  return blocks >= fewestBlocks && (hasBarrier || blocks * threads >= fewestThreads);
}

/// The role's statements, or those of one of its loops.
plan::Body &bodyIn(plan::Role &role, std::optional<size_t> loop) { return loop ? role.body[*loop].body : role.body; }

void hoistIn(std::optional<size_t> loop, plan::Role &role, const plan::Plan &plan, const arch::Description &arch,
             std::vector<std::string> &tensors) {
  const std::string iteration = loop ? role.body[*loop].dest : std::string();
  const size_t wait = firstWait(bodyIn(role, loop));
  size_t place = firstLoad(bodyIn(role, loop), wait);
  bool isBehind = false, hasBarrier = false;
  for (size_t i = wait; i < bodyIn(role, loop).size(); ++i) {
    const plan::Stmt &stmt = bodyIn(role, loop)[i];
    isBehind = isBehind || plan::any(stmt, isReduction);
    hasBarrier = hasBarrier || plan::any(stmt, isBarrier);
    if (!isBehind || !readsAlike(stmt, iteration, role, plan))
      continue;
    plan::Role moved = role;
    const auto begin = bodyIn(moved, loop).begin();
    std::rotate(begin + ptrdiff_t(place), begin + ptrdiff_t(i), begin + ptrdiff_t(i + 1));
    if (!hidesWaiting(moved, hasBarrier, plan, arch))
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
