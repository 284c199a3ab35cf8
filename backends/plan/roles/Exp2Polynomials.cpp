// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/Exp2Polynomials.h"

#include "support/Rounding.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

/// tk/exp2_fma.h: relative errors of 2^-13.1 and 2^-23.
constexpr int roughDegree = 3, fullDegree = 5;
constexpr double roughError = 0x1p-13;

/// Instructions of an element of softmax beside its exponential, and of an exponential by multiply-adds.
constexpr int otherWork = 5, polynomialWork = 12;
constexpr int elements = 16;

/// So many of 16 that both kinds of unit are done at one time: (1 − f) · slow = other + f · polynomial.
int balanced(const arch::Description &arch) {
  const double slow = arch.multiplyAddsPerExp2;
  const double share = (slow - otherWork) / (slow + polynomialWork);
  return std::max(0, static_cast<int>(std::lround(share * elements)));
}

/// Whether a variable is stored to a tensor as it is: then its rounding is all the error there may be.
bool isStored(plan::Role &role, const std::string &var) {
  return plan::any(role.body,
                   [&](const plan::Stmt &stmt) { return stmt.kind == Kind::Store && stmt.operands.back() == var; });
}

/// Who reads a variable: casts to types whose own rounding hides the rough polynomial's error, and others.
struct Readers {
  bool narrow = false, others = false;
};

Readers readersOf(plan::Role &role, const std::string &var) {
  Readers readers;
  plan::walk(role.body, [&](const plan::Stmt &stmt) {
    if (std::find(stmt.operands.begin(), stmt.operands.end(), var) == stmt.operands.end())
      return;
    const bool isCast = stmt.kind == Kind::Compute && stmt.op == ir::OpKind::Cast;
    const ElemType to = isCast ? role.findVar(stmt.dest)->type.elem : ElemType::F32;
    const bool isNarrow = isCast && isFloat(to) && unitRoundoff(to) >= 2 * roughError && !isStored(role, stmt.dest);
    (isNarrow ? readers.narrow : readers.others) = true;
  });
  return readers;
}

} // namespace

int chooseExp2Polynomials(plan::Role &role, const arch::Description &arch, const Schedule &schedule) {
  const bool asked = schedule.exp2Fma.has_value();
  const int share = asked                                                          ? static_cast<int>(*schedule.exp2Fma)
                    : arch.tensorMemoryColumns > 0 && arch.multiplyAddsPerExp2 > 0 ? balanced(arch)
                                                                                   : 0;
  if (share == 0)
    return 0;
  int marked = 0;
  plan::walkLoops(role.body, [&](plan::Stmt &stmt, int depth) {
    if (stmt.kind != Kind::Compute || stmt.op != ir::OpKind::Exp2)
      return;
    const plan::VarType &type = role.findVar(stmt.dest)->type;
    if (type.kind != plan::VarType::Fragment || type.elem != ElemType::F32)
      return;
    const Readers readers = readersOf(role, stmt.dest);
    if (!asked && (depth == 0 || !readers.narrow))
      return;
    stmt.count = share;
    stmt.degree = readers.others ? fullDegree : roughDegree;
    ++marked;
  });
  return marked > 0 ? share : 0;
}

} // namespace tkc::planner
