// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles whose vectors begin before them. Which thread has which column is then known only at run time, so nothing may
// depend on it, and tiles are combined with others of the kind alone.
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::plan {
namespace {

class AlignedRows {
public:
  AlignedRows(const Plan &plan, const Role &role, Report &report) : plan(plan), role(role), report(report) {}

  void check() {
    for (const Var &var : role.vars)
      if (var.type.layout.aligned)
        layout(var);
    if (role.isAligned())
      start();
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) { statement(stmt); });
  }

private:
  void complain(SourceLoc loc, const std::string &what) {
    report.add(loc, fmt::format("role `{}`: {}", role.name, what));
  }

  bool isAligned(const std::string &name) const {
    const Var *var = role.findVar(name);
    return var && var->type.layout.aligned;
  }
  bool isTile(const std::string &name) const {
    const Var *var = role.findVar(name);
    return var &&
           (var->type.kind == VarType::Fragment || var->type.kind == VarType::Row || var->type.kind == VarType::Column);
  }

  void layout(const Var &var) {
    const Layout &layout = var.type.layout;
    if (!role.isAligned())
      complain(role.body.empty() ? SourceLoc() : role.body.front().loc,
               fmt::format("no row leads, as the layout of `{}` asks for", var.name));
    const bool isWhole = layout.kind == Layout::Rows && layout.threads == layout.threadsPerRow && layout.vec > 1 &&
                         var.type.cols % (int64_t{layout.threads} * layout.vec) == 0;
    if (var.type.kind != VarType::Row || !isWhole || isPacked(var.type.elem) || role.instances > 1)
      complain(SourceLoc(), fmt::format("`{}` is no row of whole vectors of all threads", var.name));
    else if (role.isAligned() && !role.alignedBy.indices.empty())
      line(var, role.alignedBy.indices.back().hi);
  }

  /// Only the first vectors of threads are turned, and they are whole ones but for one.
  void line(const Var &var, int64_t elements) {
    const Layout &layout = var.type.layout;
    if (elements % layout.vec != 0)
      complain(SourceLoc(), fmt::format("`{}` has vectors of {} elements, of which the {} that lead are no multiple",
                                        var.name, layout.vec, elements));
    if (elements > int64_t{layout.threads} * layout.vec)
      complain(SourceLoc(), fmt::format("`{}` has first vectors of {} elements together, fewer than the {} that lead",
                                        var.name, layout.threads * layout.vec, elements));
  }

  /// Where the row begins that the others are aligned by.
  void start() {
    const auto param = std::find_if(plan.params.begin(), plan.params.end(),
                                    [&](const ir::Param &each) { return each.name == role.alignedBy.tensor; });
    const std::vector<ir::ViewIndex> &indices = role.alignedBy.indices;
    bool fits = param != plan.params.end() && param->dims.size() == indices.size() && !indices.empty() &&
                !isPacked(param->elem) && indices.back().kind == ir::ViewIndex::Span && indices.back().lo == 0;
    for (size_t d = 0; fits && d + 1 < indices.size(); ++d)
      fits = indices[d].kind == ir::ViewIndex::Element || indices[d].kind == ir::ViewIndex::Tiled;
    for (const std::string &operand : role.alignedByOperands)
      fits &= std::any_of(plan.grid.axes.begin(), plan.grid.axes.end(),
                          [&](const GridAxis &axis) { return axis.name == operand && axis.tileSize <= 1; });
    if (!fits)
      complain(SourceLoc(),
               fmt::format("`{}` has no beginning of a row that the place in the grid says", role.alignedBy.tensor));
  }

  void statement(const Stmt &stmt) {
    const auto aligned = std::count_if(stmt.operands.begin(), stmt.operands.end(),
                                       [&](const std::string &operand) { return isAligned(operand); });
    const auto tiles = std::count_if(stmt.operands.begin(), stmt.operands.end(),
                                     [&](const std::string &operand) { return isTile(operand); });
    if (aligned == 0 && !isAligned(stmt.dest))
      return;
    const auto refuse = [&](std::string_view why) { complain(stmt.loc, fmt::format("`{}`: {}", print(stmt), why)); };
    if (aligned != tiles || (isTile(stmt.dest) && !isAligned(stmt.dest)))
      refuse("tiles of which only some begin before their first column");
    const bool isAccess = stmt.kind == StmtKind::Load || stmt.kind == StmtKind::Store;
    const bool isAlong = stmt.op != ir::OpKind::Cumsum && (stmt.op != ir::OpKind::Reduce || stmt.axis == 1);
    if (stmt.kind == StmtKind::Compute && !isAlong)
      refuse("depends on which thread has which column");
    else if (isAccess &&
             (stmt.hasElse || (!stmt.view.hasGather() && stmt.view.indices.back().kind == ir::ViewIndex::Element)))
      refuse("is no access along a row of memory");
    else if (!isAccess && stmt.kind != StmtKind::Compute && stmt.kind != StmtKind::Move &&
             stmt.kind != StmtKind::LoadShared && stmt.kind != StmtKind::StoreShared)
      refuse("is not for tiles that begin before their first column");
  }

  const Plan &plan;
  const Role &role;
  Report &report;
};

} // namespace

void checkAlignedRows(const Plan &plan, Report &report) {
  for (const Role &role : plan.roles)
    AlignedRows(plan, role, report).check();
}

} // namespace tkc::plan
