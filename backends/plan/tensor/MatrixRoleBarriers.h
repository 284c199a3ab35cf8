// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the matrix role and the roles of computing warps wait for, as far as the text has been divided among them:
// rings, each by its two barriers, and products, of which the last of a group says at a barrier that they are done.
#pragma once

#include "backends/plan/roles/RoleBuilder.h"
#include "backends/plan/tensor/ProductQueue.h"
#include "backends/plan/tensor/TensorLiveness.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

class MatrixRoleBarriers {
protected:
  using Kind = plan::StmtKind;
  using Group = ProductGroup;
  using Stream = ProductStream;

  MatrixRoleBarriers(plan::Role &role, const Placement &placement);

  int warps() const { return role.warps; }
  const std::string &cursor(Names &of, const std::string &name, int stages);

  // ---- rings
  static Names buffersOf(const plan::Stmt &reader);
  /// Rings of depth `depth` that products into tensor memory read in `stmt`, or that threads read there.
  std::set<const RingPlacement *> ringsIn(const plan::Stmt &stmt, int depth, bool byMatrix) const;
  void findRingUsers();

  /// The rings that one of the roles has waited for at this level, and how many statements to come use them.
  struct Level {
    std::set<const RingPlacement *> open;
    std::map<const RingPlacement *, int> left;
  };

  void countUses(const plan::Body &body, int depth, bool byMatrix, Level &level) const;
  void open(const std::set<const RingPlacement *> &rings, Level &level, bool byMatrix, SourceLoc loc);
  void close(const std::set<const RingPlacement *> &rings, Level &level, bool byMatrix, SourceLoc loc);

  // ---- products
  template <plan::IsStatement S> void issue(S statement, SourceLoc loc) {
    plan::append(*products, std::move(statement), loc).one = S::kind != Kind::Advance;
  }

  void barrier(const std::string &name, int stages, int arrivals);
  /// The commit says at which barrier once somebody waits for it; without one it goes in the end.
  void enqueueIn(Stream &stream, Group group, SourceLoc loc);
  static void dropUnasked(plan::Body &body);
  void waitForAll();
  /// Products of one thread are over in order: the last one's commit tells of all before it.
  void waitForGroups(Stream &stream, size_t count);

  // ---- threads
  int allThreads() const { return role.warps * role.instances * 32; }
  void syncAll(SourceLoc loc) { plan::append(*computer.out, plan::Sync{allConsumersBarrier, allThreads()}, loc); }

  plan::Role &role;
  const Placement &placement;
  int issuers = 1; ///< threads that issue products: one for each instance, or for all
  std::map<std::string, const RingPlacement *> ringOf; ///< by buffer
  std::vector<plan::Barrier> barriers;                 ///< beside those of rings
  std::map<std::string, int> emptyArrivals;            ///< of each ring's empty barrier
  Names matrixCursors;                                 ///< of the matrix role
  std::map<std::string, int> cursorStages;
  Stream computer, rescaler;
  plan::Body *products = nullptr; ///< of the matrix role
  bool matrixFenced = false;      ///< the matrix role has fenced since its last wait
  TensorSpans spans;

private:
  void commitDrained(const RingPlacement &ring, SourceLoc loc);

  std::set<const RingPlacement *> usedByMatrix, usedByThreads;
};

} // namespace tkc::planner
