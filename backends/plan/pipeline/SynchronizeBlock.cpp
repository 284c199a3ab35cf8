// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/pipeline/SynchronizeBlock.h"

#include <algorithm>
#include <set>
#include <string>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

/// Walks a role once. At every point it knows which buffers somebody may still read and which hold what was not yet
/// made known to all.
class BlockSynchronizer {
public:
  BlockSynchronizer(plan::Role &role, const Placement &placement, const MemoryOf &memory)
      : role(role), threads(placement.layout.threads * role.instances), byLoads(placement.directLoads), memory(memory) {
    for (const auto &[value, buffer] : placement.staged)
      staged.insert(buffer);
    for (const RingPlacement &ring : placement.rings)
      if (ring.depth == 0 && !ring.isCopiedAgain)
        for (const RingMember &member : ring.members)
          onceLoaded.insert(member.buffer);
    for (const RingPlacement &ring : placement.rings)
      for (const RingMember &member : ring.members)
        if (ring.stages == 1)
          singleStaged.insert(member.buffer);
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
      takeMemory(stmt);
      if (isOnceLoaded(stmt))
        underWay.insert(stmt.ref.buffer), awaited.erase(stmt.ref.buffer);
      break;
    case Kind::CopyWait:
    case Kind::Ahead:
      if (std::any_of(stmt.body.begin(), stmt.body.end(), [&](const plan::Stmt &inner) { return overwrites(inner); }))
        sync(stmt.loc);
      for (const plan::Stmt &inner : stmt.body)
        if (inner.kind == Kind::CopyIn || inner.kind == Kind::Place)
          takeMemory(inner);
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
      takeMemory(stmt);
      if (onceLoaded.count(stmt.ref.buffer))
        unpublished.insert(stmt.ref.buffer);
      break;
    case Kind::StoreShared:
      if (stillRead.count(stmt.ref.buffer))
        sync(stmt.loc);
      takeMemory(stmt);
      if (staged.count(stmt.ref.buffer))
        unpublished.insert(stmt.ref.buffer);
      break;
    case Kind::LoadShared:
      if (underWay.count(stmt.ref.buffer))
        landed(stmt.loc);
      if (memory.count(stmt.ref.buffer) || singleStaged.count(stmt.ref.buffer))
        stillRead.insert(stmt.ref.buffer);
      break;
    case Kind::CopyOut:
      if (memory.count(stmt.ref.buffer))
        stillRead.insert(stmt.ref.buffer);
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
    written.clear();
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

  /// Before a buffer is filled that has its memory with others: nobody reads what lies there, or is still to fill it.
  void takeMemory(const plan::Stmt &fill) {
    const std::string &buffer = fill.ref.buffer;
    if (!memory.count(buffer))
      return;
    const auto others = [&](const Names &busy) {
      return std::any_of(busy.begin(), busy.end(),
                         [&](const std::string &other) { return lieTogether(memory, buffer, other); });
    };
    if (others(underWay))
      landed(fill.loc);
    else if (stillRead.count(buffer) || others(stillRead) || others(written))
      sync(fill.loc);
    written.insert(buffer);
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
    const Names readBefore = stillRead, writtenBefore = written;
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
    written.insert(writtenBefore.begin(), writtenBefore.end());
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
    const auto size = [&] { return stillRead.size() + written.size() + unpublished.size(); };
    size_t known = 0;
    do {
      known = size();
      BlockSynchronizer iteration = *this;
      plan::Body copy = body;
      iteration.walk(copy);
      stillRead.merge(iteration.stillRead);
      written.merge(iteration.written);
      unpublished.merge(iteration.unpublished);
    } while (known != size());
  }

  bool usesStaging(const plan::Stmt &stmt) const {
    const std::vector<plan::BufferRef> refs = plan::operandRefs(stmt);
    const auto uses = [&](const plan::BufferRef &ref) {
      return staged.count(ref.buffer) != 0 || memory.count(ref.buffer) != 0;
    };
    return uses(stmt.ref) || std::any_of(refs.begin(), refs.end(), uses);
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
                beforeWritten = written, beforeAwaited = awaited;
    walk(stmt.body);
    const Names thenUnder = underWay, thenUnpublished = unpublished, thenRead = stillRead, thenWritten = written;
    underWay = beforeUnder, unpublished = beforeUnpublished, stillRead = beforeRead, written = beforeWritten;
    awaited = beforeAwaited;
    walk(stmt.orElse);
    underWay.insert(thenUnder.begin(), thenUnder.end());
    unpublished.insert(thenUnpublished.begin(), thenUnpublished.end());
    stillRead.insert(thenRead.begin(), thenRead.end());
    written.insert(thenWritten.begin(), thenWritten.end());
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
  const MemoryOf &memory;
  Names staged, onceLoaded;
  Names singleStaged;            ///< of rings
  Names stillRead;               ///< buffers of one stage that some thread may be multiplying out of
  Names written;                 ///< of those that share memory: filled since the last barrier
  Names unpublished;             ///< staging buffers written since the last barrier
  Names underWay;                ///< loaded once a tile, and not known to have come
  Names awaited;                 ///< of these, what each thread has waited for: it has come once the block has met
  bool underWayIsOldest = false; ///< any wait of this loop covers them
  plan::Body *out = nullptr;
};

} // namespace

void synchronizeBlock(plan::Role &role, const Placement &placement, const MemoryOf &memory) {
  BlockSynchronizer(role, placement, memory).run();
}

} // namespace tkc::planner
