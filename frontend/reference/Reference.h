// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates references, and index notation in cases, in f64 on all cores. Shares no code with the tile IR interpreter,
// so that each is a witness against the other.
#pragma once

#include "frontend/AST.h"
#include "support/Tensor.h"

#include <map>
#include <string>
#include <vector>

namespace tkc {
class DiagnosticEngine;

/// What a reference may use, and what it must define.
struct ReferenceInput {
  const ast::ReferenceDecl *reference;
  /// Every input with its value (an inout before the call), outputs with dims and element types and no data.
  CallArguments arguments;
  std::map<std::string, ElemType> scalarTypes; ///< of the scalar arguments; without an entry a scalar is f64
  std::map<std::string, int64_t> constants;    ///< consts and tunes of the specialisation
  std::map<std::string, ElemType> typeArgs;
  std::vector<std::string> outputs; ///< out and inout parameters to compute
  std::vector<std::string> absent;  ///< optional parameters left out; `x != none` is false for these
  const ast::Functions *functions = nullptr; ///< that equations may call
};

/// How well a kernel that computes the same thing may round. docs/numerics.md derives the rules.
struct ErrorModel {
  double compute = 0x1p-24;    ///< unit roundoff of one operation
  double accumulate = 0x1p-24; ///< of one addition in a sum
  double least = 0x1p-126;     ///< the smallest normal number, below which roundings err by as much as there
  double narrow = 0;     ///< to which intermediate values may be rounded before they are multiplied; 0: not at all
  double narrowStep = 0; ///< the least error of that: half the distance of the smallest numbers
  double flushed = 0;    ///< factors of products that are smaller may be taken as 0
  double vanishing = 0;  ///< exponentials that are smaller may be 0, and what is computed from them
  double tanh = 0x1p-21; ///< relative error of tanh, whose hardware form is coarser
};

/// What is allowed for an error: it is followed to first order, and a kernel may take more steps than its reference, as
/// an online softmax does.
inline double allowedFor(double error) { return 4 * error; }

/// The outputs, unrounded: of i64 where the reference computes with integers, else of f64. Empty after an error was
/// reported. Where `errors` is given it gets, for each output, a bound on what the rounding of every step in `model`
/// adds up to, to first order.
std::map<std::string, Tensor> evaluateReference(const ReferenceInput &input, DiagnosticEngine &diagnostics,
                                                const ErrorModel *model = nullptr,
                                                std::map<std::string, Tensor> *errors = nullptr);

} // namespace tkc
