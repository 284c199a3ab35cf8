// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of a loop's range that are loaded before the loop comes to them: the range gets a name, so that both can ask
// it.
#include "backends/emit/kernel/RolePrinter.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::cuda {

using plan::Stmt;

namespace {

bool isNamed(const plan::Body &body, const std::string &var) {
  return std::any_of(body.begin(), body.end(), [&](const Stmt &stmt) {
    return std::count(stmt.operands.begin(), stmt.operands.end(), var) > 0 || isNamed(stmt.body, var) ||
           isNamed(stmt.orElse, var);
  });
}

} // namespace

/// Whether the variable has one value wherever it can be read, within an iteration of the loops around.
bool RolePrinter::isFixed(const std::string &var) const {
  if (!role.findVar(var) || ranges.count(var) != 0)
    return true; // of the prelude, the grid, or a loop around
  const Stmt *definition = uses.definition(var);
  return definition &&
         (!uses.isInlined(var) || std::all_of(definition->operands.begin(), definition->operands.end(),
                                              [&](const std::string &operand) { return isFixed(operand); }));
}

std::string RolePrinter::tilesOf(const Stmt &stmt, cpp::Body &out) {
  const cpp::Expr lo = value(stmt.operands[0]), hi = value(stmt.operands[1]);
  const std::string type = fmt::format("tk::tiles<{}>", stmt.tileSize);
  const auto [found, isNew] =
      declaredTiles.try_emplace(fmt::format("{}{{{}, {}}}", type, cpp::print(lo), cpp::print(hi)));
  // What changes may have another value than when the range was declared.
  if (isNew || !isFixed(stmt.operands[0]) || !isFixed(stmt.operands[1])) {
    const std::string index = identifier(stmt.dest);
    found->second = names.take(index.substr(0, index.rfind("_ahead")) + "_tiles");
    out.push_back(cpp::Stmt::declaration("const " + type, found->second, cpp::braces("", {lo, hi})));
  }
  return found->second;
}

void RolePrinter::printAhead(const Stmt &stmt, cpp::Body &out) {
  const bool overTiles = stmt.tileSize > 0;
  const auto count = cpp::integer(stmt.count);
  cpp::Expr number = count;
  if (stmt.operands.size() > 2)
    number =
        cpp::binary("+", overTiles ? cpp::member(value(stmt.operands[2]), "index") : value(stmt.operands[2]), count);
  else if (!overTiles)
    number = cpp::binary("+", value(stmt.operands[0]), count);
  cpp::Expr exists, element = number;
  if (overTiles) {
    const cpp::Expr tiles = cpp::name(tilesOf(stmt, out));
    exists = cpp::method(tiles, "has", {number});
    element = cpp::subscript(tiles, number);
  } else {
    exists = cpp::binary("<", number, value(stmt.operands[1]));
  }
  cpp::Body body;
  if (isNamed(stmt.body, stmt.dest))
    body.push_back(cpp::Stmt::declaration(overTiles ? "const auto" : "const int", nameOf(stmt.dest), element));
  cpp::Body rest = print(stmt.body);
  body.insert(body.end(), rest.begin(), rest.end());
  if (stmt.always)
    out.push_back(cpp::Stmt::block(std::move(body)));
  else
    out.push_back(cpp::Stmt::ifThen(exists, std::move(body), print(stmt.orElse)));
}

} // namespace tkc::cuda
