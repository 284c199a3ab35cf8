// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/sema/Dims.h"
#include "frontend/sema/ProgramPlanner.h"

#include "llvm/Support/Casting.h"

#include <algorithm>

namespace tkc {
namespace sema {

constexpr int64_t maxUnrolled = 1024; ///< rounds of one loop; a program is a handful of launches

ProgramPlanner::ProgramPlanner(const Module &module, const ProgramInfo &program, const Specialization &specialization,
                               DiagnosticEngine &diagnostics)
    : module(module), program(program), specialization(specialization), reporter(diagnostics),
      plan(std::make_unique<ProgramPlan>()) {}

std::unique_ptr<ProgramPlan> ProgramPlanner::run() {
  plan->program = &program;
  plan->specialization = specialization;
  addParams();
  addFacts();
  block(*program.decl->body);
  if (!reporter.failed())
    checkOutputs();
  return reporter.failed() ? nullptr : std::move(plan);
}

void ProgramPlanner::addParams() {
  Scope &scope = scopes.emplace_back();
  for (auto &[name, value] : specialization.constants) {
    knownDims[name] = value;
    ScalarExpr scalar;
    scalar.elem = specialization.bools.count(name) ? ElemType::Bool : ElemType::I32;
    scalar.value = static_cast<double>(value);
    scope[name] = ofScalar(std::move(scalar));
  }
  for (ir::Param param : program.signature.params) {
    for (ir::DimExpr &dim : param.dims)
      dim = substitute(dim, knownDims);
    if (auto typeParam = program.signature.typeParamOf.find(param.name);
        typeParam != program.signature.typeParamOf.end())
      for (auto &[name, type] : specialization.typeArgs)
        if (name == typeParam->second)
          param.elem = type;
    param.isPresent = specialization.absent.count(param.name) == 0;
    if (param.isPresent)
      for (const std::string &symbol : symbolsIn(param.dims))
        isKnown(symbol, {param.loc, param.loc});
    plan->params.push_back(std::move(param));
  }
}

/// `where C == H * D` with a lone symbol on one side lets shapes be compared.
void ProgramPlanner::addFacts() {
  for (const ast::Expr *condition : program.signature.conditions) {
    auto *equation = llvm::dyn_cast<ast::BinaryExpr>(condition);
    if (!equation || equation->op != ast::BinaryOp::Eq)
      continue;
    std::optional<ir::DimExpr> lhs = tryDim(equation->lhs), rhs = tryDim(equation->rhs);
    if (!lhs || !rhs)
      continue;
    ir::DimExpr left = substitute(*lhs, knownDims), right = substitute(*rhs, knownDims);
    if (left.kind == ir::DimExpr::Symbol)
      equalities.emplace_back(left.symbol, Polynomial(right));
    else if (right.kind == ir::DimExpr::Symbol)
      equalities.emplace_back(right.symbol, Polynomial(left));
  }
}

const ir::Param *ProgramPlanner::findParam(const std::string &name) const {
  for (const ir::Param &param : plan->params)
    if (param.name == name)
      return &param;
  return nullptr;
}

// ---- statements ----------------------------------------------------------------------------------------------------

void ProgramPlanner::block(const ast::BlockStmt &block) {
  scopes.emplace_back();
  for (const ast::Stmt *stmt : block.stmts)
    if (!reporter.diagnostics().limitReached())
      statement(stmt);
  scopes.pop_back();
}

void ProgramPlanner::statement(const ast::Stmt *stmt) {
  switch (stmt->kind) {
  case ast::StmtKind::Error:
    break;
  case ast::StmtKind::Block:
    block(*llvm::cast<ast::BlockStmt>(stmt));
    break;
  case ast::StmtKind::Let:
    let(*llvm::cast<ast::LetStmt>(stmt));
    break;
  case ast::StmtKind::Assign:
    assign(*llvm::cast<ast::AssignStmt>(stmt));
    break;
  case ast::StmtKind::If:
    ifStatement(*llvm::cast<ast::IfStmt>(stmt));
    break;
  case ast::StmtKind::For:
    forStatement(*llvm::cast<ast::ForStmt>(stmt));
    break;
  case ast::StmtKind::Expr: {
    const ast::Expr *expr = llvm::cast<ast::ExprStmt>(stmt)->expr;
    if (auto *call = llvm::dyn_cast<ast::CallExpr>(expr))
      launch(*call);
    else if (!llvm::isa<ast::ErrorExpr>(expr))
      reporter.error(Diag::program_statement, stmt->range);
    break;
  }
  case ast::StmtKind::Tune:
  case ast::StmtKind::Parallel:
  case ast::StmtKind::Var:
  case ast::StmtKind::Return:
    reporter.error(Diag::program_statement, stmt->range);
    break;
  }
}

void ProgramPlanner::let(const ast::LetStmt &stmt) {
  if (stmt.names.size() != 1) {
    reporter.error(Diag::wrong_number_of_names, stmt.value->range, 1, stmt.names.size());
    return;
  }
  const ast::Identifier &name = stmt.names.front();
  if (scopes.back().count(name.text))
    reporter.error(Diag::redeclared_local, name.range, name.text);
  Arg arg;
  if (auto *fresh = llvm::dyn_cast<ast::NewExpr>(stmt.value)) {
    if (std::optional<TensorView> tensor = newTensor(*fresh, name.text))
      arg = ofTensor(*tensor);
  } else {
    arg = expr(stmt.value);
  }
  scopes.back()[name.text] = std::move(arg);
}

/// `y = 0;` fills.
void ProgramPlanner::assign(const ast::AssignStmt &stmt) {
  Arg target = expr(stmt.target), value = expr(stmt.value);
  if (target.kind == Arg::Error || value.kind == Arg::Error)
    return;
  if (target.kind != Arg::Tensor || value.kind != Arg::Scalar || stmt.op != ast::AssignOp::Set) {
    reporter.error(Diag::program_assign, stmt.range);
    return;
  }
  const ir::Param *param = findParam(target.view.tensor);
  if (param && param->mode == ir::ParamMode::In) {
    reporter.error(Diag::write_to_input, stmt.target->range, param->name)
        .note(Diag::note_declared_here, {param->loc, param->loc}, param->name);
    return;
  }
  if (isPacked(target.view.elem)) {
    reporter.error(Diag::packed_program, stmt.range, spelling(target.view.elem));
    return;
  }
  written.insert(target.view.tensor);
  if (!param || param->isPresent)
    plan->steps.push_back(FillStep{target.view, value.scalar, stmt.range.begin});
}

void ProgramPlanner::ifStatement(const ast::IfStmt &stmt) {
  Arg condition = expr(stmt.condition);
  if (condition.kind == Arg::Error)
    return;
  bool isConstant = condition.kind == Arg::Scalar && condition.scalar.kind == ScalarExpr::Number &&
                    condition.scalar.elem == ElemType::Bool;
  if (!isConstant)
    reporter.error(Diag::program_condition, stmt.condition->range);
  else if (condition.scalar.value != 0)
    block(*stmt.thenBlock);
  else if (stmt.elseStmt)
    statement(stmt.elseStmt);
}

std::optional<int64_t> ProgramPlanner::constant(const ast::Expr *expr, std::string_view what) {
  Arg arg = this->expr(expr);
  if (arg.kind == Arg::Scalar && arg.scalar.kind == ScalarExpr::Number && arg.scalar.elem == ElemType::I32)
    return static_cast<int64_t>(arg.scalar.value);
  if (arg.kind != Arg::Error)
    reporter.error(Diag::program_constant, expr->range, what);
  return std::nullopt;
}

void ProgramPlanner::forStatement(const ast::ForStmt &stmt) {
  auto *range = llvm::dyn_cast<ast::RangeExpr>(stmt.binding.range);
  if (!range) {
    if (!llvm::isa<ast::ErrorExpr>(stmt.binding.range))
      reporter.error(Diag::program_constant, stmt.binding.range->range, "the range of a program's loop");
    return;
  }
  std::optional<int64_t> lo = constant(range->lo, "the range of a program's loop");
  std::optional<int64_t> hi = constant(range->hi, "the range of a program's loop");
  if (!lo || !hi)
    return;
  if (*hi - *lo > maxUnrolled) {
    reporter.error(Diag::program_unrolled, range->range, *hi - *lo, maxUnrolled);
    return;
  }
  for (int64_t i = *lo; i < *hi; ++i) {
    ScalarExpr index;
    index.value = static_cast<double>(i);
    scopes.emplace_back()[stmt.binding.name.text] = ofScalar(index);
    block(*stmt.body);
    scopes.pop_back();
  }
}

void ProgramPlanner::checkOutputs() {
  for (const ir::Param &param : plan->params)
    if (param.mode == ir::ParamMode::Out && param.isPresent && !written.count(param.name))
      reporter.error(Diag::out_not_written, {param.loc, param.loc}, param.name);
}

} // namespace sema

std::unique_ptr<ProgramPlan> planProgram(const Module &module, const ProgramInfo &program,
                                         const Specialization &specialization, DiagnosticEngine &diagnostics) {
  if (!program.signature.isSound)
    return nullptr;
  return sema::ProgramPlanner(module, program, specialization, diagnostics).run();
}

} // namespace tkc
