// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/pipeline/WarpgroupBounds.h"

#include "backends/plan/roles/FreshName.h"
#include "backends/plan/roles/RoleBuilder.h"
#include "backends/plan/roles/TileNumbers.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

namespace tkc::planner {
namespace {

using plan::Body;
using plan::Stmt;
using Kind = plan::StmtKind;

plan::VarType passedType(int64_t tileSize) {
  plan::VarType type;
  type.kind = plan::VarType::TileIndex;
  type.rows = tileSize;
  return type;
}

void collectWritten(const Body &body, std::set<std::string> &written) {
  plan::walk(body, [&](const Stmt &stmt) { written.insert(stmt.dest); });
}

class Narrower {
public:
  Narrower(plan::Role &role, int lanes, const plan::Grid &grid, const std::set<std::string> &byMasks)
      : role(role), lanes(lanes), byMasks(byMasks) {
    for (const plan::GridAxis &axis : grid.axes)
      if (axis.tileSize > 0)
        tileSizes[axis.name] = axis.tileSize;
  }

  std::string run() {
    if (role.instances == 1)
      return "one warpgroup computes";
    for (const Stmt &stmt : role.body)
      if (!stmt.dest.empty() && !definitions.emplace(stmt.dest, stmt).second)
        assignedAgain.insert(stmt.dest);
    std::string why = "no loop has a range that a mask of the block's tile ends";
    for (size_t at = 0; at < role.body.size();) {
      const size_t end = endOfLoops(at);
      if (end == at) {
        ++at;
        continue;
      }
      const std::string whyNot = narrow(at, end);
      if (whyNot.empty())
        return whyNot;
      why = whyNot;
      at = end;
    }
    return why;
  }

private:
  bool isMasked(const Stmt &stmt) const { return stmt.kind == Kind::For && byMasks.count(stmt.dest) != 0; }

  bool isScalar(const Stmt &stmt) const {
    const plan::Var *var = stmt.kind == Kind::Compute || stmt.kind == Kind::Move ? role.findVar(stmt.dest) : nullptr;
    return var && var->type.kind == plan::VarType::Scalar;
  }

  /// The end of the loops by masks that begin at `first` and follow each other.
  size_t endOfLoops(size_t first) const {
    const Body &body = role.body;
    if (!isMasked(body[first]))
      return first;
    size_t end = first + 1;
    for (size_t next = end; next < body.size() && (isMasked(body[next]) || isScalar(body[next])); ++next) {
      if (!isMasked(body[next]))
        continue;
      if (body[next].operands[0] != body[end - 1].operands[1])
        break;
      end = next + 1;
    }
    return end;
  }

  // ---- what it needs

  std::string narrow(size_t first, size_t end) {
    axis.clear();
    Body drain;
    std::set<std::string> written;
    for (size_t i = first; i < end; ++i) {
      const Stmt &loop = role.body[i];
      if (!isMasked(loop)) {
        if (std::any_of(loop.operands.begin(), loop.operands.end(),
                        [&](const std::string &operand) { return written.count(operand) != 0; }))
          return "what stands between two loops depends on the first";
        continue;
      }
      for (const Body *part : {&loop.prologue, &loop.body, &loop.epilogue})
        collectWritten(*part, written);
      for (const std::string &bound : loop.operands)
        if (!findAxis(bound))
          return fmt::format("`{}` is not computed from the edges of one tile alone", bound);
      if (const std::string why = whatForbids(loop); !why.empty())
        return why;
      drain = drainOf(loop);
      if (drain.empty())
        return "what a loop takes from its rings is not handed back in each iteration";
    }
    if (axis.empty())
      return "no range of a loop depends on the block's tile";
    if (const std::string why = whyNotByRows(); !why.empty())
      return why;
    rewrite(first, end, drain);
    return {};
  }

  /// Notes the tile on whose edges `name` depends. False: on several, or in ways that are not followed.
  bool findAxis(const std::string &name) {
    const auto found = definitions.find(name);
    if (found == definitions.end())
      return true; // of the prelude
    const Stmt &stmt = found->second;
    if (!isScalar(stmt) || assignedAgain.count(name))
      return false;
    if (stmt.kind == Kind::Compute && (stmt.op == ir::OpKind::Begin || stmt.op == ir::OpKind::End)) {
      if (axis.empty())
        axis = stmt.operands[0];
      return axis == stmt.operands[0] && tileSizes.count(axis) != 0 && tileSizes[axis] % role.instances == 0;
    }
    return std::all_of(stmt.operands.begin(), stmt.operands.end(),
                       [&](const std::string &operand) { return findAxis(operand); });
  }

  /// Instances that skip an iteration must not be missed in it.
  std::string whatForbids(const Stmt &loop) const {
    for (const Body *body : {&loop.prologue, &loop.body, &loop.epilogue})
      for (const Stmt &stmt : *body)
        switch (stmt.kind) {
        case Kind::Compute:
        case Kind::Move:
        case Kind::Spread:
        case Kind::ProductFence:
        case Kind::Product:
        case Kind::ProductCommit:
        case Kind::ProductWait:
        case Kind::Wait:
        case Kind::Arrive:
        case Kind::Advance:
          if (stmt.ref.buffer.empty() || stmt.kind == Kind::Product)
            break;
          [[fallthrough]];
        default:
          return fmt::format("warpgroups work together in the loop, or with memory: `{}`", plan::print(stmt));
        }
    return {};
  }

  /// One iteration that does nothing with what is in the rings. Its warps meet before one of them hands that back:
  /// others could still stand at a phase that is over twice by then. A wait by one thread would do as well, but in a
  /// branch, beside which ptxas keeps nothing of the rings in uniform registers.
  Body drainOf(const Stmt &loop) const {
    Body drain, back;
    std::set<std::string> cursors;
    for (const Stmt &wait : loop.body) {
      if (wait.kind == Kind::Advance)
        cursors.insert(wait.as<plan::Advance>().ring);
      if (wait.kind != Kind::Wait)
        continue;
      const auto of = [&](Kind kind) {
        return std::find_if(loop.body.begin(), loop.body.end(), [&](const Stmt &stmt) {
          return stmt.kind == kind && plan::cursorOf(stmt) == plan::cursorOf(wait);
        });
      };
      const auto arrive = of(Kind::Arrive), advance = of(Kind::Advance);
      if (wait.as<plan::Wait>().inverted || arrive == loop.body.end() || advance == loop.body.end())
        return {};
      drain.push_back(wait);
      back.insert(back.end(), {*arrive, *advance});
    }
    if (back.size() != 2 * cursors.size())
      return {};
    plan::append(drain, plan::Sync{instanceBarrier, role.warps * lanes}, loop.loc);
    drain.insert(drain.end(), back.begin(), back.end());
    return drain;
  }

  /// All that an instance has of tiles are its rows of the block's tile.
  std::string whyNotByRows() const {
    for (const plan::Var &var : role.vars) {
      const bool hasRows = var.type.kind == plan::VarType::Fragment || var.type.kind == plan::VarType::Column;
      if (hasRows && (var.type.division != plan::Division::Rows || var.type.rows != tileSizes.at(axis)))
        return fmt::format("`{}` is not divided by the rows of `{}`", var.name, axis);
    }
    for (const Stmt &stmt : role.body)
      if (stmt.kind == Kind::Compute && stmt.op == ir::OpKind::Elements && stmt.operands[0] == axis &&
          role.findVar(stmt.dest)->type.kind != plan::VarType::Column)
        return fmt::format("`{}` runs along columns of tiles", axis);
    return {};
  }

  // ---- rewriting

  void rewrite(size_t first, size_t end, const Body &drain) {
    const auto [lo, hi] = std::pair(role.body[first].operands[0], role.body[end - 1].operands[1]);
    Body before, result;
    for (size_t i = first; i < end; ++i) {
      if (!isMasked(role.body[i]))
        continue;
      const std::string start = role.body[i].operands[0];
      for (std::string &bound : role.body[i].operands)
        bound = own(bound, before);
      std::set<std::string> taken;
      for (const plan::Var &var : role.vars)
        taken.insert(var.name);
      IntegerCode code(role, taken, role.body[i].loc);
      countTilesFrom(start, role.body[i], before, code);
    }
    const std::string ownLo = role.body[first].operands[0], ownHi = role.body[end - 1].operands[1];
    const int64_t tileSize = role.body[first].tileSize;
    const SourceLoc loc = role.body[first].loc;
    // What bounds are computed from may stand between loops: all of it goes before the first.
    for (size_t i = first; i < end; ++i)
      if (!isMasked(role.body[i]))
        result.push_back(role.body[i]);
    result.insert(result.end(), before.begin(), before.end());
    if (ownLo != lo)
      result.push_back(passBy(lo, ownLo, tileSize, drain, loc));
    for (size_t i = first; i < end; ++i)
      if (isMasked(role.body[i]))
        result.push_back(std::move(role.body[i]));
    if (ownHi != hi)
      result.push_back(passBy(ownHi, hi, tileSize, drain, loc));
    const auto at = role.body.begin() + static_cast<std::ptrdiff_t>(first);
    role.body.insert(role.body.erase(at, role.body.begin() + static_cast<std::ptrdiff_t>(end)), result.begin(),
                     result.end());
  }

  /// The variable that is for the instance's rows what `name` is for the tile.
  std::string own(const std::string &name, Body &before) {
    if (const auto made = ownNames.find(name); made != ownNames.end())
      return made->second;
    const auto found = definitions.find(name);
    if (found == definitions.end())
      return name;
    Stmt stmt = found->second;
    const bool isEdge = stmt.op == ir::OpKind::Begin || stmt.op == ir::OpKind::End;
    bool differs = isEdge;
    if (isEdge)
      stmt.tileSize = tileSizes.at(axis) / role.instances;
    for (std::string &operand : stmt.operands) {
      const std::string changed = isEdge ? operand : own(operand, before);
      differs |= changed != operand;
      operand = changed;
    }
    if (!differs)
      return ownNames[name] = name;
    stmt.dest = declare("own_" + name, role.findVar(name)->type);
    before.push_back(stmt);
    return ownNames[name] = stmt.dest;
  }

  Stmt passBy(const std::string &lo, const std::string &hi, int64_t tileSize, const Body &drain, SourceLoc loc) {
    Stmt loop;
    loop.kind = Kind::For;
    loop.loc = loc;
    loop.dest = declare("passed", passedType(tileSize));
    loop.operands = {lo, hi};
    loop.tileSize = tileSize;
    loop.body = drain;
    return loop;
  }

  std::string declare(const std::string &hint, const plan::VarType &type) {
    const auto isTaken = [&](const std::string &name) { return role.findVar(name) != nullptr; };
    role.vars.push_back({freshName(hint, isTaken), type});
    return role.vars.back().name;
  }

  plan::Role &role;
  const int lanes; ///< of a warp
  const std::set<std::string> &byMasks;
  std::map<std::string, int64_t> tileSizes; ///< of the grid's axes
  std::map<std::string, Stmt> definitions;  ///< at the role's outermost level
  std::set<std::string> assignedAgain;
  std::string axis;
  std::map<std::string, std::string> ownNames;
};

} // namespace

std::string boundByWarpgroup(plan::Role &role, Placement &placement, const plan::Grid &grid,
                             const std::set<std::string> &byMasks) {
  const bool hasRings = !placement.copiesItself && !placement.usesTensorMemory();
  std::string why = hasRings ? Narrower(role, placement.warpSize, grid, byMasks).run()
                             : "computing warps do not take what others load from shared memory";
  if (why.empty())
    placement.note(plan::Note::Loops, {},
                   "at masks each warpgroup does the tiles that its own rows see, and passes by the others");
  return why;
}

} // namespace tkc::planner
