// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of element-wise work on tiles, printed as one `map`: the compiler then goes through all of it with one element
// after the other, and tiles between the first and the last take no registers. It does not find that order by itself.
// The verifier's count of registers rests on it (Registers.cpp).
#include "backends/cuda/RolePrinter.h"

#include <algorithm>

namespace tkc::cuda {

using ir::OpKind;
using plan::Stmt;
using plan::StmtKind;
using plan::VarType;

namespace {

/// Fewer are not worth a function of their own.
constexpr size_t leastOps = 3;

/// The operations that mean the same for numbers as for tiles of them. Left out: what rounds in another way there, and
/// patterns over neighbours.
bool isByElements(const Stmt &stmt) {
  if (stmt.kind != StmtKind::Compute || !stmt.ref.buffer.empty() || stmt.count > 0)
    return false;
  if (stmt.op == OpKind::Div || stmt.op == OpKind::Mod)
    return false;
  return ir::isElementwiseUnary(stmt.op) || ir::isElementwiseBinary(stmt.op) || stmt.op == OpKind::Cast ||
         stmt.op == OpKind::Select;
}

bool isWide(ElemType elem) { return elem == ElemType::F32 || elem == ElemType::Bool; }

void countReads(const plan::Body &body, std::map<std::string, size_t> &reads) {
  for (const Stmt &stmt : body) {
    for (const std::string &operand : stmt.operands)
      ++reads[operand];
    for (const plan::Body *inner : {&stmt.prologue, &stmt.body, &stmt.epilogue, &stmt.orElse})
      countReads(*inner, reads);
  }
}

} // namespace

/// The statements from `first` on that make tiles of one shape in registers, element by element.
std::vector<const Stmt *> RolePrinter::runByElements(const plan::Body &body, size_t first) const {
  std::vector<const Stmt *> run;
  for (size_t i = first; i < body.size(); ++i) {
    const Stmt &stmt = body[i];
    const VarType *type = stmt.dest.empty() || !isPure(stmt) ? nullptr : &typeOf(stmt.dest);
    const bool isTile = type && type->kind == VarType::Fragment;
    if (isTile && isByElements(stmt) && isWide(type->elem) && uses.isAssignedOnce(stmt.dest)) {
      VarType shape = *type;
      shape.elem = run.empty() ? type->elem : typeOf(run.front()->dest).elem;
      if (!run.empty() && !(shape == typeOf(run.front()->dest)))
        break;
      run.push_back(&stmt);
    } else if (isTile || !isPure(stmt) || !uses.isInlined(stmt.dest)) { // else it is printed where it is read
      break;
    }
  }
  return run;
}

/// The longest beginning of the run of which nothing but the last result is read elsewhere.
void RolePrinter::closeRun(std::vector<const Stmt *> &run) const {
  std::map<std::string, size_t> all;
  countReads(role.body, all);
  const auto isClosed = [&] {
    std::map<std::string, size_t> within;
    for (const Stmt *stmt : run)
      for (const std::string &operand : stmt->operands)
        ++within[operand];
    return std::all_of(run.begin(), run.end() - 1,
                       [&](const Stmt *stmt) { return within[stmt->dest] == all[stmt->dest]; });
  };
  while (!run.empty() && (uses.isInlined(run.back()->dest) || !isClosed()))
    run.pop_back();
}

/// Tiles that the run reads and does not make; false where one is no element-wise value.
bool RolePrinter::findLeaves(const std::vector<const Stmt *> &run, const Stmt &stmt,
                             std::vector<std::string> &leaves) const {
  for (const std::string &operand : stmt.operands) {
    const bool isMade = std::any_of(run.begin(), run.end(), [&](const Stmt *other) { return other->dest == operand; });
    if (isMade || !isTile(operand) || std::find(leaves.begin(), leaves.end(), operand) != leaves.end())
      continue;
    if (!uses.isInlined(operand)) {
      leaves.push_back(operand);
      continue;
    }
    const Stmt *definition = uses.definition(operand);
    if (!definition || !isByElements(*definition) || !findLeaves(run, *definition, leaves))
      return false;
  }
  return true;
}

bool RolePrinter::printByElements(const plan::Body &body, size_t &i, cpp::Body &out) {
  if (!loopLines.empty())
    return false;
  std::vector<const Stmt *> run = runByElements(body, i);
  closeRun(run);
  if (run.size() < leastOps)
    return false;
  std::vector<std::string> leaves;
  for (const Stmt *stmt : run)
    if (!findLeaves(run, *stmt, leaves) || !uses.declaredBefore(*stmt).empty())
      return false;
  if (std::none_of(leaves.begin(), leaves.end(),
                   [&](const std::string &leaf) { return typeOf(leaf).kind == VarType::Fragment; }))
    return false;
  std::string parameters, statements;
  for (const std::string &leaf : leaves)
    parameters += (parameters.empty() ? "auto " : ", auto ") + nameOf(leaf);
  for (const Stmt *stmt : run) {
    comment(*stmt, out);
    if (stmt == run.back())
      statements += "return " + cpp::print(computed(*stmt)) + ";";
    else if (!uses.isInlined(stmt->dest))
      statements += "const auto " + nameOf(stmt->dest) + " = " + cpp::print(computed(*stmt)) + "; ";
  }
  const cpp::Expr function = cpp::name("[&](" + parameters + ") { " + statements + " }");
  i = static_cast<size_t>(run.back() - body.data());
  std::vector<cpp::Expr> args = {function};
  for (const std::string &leaf : leaves)
    args.push_back(cpp::name(nameOf(leaf)));
  assign(*run.back(), cpp::call("tk::map", std::move(args)), out);
  return true;
}

} // namespace tkc::cuda
