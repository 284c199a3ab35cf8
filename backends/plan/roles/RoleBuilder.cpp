// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/RoleBuilder.h"
#include "ir/Products.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

/// Of rings and of what is staged, filled, multiplied, rescaled and handed on in turn.
constexpr std::string_view cursorEndings[] = {"_at", "_fill", "_done", "_made", "_go"};

bool isNamed(const ir::Value *value) {
  return !value->name.empty() && !std::isdigit(static_cast<unsigned char>(value->name[0]));
}

/// `j_begin`, `j_end`, or `j_split` where one loop ends and the next begins; empty for what bounds no loop.
std::string boundName(const ir::Value *value) {
  std::string begins, ends;
  for (const ir::Op *user : value->users) {
    if (user->kind != ir::OpKind::For)
      continue;
    const std::string &variable = user->body().args.front()->name;
    if (user->operand(0) == value)
      begins = variable;
    if (user->operand(1) == value)
      ends = variable;
  }
  if (ends.empty())
    return begins.empty() ? "" : begins + "_begin";
  return ends + (begins.empty() ? "_end" : "_split");
}

std::string nameHint(const ir::Value *value);

/// `qk` for q · kᵀ, `ds_k` for ds · k; empty where an operand has no short name.
std::string productName(const ir::Op &dot) {
  std::string names[2];
  for (int side : {0, 1}) {
    const ir::Value *operand = ir::factorOf(dot, side);
    while (operand->definingOp && operand->definingOp->kind == ir::OpKind::Transpose)
      operand = operand->definingOp->operand(0);
    const ir::Op *op = operand->definingOp;
    names[side] = op && op->kind == ir::OpKind::Load ? op->view.tensor : isNamed(operand) ? operand->name : "";
    if (names[side].empty())
      return "";
  }
  return names[0] + (names[0].size() == 1 && names[1].size() == 1 ? "" : "_") + names[1];
}

/// What a temporary is called: its role in the expression, never a number alone.
std::string nameHint(const ir::Value *value) {
  if (isNamed(value))
    return value->name;
  if (std::string bound = boundName(value); !bound.empty())
    return bound;
  for (const ir::Op *user : value->users) // the initial value of a carried variable takes the variable's name
    if (user->kind == ir::OpKind::For)
      for (size_t i = 2; i < user->operands().size(); ++i)
        if (user->operand(i) == value && isNamed(user->body().args[i - 1].get()))
          return user->body().args[i - 1]->name;
  const ir::Op *op = value->definingOp;
  if (!op)
    return "value";
  if (op->kind == ir::OpKind::Dim || op->kind == ir::OpKind::Param)
    return op->name;
  if (op->kind == ir::OpKind::Load)
    return op->view.tensor + "_value";
  if (op->kind == ir::OpKind::Cast)
    return nameHint(op->operand(0)) + "_" + std::string(spelling(value->type.elem));
  if (ir::isProduct(*op))
    if (std::string product = productName(*op); !product.empty())
      return product;
  return std::string(ir::spelling(op->kind)) + "_value";
}

/// Cursors are called for what they walk through, `a_at` for the ring `a`, whatever variables there are: a variable
/// that would be called like one gets a number.
std::string besideCursors(const std::string &hint) {
  const bool isLikeOne = std::any_of(std::begin(cursorEndings), std::end(cursorEndings),
                                     [&](std::string_view ending) { return hint.ends_with(ending); });
  return isLikeOne ? hint + "_2" : hint;
}

} // namespace

plan::VarType scalarOrIndexType(const ir::Type &type) {
  plan::VarType result;
  result.elem = type.elem;
  result.layout = {};
  if (type.kind == ir::Type::TileIndex) {
    result.kind = plan::VarType::TileIndex;
    result.elem = ElemType::I32;
    result.rows = type.rows;
  }
  return result;
}

plan::VarType cursorType(int stages) {
  plan::VarType type;
  type.kind = plan::VarType::Cursor;
  type.elem = ElemType::I32;
  type.rows = stages;
  type.layout = {};
  return type;
}

RoleBuilder::RoleBuilder(const Placement &placement, const SharedNames &shared)
    : placement(placement), names(shared.of), taken(shared.taken), at(&role.body) {}

const std::string &RoleBuilder::use(const ir::Value *value) const {
  auto found = names.find(value);
  assert(found != names.end() && "a value is lowered before it is used");
  return found->second;
}

std::string RoleBuilder::uniqueName(const std::string &hint) {
  std::string name = hint;
  for (int n = 2; !taken.insert(name).second; ++n)
    name = fmt::format("{}_{}", hint, n);
  return name;
}

std::string RoleBuilder::declare(const std::string &hint, const plan::VarType &type) {
  std::string name = uniqueName(hint);
  role.vars.push_back({name, type});
  return name;
}

plan::VarType RoleBuilder::typeOf(const ir::Value *value) const {
  auto found = placement.types.find(value);
  return found != placement.types.end() ? found->second : scalarOrIndexType(value->type);
}

const std::string &RoleBuilder::define(const ir::Value *value) { return define(value, nameHint(value)); }

const std::string &RoleBuilder::define(const ir::Value *value, const std::string &hint) {
  auto found = names.find(value);
  if (found == names.end())
    found = names.emplace(value, declare(besideCursors(hint), typeOf(value))).first;
  return found->second;
}

plan::Stmt &RoleBuilder::emit(plan::StmtKind kind, SourceLoc loc) { return plan::append(*at, kind, loc); }

plan::Stmt &RoleBuilder::emitCompute(const ir::Op &op) {
  std::vector<std::string> operands;
  for (const ir::Value *operand : op.operands())
    operands.push_back(use(operand));
  const std::string dest = define(op.result());
  plan::Stmt &stmt = emit(op.kind == ir::OpKind::Load ? plan::StmtKind::Load : plan::StmtKind::Compute, op.loc);
  stmt.dest = dest;
  stmt.operands = std::move(operands);
  stmt.op = op.kind;
  stmt.constant = op.constant;
  stmt.name = op.name;
  stmt.axis = op.axis;
  stmt.reduce = op.reduce;
  if (const auto quotient = placement.quotients.find(&op); quotient != placement.quotients.end())
    stmt.quotient = quotient->second;
  stmt.view = viewOf(op);
  stmt.hasElse = op.hasElse;
  return stmt;
}

std::string RoleBuilder::emitScalar(ir::OpKind op, const std::string &hint, ElemType elem,
                                    std::vector<std::string> operands, SourceLoc loc) {
  plan::VarType type;
  type.elem = elem;
  type.layout = {};
  const std::string dest = declare(hint, type);
  plan::Stmt &stmt = emit(plan::StmtKind::Compute, loc);
  stmt.op = op;
  stmt.dest = dest;
  stmt.operands = std::move(operands);
  return dest;
}

std::string RoleBuilder::emitStarts(const std::string &tile, int64_t step, SourceLoc loc) {
  const auto constant = [&](int64_t value) {
    const std::string dest = emitScalar(ir::OpKind::Const, "const_value", ElemType::I32, {}, loc);
    at->back().constant = static_cast<double>(value);
    return dest;
  };
  const std::string begin = emitScalar(ir::OpKind::Begin, tile + "_begin", ElemType::I32, {tile}, loc);
  const std::string off = emitScalar(ir::OpKind::And, tile + "_off", ElemType::I32, {begin, constant(step - 1)}, loc);
  return emitScalar(ir::OpKind::Eq, tile + "_starts", ElemType::Bool, {off, constant(0)}, loc);
}

ir::View RoleBuilder::viewOf(const ir::Op &op) const {
  ir::View view = op.view;
  for (ir::ViewIndex &index : view.indices) {
    if (index.kind != ir::ViewIndex::Gather)
      continue;
    const ir::Type &type = op.operand(index.operand)->type;
    const plan::VarType held = typeOf(op.operand(index.operand));
    const bool isTile = held.kind == plan::VarType::Fragment;
    const bool padsRows = (isTile || held.kind == plan::VarType::Column) && held.rows > type.rows;
    const bool padsCols = (isTile || held.kind == plan::VarType::Row) && held.cols > type.cols;
    if (isTile && (padsRows || padsCols))
      index.hi = type.rows, index.lo = type.cols;
    else
      index.hi = padsRows ? type.rows : padsCols ? type.cols : 0;
  }
  return view;
}

void RoleBuilder::emitMove(const std::string &dest, const std::string &source, SourceLoc loc) {
  if (dest == source)
    return;
  plan::Stmt &stmt = emit(plan::StmtKind::Move, loc);
  stmt.dest = dest;
  stmt.operands = {source};
}

void RoleBuilder::emitStoreShared(const std::string &source, const plan::VarType &type, const std::string &buffer,
                                  bool transposed, SourceLoc loc) {
  plan::Stmt &write = emit(plan::StmtKind::StoreShared, loc);
  write.operands = {source};
  write.ref = {buffer, "", transposed, plan::heldPart(type)};
  write.firstInstance = placement.instances > 1 && write.ref.slice == plan::Division::Whole;
}

} // namespace tkc::planner
