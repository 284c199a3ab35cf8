// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As for shared memory, two accesses that the clocks leave unordered race in some interleaving (Order.h). Here a box of
// elements stands for a slice, and only a barrier that says so hands on what threads did to global memory. Each thread
// sees what it did itself: no barrier is asked for where an element is the same thread's in both.
#include "ir/plan/verify/GlobalOrder.h"

#include <algorithm>
#include <fmt/core.h>
#include <limits>

namespace tkc::plan {

using ir::ViewIndex;
using Range = GlobalTouch::Range;

namespace {

bool writes(const Stmt &stmt) {
  return stmt.kind == StmtKind::Store || stmt.kind == StmtKind::Atomic || stmt.kind == StmtKind::CopyOut;
}
bool reads(const Stmt &stmt) {
  return stmt.kind == StmtKind::Load || stmt.kind == StmtKind::Fetch || stmt.kind == StmtKind::CopyIn;
}

/// Both add, or both take the larger: in either order the same.
bool commute(const Stmt &one, const Stmt &other) {
  const auto kindOf = [](const Stmt &stmt) {
    const bool adds = stmt.kind == StmtKind::CopyOut && stmt.reducing;
    return stmt.kind == StmtKind::Atomic ? static_cast<int>(stmt.atomic)
                                         : (adds ? static_cast<int>(ir::AtomicKind::Add) : -1);
  };
  return kindOf(one) >= 0 && kindOf(one) == kindOf(other);
}

Range tiled(const Scalar &tile, int64_t size, const Stmt &stmt, int64_t divisor) {
  int64_t end = tile.begin + size;
  if (writes(stmt) && tile.end > tile.begin)
    end = std::min(end, tile.end);
  return {tile.begin / divisor, (end + divisor - 1) / divisor};
}

} // namespace

std::set<std::string> watchedTensors(const Plan &plan) {
  struct Uses {
    bool isRead = false, isWritten = false, again = false;
    SourceLoc at;
  };
  std::map<std::string, Uses> uses;
  for (const Role &role : plan.roles)
    walkLoops(role.body, [&](const Stmt &stmt, int depth) {
      if (!reads(stmt) && !writes(stmt))
        return;
      Uses &tensor = uses[stmt.view.tensor];
      tensor.isRead |= reads(stmt);
      if (!writes(stmt))
        return;
      tensor.again |= depth > 0 || (tensor.isWritten && !(tensor.at == stmt.loc));
      tensor.isWritten = true;
      tensor.at = stmt.loc;
    });
  std::set<std::string> watched;
  for (const auto &[name, tensor] : uses)
    if (tensor.isWritten && (tensor.isRead || tensor.again))
      watched.insert(name);
  return watched;
}

GlobalTouch globalTouch(const Plan &plan, const Role &role, const Stmt &stmt, const Scalars &scalars, int tile) {
  GlobalTouch touch;
  touch.tile = tile;
  const bool byThreads = stmt.kind == StmtKind::Load || stmt.kind == StmtKind::Store || stmt.kind == StmtKind::Atomic;
  if (byThreads)
    touch.held = typeOf(plan, role, stmt.kind == StmtKind::Load ? stmt.dest : stmt.operands.back()).value_or(VarType{});
  std::vector<int> axes;
  constexpr int64_t far = std::numeric_limits<int64_t>::max() / 4;
  for (size_t d = 0; d < stmt.view.indices.size(); ++d) {
    const ViewIndex &index = stmt.view.indices[d];
    const auto value = [&] { return scalars.get(stmt.operands[index.operand]); };
    switch (index.kind) {
    case ViewIndex::Element: {
      const int64_t at = toInteger(value().value);
      touch.ranges.push_back({at, at + 1});
      break;
    }
    case ViewIndex::Tiled: {
      const VarType type = typeOf(plan, role, stmt.operands[index.operand]).value_or(VarType{});
      touch.ranges.push_back(tiled(value(), type.rows, stmt, index.divisor));
      break;
    }
    case ViewIndex::All:
    case ViewIndex::Span:
      touch.ranges.push_back({index.lo, index.hi});
      break;
    case ViewIndex::Gather:
      touch.ranges.push_back({-far, far});
      touch.gathers = true;
      break;
    }
    if (index.kind != ViewIndex::Element)
      axes.push_back(static_cast<int>(d));
  }
  const bool down = axes.size() > 1 || touch.held.kind == VarType::Column;
  touch.rowDim = down && !axes.empty() ? axes.front() : -1;
  touch.colDim = down && axes.size() < 2 ? -1 : axes.empty() ? -1 : axes.back();
  if (stmt.kind != StmtKind::CopyOut)
    return touch;
  if (const Buffer *buffer = plan.findBuffer(stmt.ref.buffer)) {
    touch.held.rows = buffer->rows, touch.held.cols = buffer->cols;
    touch.held.division = stmt.ref.slice;
  }
  if (stmt.colHi > 0 && touch.colDim >= 0) {
    Range &cols = touch.ranges[static_cast<size_t>(touch.colDim)];
    cols = {cols.lo + stmt.colLo, std::min(cols.hi, cols.lo + stmt.colHi)};
  }
  return touch;
}

/// Of the instance's rows or columns.
Range GlobalMemory::rangeOf(const GlobalAccess &access, int dim) const {
  const GlobalTouch &touch = *access.touch;
  const Process &process = components.process(access.process);
  const Range whole = touch.ranges[static_cast<size_t>(dim)];
  const bool divided = (dim == touch.rowDim && touch.held.division == Division::Rows) ||
                       (dim == touch.colDim && touch.held.division == Division::Cols);
  if (!divided || touch.gathers || process.role->instances < 2)
    return whole;
  const int64_t extent = (dim == touch.rowDim ? touch.held.rows : touch.held.cols) / process.role->instances;
  const int64_t lo = whole.lo + access.instance * extent;
  return {lo, std::min(whole.hi, lo + extent)};
}

bool GlobalMemory::meet(const GlobalAccess &now, const GlobalAccess &before) const {
  for (int dim = 0; dim < static_cast<int>(now.touch->ranges.size()); ++dim) {
    const Range one = rangeOf(now, dim), other = rangeOf(before, dim);
    if (std::max(one.lo, other.lo) >= std::min(one.hi, other.hi))
      return false;
  }
  return true;
}

/// Tiles that begin alike, in one layout; of what several threads hold the one that stores it.
bool GlobalMemory::bySameThreads(const GlobalAccess &now, const GlobalAccess &before) const {
  if (components.process(now.process).engine != components.process(before.process).engine)
    return false;
  for (const GlobalAccess *each : {&now, &before}) {
    const Stmt &stmt = *each->stmt;
    const bool isLoad = stmt.kind == StmtKind::Load;
    const bool byHolders = isLoad || stmt.kind == StmtKind::Store || stmt.kind == StmtKind::Atomic;
    if (!byHolders || each->touch->gathers || (isLoad && !stmt.own && each->touch->held.kind != VarType::Fragment))
      return false;
  }
  VarType type = now.touch->held;
  type.elem = before.touch->held.elem;
  const auto beginsAlike = [](const Range &one, const Range &other) { return one.lo == other.lo; };
  return type == before.touch->held && now.touch->rowDim == before.touch->rowDim &&
         now.touch->colDim == before.touch->colDim &&
         std::equal(now.touch->ranges.begin(), now.touch->ranges.end(), before.touch->ranges.begin(), beginsAlike);
}

std::string GlobalMemory::describe(const GlobalAccess &access) const {
  return fmt::format("`{}` of `{}`", print(*access.stmt), components.name(access.process));
}

std::string GlobalMemory::conflict(const GlobalAccess &now, const GlobalAccess &before, const Clock &clock) const {
  const auto isWrite = [](const GlobalAccess &it) {
    return it.agent == GlobalAccess::Write || it.agent == GlobalAccess::CopyWrite;
  };
  const Process &one = components.process(now.process), &other = components.process(before.process);
  const bool isOneEvent = now.stmt == before.stmt && now.event == before.event && one.role == other.role;
  if ((!isWrite(now) && !isWrite(before)) || isOneEvent || commute(*now.stmt, *before.stmt) || !meet(now, before) ||
      bySameThreads(now, before))
    return {};
  const std::string both =
      fmt::format("{} {} what {}", describe(now), isWrite(now) ? "overwrites" : "reads", describe(before));
  if (before.agent == GlobalAccess::CopyWrite)
    return fmt::format("{} writes by the copy engine: nothing waits for such writes", both);
  if (before.agent == GlobalAccess::Write && now.agent != GlobalAccess::Read && now.agent != GlobalAccess::Write)
    return fmt::format("{} writes by threads, without a fence between them and the copy engine", both);
  const bool byThreads = before.agent == GlobalAccess::Read || before.agent == GlobalAccess::Write;
  const bool isOrdered = byThreads && now.process == before.process
                             ? now.syncs > before.syncs || one.alone
                             : clock.at(before.end.component) >= before.end.value;
  return isOrdered ? ""
                   : fmt::format("{} may still be {}: no `sync` for global memory, nor anything else that `{}` waited "
                                 "for, comes between them",
                                 both, isWrite(before) ? "writing" : "reading", components.name(now.process));
}

std::string GlobalMemory::access(const GlobalAccess &access, const Clock &clock) {
  const Process &process = components.process(access.process);
  std::vector<GlobalAccess> &all = accesses[{process.block, access.stmt->view.tensor, access.touch->tile}];
  std::string problem;
  for (const GlobalAccess &before : all)
    if (problem.empty())
      problem = conflict(access, before, clock);
  std::erase_if(all, [&](const GlobalAccess &before) {
    return access.agent < GlobalAccess::CopyRead && before.stmt == access.stmt && before.process == access.process &&
           before.touch->ranges == access.touch->ranges;
  });
  all.push_back(access);
  return problem;
}

} // namespace tkc::plan
