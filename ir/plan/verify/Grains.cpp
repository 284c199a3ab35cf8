// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles whose swizzle divides chunks of 16 bytes: what is read or stored at once stays together.
#include "ir/plan/Grain.h"
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::plan {
namespace {

class Checker {
public:
  Checker(const Plan &plan, const Role &role, Report &report) : plan(plan), role(role), report(report) {}

  void check(const Stmt &stmt) {
    for (const BufferRef *ref : {&stmt.ref, &stmt.aRef})
      if (const Buffer *buffer = plan.findBuffer(ref->buffer); buffer && buffer->grain < chunkGrain)
        if (const int together = bytesTogether(stmt, *ref, *buffer); together > buffer->grain)
          report.add(stmt.loc, fmt::format("`{}`: {} bytes are used at once, and the swizzle of `{}` divides what is "
                                           "more than {}",
                                           print(stmt), together, buffer->name, buffer->grain));
  }

private:
  int bytesTogether(const Stmt &stmt, const BufferRef &ref, const Buffer &buffer) const {
    switch (stmt.kind) {
    case StmtKind::Fetch: // to registers
      return 0;
    case StmtKind::Place: // orders the parts of its chunks as the swizzle does; those of six bits have none
      return isFloat6(buffer.elem) ? chunkGrain : 0;
    case StmtKind::LoadShared:
    case StmtKind::StoreShared:
      return std::max(accessed(stmt, ref), leastOf(ref));
    case StmtKind::Product:
      return product(stmt, buffer);
    default:
      return chunkGrain;
    }
  }

  static int product(const Stmt &stmt, const Buffer &buffer) {
    if (stmt.byThreads)
      return static_cast<int>(sharedBytes(buffer.elem, 1));
    return stmt.byWarps && stmt.scales.empty() ? productGrain : chunkGrain;
  }

  /// A transpose goes by elements.
  int accessed(const Stmt &stmt, const BufferRef &ref) const {
    if (ref.transposed)
      return 0;
    const Var &var = *role.findVar(stmt.kind == StmtKind::LoadShared ? stmt.dest : stmt.operands.front());
    if (var.type.layout.kind != Layout::Mfma || stmt.fromBlock != 0)
      return chunkGrain;
    return static_cast<int>(std::min<int64_t>(sharedBytes(var.type.elem, runOf(var.type.layout)), chunkGrain));
  }

  /// An instance's rows begin where pieces of 8 bytes repeat, and those of 4 may not.
  static int leastOf(const BufferRef &ref) { return ref.slice == Division::Whole ? 0 : productGrain; }

  const Plan &plan;
  const Role &role;
  Report &report;
};

} // namespace

void checkGrains(const Plan &plan, const Budget &budget, Report &report) {
  for (const Buffer &buffer : plan.buffers) {
    if ((buffer.grain != chunkGrain && buffer.grain != productGrain && buffer.grain != wordGrain) ||
        buffer.grain < budget.sharedGrain || (buffer.grain < chunkGrain && buffer.swizzle == Swizzle::None))
      report.add(plan.loc, fmt::format("buffer `{}` has grain {}: 16, or with a swizzle 8 or 4, on {} at least {}",
                                       buffer.name, buffer.grain, plan.arch, budget.sharedGrain));
    else if (buffer.grain < leastGrain(buffer))
      report.add(plan.loc, fmt::format("buffer `{}` has grain {}, whose swizzle repeats after {} rows: its panels have "
                                       "{}, so that it needs grain {}",
                                       buffer.name, buffer.grain, rowsOfWords, buffer.rows, leastGrain(buffer)));
  }
  for (const Role &role : plan.roles) {
    Checker checker(plan, role, report);
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) { checker.check(stmt); });
  }
}

} // namespace tkc::plan
