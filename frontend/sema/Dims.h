// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dims of tensors as integer expressions of symbols.
#pragma once

#include "frontend/AST.h"
#include "ir/TileIR.h"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace tkc::sema {

class Reporter;

/// The operator in dims; nullopt where dims do not have it.
std::optional<ir::DimExpr::Kind> dimKind(ast::BinaryOp op);
/// The dim that `expr` says; names become symbols. `culprit` is what cannot be a dim.
std::optional<ir::DimExpr> tryDim(const ast::Expr *expr, const ast::Expr **culprit = nullptr);
/// The same, reporting.
std::optional<ir::DimExpr> parseDim(const ast::Expr *expr, Reporter &reporter);
/// Known names replaced by numbers, and what is constant folded.
ir::DimExpr substitute(const ir::DimExpr &dim, const std::map<std::string, int64_t> &known);
/// Symbols replaced by the dims that they stand for, and what is constant folded.
ir::DimExpr replaced(const ir::DimExpr &dim, const std::map<std::string, ir::DimExpr> &symbols);
/// The value, or nullopt where a symbol is unknown or a division is by zero.
std::optional<int64_t> evaluate(const ir::DimExpr &dim, const std::map<std::string, int64_t> &known);
/// Symbols in order of appearance, each once.
void collectSymbols(const ir::DimExpr &dim, std::vector<std::string> &symbols);
std::vector<std::string> symbolsIn(const std::vector<ir::DimExpr> &dims);
/// The symbol that a dim of this form determines by itself: `N`, `N + 1`, `N - 3`, `1 + N`.
std::optional<std::string> boundSymbol(const ir::DimExpr &dim);

} // namespace tkc::sema
