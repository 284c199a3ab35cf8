// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The statements of a role with what each asks of the machine, names resolved to numbers: what the simulation runs.
#pragma once

#include "backends/cost/Machine.h"
#include "ir/plan/PlanIR.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tkc::cost {

/// What a statement moves between this multiprocessor and L2, for one instance or one thread that asks for all of it.
struct Traffic {
  double bytes = 0;
  bool toMemory = false; ///< a store
  double missing = 1;    ///< share of the bytes that device memory has to bring or take; set by Reuse.cpp
  double joined = 0; ///< share of the bytes that a neighbouring multiprocessor asks for as well, at about the same time
  bool updates = false; ///< L2 reads what it changes
  double writes = 1;    ///< of a store by threads: how often it asks for each sector, of which it writes a part
  double requests = 1;  ///< of a box: to L2, for each 128 bytes that arrive
};

struct Node {
  const plan::Stmt *stmt = nullptr;
  Work work;     ///< of the threads of one instance
  Demand demand; ///< the same as time
  Traffic traffic;
  double macs = 0;            ///< products, of one instance
  double matrixNs = 0;        ///< asynchronous products
  double operandBytes = 0;    ///< that they read in shared memory
  int dest = -1;              ///< a variable of tiles
  std::vector<int> reads;     ///< variables of tiles
  int barrier = -1;           ///< in Plan::barriers
  int cursor = -1;            ///< in RoleProgram::cursors
  int ringStages = 1;         ///< of the cursor
  bool isScalar = false;      ///< sets a scalar or a tile index
  bool endsReduction = false; ///< its result needs all of its operand
  plan::VarType destType;
  std::vector<Node> prologue, body, epilogue, orElse;
};

struct RoleProgram {
  const plan::Role *role = nullptr;
  bool oneThread = false;
  std::vector<Node> body, finish;
  int variables = 0, cursors = 0;
};

struct Program {
  const plan::Plan *plan = nullptr;
  std::vector<RoleProgram> roles;
  size_t computing = 0; ///< the role whose vector work and products weigh most: the one that others feed
};

Program compile(const plan::Plan &plan, const Machine &machine, const CallShape &call);

/// Calls `visit` on every node, outer first.
template <class Nodes, class Visit> void walk(Nodes &nodes, Visit visit) {
  for (auto &node : nodes) {
    visit(node);
    for (auto *inner : {&node.prologue, &node.body, &node.epilogue, &node.orElse})
      walk(*inner, visit);
  }
}

/// The threads' work for a statement on variables, by one instance of `role`. `alignment`: bytes to which rows of the
/// tensor that it touches are aligned. `sharedSpan`: bytes that the banks of shared memory serve at once.
Work workOf(const plan::Plan &plan, const plan::Role &role, const plan::Stmt &stmt, int alignment, int64_t sharedSpan);

} // namespace tkc::cost
