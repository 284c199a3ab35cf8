// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/TileNumbers.h"

#include <set>
#include <utility>

namespace tkc::planner {
namespace {

using plan::Stmt;

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

void addTo(plan::Body &body, const std::set<std::string> &tiles, const std::string &number, IntegerCode &code) {
  plan::Body result;
  for (Stmt &stmt : body) {
    for (plan::Body *inner : stmt.bodies())
      addTo(*inner, tiles, number, code);
    const bool isIndex = isIndexOf(stmt, tiles);
    Stmt sum;
    if (isIndex) {
      sum.kind = plan::StmtKind::Compute;
      sum.op = ir::OpKind::Add;
      sum.loc = stmt.loc;
      sum.dest = std::exchange(stmt.dest, code.declare("index_here"));
      sum.operands = {stmt.dest, number};
    }
    result.push_back(std::move(stmt));
    if (isIndex)
      result.push_back(std::move(sum));
  }
  body = std::move(result);
}

} // namespace

void countTilesFrom(const std::string &start, Stmt &loop, plan::Body &before, IntegerCode &code) {
  const std::set<std::string> tiles = tilesOf(loop);
  if (loop.operands[0] == start || !plan::any(loop, [&](const Stmt &stmt) { return isIndexOf(stmt, tiles); }))
    return;
  const std::string skipped = code.compute(before, ir::OpKind::Sub, "skipped_value", {loop.operands[0], start});
  const std::string size = code.constant(before, "size_value", loop.tileSize);
  const std::string number = code.compute(before, ir::OpKind::Div, "tiles_before", {skipped, size});
  for (plan::Body *body : loop.bodies())
    addTo(*body, tiles, number, code);
}

} // namespace tkc::planner
