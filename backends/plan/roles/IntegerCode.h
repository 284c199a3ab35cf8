// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/plan/roles/FreshName.h"
#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// Appends what computes integers to bodies of a role, in new variables of it.
class IntegerCode {
public:
  IntegerCode(plan::Role &role, std::set<std::string> &taken, SourceLoc loc) : role(role), taken(taken), loc(loc) {}

  std::string declare(const std::string &hint) {
    const std::string name = freshName(hint, taken);
    plan::VarType type;
    type.kind = plan::VarType::Scalar;
    type.elem = ElemType::I32;
    role.vars.push_back({name, type});
    return name;
  }

  std::string compute(plan::Body &body, ir::OpKind op, const std::string &hint, std::vector<std::string> operands) {
    const std::string name = declare(hint);
    plan::Stmt &stmt = plan::append(body, plan::StmtKind::Compute, loc);
    stmt.op = op;
    stmt.dest = name;
    stmt.operands = std::move(operands);
    return name;
  }

  std::string constant(plan::Body &body, const std::string &hint, int64_t value) {
    const std::string name = compute(body, ir::OpKind::Const, hint, {});
    body.back().constant = static_cast<double>(value);
    return name;
  }

private:
  plan::Role &role;
  std::set<std::string> &taken;
  const SourceLoc loc;
};

} // namespace tkc::planner
