// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions whose value is known when compiling: tile sizes, `where` lists, conditions of schedules, settings of
// cases, and whatever a kernel computes from these.
#pragma once

#include "frontend/AST.h"
#include "frontend/sema/Val.h"

#include <functional>
#include <optional>
#include <string_view>

namespace tkc::sema {

/// `inf`, `PI`, `LOG2E`, `LN2`.
std::optional<Val> builtinConstant(std::string_view name);

/// The result on two Consts, with the language's types: integers floor, an integer with a float is a float. Nullopt
/// where the operation is not defined (division by zero, `@`, `%` on floats).
std::optional<Val> foldUnary(ast::UnaryOp op, const Val &x);
std::optional<Val> foldBinary(ast::BinaryOp op, const Val &x, const Val &y);
/// `sqrt`, `exp2`, …, `abs` of a Const; nullopt for other names.
std::optional<Val> foldFunction(std::string_view name, const Val &x);
/// The quotient, rounded up; nullopt by 0.
std::optional<Val> foldCeilDiv(const Val &x, const Val &y);

/// `alignment(a)` is looked up as if it were a name.
using NameLookup = std::function<Val(std::string_view)>;
/// A Const, or Error where something in it is not known; `culprit` is then what.
Val evalConstant(const ast::Expr *expr, const NameLookup &lookup, const ast::Expr **culprit = nullptr);

} // namespace tkc::sema
