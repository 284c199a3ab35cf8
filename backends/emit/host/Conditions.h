// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Long conditions of schedules (`when`) become functions before the launchers. A condition is printed once, however
// many kernels, element types and entry points ask it, and its parts stand in statements of their own.
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

class Conditions {
public:
  /// `taken` are names of the file's functions and kernels.
  explicit Conditions(const std::set<std::string> &taken);

  /// A call of the function that says whether all conditions hold. The first kernel that asks gives it its name.
  std::string call(const std::string &kernel, const std::vector<const ast::Expr *> &conditions,
                   const Quantities &quantities);

  /// All functions that were called.
  const std::string &definitions() const { return text; }

private:
  cpp::NameScope scope;
  std::map<std::string, std::string> names; ///< of functions, by parameters and body
  std::string text;
};

} // namespace tkc::cuda
