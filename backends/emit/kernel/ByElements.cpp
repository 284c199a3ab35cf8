// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of element-wise work on tiles (ir/plan/ByElements.h), printed as one `map`: the compiler then goes through all
// of it with one element after the other. It does not find that order by itself.
#include "backends/emit/kernel/RolePrinter.h"

#include <algorithm>

namespace tkc::cuda {

using plan::Stmt;
using plan::VarType;

namespace {

/// Fewer are not worth a function of their own.
constexpr size_t leastOps = 3;

} // namespace

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
    if (!definition || !plan::isByElements(*definition) || !findLeaves(run, *definition, leaves))
      return false;
  }
  return true;
}

bool RolePrinter::printByElements(const plan::Body &body, size_t &i, cpp::Body &out) {
  if (!loopLines.empty())
    return false;
  const auto typeOfOwn = [&](const std::string &name) {
    const plan::Var *var = role.findVar(name);
    return var ? &var->type : nullptr;
  };
  const auto isInPlace = [&](const Stmt &stmt) { return isPure(stmt) && uses.isInlined(stmt.dest); };
  const std::vector<const Stmt *> run = plan::runByElements(body, i, accesses, typeOfOwn, isInPlace);
  if (run.size() < leastOps)
    return false;
  std::vector<std::string> leaves;
  for (const Stmt *stmt : run)
    if (!findLeaves(run, *stmt, leaves) || !uses.declaredBefore(*stmt).empty())
      return false;
  if (std::none_of(leaves.begin(), leaves.end(),
                   [&](const std::string &leaf) { return typeOf(leaf).kind == VarType::Fragment; }))
    return false;
  byElements = true;
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
  byElements = false;
  const cpp::Expr function = cpp::name("[&](" + parameters + ") { " + statements + " }");
  i = static_cast<size_t>(run.back() - body.data());
  std::vector<cpp::Expr> args = {function};
  for (const std::string &leaf : leaves)
    args.push_back(cpp::name(nameOf(leaf)));
  assign(*run.back(), cpp::call("tk::map", std::move(args)), out);
  return true;
}

} // namespace tkc::cuda
