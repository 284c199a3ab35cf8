// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/pipeline/AlternateStaging.h"

#include "backends/plan/resources/RingDepth.h"
#include "backends/plan/roles/RoleBuilder.h"

#include <set>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

std::string cursorOf(const std::string &buffer) { return buffer + "_at"; }

class TurnTaker {
public:
  TurnTaker(plan::Role &role, const Placement &placement) {
    for (const std::string &name : buffersStagedInLoops(placement))
      if (const plan::Buffer &buffer = *placement.findBuffer(name); buffer.stages > 1) {
        inTurns.insert(name);
        role.vars.push_back({cursorOf(name), cursorType(buffer.stages)});
      }
  }

  void run(plan::Body &body) {
    std::set<std::string> filled;
    for (plan::Stmt &stmt : body) {
      if (stmt.kind == Kind::StoreShared && inTurns.count(stmt.ref.buffer))
        filled.insert(stmt.ref.buffer);
      for (plan::BufferRef *ref : {&stmt.ref, &stmt.aRef})
        if (inTurns.count(ref->buffer))
          ref->cursor = cursorOf(ref->buffer);
      for (plan::Body *inner : stmt.bodies())
        run(*inner);
    }
    for (const std::string &buffer : filled)
      plan::append(body, plan::Advance{cursorOf(buffer)}, body.back().loc);
  }

private:
  std::set<std::string> inTurns;
};

} // namespace

void alternateStaging(plan::Role &role, const Placement &placement) { TurnTaker(role, placement).run(role.body); }

} // namespace tkc::planner
