// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Long conditions of schedules (`when`), and their costs, become functions before the launchers. One is printed once,
// however many kernels, element types and entry points ask it, and its parts stand in statements of their own.
#pragma once

#include "backends/cpp/Cpp.h"
#include "backends/emit/host/HostExpr.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tkc::cuda {

/// What a condition asks about, as a launcher has it.
struct Quantity {
  std::string text;
  std::string type; ///< of the parameter of a function; empty: the text is a constant, which stands in place
};
/// By what the source calls them: "M", "alignment(a)".
using Quantities = std::map<std::string, Quantity>;

/// Every name, and "alignment(a)", in the conditions.
std::set<std::string> askedAbout(const std::vector<const ast::Expr *> &conditions);

/// A schedule among those that have costs.
struct Offer {
  size_t number; ///< by which the launcher knows it
  const ScheduleTerms *terms;
};

/// All that the offers ask about.
std::vector<const ast::Expr *> expressionsOf(const std::vector<Offer> &offers);

class Conditions {
public:
  /// `taken` are names of the file's functions and kernels.
  explicit Conditions(const std::set<std::string> &taken);

  /// A call of the function that says whether all conditions hold. The first kernel that asks gives it its name.
  std::string call(const std::string &kernel, const std::vector<const ast::Expr *> &conditions,
                   const Quantities &quantities);

  /// A call of the function that gives the number of the cheapest of the `offers` whose conditions hold; -1: there is
  /// none.
  std::string cheapest(const std::string &kernel, const std::vector<Offer> &offers, const Quantities &quantities);

  /// All functions that were called.
  const std::string &definitions() const { return text; }

private:
  /// A call of the function with these statements; `wanted` is its name if it is new, and free.
  std::string callOf(const std::string &wanted, const char *result, const std::set<std::string> &asked,
                     const std::map<std::string, std::string> &parameters, const cpp::Body &statements,
                     const Quantities &quantities);

  /// Prints the functions that an expression calls, each once, those that they call before them.
  void define(const ast::Expr &expr, const ast::Functions &functions);
  void define(const ast::FnDecl &fn, const ast::Functions &functions);

  cpp::NameScope scope;
  std::map<std::string, std::string> names;  ///< of functions, by parameters and body
  std::map<std::string, std::string> called; ///< names of the file's functions in emitted code
  std::string text;
};

} // namespace tkc::cuda
