// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The grid and loops.
//
// A loop carries the variables that its body assigns and that live outside. Which these are, and where their tiles end,
// is known only after the body was elaborated: in `for k … { acc += q @ k }` acc enters full and leaves ending with q's
// rows. So the body is elaborated with a guess (assigned in the text; ending as the value that enters), and again with
// what came out until it fits. Edges only ever become more definite, so this ends after a few rounds.
#include "frontend/sema/Elaborator.h"
#include "frontend/sema/ModulePhases.h"
#include "ir/Effects.h"

#include "llvm/Support/Casting.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace tkc::sema {

std::optional<Elaborator::Range> Elaborator::range(const ast::Expr *expr) {
  auto bound = [&](const ast::Expr *bound) { return toInteger(this->expr(bound), bound->range, "a range's bound"); };
  if (auto *span = llvm::dyn_cast<ast::RangeExpr>(expr)) {
    ir::Value *lo = bound(span->lo), *hi = bound(span->hi);
    return lo && hi ? std::optional(Range{lo, hi, 0}) : std::nullopt;
  }
  auto *call = llvm::dyn_cast<ast::CallExpr>(expr);
  auto *callee = call ? llvm::dyn_cast<ast::NameExpr>(call->callee) : nullptr;
  if (!callee || callee->name != "tiles" || call->args.size() < 2 || call->args.size() > 3) {
    if (!llvm::isa<ast::ErrorExpr>(expr) && (!call || !reportForeignCall(reporter, *call)))
      error(Diag::not_a_range, expr->range);
    return std::nullopt;
  }
  bool hasLo = call->args.size() == 3;
  ir::Value *lo = hasLo ? bound(call->args[0].value) : builder.constant(ElemType::I32, 0);
  ir::Value *hi = bound(call->args[hasLo ? 1 : 0].value);
  const ast::Expr *sizeExpr = call->args.back().value;
  std::optional<int64_t> size = tileSize(this->expr(sizeExpr), sizeExpr->range);
  return lo && hi && size ? std::optional(Range{lo, hi, *size}) : std::nullopt;
}

void Elaborator::checkIndexName(const ast::Identifier &name) {
  const std::vector<std::string> &taken = kernel.signature.order;
  if (inlining.empty() && std::find(taken.begin(), taken.end(), name.text) != taken.end())
    error(Diag::index_is_param, name.range, name.text);
}

void Elaborator::parallel(const ast::ParallelStmt &stmt) {
  if (inParallel || parallelSeen) {
    error(inParallel ? Diag::nested_parallel : Diag::second_parallel, stmt.bindings.front().name.range)
        .note(Diag::note_grid_here, parallelSeen->bindings.front().name.range);
    return;
  }
  parallelSeen = &stmt;
  inParallel = true;
  scopes.emplace_back();
  parallelBinding(stmt, 0);
  scopes.pop_back();
  inParallel = false;
}

/// One axis of the grid for each binding, each inside the one to its left, so that its range can use that.
void Elaborator::parallelBinding(const ast::ParallelStmt &stmt, size_t index) {
  if (index == stmt.bindings.size()) {
    block(*stmt.body);
    return;
  }
  const ast::Binding &binding = stmt.bindings[index];
  checkIndexName(binding.name);
  builder.setLoc(binding.name.range.begin);
  std::optional<Range> range = this->range(binding.range);
  ir::Block *outer = builder.insertionBlock();
  Val induction;
  if (range) {
    ir::Op *op = builder.parallel(range->lo, range->hi, range->tileSize, binding.name.text);
    builder.setInsertionPoint(&op->body());
    induction = Val::ofValue(op->body().args[0].get());
  }
  if (scopes.back().count(binding.name.text))
    error(Diag::redeclared_local, binding.name.range, binding.name.text);
  define(binding.name, induction);
  parallelBinding(stmt, index + 1);
  builder.setInsertionPoint(outer);
}

namespace {

/// The names that statements assign to, in the order of the text.
void collectAssigned(const ast::Stmt *stmt, std::vector<std::string> &names) {
  switch (stmt->kind) {
  case ast::StmtKind::Assign:
    if (auto *name = llvm::dyn_cast<ast::NameExpr>(llvm::cast<ast::AssignStmt>(stmt)->target))
      names.push_back(name->name);
    break;
  case ast::StmtKind::Block:
    for (const ast::Stmt *inner : llvm::cast<ast::BlockStmt>(stmt)->stmts)
      collectAssigned(inner, names);
    break;
  case ast::StmtKind::For:
    collectAssigned(llvm::cast<ast::ForStmt>(stmt)->body, names);
    break;
  case ast::StmtKind::If: {
    auto *branch = llvm::cast<ast::IfStmt>(stmt);
    collectAssigned(branch->thenBlock, names);
    if (branch->elseStmt)
      collectAssigned(branch->elseStmt, names);
    break;
  }
  case ast::StmtKind::Error:
  case ast::StmtKind::Tune:
  case ast::StmtKind::Parallel:
  case ast::StmtKind::Let:
  case ast::StmtKind::Var:
  case ast::StmtKind::Return:
  case ast::StmtKind::Expr:
    break;
  }
}

bool endsWith(const ir::Type &type, const ir::Value *index) { return type.rowEnd == index || type.colEnd == index; }

/// The numbers that name the elements of an axis that ends with `index`, from its first: a gather by them ends nowhere.
std::string iotaOf(const ir::Type &type, const ir::Value *index) {
  return type.rowEnd == index ? fmt::format("iota({}, 1)", type.rows) : fmt::format("iota(1, {})", type.cols);
}

} // namespace

std::vector<Elaborator::VariableId> Elaborator::assignedIn(const ast::Stmt &body) const {
  std::vector<std::string> names;
  collectAssigned(&body, names);
  std::vector<VariableId> ids;
  for (const std::string &name : names) {
    std::optional<VariableId> id = findVariable(name);
    bool isCandidate = id && variables[*id].isVar && variables[*id].val.isValue();
    if (isCandidate && std::find(ids.begin(), ids.end(), *id) == ids.end())
      ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end()); // in the order of their declarations
  return ids;
}

void Elaborator::forStatement(const ast::ForStmt &stmt) {
  checkIndexName(stmt.binding.name);
  std::optional<Range> range = this->range(stmt.binding.range);
  if (!range) {
    // The body is looked at for its own mistakes, with an index that absorbs what follows from this one.
    std::vector<Val> before = snapshot();
    scopes.emplace_back();
    define(stmt.binding.name, Val::error());
    block(*stmt.body);
    scopes.pop_back();
    restore(before);
    return;
  }
  std::vector<Carried> carried;
  for (VariableId id : assignedIn(*stmt.body))
    carried.push_back({id, variables[id].val.value->type});
  while (!tryLoop(stmt, *range, carried)) {
  }
}

namespace {

bool isNamed(const ast::Expr *expr, const std::string &name) {
  auto *named = llvm::dyn_cast<ast::NameExpr>(expr);
  return named && named->name == name;
}

/// Of `name < 4`, `4 > name`, `name <= 3`, `3 >= name`: 3; nullopt where the condition says nothing of the kind.
std::optional<double> mostOf(const std::string &name, const ast::Expr *condition) {
  auto *comparison = llvm::dyn_cast<ast::BinaryExpr>(condition);
  const bool isTurned = comparison && isNamed(comparison->rhs, name);
  if (!comparison || (!isTurned && !isNamed(comparison->lhs, name)))
    return std::nullopt;
  const bool isStrict = comparison->op == (isTurned ? ast::BinaryOp::Gt : ast::BinaryOp::Lt);
  auto *number = llvm::dyn_cast<ast::NumberExpr>(isTurned ? comparison->lhs : comparison->rhs);
  if (!number || (!isStrict && comparison->op != (isTurned ? ast::BinaryOp::Ge : ast::BinaryOp::Le)))
    return std::nullopt;
  return isStrict ? std::ceil(number->value) - 1 : std::floor(number->value);
}

/// Whether tiles(lo, hi, size) has a single tile at most, as the conditions bound the dim `hi`.
bool hasOneTile(const ir::Value *lo, const ir::Value *hi, int64_t size,
                const std::vector<const ast::Expr *> &conditions) {
  const std::optional<double> first = ir::constantOf(lo);
  if (size == 0 || !first || *first < 0 || !hi->definingOp || hi->definingOp->kind != ir::OpKind::Dim)
    return false;
  return std::any_of(conditions.begin(), conditions.end(), [&](const ast::Expr *condition) {
    const std::optional<double> most = mostOf(hi->definingOp->name, condition);
    return most && *most <= *first + static_cast<double>(size);
  });
}

} // namespace

bool Elaborator::tryLoop(const ast::ForStmt &stmt, const Range &range, std::vector<Carried> &carried) {
  std::vector<Val> before = snapshot();
  std::set<std::string> writtenBefore = written;
  std::vector<ir::Value *> initial;
  for (const Carried &each : carried)
    initial.push_back(before[each.id].value);
  builder.setLoc(stmt.range.begin);
  ir::Op *op = builder.forLoop(range.lo, range.hi, range.tileSize, stmt.binding.name.text, initial);
  const auto hasOne = [&](const std::vector<const ast::Expr *> &conditions) {
    return hasOneTile(range.lo, range.hi, range.tileSize, conditions);
  };
  op->constant = hasOne(promised) || hasOne(kernel.signature.conditions) ? 1 : 0;
  ir::Block *outer = builder.insertionBlock();
  ir::Value *induction = op->body().args[0].get();
  for (size_t i = 0; i < carried.size(); ++i) {
    ir::Value *arg = op->body().args[i + 1].get();
    arg->type = op->result(i)->type = carried[i].type;
    arg->name = op->result(i)->name = variables[carried[i].id].name;
    variables[carried[i].id].val = Val::ofValue(arg);
  }
  builder.setInsertionPoint(&op->body());
  ++runtimeDepth;
  scopes.emplace_back();
  define(stmt.binding.name, Val::ofValue(induction));
  block(*stmt.body);
  scopes.pop_back();
  --runtimeDepth;

  std::vector<Carried> next;
  std::vector<ir::Value *> yields;
  bool fits = true;
  for (size_t i = 0; i < carried.size(); ++i) {
    Variable &variable = variables[carried[i].id];
    ir::Value *arg = op->body().args[i + 1].get();
    if (variable.val.value == arg) {
      fits = false; // not assigned after all: nothing to carry
      continue;
    }
    std::optional<ir::Type> type;
    if (variable.val.isValue() && endsWith(variable.val.value->type, induction))
      error(Diag::carried_own_index, variable.lastAssigned, variable.name, stmt.binding.name.text,
            iotaOf(variable.val.value->type, induction));
    else if (variable.val.isValue())
      if (type = ir::broadcast(carried[i].type, variable.val.value->type); !type)
        error(Diag::branches_end_differently, variable.lastAssigned, variable.name);
    if (!type) {
      variable.val = Val::error();
      before[carried[i].id] = Val::error(); // what the loop made of it is not known
      fits = false;
      continue;
    }
    fits = fits && *type == carried[i].type;
    next.push_back({carried[i].id, *type});
    yields.push_back(variable.val.value);
  }
  restore(before);
  if (!fits) {
    builder.setInsertionPoint(outer);
    ir::erase(op);
    written = std::move(writtenBefore);
    carried = std::move(next);
    return false;
  }
  if (!yields.empty())
    builder.yield(yields);
  builder.setInsertionPoint(outer);
  for (size_t i = 0; i < carried.size(); ++i)
    variables[carried[i].id].val = Val::ofValue(op->result(i));
  return true;
}

} // namespace tkc::sema
