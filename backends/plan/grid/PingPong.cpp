// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/PingPong.h"

#include "backends/plan/roles/RoleBuilder.h"
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

// No name of a program has a dot.
constexpr int instances = 2;
constexpr const char *turnBarrier = "tile.turn", *turnCursor = "tile.at", *nextCursor = "tile.next";

/// Whether the statement, or one inside of it, is of these kinds.
bool holds(const plan::Stmt &stmt, std::initializer_list<Kind> kinds) {
  return plan::any(
      stmt, [&](const plan::Stmt &each) { return std::find(kinds.begin(), kinds.end(), each.kind) != kinds.end(); });
}

bool waitsIn(const plan::Stmt &stmt) { return holds(stmt, {Kind::Wait}); }

class Turns {
public:
  explicit Turns(plan::Role &role) : role(role) {}

  std::string run() {
    if (!findCursors())
      return "a branch reads what was loaded";
    hoistScalars();
    findBounds();
    if (!haveBounds())
      return "what is computed from tiles, in a branch, or loaded after a store, says how often a loop runs";
    plan::Stmt turn;
    turn.kind = Kind::If;
    turn.turn = turnCursor;
    if (!skip(role.body, turn.orElse))
      return "a loop's iterations do not all take as many stages";
    if (!order())
      return "nothing in it waits for what is loaded";
    turn.body = std::move(role.body);
    role.body = std::move(scalars);
    plan::append(role.body, plan::Advance{nextCursor}, {});
    role.body.push_back(std::move(turn));
    role.instances = instances;
    role.vars.push_back({turnCursor, cursorType(instances)});
    role.vars.push_back({nextCursor, cursorType(instances)});
    plan::append(role.body, plan::Advance{turnCursor}, {});
    spreadBarriers(role.body);
    spreadBarriers(role.finish);
    return {};
  }

private:
  /// Of the rings; what the role stages for itself has cursors of its own. False where a branch moves one.
  bool findCursors() {
    std::set<std::string> awaited;
    plan::walk(role.body, [&](const plan::Stmt &stmt) {
      if (stmt.kind == Kind::Wait || stmt.kind == Kind::Arrive)
        awaited.insert(stmt.barrier()->cursor);
    });
    cursors = awaited;
    bool found = true;
    plan::walk(role.body, [&](const plan::Stmt &stmt) {
      if (stmt.kind == Kind::If)
        for (const plan::Body *inner : {&stmt.body, &stmt.orElse})
          plan::walk(*inner, [&](const plan::Stmt &each) { found &= each.kind != Kind::Advance || !isRing(each); });
    });
    return found;
  }

  bool isRing(const plan::Stmt &advance) const { return cursors.count(advance.as<plan::Advance>().ring) != 0; }

  /// The bounds of loops are for skipped tiles, too. What stays, stays before: nothing that it writes is read earlier,
  /// and nothing that it reads is written earlier.
  void hoistScalars() {
    std::set<std::string> written, read; // by what stays
    bool mayChange = false;              // what is loaded
    std::erase_if(role.body, [&](plan::Stmt &stmt) {
      const bool isFree = written.count(stmt.dest) == 0 && read.count(stmt.dest) == 0 &&
                          std::none_of(stmt.operands.begin(), stmt.operands.end(),
                                       [&](const std::string &operand) { return written.count(operand) != 0; });
      mayChange |= changesMemory(stmt);
      if (!makesScalar(stmt) || !isFree || (stmt.kind == Kind::Load && mayChange)) {
        plan::walk(stmt, [&](const plan::Stmt &each) {
          written.insert(each.dest);
          read.insert(each.operands.begin(), each.operands.end());
        });
        return false;
      }
      scalars.push_back(stmt);
      return true;
    });
  }

  bool isScalar(const std::string &name) const {
    const plan::Var *var = role.findVar(name);
    return var && (var->type.kind == plan::VarType::Scalar || var->type.kind == plan::VarType::TileIndex);
  }

  /// Whether the statement makes a scalar, and of scalars alone.
  bool makesScalar(const plan::Stmt &stmt) const {
    return (stmt.kind == Kind::Compute || stmt.kind == Kind::Move || stmt.kind == Kind::Load) && isScalar(stmt.dest) &&
           std::all_of(stmt.operands.begin(), stmt.operands.end(), [&](const std::string &operand) {
             return isScalar(operand) || !role.findVar(operand); // a tile index of the grid
           });
  }

  static bool changesMemory(const plan::Stmt &stmt) { return holds(stmt, {Kind::Store, Kind::Atomic, Kind::CopyOut}); }

  /// Of what the bounds of loops are made that skipped tiles have as well: those that move a ring's cursor, and those
  /// that make such a bound.
  void findBounds() {
    size_t before = 0;
    do {
      before = bounds.size();
      plan::walk(role.body, [&](const plan::Stmt &stmt) {
        if (makesBound(stmt) || (stmt.kind == Kind::For && isKept(stmt)))
          bounds.insert(stmt.operands.begin(), stmt.operands.end());
      });
    } while (before != bounds.size());
  }

  bool makesBound(const plan::Stmt &stmt) const { return !stmt.dest.empty() && bounds.count(stmt.dest) != 0; }

  bool isKept(const plan::Stmt &stmt) const {
    return plan::any(stmt, [&](const plan::Stmt &each) {
      return (each.kind == Kind::Advance && isRing(each)) || (each.kind != Kind::For && makesBound(each));
    });
  }

  /// Whether the bounds can be made without the tile's work.
  bool haveBounds() const {
    bool have = true, mayChange = false;
    for (const plan::Stmt &top : role.body) {
      mayChange |= changesMemory(top);
      plan::walk(top, [&](const plan::Stmt &stmt) {
        if (stmt.kind != Kind::For && makesBound(stmt))
          have &= makesScalar(stmt) && !(stmt.kind == Kind::Load && mayChange);
        const auto inBranch = [&](const plan::Body &branch) {
          return plan::any(branch, [&](const plan::Stmt &each) { return makesBound(each); });
        };
        have &= !inBranch(stmt.orElse) && !(stmt.kind == Kind::If && inBranch(stmt.body));
      });
    }
    return have;
  }

  /// What `from` moves the rings' cursors on by, and what says how often, without the rest. False where a pipelined
  /// loop's parts do not add up.
  bool skip(const plan::Body &from, plan::Body &to) const {
    for (const plan::Stmt &stmt : from) {
      if (stmt.kind != Kind::For) {
        if ((stmt.kind == Kind::Advance && isRing(stmt)) || makesBound(stmt))
          to.push_back(stmt);
        continue;
      }
      plan::Stmt loop;
      loop.kind = Kind::For;
      loop.loc = stmt.loc;
      loop.dest = stmt.dest;
      loop.operands = stmt.operands;
      loop.tileSize = stmt.tileSize;
      plan::Body first, last;
      if (!skip(stmt.body, loop.body) || !skip(stmt.prologue, first) || !skip(stmt.epilogue, last))
        return false;
      const bool pipelined = !stmt.prologue.empty() || !stmt.epilogue.empty();
      first.insert(first.end(), last.begin(), last.end());
      if (pipelined && advances(first) != advances(loop.body))
        return false;
      if (!loop.body.empty())
        to.push_back(std::move(loop));
    }
    return true;
  }

  static std::map<std::string, int> advances(const plan::Body &body) {
    std::map<std::string, int> counts;
    for (const plan::Stmt &stmt : body)
      ++counts[stmt.kind == Kind::For       ? "a loop"
               : stmt.kind == Kind::Advance ? stmt.as<plan::Advance>().ring
                                            : stmt.dest];
    return counts;
  }

  /// Waits for the turn before the first stage, and hands it on after the last was found: in a pipelined loop before
  /// its last products are over.
  bool order() {
    const auto first = std::find_if(role.body.begin(), role.body.end(), waitsIn);
    if (first == role.body.end())
      return false;
    const auto last = std::find_if(role.body.rbegin(), role.body.rend(), waitsIn);
    if (last->kind == Kind::For && !last->epilogue.empty() && !holdsWait(last->epilogue)) {
      last->epilogue.insert(last->epilogue.begin(), handOn());
      last->orElse.push_back(handOn());
    } else {
      role.body.insert(last.base(), handOn());
    }
    const plan::Wait before{{turnBarrier, nextCursor}, true}; // for the tile before, a round ago
    role.body.insert(std::find_if(role.body.begin(), role.body.end(), waitsIn), plan::Stmt(before, {}));
    return true;
  }

  static bool holdsWait(const plan::Body &body) { return std::any_of(body.begin(), body.end(), waitsIn); }

  /// By each warp, for it may be behind the others.
  static plan::Stmt handOn() { return {plan::Arrive{.at = {turnBarrier, turnCursor}, .byWarps = true}, {}}; }

  /// Named barriers of the one instance become one for each.
  void spreadBarriers(plan::Body &body) const {
    plan::walk(body, [](plan::Stmt &stmt) {
      auto *sync = stmt.getIf<plan::Sync>();
      if (int &id = sync ? sync->id : stmt.meets.id; id > 0)
        id = 1 + (id - 1) * instances;
    });
  }

  plan::Role &role;
  std::set<std::string> cursors, bounds;
  plan::Body scalars;
};

} // namespace

bool choosePingPong(const TileScheduler &tiles, Placement &placement, std::string &why) {
  if (!tiles.schedule.pingpong.value_or(false))
    return false;
  if (tiles.schedule.warpgroups.value_or(2) != 2)
    why = "there are two of them";
  else if (placement.copiesItself || placement.multipliesByWarps() || placement.usesTensorMemory())
    why = "no warpgroups issue its products";
  else if (!tiles.isFlat() || !tiles.takesTilesInTurn())
    why = "it is no persistent grid whose loops hold products alone";
  if (!why.empty())
    return false;
  for (const auto &[op, store] : placement.stores)
    placement.findBuffer(store.buffer)->instances = 2;
  placement.note(
      plan::Note::Roles, {},
      "two computing warpgroups, which take whole tiles in turns, as the schedule says: one multiplies while "
      "the other does what follows its products");
  return true;
}

std::string takeTurns(plan::Role &role, const std::vector<plan::Buffer> &scratch,
                      std::vector<plan::Barrier> &barriers) {
  if (!scratch.empty()) // the runtime's reductions know one scratch buffer of a block
    return "a reduction or a transposition goes through shared memory";
  barriers.push_back({turnBarrier, instances, role.warps});
  return Turns(role).run();
}

} // namespace tkc::planner
