// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a call in the order of the parameters: some by place, some by name.
#pragma once

#include "frontend/AST.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/Report.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace tkc::sema {

/// Nothing after an error was told: of an argument that `name` does not have by `reporter`, of others by `error`, which
/// takes a Diag, a range and what the message names.
template <class Error>
std::optional<std::vector<ast::Expr *>> placeArgs(const ast::CallExpr &call,
                                                  const std::vector<std::string_view> &params, std::string_view name,
                                                  Reporter &reporter, Error error) {
  std::vector<ast::Expr *> placed(params.size());
  for (size_t i = 0; i < call.args.size(); ++i) {
    const ast::Argument &arg = call.args[i];
    size_t place = i;
    if (!arg.name.text.empty()) {
      place = static_cast<size_t>(std::find(params.begin(), params.end(), arg.name.text) - params.begin());
      if (place == params.size()) {
        reportUnknown(reporter, "argument", arg.name.text, arg.name.range, {params.begin(), params.end()});
        return std::nullopt;
      }
    }
    if (place >= params.size()) {
      error(Diag::number_of_arguments, call.range, name, params.size(), call.args.size());
      return std::nullopt;
    }
    if (placed[place]) {
      error(Diag::argument_twice, arg.value->range, params[place]);
      return std::nullopt;
    }
    placed[place] = arg.value;
  }
  if (std::count(placed.begin(), placed.end(), nullptr) == 0)
    return placed;
  error(Diag::number_of_arguments, call.range, name, params.size(), call.args.size());
  return std::nullopt;
}

} // namespace tkc::sema
