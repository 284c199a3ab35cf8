// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements without loops: let, var, assignment to variables, if, return, the grid.
#include "frontend/sema/Elaborator.h"
#include "frontend/sema/ModulePhases.h"

#include "llvm/Support/Casting.h"

namespace tkc::sema {

void Elaborator::block(const ast::BlockStmt &block) {
  scopes.emplace_back();
  for (const ast::Stmt *stmt : block.stmts)
    statement(stmt);
  scopes.pop_back();
}

void Elaborator::statement(const ast::Stmt *stmt) {
  if (reporter.diagnostics().limitReached())
    return;
  if (!inlining.empty() && inlining.back().result)
    return; // a branch taken when compiling has returned
  builder.setLoc(stmt->range.begin);
  switch (stmt->kind) {
  case ast::StmtKind::Error:
    break;
  case ast::StmtKind::Block:
    block(*llvm::cast<ast::BlockStmt>(stmt));
    break;
  case ast::StmtKind::Tune:
    tune(*llvm::cast<ast::TuneStmt>(stmt));
    break;
  case ast::StmtKind::Parallel:
    parallel(*llvm::cast<ast::ParallelStmt>(stmt));
    break;
  case ast::StmtKind::For:
    if (inParallel)
      forStatement(*llvm::cast<ast::ForStmt>(stmt));
    else
      error(Diag::outside_parallel, stmt->range);
    break;
  case ast::StmtKind::If:
    ifStatement(*llvm::cast<ast::IfStmt>(stmt));
    break;
  case ast::StmtKind::Let: {
    auto *decl = llvm::cast<ast::LetStmt>(stmt);
    let(decl->names, decl->value, false);
    break;
  }
  case ast::StmtKind::Var: {
    auto *decl = llvm::cast<ast::VarStmt>(stmt);
    let(decl->names, decl->value, true);
    break;
  }
  case ast::StmtKind::Assign:
    assign(*llvm::cast<ast::AssignStmt>(stmt));
    break;
  case ast::StmtKind::Return:
    returnStatement(*llvm::cast<ast::ReturnStmt>(stmt));
    break;
  case ast::StmtKind::Expr:
    if (auto *call = llvm::dyn_cast<ast::CallExpr>(llvm::cast<ast::ExprStmt>(stmt)->expr);
        !call || isKnownFunction(*call) || !reportForeignCall(reporter, *call))
      error(Diag::call_statement, stmt->range);
    break;
  }
}

void Elaborator::tune(const ast::TuneStmt &stmt) {
  if (scopes.size() != 2 || parallelSeen) {
    error(Diag::tune_place, stmt.range);
    return;
  }
  for (auto &[name, defaultValue] : stmt.values) {
    std::optional<int64_t> value = constantInteger(defaultValue, "a `tune`");
    if (auto chosen = tunes.find(name.text); chosen != tunes.end())
      value = chosen->second;
    if (value && *value < 1) {
      error(Diag::tune_not_positive, defaultValue->range, name.text);
      value.reset();
    }
    define(name, value ? Val::integer(*value) : Val::error());
    if (!value)
      continue;
    function->constants.emplace_back(name.text, *value);
    function->tunes.push_back(name.text);
  }
}

void Elaborator::let(const std::vector<ast::Identifier> &names, const ast::Expr *value, bool isVar) {
  if (auto *memory = llvm::dyn_cast<ast::NewExpr>(value))
    return newMemory(names, *memory, isVar);
  Val val = expr(value);
  std::vector<Val> parts{val};
  if (val.kind == Val::Kind::Tuple)
    parts = val.elements;
  if (!val.isError() && parts.size() != names.size()) {
    error(Diag::wrong_number_of_names, value->range, parts.size(), names.size());
    val = Val::error();
  }
  if (val.isError())
    parts.assign(names.size(), Val::error());
  for (size_t i = 0; i < names.size(); ++i) {
    if (auto previous = scopes.back().find(names[i].text); previous != scopes.back().end())
      error(Diag::redeclared_local, names[i].range, names[i].text)
          .note(Diag::note_declared_here, variables[previous->second].declared, names[i].text);
    Val part = parts[i];
    if (isVar && part.isTileIndex()) {
      error(Diag::var_tile_index, value->range, names[i].text);
      part = Val::error();
    }
    if (isVar && !part.isError())
      part = Val::ofValue(toValue(part, value->range));
    define(names[i], std::move(part), isVar);
  }
}

void Elaborator::assign(const ast::AssignStmt &stmt) {
  if (llvm::isa<ast::IndexExpr>(stmt.target)) {
    if (inParallel)
      store(stmt);
    else
      error(Diag::outside_parallel, stmt.range);
    return;
  }
  auto *name = llvm::dyn_cast<ast::NameExpr>(stmt.target);
  if (!name)
    return; // the parser has said that this is not assignable
  std::optional<VariableId> id = findVariable(name->name);
  if (!id || !variables[*id].isVar) {
    Val known = id ? variables[*id].val : lookup(*name);
    expr(stmt.value);
    if (known.isTensor())
      error(Diag::assign_tensor, name->range, name->name);
    else if (!known.isError() || id)
      assignToFixed(*name, id);
    return;
  }
  Val val = stmt.op == ast::AssignOp::Set ? expr(stmt.value) : updated(stmt, variables[*id].val);
  assignVariable(variables[*id], std::move(val), stmt);
}

void Elaborator::assignToFixed(const ast::NameExpr &name, std::optional<VariableId> id) {
  Reported reported = error(Diag::assign_let, name.range, name.name);
  if (id)
    reported.note(Diag::note_declared_here, variables[*id].declared, name.name);
}

static std::optional<ast::BinaryOp> binaryOf(ast::AssignOp op) {
  switch (op) {
  case ast::AssignOp::Add:
    return ast::BinaryOp::Add;
  case ast::AssignOp::Sub:
    return ast::BinaryOp::Sub;
  case ast::AssignOp::Mul:
    return ast::BinaryOp::Mul;
  case ast::AssignOp::Div:
    return ast::BinaryOp::Div;
  case ast::AssignOp::Set:
  case ast::AssignOp::Max:
  case ast::AssignOp::Min:
    return std::nullopt;
  }
  return std::nullopt;
}

/// The new value of `x op= e`.
Val Elaborator::updated(const ast::AssignStmt &stmt, const Val &old) {
  auto *product = llvm::dyn_cast<ast::BinaryExpr>(stmt.value);
  if (stmt.op == ast::AssignOp::Add && product && product->op == ast::BinaryOp::MatMul)
    return matmul(*product, old, stmt.target->range, stmt.opRange);
  Operands operands{old, expr(stmt.value), stmt.opRange, stmt.target->range, stmt.value->range};
  if (std::optional<ast::BinaryOp> op = binaryOf(stmt.op))
    return combine(*op, operands);
  return stmt.op == ast::AssignOp::Max ? minMax(ir::OpKind::Max, "max", operands)
                                       : minMax(ir::OpKind::Min, "min", operands);
}

/// A variable keeps its element type and shape; a wider type is reached by itself, a narrower one by a cast only.
void Elaborator::assignVariable(Variable &variable, Val val, const ast::AssignStmt &stmt) {
  variable.lastAssigned = stmt.range;
  // After a mistake the variable stays what it was: its type is known, and the next mistake can be found.
  if (val.isError() || variable.val.isError() || !isOperand(val, stmt.value->range))
    return;
  const ir::Type &to = variable.declaredType;
  ir::Type from = val.type();
  if (to.isScalar() && !from.isScalar() && from.isTile() && from.rows == 1 && from.cols == 1)
    val = Val::ofValue(builder.toScalar(val.value)), from = val.type();
  else if (to.isTile() && to.rows == 1 && to.cols == 1 && from.isScalar())
    val = Val::ofValue(builder.full(toValue(val, stmt.value->range), 1, 1)), from = val.type();
  bool sameShape = from.kind == to.kind && from.rows == to.rows && from.cols == to.cols;
  if (!sameShape) {
    error(Diag::carried_shape, stmt.value->range, variable.name, describe(to), describe(from))
        .note(Diag::note_declared_here, variable.declared, variable.name);
    return;
  }
  bool takesLiteral = val.isConst() && val.isWeak && (isFloat(to.elem) || !isFloat(val.elem)) &&
                      (to.elem == ElemType::Bool) == (val.elem == ElemType::Bool);
  bool widens = from.elem == to.elem ||
                (isFloat(from.elem) && isFloat(to.elem) && arithmeticType(from.elem) == to.elem) ||
                (isInteger(from.elem) && isInteger(to.elem) && arithmeticType(from.elem) != ElemType::I64 &&
                 arithmeticType(to.elem) == to.elem) ||
                (isFloat(from.elem) && to.elem == ElemType::F64);
  if (!takesLiteral && !widens) {
    error(Diag::carried_type, stmt.value->range, variable.name, describe(to), describe(from), spelling(to.elem))
        .note(Diag::note_declared_here, variable.declared, variable.name);
    return;
  }
  ir::Value *value = toElem(val, to.elem, stmt.value->range);
  if (value->name.empty())
    value->name = variable.name;
  variable.val = Val::ofValue(value);
}

void Elaborator::returnStatement(const ast::ReturnStmt &stmt) {
  if (inlining.empty())
    return; // the parser has said that a kernel returns nothing
  std::vector<Val> values;
  for (const ast::Expr *value : stmt.values)
    values.push_back(expr(value));
  if (runtimeDepth > inlining.back().runtimeDepth) {
    error(Diag::return_in_branch, stmt.range);
    return;
  }
  inlining.back().result = values.size() == 1 ? values.front() : Val::tuple(std::move(values));
}

// ---- if ------------------------------------------------------------------------------------------------------------

void Elaborator::ifStatement(const ast::IfStmt &stmt) {
  Val condition = expr(stmt.condition);
  if (condition.isError())
    return;
  if (condition.isConst()) {
    if (condition.elem != ElemType::Bool)
      error(Diag::condition_not_bool, stmt.condition->range, describe(condition));
    else if (condition.number != 0)
      block(*stmt.thenBlock);
    else if (stmt.elseStmt)
      statement(stmt.elseStmt);
    return;
  }
  if (!inParallel) {
    error(Diag::outside_parallel, stmt.condition->range);
    return;
  }
  if (condition.isValue() && condition.value->type.isTile() &&
      condition.value->type.rows * condition.value->type.cols > 1) {
    error(Diag::condition_is_tile, stmt.condition->range, describe(condition));
    return;
  }
  ir::Value *scalar = toScalar(condition, stmt.condition->range, "a condition");
  if (scalar && scalar->type.elem != ElemType::Bool) {
    error(Diag::condition_not_bool, stmt.condition->range, describe(scalar->type));
    return;
  }
  if (scalar)
    runtimeIf(stmt, scalar);
}

/// Both branches; the variables that either assigns become results.
void Elaborator::runtimeIf(const ast::IfStmt &stmt, ir::Value *condition) {
  builder.setLoc(stmt.range.begin);
  ir::Op *op = builder.ifOp(condition, {});
  ir::Block *outer = builder.insertionBlock();
  std::vector<Val> before = snapshot();
  ++runtimeDepth;
  std::vector<Val> ends[2];
  for (int i = 0; i < 2; ++i) {
    builder.setInsertionPoint(&op->body(i));
    if (i == 0)
      block(*stmt.thenBlock);
    else if (stmt.elseStmt)
      statement(stmt.elseStmt);
    ends[i] = snapshot();
    restore(before);
  }
  --runtimeDepth;
  std::vector<ir::Value *> yields[2];
  std::vector<VariableId> results;
  for (VariableId id = 0; id < before.size(); ++id) {
    Val &thenEnd = ends[0][id], &elseEnd = ends[1][id];
    if (!variables[id].isVar || (thenEnd.value == before[id].value && elseEnd.value == before[id].value))
      continue;
    if (thenEnd.isError() || elseEnd.isError()) {
      variables[id].val = Val::error();
      continue;
    }
    std::optional<ir::Type> type = ir::broadcast(thenEnd.value->type, elseEnd.value->type);
    if (!type) {
      error(Diag::branches_end_differently, variables[id].lastAssigned, variables[id].name);
      variables[id].val = Val::error();
      continue;
    }
    yields[0].push_back(thenEnd.value);
    yields[1].push_back(elseEnd.value);
    results.push_back(id);
    auto &result = op->results.emplace_back(std::make_unique<ir::Value>());
    result->type = *type;
    result->name = variables[id].name;
    result->definingOp = op;
    result->index = static_cast<unsigned>(op->results.size() - 1);
    variables[id].val = Val::ofValue(result.get());
  }
  for (int i = 0; i < 2; ++i) {
    builder.setInsertionPoint(&op->body(i));
    if (!results.empty())
      builder.yield(yields[i]);
  }
  builder.setInsertionPoint(outer);
}

} // namespace tkc::sema
