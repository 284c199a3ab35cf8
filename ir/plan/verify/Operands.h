// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the checks of operands share: the types of names, and what an instance has of a tile. The rules, a row a kind of
// statement, are in docs/planner.md, "What statements ask of their operands".
#pragma once

#include "ir/plan/verify/Verify.h"

#include <deque>
#include <fmt/core.h>
#include <string_view>
#include <unordered_map>

namespace tkc::plan {

/// The names that a role sees, with their types.
class Scope {
public:
  Scope(const Plan &plan, const Role &role);
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;
  /// Of a name that resolves.
  const VarType &of(std::string_view name) const { return *types.at(name); }

private:
  std::deque<VarType> axes;
  std::unordered_map<std::string_view, const VarType *> types;
};

inline bool isTile(const VarType &type) {
  return type.kind == VarType::Fragment || type.kind == VarType::Column || type.kind == VarType::Row;
}
inline bool hasRows(const VarType &type) { return type.kind == VarType::Fragment || type.kind == VarType::Column; }
inline bool hasCols(const VarType &type) { return type.kind == VarType::Fragment || type.kind == VarType::Row; }
/// Elements along an axis of a value, which are 1 where it does not have the axis.
inline int64_t extentOf(const VarType &type, Division axis) {
  if (axis == Division::Rows)
    return hasRows(type) ? type.rows : 1;
  return hasCols(type) ? type.cols : 1;
}

/// Whether threads have the same columns of a row in either layout: accumulators of 64 and of 128 rows spread them
/// alike.
inline bool spreadsColumnsAlike(const Layout &one, const Layout &other) {
  const auto isOne = [](const Layout &layout) { return layout.kind == Layout::Mma || layout.kind == Layout::Tensor; };
  return one == other || (isOne(one) && isOne(other) && one.threads == other.threads);
}
/// Whether threads that have elements of a tile along its axes have those of the other tile that stand there.
inline bool liesAlike(const VarType &part, const VarType &whole) {
  return hasRows(part) ? part.layout == whole.layout : spreadsColumnsAlike(part.layout, whole.layout);
}

/// What the checks of a role's statements look at, and somewhere to say what is wrong.
class OperandCheck {
public:
  OperandCheck(const Plan &plan, const Role &role, const Scope &scope, Report &report)
      : plan(plan), role(role), scope(scope), report(report) {}

protected:
  template <class... Args> void complain(const Stmt &stmt, fmt::format_string<Args...> text, Args &&...args) const {
    report.add(stmt.loc, fmt::format("`{}`: ", print(stmt)) + fmt::format(text, std::forward<Args>(args)...));
  }

  const VarType &typeOf(const std::string &name) const { return scope.of(name); }
  /// Whether each instance has a part of an axis, by its number, and not all of it.
  bool isDivided(const VarType &type, Division axis) const { return role.instances > 1 && heldPart(type) == axis; }
  bool isScalar(const std::string &name, ElemType elem) const {
    return typeOf(name).kind == VarType::Scalar && typeOf(name).elem == elem;
  }

  const Plan &plan;
  const Role &role;
  const Scope &scope;
  Report &report;
};

// Statements whose names resolve and that have the operands that they take.

/// Compute, Move, LookUp: types, shapes, layouts and parts of what is read against what is made.
void checkComputed(const OperandCheck &role, const Stmt &stmt);
/// Load, Store, Atomic, CopyIn, CopyOut, Fetch: slices of tensors against what registers, or a stage, hold of them.
void checkSlice(const OperandCheck &role, const Stmt &stmt);
/// Products of threads: parts of the factors against the part of the result that an instance makes.
void checkFactors(const OperandCheck &role, const Stmt &stmt);

} // namespace tkc::plan
