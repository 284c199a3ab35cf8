// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer and condition expressions of launchers, as C++ text. `/` and `%` floor as they do in .tk.
#pragma once

#include "frontend/AST.h"
#include "frontend/Program.h"
#include "ir/TileIR.h"
#include "ir/plan/PlanIR.h"

#include <map>
#include <string>

namespace tkc::cuda {

/// Names that stand for something else in the text: symbols that are constants of the specialisation.
using HostNames = std::map<std::string, std::string>;

/// "alignment(a)", the name of what a call in a condition asks about; empty for functions of numbers.
std::string askedBy(const ast::CallExpr &call);

/// A literal: "0.125f", "3", "-__builtin_huge_valf()".
std::string hostNumber(double value, ElemType elem);

std::string hostExpr(const ir::DimExpr &dim, const HostNames &names);

/// A condition of `where` or `when`.
std::string hostExpr(const ast::Expr &expr, const HostNames &names = {});

/// A scalar argument of a launch in a program.
std::string hostExpr(const ScalarExpr &expr);

/// The value of a prelude's variable, from the statements that compute it. Empty where it cannot be known on the host.
std::string hostExpr(const plan::Plan &plan, const std::string &var, const HostNames &names);

} // namespace tkc::cuda
