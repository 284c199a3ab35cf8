// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What only plans of AMD's GPUs have: loads straight to shared memory, which are waited for by count; two halves of a
// role that load and multiply in turns; products between which their reads are spread; grids that go around dies.
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::plan {
namespace {

class Checker {
public:
  Checker(const Plan &plan, const Role &role, const Budget &budget, Report &report)
      : plan(plan), role(role), budget(budget), report(report) {}

  void run() {
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) {
        loadsDirectly |= stmt.kind == StmtKind::CopyIn && stmt.loads > 0;
        copiesInGroups |= stmt.isThreadCopy() && stmt.loads == 0;
      });
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) { check(stmt); });
  }

private:
  template <class... Args> void complain(const Stmt &stmt, fmt::format_string<Args...> text, Args &&...args) {
    report.add(stmt.loc, fmt::format("`{}`: ", print(stmt)) + fmt::format(text, std::forward<Args>(args)...));
  }

  void check(const Stmt &stmt) {
    if (stmt.kind == StmtKind::CopyIn && stmt.loads > 0)
      load(stmt);
    else if (countsLoads(stmt) ? copiesInGroups : loadsDirectly && isOfGroups(stmt))
      complain(stmt, "loads and groups are waited for by one counter: a role has either");
    else if (countsLoads(stmt) && stmt.as<CopyWait>().left > mostLoads)
      complain(stmt, "{} loads: the counter reaches {}", stmt.as<CopyWait>().left, mostLoads);
    else if (stmt.kind == StmtKind::Stagger || (stmt.kind == StmtKind::Product && stmt.turns > 0))
      turns(stmt);
    else if (stmt.interleaved && (!stmt.byWarps || stmt.count > 0 || !stmt.scales.empty()))
      complain(stmt, "what is spread between instructions are reads of tiles, in straight code");
  }

  static bool countsLoads(const Stmt &stmt) {
    const auto *wait = stmt.getIf<CopyWait>();
    return wait && wait->byLoads;
  }
  static bool isOfGroups(const Stmt &stmt) {
    return stmt.kind == StmtKind::CopyCommit || (stmt.kind == StmtKind::CopyWait && !countsLoads(stmt));
  }

  /// Every thread issues as many loads as every other: a wave's counter counts them.
  void load(const Stmt &stmt) {
    const Buffer *buffer = plan.findBuffer(stmt.ref.buffer);
    if (!stmt.isThreadCopy() || stmt.ref.transposed || stmt.hasElse)
      return complain(stmt, "a load to shared memory brings bytes as they are, zeros where there are none");
    if (copiesInGroups)
      complain(stmt, "loads and groups are waited for by one counter: a role has either");
    const int64_t each = static_cast<int64_t>(budget.directLoadBytes) * threadsOf(role);
    if (each == 0 || buffer->stageBytes() != each * stmt.loads)
      complain(stmt, "{} loads of {} bytes by {} threads are not the {} bytes of a stage", stmt.loads,
               budget.directLoadBytes, threadsOf(role), buffer->stageBytes());
  }

  void turns(const Stmt &stmt) {
    const int threads = namedBarrier(stmt)->threads;
    if (threads != plan.threads || threads != threadsOf(role))
      return complain(stmt, "its barriers are the block's, which has {} threads", plan.threads);
    if (role.instances % 2 != 0)
      return complain(stmt, "role `{}` has {} instances, which make no two halves", role.name, role.instances);
    if (stmt.kind == StmtKind::Stagger)
      return;
    const Buffer &b = *plan.findBuffer(stmt.ref.buffer);
    const int64_t k = sharedBytes(b.elem, stmt.ref.transposed ? b.cols : b.rows);
    if (!stmt.byWarps || !stmt.aShared || stmt.count > 0 || stmt.interleaved || k % (stmt.turns * kBytes) != 0)
      complain(stmt, "{} turns: each contracts a multiple of {} bytes of tiles in shared memory", stmt.turns, kBytes);
  }

  static constexpr int mostLoads = 62; ///< six bits, all of which ask for no wait: the ISA of MI300, S_WAITCNT
  static constexpr int kBytes = 64;    ///< what the widest instructions contract

  const Plan &plan;
  const Role &role;
  const Budget &budget;
  Report &report;
  bool loadsDirectly = false, copiesInGroups = false;
};

} // namespace

void checkWaves(const Plan &plan, const Budget &budget, Report &report) {
  const Grid &grid = plan.grid;
  if (grid.chiplets != 1 && grid.chiplets != budget.chiplets)
    report.add(plan.loc,
               fmt::format("the grid goes around {} dies, {} has {}", grid.chiplets, plan.arch, budget.chiplets));
  if (grid.chiplets != 1 && (grid.persistent || grid.ragged || plan.cluster > 1))
    report.add(plan.loc, "a grid goes around dies by the number of a block that has one tile");
  for (const Role &role : plan.roles)
    Checker(plan, role, budget, report).run();
}

} // namespace tkc::plan
