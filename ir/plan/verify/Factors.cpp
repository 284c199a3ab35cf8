// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose result is in registers: the part of it that an instance has is made of its rows of the left factor and
// its columns of the right one, and of all that is contracted.
#include "ir/plan/verify/Operands.h"

namespace tkc::plan {
namespace {

class Factors : OperandCheck {
public:
  Factors(const OperandCheck &role, const Stmt &stmt) : OperandCheck(role), stmt(stmt) {}

  void check() {
    const VarType &made = typeOf(stmt.dest);
    const ElemType factor = plan.findBuffer(stmt.ref.buffer)->elem, elem = arithmeticType(factor);
    if (!stmt.isSynchronous() && bitWidth(factor) > 16 && factor != ElemType::TF32)
      complain(stmt, "wgmma multiplies elements of 8 and 16 bits and tf32, not {}", spelling(factor));
    if (made.kind != VarType::Fragment || made.elem != elem)
      complain(stmt, "makes a fragment of {}, and `{}` is {}", spelling(elem), stmt.dest, print(made));
    if (stmt.aShared)
      part(stmt.aRef, isDivided(made, Division::Rows) ? Division::Rows : Division::Whole, made);
    else
      left(typeOf(stmt.operands[0]), made);
    part(stmt.ref, isDivided(made, Division::Cols) ? Division::Cols : Division::Whole, made);
  }

private:
  void part(const BufferRef &factor, Division wanted, const VarType &made) {
    const Buffer &buffer = *plan.findBuffer(factor.buffer);
    if (role.instances > 1 && buffer.instances == 1 && factor.slice != wanted)
      complain(stmt, "an instance has {} of `{}`, and its part of `{}`, {}, is made of {}", spelling(factor.slice),
               factor.buffer, stmt.dest, print(made), spelling(wanted));
  }

  void left(const VarType &type, const VarType &made) {
    if (isDivided(type, Division::Rows) != isDivided(made, Division::Rows) || isDivided(type, Division::Cols))
      complain(stmt, "an instance has a part of `{}`, {}, and of `{}`, {}, another", stmt.operands[0], print(type),
               stmt.dest, print(made));
  }

  const Stmt &stmt;
};

} // namespace

void checkFactors(const OperandCheck &role, const Stmt &stmt) {
  if (!stmt.isTensorProduct())
    Factors(role, stmt).check();
}

} // namespace tkc::plan
