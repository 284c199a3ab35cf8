// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products. A wait names the registers that it hands back, and a fence those that were touched, so that the
// compiler keeps accesses on the right side; registers in flight are named by neither. Which these are follows from the
// order of groups, with loops walked twice for what comes around.
// What is loaded while a product in flight reads registers may be there to make its next operand. The wait names that,
// too: a computation from it is then not moved before the wait.
#include "backends/emit/kernel/RolePrinter.h"

#include <fmt/core.h>

namespace tkc::cuda {

using plan::Stmt;
using plan::StmtKind;

void RolePrinter::trackProducts(const plan::Body &body) {
  for (const Stmt &stmt : body) {
    switch (stmt.kind) {
    case StmtKind::Product:
      if (stmt.isSynchronous() || stmt.isTensorProduct())
        break;
      groupsInFlight.back().insert(stmt.dest);
      if (!stmt.aShared) {
        groupsInFlight.back().insert(stmt.operands[0]);
        readInFlight.insert(stmt.operands[0]);
      }
      break;
    case StmtKind::LoadShared:
      if (!readInFlight.empty() && isPinnable(stmt.dest))
        loadedMeanwhile.insert(stmt.dest);
      break;
    case StmtKind::ProductFence:
      for (const auto &group : groupsInFlight)
        inFlightAt[&stmt].insert(group.begin(), group.end());
      break;
    case StmtKind::ProductCommit:
      groupsInFlight.emplace_back();
      break;
    case StmtKind::ProductWait: {
      std::set<std::string> &retired = retiredAt[&stmt];
      while (groupsInFlight.size() > static_cast<size_t>(stmt.as<plan::ProductWait>().left) + 1) {
        retired.insert(groupsInFlight.front().begin(), groupsInFlight.front().end());
        groupsInFlight.erase(groupsInFlight.begin());
      }
      for (const std::string &var : retired)
        readInFlight.erase(var);
      retired.insert(loadedMeanwhile.begin(), loadedMeanwhile.end());
      namedByWaits.merge(loadedMeanwhile);
      loadedMeanwhile.clear();
      for (const auto &group : groupsInFlight)
        for (const std::string &var : group)
          retired.erase(var);
      break;
    }
    case StmtKind::For:
      trackProducts(stmt.prologue);
      trackProducts(stmt.body);
      trackProducts(stmt.body);
      trackProducts(stmt.epilogue);
      break;
    default:
      trackProducts(stmt.body);
      trackProducts(stmt.orElse);
      break;
    }
  }
}

/// Whether a wait can name it (tk/pin.h).
bool RolePrinter::isPinnable(const std::string &var) const {
  const plan::VarType &type = typeOf(var);
  return type.kind != plan::VarType::Scalar && type.elem != ElemType::Bool && bitWidth(type.elem) <= 32 &&
         !isPacked(type.elem);
}

void RolePrinter::printProductFence(const plan::Body &body, size_t i, cpp::Body &out) {
  std::vector<cpp::Expr> args;
  std::set<std::string> named;
  const auto add = [&](const std::string &var) {
    if (!inFlightAt[&body[i]].count(var) && named.insert(var).second)
      args.push_back(cpp::name(nameOf(var)));
  };
  for (size_t next = i + 1; next < body.size() && body[next].kind != StmtKind::ProductCommit; ++next) {
    const Stmt &stmt = body[next];
    if (stmt.kind != StmtKind::Product)
      continue;
    if (stmt.accumulate)
      add(stmt.dest);
    if (!stmt.aShared)
      add(stmt.operands[0]);
  }
  if (kernel.plan.steppedAxis()) { // tk::mma_columns has the rest of the fence
    for (cpp::Expr &arg : args)
      out.push_back(cpp::Stmt::expression(cpp::call("tk::pin", {std::move(arg)})));
    return;
  }
  out.push_back(cpp::Stmt::expression(cpp::call("tk::mma_fence", std::move(args))));
}

cpp::Expr RolePrinter::productOperand(const plan::BufferRef &ref) const {
  const bool isOwn = kernel.splitBuffers.count(ref.buffer) != 0;
  const bool isWhole = !ref.transposed && (!instance || ref.slice == plan::Division::Whole || isOwn);
  return isWhole ? cpp::method(slice(ref), "all") : slice(ref);
}

void RolePrinter::printProduct(const Stmt &stmt, cpp::Body &out) {
  if (stmt.isTensorProduct())
    return printTensorProduct(stmt, out);
  if (uses.declaresAt(stmt, stmt.dest))
    out.push_back(cpp::Stmt::declaration(typeText(stmt.dest), nameOf(stmt.dest)));
  std::vector<cpp::Expr> args = {cpp::name(nameOf(stmt.dest)),
                                 stmt.aShared ? productOperand(stmt.aRef) : value(stmt.operands[0]),
                                 productOperand(stmt.ref)};
  for (const plan::BufferRef &scales : stmt.scales)
    args.push_back(productOperand(scales));
  if (!stmt.accumulate)
    args.push_back(cpp::boolean(false));
  if (const plan::GridAxis *axis = kernel.plan.steppedAxis()) {
    args.insert(args.begin(), kernel.columns());
    out.push_back(cpp::Stmt::expression(
        cpp::call(cpp::templated("tk::mma_columns", {cpp::integer(axis->step)}), std::move(args))));
    return;
  }
  const char *verb = stmt.byThreads         ? "tk::mma_by_threads"
                     : !stmt.scales.empty() ? "tk::mma_scaled"
                     : stmt.byWarps         ? "tk::mma"
                                            : "tk::mma_async";
  const cpp::Expr callee = stmt.turns > 0     ? cpp::templated("tk::mma_in_turns", {cpp::integer(stmt.turns)})
                           : stmt.interleaved ? cpp::name("tk::mma_interleaved")
                           : stmt.count > 0   ? cpp::templated(verb, {cpp::integer(stmt.count)})
                                              : cpp::name(verb);
  out.push_back(cpp::Stmt::expression(cpp::call(callee, std::move(args))));
}

void RolePrinter::printProductWait(const Stmt &stmt, cpp::Body &out) {
  std::vector<cpp::Expr> args;
  for (const std::string &var : retiredAt[&stmt])
    if (!uses.isInlined(var))
      args.push_back(cpp::name(nameOf(var)));
  out.push_back(cpp::Stmt::expression(
      cpp::call(cpp::templated("tk::mma_wait", {cpp::integer(stmt.as<plan::ProductWait>().left)}), std::move(args))));
}

} // namespace tkc::cuda
