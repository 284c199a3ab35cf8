// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `let seen = new i32[64];` in a kernel: memory that each block has of its own, which serves as a tensor does.
#include "frontend/sema/Elaborator.h"
#include "frontend/sema/ModulePhases.h"

#include <algorithm>

namespace tkc::sema {

void Elaborator::newMemory(const std::vector<ast::Identifier> &names, const ast::NewExpr &expr, bool isVar) {
  const ast::Identifier &name = names.front();
  if (names.size() != 1 || isVar || scopes.size() != 2 || parallelSeen || !inlining.empty()) {
    error(Diag::new_place, expr.range, name.text);
    return;
  }
  const std::vector<std::string> &symbols = kernel.signature.symbols;
  if (function->findParam(name.text) || std::find(symbols.begin(), symbols.end(), name.text) != symbols.end()) {
    error(Diag::redeclared, name.range, name.text);
    return;
  }
  ir::Param memory;
  memory.name = name.text;
  memory.mode = ir::ParamMode::Out;
  memory.isTensor = true;
  memory.isLocal = true;
  memory.loc = name.range.begin;
  const std::optional<ElemType> elem = findType(expr.type.text);
  if (!elem)
    reportUnknown(reporter, "type", expr.type.text, expr.type.range, {"f32", "f64", "f16", "bf16", "i32", "i8", "u8"});
  else if (isPacked(*elem))
    error(Diag::new_type, expr.type.range, spelling(*elem));
  memory.elem = elem.value_or(ElemType::F32);
  if (expr.fill)
    error(Diag::new_fill, expr.fill->range);
  for (const ast::Expr *dim : expr.dims)
    memory.dims.push_back(ir::DimExpr::constant(sizeOfMemory(dim)));
  function->params.push_back(std::move(memory));
}

/// 1 after a mistake.
int64_t Elaborator::sizeOfMemory(const ast::Expr *dim) {
  const Val val = expr(dim);
  const bool isKnown = val.isInteger() && val.number >= 1;
  if (!isKnown && !val.isError())
    error(Diag::new_dims, dim->range, describe(val));
  return isKnown ? static_cast<int64_t>(val.number) : 1;
}

} // namespace tkc::sema
