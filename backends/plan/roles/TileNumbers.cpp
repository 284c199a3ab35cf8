// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/TileNumbers.h"

#include <set>
#include <utility>

namespace tkc::planner {
namespace {

using plan::Stmt;
using Declare = std::function<std::string(const std::string &)>;

bool isIndexOf(const Stmt &stmt, const std::set<std::string> &tiles) {
  return stmt.kind == plan::StmtKind::Compute && stmt.op == ir::OpKind::Index && tiles.count(stmt.operands[0]) != 0;
}

/// The loop's tile, and the same tile moved.
std::set<std::string> tilesOf(const Stmt &loop) {
  std::set<std::string> tiles{loop.dest};
  plan::walk(loop, [&](const Stmt &stmt) {
    if (stmt.kind == plan::StmtKind::Compute && stmt.op == ir::OpKind::Shift && tiles.count(stmt.operands[0]) != 0)
      tiles.insert(stmt.dest);
  });
  return tiles;
}

std::string compute(plan::Body &body, ir::OpKind op, const std::string &dest, std::vector<std::string> operands,
                    SourceLoc loc) {
  Stmt &stmt = plan::append(body, plan::StmtKind::Compute, loc);
  stmt.op = op;
  stmt.dest = dest;
  stmt.operands = std::move(operands);
  return dest;
}

void addTo(plan::Body &body, const std::set<std::string> &tiles, const std::string &number, const Declare &declare) {
  plan::Body result;
  for (Stmt &stmt : body) {
    for (plan::Body *inner : stmt.bodies())
      addTo(*inner, tiles, number, declare);
    const bool isIndex = isIndexOf(stmt, tiles);
    const SourceLoc loc = stmt.loc;
    const std::string here = isIndex ? declare("index_here") : "",
                      whole = isIndex ? std::exchange(stmt.dest, here) : "";
    result.push_back(std::move(stmt));
    if (isIndex)
      compute(result, ir::OpKind::Add, whole, {here, number}, loc);
  }
  body = std::move(result);
}

} // namespace

void countTilesFrom(const std::string &start, Stmt &loop, plan::Body &before, const Declare &declare) {
  const std::set<std::string> tiles = tilesOf(loop);
  if (loop.operands[0] == start || !plan::any(loop, [&](const Stmt &stmt) { return isIndexOf(stmt, tiles); }))
    return;
  const std::string skipped =
      compute(before, ir::OpKind::Sub, declare("skipped_value"), {loop.operands[0], start}, loop.loc);
  const std::string size = compute(before, ir::OpKind::Const, declare("size_value"), {}, loop.loc);
  before.back().constant = static_cast<double>(loop.tileSize);
  const std::string number = compute(before, ir::OpKind::Div, declare("tiles_before"), {skipped, size}, loop.loc);
  for (plan::Body *body : loop.bodies())
    addTo(*body, tiles, number, declare);
}

} // namespace tkc::planner
