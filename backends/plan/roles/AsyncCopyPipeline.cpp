// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/AsyncCopyPipeline.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tkc::planner {

bool readsOutOf(const plan::Stmt &stmt, const RingPlacement &ring) {
  const auto has = [&](const std::string &buffer) {
    return std::any_of(ring.members.begin(), ring.members.end(),
                       [&](const RingMember &member) { return member.buffer == buffer; });
  };
  return plan::any(stmt, [&](const plan::Stmt &inner) {
    if (inner.kind == plan::StmtKind::LoadShared)
      return has(inner.ref.buffer);
    const std::vector<plan::BufferRef> refs = plan::operandRefs(inner);
    return std::any_of(refs.begin(), refs.end(), [&](const plan::BufferRef &ref) { return has(ref.buffer); });
  });
}

namespace {

using Kind = plan::StmtKind;

/// One ring in the steady state of a loop. Barriers stand before the statements at which rings are first used; their
/// places, in order, are numbered.
struct Use {
  const RingPlacement *ring;
  size_t first = 0, last = 0; ///< statements of the body
  int barrier = 0;            ///< that before its first use
  int filledAt = 0;           ///< the barrier after which its free stage is filled
  int ahead = 0;              ///< by so many iterations
  bool tooLate = false;       ///< its one stage is free only at the barrier before its use: that takes another barrier
};

class Pipeline {
public:
  Pipeline(RoleBuilder &builder, plan::Stmt &loop, const std::vector<const RingPlacement *> &rings, const Fill &fill,
           const std::optional<DirectLoads> &direct)
      : builder(builder), loop(loop), fill(fill), direct(direct), computes(holdsVectorWork(builder.role, loop)) {
    for (const RingPlacement *ring : rings)
      addUse(*ring);
  }

  void run() {
    if (uses.empty())
      return;
    placeBarriers();
    placeFills();
    prologue();
    if (direct && direct->turns > 0)
      stagger();
    body();
  }

private:
  void addUse(const RingPlacement &ring) {
    Use use{&ring};
    bool found = false;
    for (size_t i = 0; i < loop.body.size(); ++i)
      if (readsOutOf(loop.body[i], ring)) {
        use.first = found ? use.first : i;
        use.last = i;
        found = true;
      }
    if (found)
      uses.push_back(use);
  }

  void placeBarriers() {
    for (const Use &use : uses)
      barriers.push_back(use.first);
    std::sort(barriers.begin(), barriers.end());
    barriers.erase(std::unique(barriers.begin(), barriers.end()), barriers.end());
    for (Use &use : uses)
      use.barrier = static_cast<int>(std::find(barriers.begin(), barriers.end(), use.first) - barriers.begin());
  }

  void placeFills() {
    for (Use &use : uses) {
      const auto after = std::upper_bound(barriers.begin(), barriers.end(), use.last);
      const bool wraps = after == barriers.end();
      use.filledAt = wraps ? 0 : static_cast<int>(after - barriers.begin());
      use.ahead = wraps ? use.ring->stages - 1 : use.ring->stages;
      use.tooLate = use.ahead == 0 && use.filledAt == use.barrier;
    }
  }

  std::vector<const Use *> filledAt(int barrier) const {
    std::vector<const Use *> list;
    for (const Use &use : uses)
      if (use.filledAt == barrier)
        list.push_back(&use);
    return list;
  }

  int numBarriers() const { return static_cast<int>(barriers.size()); }

  /// The groups that are committed at the barriers before number `barrier`, of one iteration.
  int groupsBefore(int barrier) const {
    int count = 0;
    for (int b = 0; b < barrier; ++b)
      count += filledAt(b).empty() ? 0 : 1;
    return count;
  }

  /// Fills of the iterations before the first, as far as they are for iterations that exist.
  void prologue() {
    int most = 0;
    for (const Use &use : uses)
      most = std::max(most, use.ahead);
    for (int iteration = -most; iteration < 0; ++iteration)
      for (int barrier = 0; barrier < numBarriers(); ++barrier) {
        bool started = false;
        for (const Use *use : filledAt(barrier))
          if (iteration + use->ahead >= 0) {
            fill(*use->ring, iteration + use->ahead, false);
            started = true;
          }
        if (started || (committed && !filledAt(barrier).empty()))
          commit();
      }
  }

  void commit() {
    if (!direct)
      builder.emit(plan::CopyCommit(), loop.loc);
    committed = true;
  }
  void sync() {
    builder.emit(plan::Sync(), loop.loc); // its threads are known once the role is complete: synchronizeBlock
  }

  /// Groups that may be under way when the ring's tile of this iteration must have come.
  int mayBeUnderWay(const Use &use) const {
    return use.ahead * groupsBefore(numBarriers()) + groupsBefore(use.barrier) - groupsBefore(use.filledAt) - 1;
  }

  void body() {
    plan::Body lowered = std::move(loop.body);
    plan::Body result;
    builder.into(result, [&] {
      for (size_t i = 0; i < lowered.size(); ++i) {
        const auto at = std::find(barriers.begin(), barriers.end(), i);
        if (at != barriers.end())
          barrier(static_cast<int>(at - barriers.begin()));
        result.push_back(std::move(lowered[i]));
        if (at != barriers.end())
          fillLater(static_cast<int>(at - barriers.begin()));
      }
      for (const Use &use : uses)
        if (use.ring->stages > 1)
          builder.emit(plan::Advance{use.ring->cursor()}, loop.loc);
    });
    loop.body = std::move(result);
  }

  /// Holds the second half of the role back by a barrier; what the first reads until its first wait has come for all.
  void stagger() {
    waitForLoads(0, std::max(mayBeUnderWay(uses.front()), 0));
    builder.emit(plan::Stagger{false, direct->threads}, loop.loc);
  }

  void barrier(int number) {
    int groups = std::numeric_limits<int>::max();
    const int early = direct && direct->turns > 0 ? 1 : 0; // the other half may be a barrier ahead
    bool extra = false;
    for (const Use &use : uses)
      if (use.barrier == number) {
        groups = std::min(groups, use.tooLate ? 0 : std::max(mayBeUnderWay(use) - early, 0));
        extra |= use.tooLate;
      }
    if (extra) {
      sync();
      fillAfter(number, true);
    }
    if (direct)
      waitForLoads(number, groups);
    else
      builder.emit(plan::CopyWait{.left = groups}, loop.loc);
    sync();
    if (!extra)
      fillAfter(number, false);
  }

  /// The newest `groups` fills before a barrier, as loads; all of them there if the tile furthest ahead exists.
  void waitForLoads(int number, int groups) {
    int loads = 0, furthest = 0;
    for (int barrier = number, back = 0; groups > 0;) {
      if (--barrier < 0)
        barrier = numBarriers() - 1, ++back;
      const std::vector<const Use *> list = filledAt(barrier);
      for (const Use *use : list)
        if (use->ahead >= back) { // else the first iteration has no such fill before it, and others waited for it
          loads += direct->of(*use->ring);
          furthest = std::max(furthest, use->ahead - back);
        }
      groups -= list.empty() ? 0 : 1;
    }
    constexpr int counterReaches = 62; // 63, all six bits, asks for no wait
    direct->wait(std::min(loads, counterReaches), furthest);
  }

  /// Copies that have an iteration or more to come let the first product start before them, but for loops with vector
  /// work: there their branch keeps the compiler from spreading that work over the product, for which it would need
  /// more registers than there are.
  bool isUrgent(const Use &use) const { return direct || use.ahead < 2 || computes; }

  static bool holdsVectorWork(const plan::Role &role, const plan::Stmt &loop) {
    return std::any_of(loop.body.begin(), loop.body.end(), [&](const plan::Stmt &stmt) {
      const plan::Var *dest = stmt.kind == Kind::Compute ? role.findVar(stmt.dest) : nullptr;
      return dest && dest->type.kind == plan::VarType::Fragment;
    });
  }

  void fillAfter(int number, bool waitsForThem) {
    const std::vector<const Use *> list = filledAt(number);
    for (const Use *use : list)
      if (isUrgent(*use))
        fill(*use->ring, use->ahead, true);
    if (waitsForThem ||
        (!list.empty() && std::all_of(list.begin(), list.end(), [&](const Use *use) { return isUrgent(*use); })))
      commit();
  }

  void fillLater(int number) {
    bool any = false;
    for (const Use *use : filledAt(number))
      if (!isUrgent(*use)) {
        fill(*use->ring, use->ahead, true);
        any = true;
      }
    if (any)
      commit();
  }

  RoleBuilder &builder;
  plan::Stmt &loop;
  const Fill &fill;
  const std::optional<DirectLoads> &direct;
  std::vector<Use> uses;
  std::vector<size_t> barriers; ///< statements of the body before which one stands
  bool computes;                ///< vector work on tiles
  bool committed = false;
};

} // namespace

void pipelineCopies(RoleBuilder &builder, plan::Stmt &loop, const std::vector<const RingPlacement *> &rings,
                    const Fill &fill, const std::optional<DirectLoads> &direct) {
  Pipeline(builder, loop, rings, fill, direct).run();
}

} // namespace tkc::planner
