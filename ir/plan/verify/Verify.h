// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of the verifier. Each works on the plan alone. checkStructure goes first: the others take for granted that
// names resolve and that cursors fit their rings.
#pragma once

#include "ir/plan/PlanIR.h"

#include <set>
#include <tuple>

namespace tkc::plan {

/// What the runs of the protocol check saw: why a statement may be missing without harm.
struct Facts {
  std::set<const Stmt *> executed;
  std::set<const Stmt *> counted;        ///< Advances whose cursor was used after them
  std::set<const Stmt *> awaited;        ///< arrivals of phases that somebody waited for
  std::set<std::string> awaitedBarriers; ///< barriers of which somebody waited for a phase
};

/// Collects violations; says each thing about each statement once.
class Report {
public:
  void add(SourceLoc loc, std::string message, bool overBudget = false) {
    if (said.emplace(loc.buffer, loc.offset, message).second)
      violations.push_back({loc, std::move(message), overBudget});
  }
  /// For what the machine does not have.
  void addOverBudget(SourceLoc loc, std::string message) { add(loc, std::move(message), true); }
  void addAll(Report &others) {
    for (Violation &violation : others.take())
      add(violation.loc, std::move(violation.message), violation.overBudget);
  }
  bool empty() const { return violations.empty(); }
  bool full() const { return violations.size() >= limit; }
  std::vector<Violation> take() { return std::move(violations); }

private:
  static constexpr size_t limit = 20;
  std::vector<Violation> violations;
  std::set<std::tuple<uint32_t, uint32_t, std::string>> said;
};

/// Names, types, shapes, cursors; what memory buffers have, which warps roles have.
void checkStructure(const Plan &plan, const Budget &budget, Report &report);
/// checkStructure's part that looks at statements; names of declarations are unique by then.
void checkStatements(const Plan &plan, const Budget &budget, Report &report);
/// What statements compute, move, copy and multiply: types, shapes and layouts, of what an instance has.
void checkOperands(const Plan &plan, Report &report);
/// Every variable has a value before it is read, on every path.
void checkAssigned(const Plan &plan, Report &report);
/// Roles whose warps are all of their instances: what stands in `each`, and what does not.
void checkSerial(const Plan &plan, Report &report);
/// Tiles whose vectors begin before them: AlignedRows.cpp.
void checkAlignedRows(const Plan &plan, Report &report);
/// What a role asks for before the block meets (HeadStart.h).
void checkHeadStarts(const Plan &plan, Report &report);
/// What the blocks of a cluster do for each other: shares of copies, arrivals.
void checkCluster(const Plan &plan, Report &report);
/// Buffers in tensor memory, and the columns that the block allocates.
void checkTensors(const Plan &plan, const Budget &budget, Report &report);
/// A product into tensor memory, or an access to it by threads; its variables exist.
void checkTensorStatement(const Plan &plan, const Role &role, const Stmt &stmt, Report &report);
/// Loads straight to shared memory, halves of a role that take turns, dies: what waves have.
void checkWaves(const Plan &plan, const Budget &budget, Report &report);
/// Memory that each block has of its own.
void checkOwnMemory(const Plan &plan, Report &report);
/// Tiles whose swizzle divides chunks of 16 bytes.
void checkGrains(const Plan &plan, const Budget &budget, Report &report);
/// Whether a product takes these two types: equal ones, any two of float8, and with block scales what these go with.
bool canMultiply(const Stmt &product, ElemType a, ElemType b);
/// Block scales of a product of `a` and `b`, of these shapes and of elements `factor`; false: reported.
bool checkScales(const Plan &plan, const Stmt &stmt, ElemType factor, std::pair<int64_t, int64_t> a,
                 std::pair<int64_t, int64_t> b, Report &report);
/// Tiles whose columns the launcher chooses.
void checkColumns(const Plan &plan, Report &report);
/// Shared memory, registers given by setmaxnreg, threads, barriers, tensor maps.
void checkBudgets(const Plan &plan, const Budget &budget, Report &report);
/// Registers that tiles alive at once need, against what the role has.
void checkRegisters(const Plan &plan, const Budget &budget, Report &report);
/// 32-bit registers that the tiles of a role take in each thread, where most are alive at once. Between operations on
/// elements a compiler keeps a few elements of each tile: those places do not count, but reductions, products and
/// accesses to shared memory do.
int64_t registersAlive(const Role &role);
/// Registers of a thread that hold no tiles: addresses, counters, temporaries. An estimate.
constexpr int64_t otherRegisters = 24;
/// Races, deadlock and the rules of every asynchronous engine, over all interleavings. Fills in `facts`, if given.
void checkProtocol(const Plan &plan, const Budget &budget, Report &report, Facts *facts = nullptr);

/// Threads of all instances of a role.
inline int threadsOf(const Role &role) { return role.totalWarps() * role.lanes; }
/// The type of a name that `role` sees: its own variable, an axis of the grid, or a variable of the prelude.
std::optional<VarType> typeOf(const Plan &plan, const Role &role, std::string_view name);

} // namespace tkc::plan
