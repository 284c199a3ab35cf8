// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block's own accesses to global memory: those of one tile of the grid that touch the same elements come one after
// the other. Of different tiles and blocks nothing is asked.
#pragma once

#include "ir/plan/verify/Memory.h"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tkc::plan {

/// Tensors that a plan writes, and reads as well or writes in several places or in a loop.
std::set<std::string> watchedTensors(const Plan &plan);

/// The part of a tensor that an event touches, in elements along each dim.
struct GlobalTouch {
  struct Range {
    int64_t lo, hi;
    friend bool operator==(const Range &, const Range &) = default;
  };
  int tile = 0;              ///< of those that the block takes
  std::vector<Range> ranges; ///< of all instances
  int rowDim = -1, colDim = -1;
  bool gathers = false;
  /// Load, Store, Atomic: the register tile. A copy: its instances share the stage like that.
  VarType held;
  friend bool operator==(const GlobalTouch &, const GlobalTouch &) = default;
};

/// What `stmt` of `role` touches where its scalars and tile indices have these values.
GlobalTouch globalTouch(const Plan &plan, const Role &role, const Stmt &stmt, const Scalars &scalars, int tile);

struct GlobalAccess {
  enum Agent : uint8_t { Read, Write, CopyRead, CopyWrite };
  const Stmt *stmt;
  Agent agent;
  size_t process, event; ///< its place in the process' trace
  int instance;          ///< of the role
  const GlobalTouch *touch;
  Access::End end; ///< it is over for those whose clock has reached that; of a CopyWrite nobody's has
  int syncs;       ///< barriers for global memory that the process had passed
};

class GlobalMemory {
public:
  explicit GlobalMemory(const Components &components) : components(components) {}

  /// Enters an access by a process whose clock is `clock`. Returns what is wrong with it, or nothing.
  std::string access(const GlobalAccess &access, const Clock &clock);

private:
  std::string conflict(const GlobalAccess &now, const GlobalAccess &before, const Clock &clock) const;
  bool meet(const GlobalAccess &now, const GlobalAccess &before) const;
  bool bySameThreads(const GlobalAccess &now, const GlobalAccess &before) const;
  GlobalTouch::Range rangeOf(const GlobalAccess &access, int dim) const;
  std::string describe(const GlobalAccess &access) const;

  const Components &components;
  using Key = std::tuple<int, std::string, int>; ///< block, tensor, tile
  std::map<Key, std::vector<GlobalAccess>> accesses;
};

} // namespace tkc::plan
