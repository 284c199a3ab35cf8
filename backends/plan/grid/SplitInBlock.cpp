// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/SplitInBlock.h"

#include "backends/plan/grid/LoopSums.h"
#include "backends/plan/roles/FreshName.h"
#include "backends/plan/roles/RoleBuilder.h"
#include "ir/plan/Turns.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <map>
#include <set>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;
using plan::Stmt;

class Sharer {
public:
  Sharer(plan::Role &role, int warpgroups, Placement &placement)
      : role(role), warpgroups(warpgroups), placement(placement) {
    for (const plan::Var &var : role.vars)
      taken.insert(var.name);
    for (const plan::Buffer &buffer : placement.buffers)
      taken.insert(buffer.name);
  }

  std::string run() {
    std::string why;
    const std::optional<LoopsOfProducts> loops = findLoops(role, why);
    if (!loops)
      return why;
    findCursors();
    if (why = whyNot(*loops); !why.empty())
      return why;
    share(loops->first, carriedBy(role, *loops).tiles);
    return {};
  }

private:
  // ---- what can be shared out

  /// Of the rings. What a warpgroup stages for itself has other cursors.
  void findCursors() {
    plan::walk(role.body, [&](const Stmt &stmt) {
      if (stmt.kind == Kind::Wait || stmt.kind == Kind::Arrive)
        cursors.insert(stmt.barrier()->cursor);
    });
  }

  bool isOfRing(const Stmt &stmt) const {
    const auto *advance = stmt.getIf<plan::Advance>();
    return advance && cursors.count(advance->ring) != 0;
  }

  std::string whyNot(const LoopsOfProducts &loops) const {
    if (loops.first != loops.last)
      return "a mask splits the loop";
    const Stmt &loop = role.body[loops.first];
    const CarriedByLoops carried = carriedBy(role, loops);
    if (std::string why = whyNoSums(role, loops, carried.tiles, "warpgroup"); !why.empty())
      return why;
    if (carried.tiles.empty() || plan::any(loop, [](const Stmt &stmt) { return leavesBlock(stmt); }))
      return "the loop does more than multiply and add up";
    if (plan::any(loop, [&](const Stmt &stmt) { return sharesMemory(stmt); }))
      return "a reduction or a transposition in the loop goes through shared memory"; // the runtime knows one scratch
    for (size_t i = 0; i < role.body.size(); ++i)
      if (i != loops.first && plan::any(role.body[i], [](const Stmt &stmt) { return usesRing(stmt); }))
        return "all of them would read what is loaded once a tile";
    if (!isOneStep(loop))
      return "not all iterations take one stage of each ring";
    const auto acts = [](const Stmt &stmt) {
      return leavesBlock(stmt) || stmt.kind == Kind::StoreShared || stmt.kind == Kind::Sync;
    };
    for (size_t i = 0; i < loops.first; ++i)
      if (plan::any(role.body[i], acts))
        return "before the loop something is stored";
    return whyOtherStages();
  }

  static bool leavesBlock(const Stmt &stmt) {
    return stmt.kind == Kind::Store || stmt.kind == Kind::Atomic || stmt.kind == Kind::CopyOut;
  }

  /// Goes through shared memory that warpgroups do not each have for themselves.
  bool sharesMemory(const Stmt &stmt) const {
    const plan::Buffer *buffer = placement.findBuffer(stmt.ref.buffer);
    const bool isOwn = buffer && buffer->instances == warpgroups;
    return (stmt.kind == Kind::Compute && !stmt.ref.buffer.empty()) || (stmt.kind == Kind::StoreShared && !isOwn);
  }

  static bool usesRing(const Stmt &stmt) { return stmt.kind == Kind::Wait || stmt.kind == Kind::Arrive; }

  /// Each cursor of a ring goes on by one stage an iteration, outside of loops and branches in it.
  bool isOneStep(const Stmt &loop) const {
    const auto inside = [&](const Stmt &stmt) {
      const auto bodies = stmt.bodies();
      return std::any_of(bodies.begin(), bodies.end(), [&](const plan::Body *body) {
        return plan::any(*body, [&](const Stmt &each) { return isOfRing(each) || usesRing(each); });
      });
    };
    plan::Body ends = loop.prologue;
    ends.insert(ends.end(), loop.epilogue.begin(), loop.epilogue.end());
    const bool pipelined = !ends.empty();
    for (const plan::Body *body : loop.bodies())
      if (std::any_of(body->begin(), body->end(), inside))
        return false;
    const std::map<std::string, int> once = advances(loop.body);
    return std::all_of(once.begin(), once.end(), [](const auto &entry) { return entry.second == 1; }) &&
           advances(loop.orElse).empty() && (!pipelined || advances(ends) == once);
  }

  std::map<std::string, int> advances(const plan::Body &body) const {
    std::map<std::string, int> counts;
    for (const Stmt &stmt : body)
      if (isOfRing(stmt))
        ++counts[stmt.as<plan::Advance>().ring];
    return counts;
  }

  /// Each stage is one warpgroup's throughout: of another one's it would not know that the phase before is over, as
  /// copies end in any order. One that hands a stage back an iteration late has its next one by then.
  std::string whyOtherStages() const {
    for (const RingPlacement &ring : placement.rings) {
      const bool isLate = std::any_of(cursors.begin(), cursors.end(), [&](const std::string &cursor) {
        return cursor != ring.cursor() && handsBack(cursor, ring);
      });
      if (ring.depth > 0 && (ring.stages % warpgroups != 0 || (isLate && ring.stages == warpgroups)))
        return fmt::format("ring `{}` has {} stage{}, and the {} warpgroups have {} each", ring.name, ring.stages,
                           ring.stages == 1 ? "" : "s", warpgroups, isLate ? "two or more" : "one or more");
    }
    return {};
  }

  bool handsBack(const std::string &cursor, const RingPlacement &ring) const {
    return plan::any(role.body, [&](const Stmt &stmt) {
      const auto *arrive = stmt.getIf<plan::Arrive>();
      return arrive && arrive->at.barrier == ring.empty() && arrive->at.cursor == cursor;
    });
  }

  // ---- sharing

  void share(size_t at, const std::vector<std::string> &sums) {
    Stmt &loop = role.body[at];
    const SourceLoc loc = loop.loc;
    role.instances = warpgroups;
    loop.turns = warpgroups;
    plan::walk(loop, [&](Stmt &stmt) {
      if (isOfRing(stmt))
        stmt.as<plan::Advance>().turns = warpgroups;
    });
    for (plan::Body *body : {&role.body, &role.finish})
      spreadBarriers(*body);
    plan::Body rest(std::make_move_iterator(role.body.begin() + static_cast<ptrdiff_t>(at) + 1),
                    std::make_move_iterator(role.body.end()));
    role.body.resize(at + 1);
    plan::Body begin;
    for (const auto &[cursor, count] : advances(role.body[at].body))
      plan::append(begin, plan::Advance{.ring = cursor, .own = true}, loc);
    role.body.insert(role.body.begin() + static_cast<ptrdiff_t>(at), begin.begin(), begin.end());
    addUp(sums, std::move(rest));
  }

  /// Named barriers of the one instance become one for each; the next number is free for one of all.
  void spreadBarriers(plan::Body &body) {
    const auto spread = [&](int &id) {
      if (id > 0)
        id = 1 + (id - 1) * warpgroups;
      freeBarrier = std::max(freeBarrier, id + warpgroups);
    };
    plan::walk(body, [&](Stmt &stmt) {
      if (auto *sync = stmt.getIf<plan::Sync>())
        spread(sync->id);
      else if (stmt.meets.id > 0)
        spread(stmt.meets.id);
    });
  }

  /// What is done for this belongs to no line of the source.
  void addUp(const std::vector<std::string> &sums, plan::Body rest) {
    const SourceLoc loc;
    const std::string first = freshName("first", taken);
    role.vars.push_back({first, cursorType(warpgroups)});
    std::string place; // of one that is left its sums beside those of others
    if (warpgroups > 2) {
      place = freshName("part_at", taken);
      role.vars.push_back({place, cursorType(warpgroups - 1)});
      plan::append(role.body, plan::Advance{.ring = place, .own = true}, loc);
    }
    Stmt leave, own;
    for (Stmt *branch : {&leave, &own}) {
      branch->kind = Kind::If;
      branch->loc = loc;
      branch->turn = first;
    }
    std::map<std::string, plan::BufferRef> partOf;
    bool reuses = false;
    for (const std::string &sum : sums) {
      const plan::Buffer &buffer = addBuffer(sum, loc);
      reuses |= !buffer.aliasOf.empty();
      partOf[sum] = {buffer.name, place, false, plan::heldPart(role.findVar(sum)->type)};
      Stmt &write = plan::append(leave.orElse, Kind::StoreShared, loc);
      write.operands = {sum};
      write.ref = partOf[sum];
    }
    for (int other = 1; other < warpgroups; ++other) {
      if (!place.empty())
        plan::append(own.body, plan::Advance{.ring = place}, loc);
      for (const std::string &sum : sums)
        add(own.body, sum, other, partOf[sum], loc);
    }
    std::move(rest.begin(), rest.end(), std::back_inserter(own.body));
    if (reuses) // until all have read the last stages of the rings
      meet(loc);
    role.body.push_back(std::move(leave));
    meet(loc);
    role.body.push_back(std::move(own));
  }

  void meet(SourceLoc loc) {
    plan::append(role.body, plan::Sync{freeBarrier, placement.layout.threads * warpgroups}, loc);
  }

  void add(plan::Body &body, const std::string &sum, int other, const plan::BufferRef &part, SourceLoc loc) {
    const std::string theirs = freshName(fmt::format("{}_of_{}", sum, other), taken);
    role.vars.push_back({theirs, role.findVar(sum)->type});
    Stmt &read = plan::append(body, Kind::LoadShared, loc);
    read.dest = theirs;
    read.ref = part;
    Stmt &total = plan::append(body, Kind::Compute, loc);
    total.op = ir::OpKind::Add;
    total.dest = sum;
    total.operands = {sum, theirs};
  }

  /// For the sums of all warpgroups but the first, in the memory of a ring that nothing else has, if one is as large.
  const plan::Buffer &addBuffer(const std::string &sum, SourceLoc loc) {
    const plan::VarType &type = role.findVar(sum)->type;
    plan::Buffer buffer = bufferOfPart(freshName(sum + "_part", taken), type, type.cols, loc);
    buffer.stages = warpgroups - 1;
    const plan::Buffer *host = nullptr;
    for (const RingPlacement &ring : placement.rings)
      for (const RingMember &member : ring.members)
        if (const plan::Buffer *each = placement.findBuffer(member.buffer);
            isAlone(*each) && each->totalBytes() >= buffer.totalBytes() &&
            (!host || each->totalBytes() < host->totalBytes()))
          host = each;
    buffer.aliasOf = host ? host->name : "";
    return placement.buffers.emplace_back(std::move(buffer));
  }

  bool isAlone(const plan::Buffer &buffer) const {
    return buffer.aliasOf.empty() &&
           std::none_of(placement.buffers.begin(), placement.buffers.end(),
                        [&](const plan::Buffer &other) { return other.aliasOf == buffer.name; });
  }

  plan::Role &role;
  const int warpgroups;
  Placement &placement;
  std::set<std::string> taken, cursors;
  int freeBarrier = 1;
};

} // namespace

int chooseSplitInBlock(const TileScheduler &tiles, Placement &placement, std::string &why) {
  const auto warpgroups = static_cast<int>(tiles.schedule.splitInBlock.value_or(1));
  if (warpgroups == 1)
    return 1;
  if (placement.copiesItself || placement.multipliesByWarps() || placement.usesTensorMemory() || !placement.hasProducts)
    why = "it is for loops of products with accumulators in the registers of computing warpgroups, which other warps "
          "load for (Hopper)";
  else if (tiles.schedule.pingpong.value_or(false))
    why = "with `pingpong` each warpgroup has a tile to itself";
  else if (tiles.schedule.warpgroups.value_or(1) != 1)
    why = "each warpgroup has the sums of a whole tile, and `warpgroups` asks for several that share it";
  else if (tiles.takesTilesInTurn())
    why = tiles.nest.isRagged() ? "the launcher does not know the range of an axis" : "blocks take tile after tile";
  if (!why.empty())
    return 1;
  for (const auto &[operand, buffer] : placement.staged)
    placement.findBuffer(buffer)->instances = warpgroups;
  placement.note(plan::Note::Roles, {},
                 fmt::format("{} computing warpgroups, which take the iterations of the loop of products in turns, as "
                             "the schedule says; the first adds up the sums of all",
                             warpgroups));
  return warpgroups;
}

std::string splitInBlock(plan::Role &role, int warpgroups, Placement &placement) {
  return Sharer(role, warpgroups, placement).run();
}

} // namespace tkc::planner
