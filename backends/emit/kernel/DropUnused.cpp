// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/kernel/DropUnused.h"

#include "backends/cpp/Identifiers.h"

#include <algorithm>
#include <array>

namespace tkc::cuda {

using cpp::Identifiers;
using cpp::Stmt;

namespace {

constexpr std::string_view unused = "[[maybe_unused]] ";

/// Functions and methods of the runtime that change nothing.
constexpr std::array<std::string_view, 9> pureFunctions = {
    "int",      "count",      "tk::by_chiplet", "tk::ceil_div",       "tk::cluster_rank",
    "tk::lane", "tk::raster", "tk::warp_index", "tk::warpgroup_index"};

/// A step of a `tk::grid_walk`, which changes the walk alone.
constexpr std::string_view stepOfWalk = "take";

bool isPure(std::string_view callee) {
  return std::find(pureFunctions.begin(), pureFunctions.end(), callee) != pureFunctions.end();
}

void add(Identifiers &names, Identifiers more) { names.merge(more); }

void addRead(const Stmt &stmt, Identifiers &names) {
  if (stmt.kind != Stmt::Comment)
    cpp::addIdentifiers(stmt.text, names);
  if (stmt.expr)
    cpp::addIdentifiers(stmt.expr, names);
}

/// The variable that a loop's head declares, such as `k` of `const auto k : k_tiles` or `i` of `int i = 0; …`; else
/// nothing.
std::string_view variableOf(std::string_view head) {
  const size_t end = std::min(head.find(" : "), head.find(" = "));
  if (end == std::string_view::npos || head.substr(0, end).find(';') != std::string_view::npos)
    return {};
  const std::string_view declared = head.substr(0, end);
  return declared.substr(declared.find_last_of(" &") + 1);
}

/// What a body mentions, but for what it declares itself.
Identifiers mentionedFromOutside(const cpp::Body &body);

/// `inside` is what its body mentions.
Identifiers mentionedByLoop(const Stmt &loop, Identifiers inside) {
  addRead(loop, inside);
  inside.erase(std::string(variableOf(loop.text)));
  return inside;
}

Identifiers mentionedFromOutside(const cpp::Body &body) {
  Identifiers names;
  for (const Stmt &stmt : body) {
    if (stmt.kind == Stmt::For) {
      add(names, mentionedByLoop(stmt, mentionedFromOutside(stmt.body)));
      continue;
    }
    addRead(stmt, names);
    add(names, mentionedFromOutside(stmt.body));
    add(names, mentionedFromOutside(stmt.orElse));
  }
  for (const Stmt &stmt : body)
    if (stmt.kind == Stmt::Declaration || stmt.kind == Stmt::Lambda)
      names.erase(stmt.name);
  return names;
}

/// Whether an object of the type does nothing when it is made or ends.
bool isPlainType(std::string_view type) {
  return type.starts_with("const ") || type == "int" || type == "tk::grid_walk";
}

/// Whether a declaration may vanish when nobody reads its variable. `readLater` are the names that are read behind it.
bool mayVanish(const Stmt &stmt, const Identifiers &readLater) {
  if (!stmt.expr || !isPlainType(stmt.text))
    return !stmt.expr;
  const std::string value = cpp::print(stmt.expr);
  const Identifiers callees = cpp::calleesOf(value);
  return std::all_of(callees.begin(), callees.end(), [&](const std::string &callee) {
    if (callee != stepOfWalk)
      return isPure(callee);
    Identifiers names;
    cpp::addIdentifiers(stmt.expr, names);
    return std::none_of(names.begin(), names.end(), [&](const std::string &name) { return readLater.contains(name); });
  });
}

/// Drops from a body, from its last statement to its first. `read` has the names that are read behind what is looked
/// at, and in the end those that the body reads and does not declare.
void dropUnused(cpp::Body &body, Identifiers &read);

/// Whether the statement stays. Adds what it reads.
bool visitDeclaration(Stmt &stmt, Identifiers &read) {
  if (!read.contains(stmt.name)) {
    if (mayVanish(stmt, read))
      return false;
    stmt.text.insert(0, unused);
  }
  read.erase(stmt.name);
  addRead(stmt, read);
  return true;
}

void visitLoop(Stmt &stmt, Identifiers &read) {
  Identifiers inside = mentionedFromOutside(stmt.body); // an iteration is followed by the next
  dropUnused(stmt.body, inside);
  inside = mentionedFromOutside(stmt.body);
  const bool isRange = stmt.text.find(" : ") != std::string::npos;
  if (isRange && !inside.contains(variableOf(stmt.text)))
    stmt.text.insert(0, unused);
  add(read, mentionedByLoop(stmt, std::move(inside)));
}

bool visitLambda(Stmt &stmt, Identifiers &read) {
  if (!read.contains(stmt.name))
    return false;
  read.erase(stmt.name);
  Identifiers inside;
  dropUnused(stmt.body, inside);
  add(read, std::move(inside));
  return true;
}

void visitBranches(Stmt &stmt, Identifiers &read) {
  Identifiers then = read, otherwise = read;
  dropUnused(stmt.body, then);
  dropUnused(stmt.orElse, otherwise);
  add(read, std::move(then));
  add(read, std::move(otherwise));
  addRead(stmt, read);
}

/// Whether the statement stays.
bool visit(Stmt &stmt, Identifiers &read) {
  switch (stmt.kind) {
  case Stmt::Comment:
  case Stmt::Blank:
    return true;
  case Stmt::Declaration:
    return visitDeclaration(stmt, read);
  case Stmt::Lambda:
    return visitLambda(stmt, read);
  case Stmt::For:
    visitLoop(stmt, read);
    return true;
  case Stmt::Expression:
  case Stmt::If:
  case Stmt::Block:
    visitBranches(stmt, read);
    return true;
  }
  return true;
}

void dropUnused(cpp::Body &body, Identifiers &read) {
  for (size_t i = body.size(); i-- > 0;)
    if (!visit(body[i], read))
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
}

} // namespace

void dropUnused(cpp::Body &body) {
  Identifiers read;
  dropUnused(body, read);
}

} // namespace tkc::cuda
