// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a case should give, how far from it a right kernel may be, and the comparison. docs/numerics.md derives the
// tolerances.
#pragma once

#include "frontend/reference/Reference.h"
#include "harness/Cases.h"
#include "ir/TileIR.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tkc::harness {

/// One output: its reference in f64 and the tolerance of each element. Of `elem`'s infinities and integers a tolerance
/// of 0 is meant exactly.
struct ExpectedTensor {
  Tensor values; ///< what the element type does not hold stands between two of its numbers
  std::vector<double> tolerances;
};
using Expected = std::map<std::string, ExpectedTensor>;

/// Where the outputs come from: the interpreter rounds exactly, hardware has coarser sums and functions.
enum class Arithmetic : uint8_t { Exact, Nvidia };

/// How the steps of these kernels round. `between`: types of the workspace in which one leaves values for the next.
/// `flushes`: matrix instructions take 16-bit operands that are subnormal as 0.
ErrorModel errorModelOf(const std::vector<const ir::Function *> &functions, Arithmetic arithmetic,
                        const std::vector<ElemType> &between = {}, bool flushes = false);

/// Evaluates the case's reference. Nothing after an error was reported; empty where the case has no reference.
std::optional<Expected> computeExpected(const PreparedCase &prepared, const Module &module, const ErrorModel &model,
                                        DiagnosticEngine &diagnostics);

/// Whether a kernel that stores zeros fails the case, where the reference has others; else an error is reported.
bool showsSomething(const PreparedCase &prepared, const Expected &expected, DiagnosticEngine &diagnostics);

/// The element that is worst in relation to its tolerance, over all outputs.
struct Comparison {
  bool passed = true;
  double maxError = 0;  ///< |got − expected| there
  double tolerance = 0; ///< allowed there
  std::string message;  ///< "`c[3, 5]` is 1.5, not 2.25 ± 0.01; 12 of 4000 elements are wrong"; empty when passed
};
/// Every element of every output. NaN and infinities must be the same.
Comparison compare(const std::map<std::string, Tensor> &got, const Expected &expected);

} // namespace tkc::harness
