// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/ByElements.h"

#include "ir/plan/verify/Verify.h"

#include <algorithm>

namespace tkc::plan {

using ir::OpKind;

namespace {

/// What is narrower than a register is packed, and not worked on by itself.
bool isWideTile(const VarType *type) {
  return type && type->kind == VarType::Fragment && (type->elem == ElemType::F32 || type->elem == ElemType::Bool);
}

bool haveOneShape(VarType a, const VarType &b) {
  a.elem = b.elem;
  return a == b;
}

size_t countOf(const std::map<std::string, size_t> &counts, const std::string &name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

bool isClosed(const std::vector<const Stmt *> &run, const Accesses &accesses) {
  std::map<std::string, size_t> within;
  for (const Stmt *stmt : run)
    for (const std::string &operand : stmt->operands)
      ++within[operand];
  return std::all_of(run.begin(), run.end() - 1, [&](const Stmt *stmt) {
    return countOf(within, stmt->dest) == countOf(accesses.reads, stmt->dest);
  });
}

} // namespace

Accesses::Accesses(const Body &body) {
  walk(body, [&](const Stmt &stmt) {
    for (const std::string &operand : stmt.operands)
      ++reads[operand];
    ++writes[stmt.dest];
  });
}

bool isByElements(const Stmt &stmt) {
  if (stmt.kind != StmtKind::Compute || !stmt.ref.buffer.empty() || stmt.count > 0)
    return false;
  if (stmt.op == OpKind::Div || stmt.op == OpKind::Mod)
    return false;
  return ir::isElementwise(stmt.op);
}

std::vector<const Stmt *> runByElements(const Body &body, size_t first, const Accesses &accesses,
                                        llvm::function_ref<const VarType *(const std::string &)> typeOf,
                                        llvm::function_ref<bool(const Stmt &)> isInPlace) {
  std::vector<const Stmt *> run;
  for (size_t i = first; i < body.size(); ++i) {
    const Stmt &stmt = body[i];
    const VarType *type = stmt.dest.empty() ? nullptr : typeOf(stmt.dest);
    if (isByElements(stmt) && isWideTile(type) && countOf(accesses.writes, stmt.dest) == 1) {
      if (!run.empty() && !haveOneShape(*type, *typeOf(run.front()->dest)))
        break;
      run.push_back(&stmt);
    } else if (!type || type->kind == VarType::Fragment || !isInPlace(stmt)) {
      break;
    }
  }
  while (!run.empty() && (isInPlace(*run.back()) || !isClosed(run, accesses)))
    run.pop_back();
  return run;
}

} // namespace tkc::plan
