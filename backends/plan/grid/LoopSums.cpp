// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/LoopSums.h"

#include "backends/plan/placement/TensorMaps.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;
using plan::Stmt;

/// Copies of operands, or products.
bool worksOnTiles(const Stmt &stmt) { return stmt.kind == Kind::CopyIn || stmt.kind == Kind::Product; }

/// The variable to which a statement adds something else: a product to its accumulators, or vector work.
const std::string *addsTo(const Stmt &stmt) {
  if (stmt.kind == Kind::Product)
    return stmt.accumulate ? &stmt.dest : nullptr;
  const bool adds = stmt.kind == Kind::Compute && stmt.op == ir::OpKind::Add && stmt.operands.size() == 2 &&
                    (stmt.operands[0] == stmt.dest) != (stmt.operands[1] == stmt.dest);
  return adds ? &stmt.dest : nullptr;
}

/// Whether anything but the loops names the variable. Else it is made anew in each iteration, as operands are that are
/// widened on their way.
bool isKnownOutside(const plan::Role &role, const LoopsOfProducts &loops, const std::string &name) {
  const auto names = [&](const Stmt &stmt) {
    return stmt.dest == name || std::find(stmt.operands.begin(), stmt.operands.end(), name) != stmt.operands.end();
  };
  return std::any_of(role.body.begin(), role.body.end(),
                     [&](const Stmt &stmt) { return !loops.has(role, stmt) && plan::any(stmt, names); }) ||
         std::any_of(role.finish.begin(), role.finish.end(), [&](const Stmt &stmt) { return plan::any(stmt, names); });
}

/// A sum may begin as a copy of another one that does.
bool beginsWithZero(const plan::Role &role, const std::string &name) {
  const Stmt *full = definition(role.body, name);
  if (full && full->kind == Kind::Move) {
    const auto isWritten = [&](const Stmt &stmt) {
      return plan::any(stmt, [&](const Stmt &inner) { return inner.dest == full->operands[0]; });
    };
    const auto begin = role.body.data();
    return std::count_if(begin, full, isWritten) == 1 && beginsWithZero(role, full->operands[0]);
  }
  if (!full || full->kind != Kind::Compute || full->op != ir::OpKind::Full)
    return false;
  const Stmt *value = definition(role.body, full->operands[0]);
  return value && value->kind == Kind::Compute && value->op == ir::OpKind::Const && value->constant == 0;
}

} // namespace

const Stmt *definition(const plan::Body &body, const std::string &name) {
  const auto found = std::find_if(body.begin(), body.end(), [&](const Stmt &stmt) { return stmt.dest == name; });
  return found == body.end() ? nullptr : &*found;
}

plan::Buffer bufferOfPart(std::string name, const plan::VarType &type, int64_t readCols, SourceLoc loc) {
  plan::Buffer buffer;
  buffer.name = std::move(name);
  buffer.elem = type.elem;
  buffer.rows = type.rows;
  buffer.cols = type.cols;
  buffer.swizzle = chooseSwizzle(readCols * byteWidth(type.elem));
  buffer.loc = loc;
  return buffer;
}

std::optional<LoopsOfProducts> findLoops(const plan::Role &role, std::string &why) {
  std::optional<LoopsOfProducts> loops;
  for (size_t i = 0; i < role.body.size(); ++i) {
    const Stmt &stmt = role.body[i];
    if (!plan::any(stmt, worksOnTiles) || (stmt.kind == Kind::CopyIn && !loops))
      continue;
    if (stmt.kind != Kind::For || stmt.tileSize == 0) {
      why = loops ? "copies or products follow the first loop"
                  : "there is no loop over tiles that has all copies and products";
      return std::nullopt;
    }
    loops = LoopsOfProducts{loops ? loops->first : i, i};
  }
  if (!loops)
    why = "there is no loop over tiles that has all copies and products";
  return loops;
}

CarriedByLoops carriedBy(const plan::Role &role, const LoopsOfProducts &loops) {
  CarriedByLoops carried;
  std::set<std::string> seen;
  const auto add = [&](const Stmt &stmt) {
    const plan::Var *var = role.findVar(stmt.dest);
    if (!var || !isKnownOutside(role, loops, stmt.dest) || !seen.insert(stmt.dest).second)
      return;
    if (var->type.kind == plan::VarType::Fragment)
      carried.tiles.push_back(stmt.dest);
    else if (var->type.kind == plan::VarType::Column)
      (stmt.kind == Kind::Move ? carried.maxima : carried.columns).push_back(stmt.dest);
    else
      carried.others = true;
  };
  for (size_t i = loops.first; i <= loops.last; ++i)
    if (role.body[i].kind == Kind::For)
      plan::walk(role.body[i], [&](const Stmt &stmt) {
        if (&stmt != &role.body[i])
          add(stmt);
      });
  return carried;
}

std::string whyNoSums(const plan::Role &role, const LoopsOfProducts &loops, const std::vector<std::string> &tiles,
                      std::string_view who) {
  const auto isSum = [&](const std::string &name) {
    return std::find(tiles.begin(), tiles.end(), name) != tiles.end();
  };
  std::string why;
  for (size_t i = loops.first; i <= loops.last; ++i)
    for (const plan::Body *body : role.body[i].bodies())
      plan::walk(*body, [&](const Stmt &stmt) {
        const std::string *sum = addsTo(stmt);
        if (!stmt.dest.empty() && !(sum && isSum(*sum)) && isKnownOutside(role, loops, stmt.dest))
          why = "the loop does more than multiply and add up";
        for (const std::string &operand : stmt.operands)
          if (isSum(operand) && !(sum && *sum == operand))
            why = fmt::format("the loop reads a sum, of which each {} has a part", who);
      });
  for (const std::string &sum : tiles)
    if (why.empty() && !beginsWithZero(role, sum))
      why = fmt::format("a sum does not begin with zero, which each {} would count", who);
  return why;
}

} // namespace tkc::planner
