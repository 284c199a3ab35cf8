// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a case may say of an input: `normal(seed = 7, std = 2)`, `uniform(lo = 0, hi = 1)`, `integers(lo = 0, hi = 9)`
// (hi included), `permutation()` (of each row), a number (everywhere), a list, `file("m.npy")`, or index notation.
#pragma once

#include "frontend/Sema.h"
#include "harness/Cases.h"

namespace tkc::harness {

/// What expressions in a case may use.
struct Names {
  CallArguments arguments; ///< symbols, scalars, and the tensors made so far
  std::map<std::string, ElemType> scalarTypes;
  std::map<std::string, int64_t> constants;
  std::map<std::string, ElemType> typeArgs;
  const Module *module = nullptr;
};

/// A number, an integer exactly; nothing after an error was reported.
std::optional<Number> evaluateNumber(const ast::Expr &expr, const Names &names, DiagnosticEngine &diagnostics);

/// A list or the contents of a file, which have dims of their own; nothing if the setting is neither. An error is
/// reported and gives an empty tensor.
std::optional<Tensor> readLiteral(const ast::Equation &setting, ElemType elem, const Names &names,
                                  DiagnosticEngine &diagnostics);

/// Any other setting, over `dims`. False after an error was reported.
bool makeInput(const ast::Equation &setting, Tensor &tensor, uint64_t seed, const Names &names, Layout &layout,
               DiagnosticEngine &diagnostics);

/// Where a case says nothing: floats are normal, i8 and u8 take every value, other integers are in 0..7.
void makeDefaultInput(Tensor &tensor, uint64_t seed);

/// Reads NumPy's .npy format: little-endian numbers in C order. On failure `error` says why.
std::optional<Tensor> readNpy(const std::string &path, ElemType elem, std::string &error);

} // namespace tkc::harness
