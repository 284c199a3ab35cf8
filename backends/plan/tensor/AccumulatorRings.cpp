// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/tensor/AccumulatorRings.h"

#include "backends/plan/roles/RoleBuilder.h"

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

/// A load of the accumulator's full stage, after which the stage is free.
void emptyRing(plan::Stmt load, plan::Body &out, bool byPairs) {
  const std::string name = load.ref.buffer, at = name + "_at";
  const SourceLoc loc = load.loc;
  plan::append(out, plan::Wait{{name + ".ready", at}}, loc);
  plan::append(out, plan::TensorFence{.afterBarrier = true}, loc);
  load.ref.cursor = at;
  out.push_back(std::move(load));
  plan::append(out, plan::TensorFence(), loc);
  plan::append(out, plan::Arrive{.at = {name + ".free", at}, .toFirst = byPairs, .byWarps = true}, loc);
  plan::append(out, plan::Advance{at}, loc);
}

void emptyRings(plan::Body &body, const TensorHomes &homes, bool byPairs) {
  plan::Body done;
  for (plan::Stmt &stmt : body) {
    for (plan::Body *inner : stmt.bodies())
      emptyRings(*inner, homes, byPairs);
    if (stmt.kind == Kind::LoadTensor && homes.rings.count(stmt.ref.buffer))
      emptyRing(std::move(stmt), done, byPairs);
    else
      done.push_back(std::move(stmt));
  }
  body = std::move(done);
}

} // namespace

void emptyRings(plan::Role &role, const TensorHomes &homes, int stages, bool byPairs) {
  std::set<std::string> emptied;
  walk(role.body, [&](const plan::Stmt &stmt) {
    if (stmt.kind == Kind::LoadTensor && homes.rings.count(stmt.ref.buffer) && emptied.insert(stmt.ref.buffer).second)
      role.vars.push_back({stmt.ref.buffer + "_at", cursorType(stages)});
  });
  emptyRings(role.body, homes, byPairs);
}

} // namespace tkc::planner
