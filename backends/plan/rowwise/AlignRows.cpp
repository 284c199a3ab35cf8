// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/rowwise/AlignRows.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

class RowAligner {
public:
  RowAligner(plan::Role &role, const plan::Plan &plan, const arch::Description &arch)
      : role(role), plan(plan), arch(arch) {}

  std::string run(std::vector<plan::Buffer> &buffers) {
    std::string why;
    for (const plan::Var &var : role.vars)
      if (why.empty())
        why = whyNot(var);
    walk(role.body, [&](const plan::Stmt &stmt) { why = why.empty() ? whyNot(stmt) : why; });
    if (!why.empty())
      return why;
    const plan::Stmt *best = nullptr;
    walk(role.body, [&](const plan::Stmt &stmt) {
      if (canAlignBy(stmt) && (!best || isBetter(stmt, *best)))
        best = &stmt;
    });
    if (!best)
      return "the place in the grid alone does not say of any tensor which row it is";
    alignBy(*best);
    walk(role.body, [&](plan::Stmt &stmt) {
      if (stmt.isThreadCopy())
        widen(*std::find_if(buffers.begin(), buffers.end(),
                            [&](const plan::Buffer &buffer) { return buffer.name == stmt.ref.buffer; }));
    });
    return {};
  }

private:
  const plan::VarType *typeOf(const std::string &var) const {
    const plan::Var *found = role.findVar(var);
    return found ? &found->type : nullptr;
  }
  bool isRow(const std::string &var) const {
    const plan::VarType *type = typeOf(var);
    return type && type->kind == plan::VarType::Row;
  }

  static std::string whyNot(const plan::Var &var) {
    const plan::Layout &layout = var.type.layout;
    if (var.type.kind == plan::VarType::Fragment || var.type.kind == plan::VarType::Column)
      return fmt::format("`{}` has several rows", var.name);
    if (var.type.kind != plan::VarType::Row)
      return {};
    if (layout.kind != plan::Layout::Rows || layout.threads != layout.threadsPerRow || layout.vec == 1)
      return fmt::format("the threads of the block do not hold vectors of `{}`", var.name);
    if (isPacked(var.type.elem) || var.type.cols % (int64_t{layout.threads} * layout.vec) != 0)
      return fmt::format("`{}` is not whole vectors of each thread", var.name);
    return {};
  }

  std::string whyNot(const plan::Stmt &stmt) const {
    const bool takesRow = std::any_of(stmt.operands.begin(), stmt.operands.end(),
                                      [&](const std::string &operand) { return isRow(operand); });
    const bool isAccess = stmt.kind == Kind::Load || stmt.kind == Kind::Store;
    if (!takesRow && !isRow(stmt.dest))
      return {};
    if (stmt.kind == Kind::Atomic)
      return "rows are added to a tensor";
    if (isAccess && stmt.hasElse)
      return "a row is loaded with an `else`";
    if (isAccess && !stmt.view.hasGather() && stmt.view.indices.back().kind == ir::ViewIndex::Element)
      return fmt::format("`{}` is not accessed along its last dim", stmt.view.tensor);
    const bool isAlong = stmt.axis == 1 || stmt.op != ir::OpKind::Reduce;
    if (stmt.kind == Kind::Compute && (stmt.op == ir::OpKind::Cumsum || !isAlong))
      return "what is computed depends on where columns lie";
    const bool isKnown = isAccess || stmt.kind == Kind::Compute || stmt.kind == Kind::Move ||
                         stmt.kind == Kind::LoadShared || stmt.kind == Kind::StoreShared;
    return isKnown ? "" : fmt::format("of a {} it is not known", plan::spelling(stmt.kind));
  }

  // ---- the row that others are aligned by
  const ir::Param &paramOf(const plan::Stmt &stmt) const {
    return *std::find_if(plan.params.begin(), plan.params.end(),
                         [&](const ir::Param &param) { return param.name == stmt.view.tensor; });
  }

  bool isAxis(const std::string &var) const {
    return std::any_of(plan.grid.axes.begin(), plan.grid.axes.end(),
                       [&](const plan::GridAxis &axis) { return axis.name == var && axis.tileSize <= 1; });
  }

  bool canAlignBy(const plan::Stmt &stmt) const {
    if ((stmt.kind != Kind::Load && stmt.kind != Kind::Store) || stmt.view.hasGather() ||
        !isRow(stmt.kind == Kind::Load ? stmt.dest : stmt.operands.back()) || isPacked(paramOf(stmt).elem))
      return false;
    const std::vector<ir::ViewIndex> &indices = stmt.view.indices;
    return std::all_of(indices.begin(), indices.end() - 1, [&](const ir::ViewIndex &index) {
      const bool isOne =
          index.kind == ir::ViewIndex::Element || (index.kind == ir::ViewIndex::Tiled && index.divisor == 1);
      return isOne && isAxis(stmt.operands[index.operand]);
    });
  }

  /// A vector of the narrowest elements is aligned where those of others are.
  bool isBetter(const plan::Stmt &one, const plan::Stmt &other) const {
    const int64_t width = byteWidth(paramOf(one).elem), others = byteWidth(paramOf(other).elem);
    return width != others ? width < others : one.kind == Kind::Store && other.kind != Kind::Store;
  }

  void alignBy(const plan::Stmt &access) {
    const plan::VarType &type = *typeOf(access.kind == Kind::Load ? access.dest : access.operands.back());
    ir::View view{access.view.tensor, {}};
    for (size_t d = 0; d + 1 < access.view.indices.size(); ++d) {
      ir::ViewIndex index = access.view.indices[d];
      role.alignedByOperands.push_back(access.operands[index.operand]);
      index.operand = static_cast<unsigned>(role.alignedByOperands.size() - 1);
      view.indices.push_back(index);
    }
    ir::ViewIndex line;
    line.kind = ir::ViewIndex::Span;
    line.hi = std::min(int64_t{arch.lineBytes} / byteWidth(paramOf(access).elem),
                       int64_t{type.layout.threads} * type.layout.vec);
    view.indices.push_back(line);
    role.alignedBy = view;
    for (plan::Var &var : role.vars)
      if (var.type.kind == plan::VarType::Row)
        var.type.layout.aligned = true;
  }

  static void widen(plan::Buffer &buffer) { buffer.cols += plan::alignedChunk(buffer.elem); }

  plan::Role &role;
  const plan::Plan &plan;
  const arch::Description &arch;
};

} // namespace

std::string alignRows(plan::Role &role, std::vector<plan::Buffer> &buffers, const plan::Plan &plan,
                      const arch::Description &arch) {
  return RowAligner(role, plan, arch).run(buffers);
}

} // namespace tkc::planner
