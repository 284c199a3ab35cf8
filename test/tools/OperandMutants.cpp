// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Mutants.h"

#include <fmt/core.h>

namespace tkc {
namespace {

using plan::Body;
using plan::Division;
using plan::Plan;
using plan::Role;
using plan::Stmt;
using plan::Var;
using plan::VarType;

bool isTile(const VarType &type) {
  return type.kind == VarType::Fragment || type.kind == VarType::Column || type.kind == VarType::Row;
}

ElemType another(ElemType elem) {
  return elem == ElemType::F32 ? ElemType::BF16 : elem == ElemType::I32 ? ElemType::F32 : ElemType::I32;
}

class OperandMutator {
public:
  OperandMutator(const Plan &plan, size_t step, const std::function<void(const Mutant &)> &visit)
      : copy(plan), step(step), visit(visit) {}

  void run() {
    for (Role &role : copy.roles) {
      for (Var &var : role.vars)
        variable(role, var);
      for (Body *body : {&role.body, &role.finish})
        plan::walk(*body, [&](Stmt &stmt) { statement(role, stmt); });
    }
    for (plan::Buffer &buffer : copy.buffers) {
      const std::string what = fmt::format("buffer `{}`", buffer.name);
      changed(buffer.elem, another(buffer.elem), what + ": other type", copy.loc);
      changed(buffer.rows, buffer.rows * 2, what + ": twice the rows", copy.loc);
      changed(buffer.cols, buffer.cols * 2, what + ": twice the columns", copy.loc);
    }
  }

private:
  /// The plan with one place changed, which is put back.
  template <class T> void changed(T &place, T to, const std::string &how, SourceLoc loc) {
    if (!(place == to))
      exchanged(place, to, how, loc);
  }

  /// The plan with two places exchanged, one of which may be outside of it.
  template <class T> void exchanged(T &one, T &other, const std::string &how, SourceLoc loc) {
    if (count++ % step != 0)
      return;
    std::swap(one, other);
    visit({copy, how, loc, ""});
    std::swap(one, other);
  }

  void variable(const Role &role, Var &var) {
    const SourceLoc loc = role.body.empty() ? copy.loc : role.body.front().loc;
    VarType &type = var.type;
    const auto change = [&](auto &place, auto to, const char *how) {
      changed(place, to, fmt::format("variable `{}` of `{}`: {}", var.name, role.name, how), loc);
    };
    if (type.kind == VarType::Cursor)
      return;
    if (type.kind != VarType::TileIndex)
      change(type.elem, another(type.elem), "other type");
    if (type.kind == VarType::Scalar)
      return;
    const bool hasRows = type.kind != VarType::Row,
               hasCols = type.kind == VarType::Fragment || type.kind == VarType::Row;
    if (hasRows)
      change(type.rows, type.rows * 2, "twice the rows"), change(type.rows, type.rows / 2, "half the rows");
    if (hasCols)
      change(type.cols, type.cols * 2, "twice the columns"), change(type.cols, type.cols / 2, "half the columns");
    if (!isTile(type))
      return;
    if (type.kind != VarType::Fragment)
      change(type.kind, type.kind == VarType::Row ? VarType::Column : VarType::Row, "the other axis");
    change(type.layout, otherLayout(type.layout), "other layout");
    for (const Division to : {Division::Whole, Division::Rows, Division::Cols})
      if (role.instances > 1)
        change(type.division, to, "other division");
  }

  static plan::Layout otherLayout(plan::Layout layout) {
    if (layout.kind == plan::Layout::Rows && layout.threadsPerRow > 1)
      layout.threadsPerRow /= 2;
    else if (layout.kind == plan::Layout::Rows)
      layout.threadsPerRow = 2;
    else
      layout = {plan::Layout::Rows, layout.threads, 8, 2};
    return layout;
  }

  void statement(const Role &role, Stmt &stmt) {
    const std::string what = fmt::format("`{}` of `{}`", plan::print(stmt), role.name);
    for (std::string &operand : stmt.operands)
      other(role, operand, what, stmt.loc);
    if (!stmt.dest.empty() && stmt.kind != plan::StmtKind::For && stmt.kind != plan::StmtKind::Ahead)
      other(role, stmt.dest, what, stmt.loc);
    for (plan::BufferRef *ref : {&stmt.ref, &stmt.aRef, &stmt.destRef})
      stage(role, *ref, what, stmt.loc);
    for (plan::BufferRef &ref : stmt.scales)
      stage(role, ref, what, stmt.loc);
    for (ir::ViewIndex &index : stmt.view.indices)
      if (index.kind == ir::ViewIndex::Span || index.kind == ir::ViewIndex::All)
        changed(index.hi, index.lo + (index.hi - index.lo) * 2, what + ": twice the span", stmt.loc);
    std::vector<ir::ViewIndex> &indices = stmt.view.indices;
    for (size_t d = 0; d + 1 < indices.size(); ++d)
      if (indices[d].kind != indices[d + 1].kind)
        exchanged(indices[d], indices[d + 1], what + ": indices swapped", stmt.loc);
    for (const ir::Param &param : copy.params)
      if (param.isTensor && !stmt.view.tensor.empty())
        changed(stmt.view.tensor, param.name, what + ": other tensor", stmt.loc);
  }

  /// Another variable: the next one of each other type that is alike in all but one respect, and the next of all.
  void other(const Role &role, std::string &name, const std::string &what, SourceLoc loc) {
    const Var *own = role.findVar(name);
    if (!own)
      return;
    const std::string from = name;
    int left = 2;
    for (const Var &var : role.vars)
      if (left > 0 && !(var.type == own->type) && var.type.kind != VarType::Cursor) {
        --left;
        changed(name, var.name, fmt::format("{}: `{}` for `{}`", what, var.name, from), loc);
      }
  }

  void stage(const Role &role, plan::BufferRef &ref, const std::string &what, SourceLoc loc) {
    if (ref.buffer.empty())
      return;
    const std::string place = fmt::format("{}: `{}`", what, ref.buffer);
    for (const Division to : {Division::Whole, Division::Rows, Division::Cols})
      if (role.instances > 1)
        changed(ref.slice, to, place + " in other parts", loc);
    const plan::Buffer *buffer = copy.findBuffer(ref.buffer);
    if (buffer && buffer->rows != buffer->cols)
      changed(ref.transposed, !ref.transposed, place + " turned", loc);
    for (const plan::Buffer &each : copy.buffers)
      if (buffer && (each.rows != buffer->rows || each.cols != buffer->cols || each.elem != buffer->elem))
        changed(ref.buffer, each.name, fmt::format("{} is `{}`", place, each.name), loc);
  }

  Plan copy;
  const size_t step;
  size_t count = 0;
  const std::function<void(const Mutant &)> &visit;
};

} // namespace

void forEachOperandMutant(const Plan &plan, size_t step, const std::function<void(const Mutant &)> &visit) {
  OperandMutator(plan, step, visit).run();
}

} // namespace tkc
