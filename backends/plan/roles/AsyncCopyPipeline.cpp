// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/AsyncCopyPipeline.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

/// Whether `stmt`, or what it holds, multiplies out of one of the ring's buffers.
bool reads(const plan::Stmt &stmt, const RingPlacement &ring) {
  const auto has = [&](const std::string &buffer) {
    return std::any_of(ring.members.begin(), ring.members.end(),
                       [&](const RingMember &member) { return member.buffer == buffer; });
  };
  return plan::any(stmt, [&](const plan::Stmt &inner) {
    const std::vector<plan::BufferRef> refs = plan::operandRefs(inner);
    return std::any_of(refs.begin(), refs.end(), [&](const plan::BufferRef &ref) { return has(ref.buffer); });
  });
}

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
      if (reads(loop.body[i], ring)) {
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

/// Walks a role once. At every point it knows which buffers somebody may still read and which hold what was not yet
/// made known to all.
class BlockSynchronizer {
public:
  BlockSynchronizer(plan::Role &role, const Placement &placement)
      : role(role), threads(placement.layout.threads * role.instances), byLoads(placement.directLoads) {
    for (const auto &[value, buffer] : placement.staged)
      staged.insert(buffer);
    for (const RingPlacement &ring : placement.rings)
      if (ring.depth == 0)
        for (const RingMember &member : ring.members)
          onceLoaded.insert(member.buffer);
  }

  void run() {
    walk(role.body);
    if (!std::includes(awaited.begin(), awaited.end(), underWay.begin(), underWay.end())) {
      out = &role.body;
      waitForAll({});
    }
  }

private:
  using Names = std::set<std::string>;

  void walk(plan::Body &body) {
    plan::Body *saved = out;
    plan::Body result;
    out = &result;
    for (size_t i = 0; i < body.size(); ++i) {
      const bool closesGroup = isOnceLoaded(body[i]) && (i + 1 == body.size() || !isOnceLoaded(body[i + 1]));
      step(body[i]);
      if (closesGroup && !byLoads)
        plan::append(*out, plan::CopyCommit(), out->back().loc);
    }
    out = saved;
    body = std::move(result);
  }

  bool isOnceLoaded(const plan::Stmt &stmt) const {
    return stmt.kind == Kind::CopyIn && onceLoaded.count(stmt.ref.buffer) != 0;
  }

  void step(plan::Stmt &stmt) {
    switch (stmt.kind) {
    case Kind::For:
      return loop(stmt);
    case Kind::If:
      return branch(stmt);
    case Kind::CopyIn:
      if (overwrites(stmt))
        sync(stmt.loc);
      if (isOnceLoaded(stmt))
        underWay.insert(stmt.ref.buffer), awaited.erase(stmt.ref.buffer);
      break;
    case Kind::CopyWait:
    case Kind::Ahead:
      if (std::any_of(stmt.body.begin(), stmt.body.end(), [&](const plan::Stmt &inner) { return overwrites(inner); }))
        sync(stmt.loc);
      if (waits(stmt))
        awaited = (stmt.kind == Kind::CopyWait && stmt.as<plan::CopyWait>().left == 0) || underWayIsOldest ? underWay
                                                                                                           : Names();
      break;
    case Kind::Sync:
      if (auto &meeting = stmt.as<plan::Sync>(); meeting.id == 0)
        meeting.threads = threads;
      met();
      break;
    case Kind::Place:
      if (stmt.ref.cursor.empty() && stillRead.count(stmt.ref.buffer))
        sync(stmt.loc);
      if (onceLoaded.count(stmt.ref.buffer))
        unpublished.insert(stmt.ref.buffer);
      break;
    case Kind::StoreShared:
      if (stillRead.count(stmt.ref.buffer))
        sync(stmt.loc);
      if (staged.count(stmt.ref.buffer))
        unpublished.insert(stmt.ref.buffer);
      break;
    case Kind::Product:
      product(stmt);
      break;
    default:
      break;
    }
    out->push_back(std::move(stmt));
  }

  /// A barrier of the block.
  void met() {
    stillRead.clear();
    unpublished.clear();
    for (const std::string &buffer : awaited)
      underWay.erase(buffer);
    awaited.clear();
  }

  void product(const plan::Stmt &stmt) {
    const std::vector<plan::BufferRef> refs = plan::operandRefs(stmt);
    for (const plan::BufferRef &ref : refs) {
      if (underWay.count(ref.buffer))
        landed(stmt.loc);
      if (unpublished.count(ref.buffer))
        sync(stmt.loc);
    }
    for (const plan::BufferRef &ref : refs) // behind all barriers that come before the product
      if (staged.count(ref.buffer) || ref.cursor.empty())
        stillRead.insert(ref.buffer);
  }

  /// A copy into the one stage of a ring out of which threads may still multiply, as in the loop before.
  bool overwrites(const plan::Stmt &stmt) const {
    return stmt.kind == Kind::CopyIn && stmt.ref.cursor.empty() && stillRead.count(stmt.ref.buffer) != 0;
  }

  void landed(SourceLoc loc) {
    waitForAll(loc);
    awaited = underWay;
    sync(loc);
  }

  void waitForAll(SourceLoc loc) { plan::append(*out, plan::CopyWait{.byLoads = byLoads}, loc); }

  /// A wait, or one that depends on what is under way.
  static bool waits(const plan::Stmt &stmt) {
    return stmt.kind == Kind::CopyWait ||
           (stmt.kind == Kind::Ahead && !stmt.body.empty() && stmt.body.front().kind == Kind::CopyWait);
  }

  void loop(plan::Stmt &stmt) {
    const Names readBefore = stillRead;
    // The loop's own first wait and barrier cover what was loaded before its first copies, if they come before its use.
    const Names before = underWay;
    if (!before.empty() && !waitsFirst(stmt.body))
      landed(stmt.loc);
    addWhatIterationsLeave(stmt.body);
    const Names outside = underWay;
    const bool wasOldest = std::exchange(underWayIsOldest, true);
    const Names unpublishedBefore = unpublished;
    walk(stmt.body);
    unpublished.insert(unpublishedBefore.begin(), unpublishedBefore.end()); // the loop, and its barriers, may not run
    stillRead.insert(readBefore.begin(), readBefore.end());
    underWayIsOldest = wasOldest;
    underWay = outside; // the loop may not run
    awaited.clear();
    const SourceLoc loc = stmt.loc;
    const bool leavesLoads = std::any_of(stmt.body.begin(), stmt.body.end(), [](const plan::Stmt &inner) {
      return inner.kind == Kind::Ahead && inner.always;
    });
    out->push_back(std::move(stmt));
    if (!underWay.empty() || leavesLoads) { // at no cost where it did run
      waitForAll(loc);
      awaited = underWay;
    }
  }

  /// What an iteration leaves when it ends is there when the next begins, which may move barriers, so that more is
  /// left.
  void addWhatIterationsLeave(const plan::Body &body) {
    if (!plan::any(body, [&](const plan::Stmt &stmt) { return usesStaging(stmt); }))
      return;
    size_t known = 0;
    do {
      known = stillRead.size() + unpublished.size();
      BlockSynchronizer iteration = *this;
      plan::Body copy = body;
      iteration.walk(copy);
      stillRead.merge(iteration.stillRead);
      unpublished.merge(iteration.unpublished);
    } while (known != stillRead.size() + unpublished.size());
  }

  bool usesStaging(const plan::Stmt &stmt) const {
    const std::vector<plan::BufferRef> refs = plan::operandRefs(stmt);
    return staged.count(stmt.ref.buffer) != 0 || std::any_of(refs.begin(), refs.end(), [&](const plan::BufferRef &ref) {
             return staged.count(ref.buffer) != 0;
           });
  }

  /// Whether the body waits and meets before it multiplies out of what is under way.
  bool waitsFirst(const plan::Body &body) const {
    bool waited = false;
    for (const plan::Stmt &stmt : body) {
      waited |= waits(stmt);
      if (waited && stmt.kind == Kind::Sync)
        return true;
      if (readsUnderWay(stmt))
        return false;
    }
    return true;
  }

  bool readsUnderWay(const plan::Stmt &stmt) const {
    for (const plan::BufferRef &ref : plan::operandRefs(stmt))
      if (underWay.count(ref.buffer))
        return true;
    for (const plan::Body *body : {&stmt.body, &stmt.orElse})
      if (std::any_of(body->begin(), body->end(), [&](const plan::Stmt &inner) { return readsUnderWay(inner); }))
        return true;
    return false;
  }

  void branch(plan::Stmt &stmt) {
    const Names beforeUnder = underWay, beforeUnpublished = unpublished, beforeRead = stillRead,
                beforeAwaited = awaited;
    walk(stmt.body);
    const Names thenUnder = underWay, thenUnpublished = unpublished, thenRead = stillRead;
    underWay = beforeUnder, unpublished = beforeUnpublished, stillRead = beforeRead, awaited = beforeAwaited;
    walk(stmt.orElse);
    underWay.insert(thenUnder.begin(), thenUnder.end());
    unpublished.insert(thenUnpublished.begin(), thenUnpublished.end());
    stillRead.insert(thenRead.begin(), thenRead.end());
    awaited.clear();
    out->push_back(std::move(stmt));
  }

  void sync(SourceLoc loc) {
    plan::append(*out, plan::Sync{0, threads}, loc);
    met();
  }

  plan::Role &role;
  const int threads;
  const bool byLoads; ///< waits count loads to shared memory
  Names staged, onceLoaded;
  Names stillRead;               ///< buffers of one stage that some thread may be multiplying out of
  Names unpublished;             ///< staging buffers written since the last barrier
  Names underWay;                ///< loaded once a tile, and not known to have come
  Names awaited;                 ///< of these, what each thread has waited for: it has come once the block has met
  bool underWayIsOldest = false; ///< any wait of this loop covers them
  plan::Body *out = nullptr;
};

} // namespace

void pipelineCopies(RoleBuilder &builder, plan::Stmt &loop, const std::vector<const RingPlacement *> &rings,
                    const Fill &fill, const std::optional<DirectLoads> &direct) {
  Pipeline(builder, loop, rings, fill, direct).run();
}

void synchronizeBlock(plan::Role &role, const Placement &placement) { BlockSynchronizer(role, placement).run(); }

} // namespace tkc::planner
