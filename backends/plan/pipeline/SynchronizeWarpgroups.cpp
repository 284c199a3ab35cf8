// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/pipeline/SynchronizeWarpgroups.h"

#include "backends/plan/roles/FreshName.h"
#include "backends/plan/roles/RoleBuilder.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

/// Groups that a wait can leave in flight: `wgmma.wait_group` takes 0 to 7.
constexpr int mostInFlight = 7;

/// A product group that was committed and not yet waited for.
struct Group {
  std::string dest;      ///< accumulator that it writes
  std::string aVariable; ///< register operand that it reads; empty: none
  std::set<std::string> buffers;
};

class Synchronizer {
public:
  Synchronizer(plan::Role &role, const Placement &placement, const MemoryOf &memory)
      : role(role), placement(placement), memory(memory) {
    for (const RingPlacement &ring : placement.rings)
      for (const RingMember &member : ring.members)
        ringOf[member.buffer] = &ring;
    for (const auto &[key, buffer] : placement.staged)
      stagedBuffers.insert(buffer);
  }

  void run() {
    declareCursors();
    findLagging(role.body, 0);
    segment(role.body, 0);
  }

private:
  void declareCursors() {
    for (const RingPlacement &ring : placement.rings)
      declareCursor(ring.cursor(), ring);
  }

  void declareCursor(const std::string &name, const RingPlacement &ring) {
    role.vars.push_back({name, cursorType(ring.stages)});
  }

  static std::string doneCursor(const RingPlacement &ring) { return ring.name + "_done"; }

  /// Rings of which some loop hands back the stage of the iteration before, by a cursor of its own.
  void findLagging(const plan::Body &body, int depth) {
    for (const plan::Stmt &stmt : body) {
      const int inner = stmt.kind == Kind::For ? depth + 1 : depth;
      if (keepsProductInFlight(stmt, inner))
        for (const plan::Stmt &each : stmt.body)
          lagging.merge(ringsIn(each, inner));
      for (const plan::Body *part : stmt.bodies())
        findLagging(*part, inner);
    }
  }

  // ---- one straight line of statements at loop depth `depth`
  void segment(plan::Body &body, int depth) {
    plan::Body *savedOut = out;
    auto savedLeft = usesLeft;
    auto savedOpen = open;
    plan::Body result;
    out = &result;
    open.clear();
    countUses(body, depth);
    for (plan::Stmt &stmt : body) {
      const std::set<const RingPlacement *> rings = ringsIn(stmt, depth);
      // A product is issued by the warpgroup together, and its wait stands for all warps. Reads by threads do not, nor
      // a loop that may run no product: there the warps meet before one of them releases the stage, unless each does
      // so for itself.
      const bool warpsMeet = stmt.kind != Kind::For && !stmt.byThreads;
      const SourceLoc loc = stmt.loc;
      openRings(rings, loc);
      step(stmt, depth);
      for (const RingPlacement *ring : rings)
        --usesLeft[ring];
      releaseDrained(loc, warpsMeet);
    }
    waitForGroups(queue.size());
    out = savedOut;
    usesLeft = std::move(savedLeft);
    open = std::move(savedOpen);
    body = std::move(result);
  }

  /// A pipelined loop is the last to read a ring that was opened before it, and its end does not: the stage is handed
  /// back before that, not after. But where the last iteration's products still run then, they wait for each other
  /// first.
  void handBackEarly(plan::Stmt &loop) {
    if (loop.kind != Kind::For || loop.prologue.empty() || loop.epilogue.empty())
      return;
    for (auto at = open.begin(); at != open.end();) {
      const RingPlacement *ring = *at;
      if (usesLeft[ring] != 1 || ring->isDrainedByWarps() || !isReadByProductsAlone(loop, *ring) ||
          isReadInFlight(loop, *ring)) {
        ++at;
        continue;
      }
      plan::Body *savedOut = out;
      plan::Body ran, didNot;
      out = &ran;
      handBack(*ring, loop.loc);
      out = &didNot;
      sync(loop.loc, instanceBarrier, placement.layout.threads);
      handBack(*ring, loop.loc);
      out = savedOut;
      loop.epilogue.insert(loop.epilogue.begin(), ran.begin(), ran.end());
      loop.orElse.insert(loop.orElse.begin(), didNot.begin(), didNot.end());
      at = open.erase(at);
    }
  }

  void handBack(const RingPlacement &ring, SourceLoc loc) {
    arrive(ring, ring.cursor(), loc);
    emit(plan::Advance{ring.cursor()}, loc);
    if (lagging.count(&ring)) // another loop goes on from here
      emit(plan::Advance{doneCursor(ring)}, loc);
  }

  /// In the iterations of a loop, by products; not at its end.
  bool isReadByProductsAlone(const plan::Stmt &loop, const RingPlacement &ring) const {
    bool alone = true;
    const auto reads = [&](const plan::Stmt &stmt) { return readsRing(stmt, ring); };
    plan::walk(loop, [&](const plan::Stmt &stmt) {
      alone &= !reads(stmt) || (stmt.kind == Kind::Product && !stmt.isSynchronous());
    });
    return alone && !plan::any(loop.epilogue, reads) && loop.orElse.empty();
  }

  /// Whether products that read the ring may still run where the end of a pipelined loop begins.
  bool isReadInFlight(const plan::Stmt &loop, const RingPlacement &ring) const {
    std::deque<bool> groups; // in flight, each with whether it reads the ring
    bool reads = false;
    for (const plan::Body *part : {&loop.prologue, &loop.body})
      plan::walk(*part, [&](const plan::Stmt &stmt) {
        reads |= readsRing(stmt, ring);
        if (stmt.kind == Kind::ProductCommit)
          groups.push_back(std::exchange(reads, false));
        if (stmt.kind == Kind::ProductWait)
          while (groups.size() > static_cast<size_t>(stmt.as<plan::ProductWait>().left))
            groups.pop_front();
      });
    return std::find(groups.begin(), groups.end(), true) != groups.end();
  }

  bool readsRing(const plan::Stmt &stmt, const RingPlacement &ring) const {
    const std::set<std::string> buffers = buffersOf(stmt);
    return std::any_of(ring.members.begin(), ring.members.end(),
                       [&](const RingMember &member) { return buffers.count(member.buffer) != 0; });
  }

  std::set<const RingPlacement *> ringsIn(const plan::Stmt &stmt, int depth) const {
    std::set<const RingPlacement *> rings;
    plan::walk(stmt, [&](const plan::Stmt &inner) {
      if (inner.kind != Kind::Product && inner.kind != Kind::LoadShared)
        return;
      for (const std::string &buffer : buffersOf(inner))
        if (auto found = ringOf.find(buffer); found != ringOf.end() && found->second->depth == depth)
          rings.insert(found->second);
    });
    return rings;
  }

  static std::set<std::string> buffersOf(const plan::Stmt &reader) {
    const std::vector<plan::BufferRef> refs = plan::operandRefs(reader);
    std::set<std::string> buffers{reader.ref.buffer};
    for (const plan::BufferRef &ref : refs)
      buffers.insert(ref.buffer);
    return buffers;
  }

  void countUses(const plan::Body &body, int depth) {
    usesLeft.clear();
    for (const plan::Stmt &stmt : body)
      for (const RingPlacement *ring : ringsIn(stmt, depth))
        ++usesLeft[ring];
  }

  void openRings(const std::set<const RingPlacement *> &rings, SourceLoc loc) {
    for (const RingPlacement *ring : rings)
      if (open.insert(ring).second)
        emit(plan::Wait{{ring->full(), ring->cursor()}}, loc);
  }

  /// Releases the stages that nothing uses any more: no statement to come at this level, no product in flight.
  void releaseDrained(SourceLoc loc, bool warpsMeet) {
    for (auto at = open.begin(); at != open.end();) {
      const RingPlacement *ring = *at;
      if (usesLeft[ring] > 0 || isInFlight(*ring)) {
        ++at;
        continue;
      }
      if (!warpsMeet && !ring->isDrainedByWarps())
        sync(loc, instanceBarrier, placement.layout.threads);
      handBack(*ring, loc);
      at = open.erase(at);
    }
  }

  bool isInFlight(const RingPlacement &ring) const {
    return std::any_of(queue.begin(), queue.end(), [&](const Group &group) {
      return std::any_of(ring.members.begin(), ring.members.end(),
                         [&](const RingMember &member) { return group.buffers.count(member.buffer) != 0; });
    });
  }

  // ---- statements
  void step(plan::Stmt &stmt, int depth) {
    if (stmt.kind == Kind::If && !stmt.map.empty()) {
      // The ways of one store: no products, and synchronised already.
      waitForGroups(groupsBlockingAny(stmt));
      out->push_back(std::move(stmt));
      return;
    }
    if (stmt.kind == Kind::For || stmt.kind == Kind::If) {
      waitForGroups(queue.size());
      nested(stmt, depth);
      handBackEarly(stmt);
      out->push_back(std::move(stmt));
      return;
    }
    waitForGroups(groupsBlocking(stmt));
    if (stmt.kind == Kind::Product)
      return product(stmt);
    if (stmt.kind == Kind::StoreShared && stagedBuffers.count(stmt.ref.buffer))
      return storeStaged(stmt);
    out->push_back(stmt);
  }

  void nested(plan::Stmt &stmt, int depth) {
    if (keepsProductInFlight(stmt, depth + 1))
      return pipelineProducts(stmt, depth + 1);
    if (!unpublished.empty())
      publish(stmt.loc, placement.multipliesByWarps());
    const int inner = stmt.kind == Kind::For ? depth + 1 : depth;
    // A loop's rings are of its own depth; the bodies of a branch use the rings that the level around it holds open.
    for (plan::Body *body : stmt.bodies()) {
      if (body->empty())
        continue;
      if (stmt.kind == Kind::For) {
        auto saved = std::move(usesLeft);
        segment(*body, inner);
        usesLeft = std::move(saved);
      } else {
        branch(*body, depth);
      }
    }
  }

  // ---- loops that need no product's result: one iteration's stay in flight while the next ones are issued

  /// Nothing in the loop but products needs their results, and every ring has a stage to spare. Vector work on what
  /// products read may stand beside them, and work that makes their left operands.
  bool keepsProductInFlight(const plan::Stmt &loop, int depth) const {
    if (loop.kind != Kind::For || !loop.prologue.empty() || loop.body.empty())
      return false;
    std::set<std::string> results;
    for (const plan::Stmt &stmt : loop.body)
      if (stmt.kind == Kind::Product)
        results.insert(stmt.dest);
    return !results.empty() && std::all_of(loop.body.begin(), loop.body.end(), [&](const plan::Stmt &stmt) {
      const std::set<const RingPlacement *> rings = ringsIn(stmt, depth);
      const bool spare =
          std::all_of(rings.begin(), rings.end(), [](const RingPlacement *ring) { return ring->stages > 1; });
      if (stmt.kind != Kind::Product)
        return spare && isBesideProducts(stmt, results);
      return !stmt.isSynchronous() && (stmt.aShared || isComputed(loop.body, stmt)) && !usesStaged(stmt) &&
             !rings.empty() && spare;
    });
  }

  /// Whether one computation of the iteration makes the register operand of a product.
  static bool isComputed(const plan::Body &body, const plan::Stmt &product) {
    std::vector<const plan::Stmt *> makers;
    for (const plan::Stmt &stmt : body)
      if (stmt.dest == product.operands[0])
        makers.push_back(&stmt);
    return makers.size() == 1 && makers.front()->kind == Kind::Compute;
  }

  /// Work of each thread for itself, on other variables than products have.
  static bool isBesideProducts(const plan::Stmt &stmt, const std::set<std::string> &results) {
    const bool isOwn = (stmt.kind == Kind::Compute && stmt.ref.buffer.empty()) || stmt.kind == Kind::Move ||
                       stmt.kind == Kind::LoadShared;
    return isOwn && results.count(stmt.dest) == 0 &&
           std::none_of(stmt.operands.begin(), stmt.operands.end(),
                        [&](const std::string &operand) { return results.count(operand) != 0; });
  }

  bool usesStaged(const plan::Stmt &product) const {
    const std::set<std::string> buffers = buffersOf(product);
    return std::any_of(buffers.begin(), buffers.end(),
                       [&](const std::string &b) { return stagedBuffers.count(b) != 0; });
  }

  ///   first: products(0)   others: products(k); wait until only they are in flight; release k - 1   end: wait; release
  /// Register operands are written where nothing reads them. So what they are made of is loaded under the products of
  /// the iteration before, and then those are waited for. Other registers would not do: compilers see no use of a
  /// register by a product in flight, and make one of the two.
  void pipelineProducts(plan::Stmt &loop, int depth) {
    const bool makesOperands = std::any_of(loop.body.begin(), loop.body.end(), [](const plan::Stmt &stmt) {
      return stmt.kind == Kind::Product && !stmt.aShared;
    });
    if (makesOperands)
      sortForOperands(loop.body);
    auto groups = static_cast<int>(std::count_if(loop.body.begin(), loop.body.end(),
                                                 [](const plan::Stmt &stmt) { return stmt.kind == Kind::Product; }));
    std::set<const RingPlacement *> rings;
    for (const plan::Stmt &stmt : loop.body)
      rings.merge(ringsIn(stmt, depth));
    plan::Body issue = issueProducts(loop.body, depth);
    if (groups > mostInFlight || makesOperands) {
      commitTogether(issue);
      groups = 1;
    }
    loop.prologue = issue;
    loop.body = std::move(issue);
    if (makesOperands)
      releaseAfterLoads(loop.body, rings, loop.loc);
    else
      releasePrevious(loop.body, rings, groups, loop.loc);
    releasePrevious(loop.epilogue, rings, 0, loop.loc);
  }

  /// Loads first, then computations, then all products: ptxas has these wait for each other where registers are written
  /// between them.
  static void sortForOperands(plan::Body &body) {
    plan::Body loads, made, products;
    for (plan::Stmt &stmt : body)
      (stmt.kind == Kind::LoadShared ? loads : stmt.kind == Kind::Product ? products : made).push_back(std::move(stmt));
    for (plan::Body *part : {&made, &products})
      std::move(part->begin(), part->end(), std::back_inserter(loads));
    body = std::move(loads);
  }

  void releaseAfterLoads(plan::Body &body, const std::set<const RingPlacement *> &rings, SourceLoc loc) {
    const auto last =
        std::find_if(body.rbegin(), body.rend(), [](const plan::Stmt &stmt) { return stmt.kind == Kind::LoadShared; });
    plan::Body released;
    releasePrevious(released, rings, 0, loc);
    body.insert(last.base(), released.begin(), released.end());
  }

  /// All products of an iteration in one group.
  static void commitTogether(plan::Body &issue) {
    const auto isCommit = [](const plan::Stmt &stmt) { return stmt.kind == Kind::ProductCommit; };
    const auto last = std::find_if(issue.rbegin(), issue.rend(), isCommit);
    const auto end = std::remove_if(issue.begin(), std::prev(last.base()), isCommit);
    issue.erase(end, std::prev(last.base()));
  }

  plan::Body issueProducts(plan::Body &products, int depth) {
    plan::Body *savedOut = out;
    auto savedOpen = std::move(open);
    plan::Body issue;
    out = &issue;
    open.clear();
    for (auto next = products.begin(); next != products.end(); ++next) {
      plan::Stmt &stmt = *next;
      openRings(ringsIn(stmt, depth), stmt.loc);
      if (stmt.kind == Kind::Product && !stmt.aShared) // and those of the products that follow at once
        std::for_each(next, products.end(),
                      [&](const plan::Stmt &other) { openRings(ringsIn(other, depth), other.loc); });
      if (stmt.kind == Kind::Product)
        product(stmt);
      else
        out->push_back(stmt);
    }
    for (const RingPlacement *ring : open)
      emit(plan::Advance{ring->cursor()}, products.front().loc);
    queue.clear();
    open = std::move(savedOpen);
    out = savedOut;
    return issue;
  }

  void releasePrevious(plan::Body &body, const std::set<const RingPlacement *> &rings, int inFlight, SourceLoc loc) {
    plan::Body *savedOut = out;
    out = &body;
    emit(plan::ProductWait{inFlight}, loc);
    for (const RingPlacement *ring : rings) {
      const std::string cursor = doneCursor(*ring);
      if (!role.findVar(cursor))
        declareCursor(cursor, *ring);
      arrive(*ring, cursor, loc);
      emit(plan::Advance{cursor}, loc);
    }
    out = savedOut;
  }

  void branch(plan::Body &body, int depth) {
    plan::Body *savedOut = out;
    plan::Body result;
    out = &result;
    for (plan::Stmt &stmt : body)
      step(stmt, depth);
    waitForGroups(queue.size());
    out = savedOut;
    body = std::move(result);
  }

  /// How many of the oldest groups must be complete before `stmt` may run.
  size_t groupsBlocking(const plan::Stmt &stmt) const {
    size_t blocking = 0;
    for (size_t i = 0; i < queue.size(); ++i)
      if (conflicts(stmt, queue[i]))
        blocking = i + 1;
    return blocking;
  }

  size_t groupsBlockingAny(const plan::Stmt &stmt) const {
    size_t blocking = 0;
    plan::walk(stmt, [&](const plan::Stmt &inner) { blocking = std::max(blocking, groupsBlocking(inner)); });
    return blocking;
  }

  bool conflicts(const plan::Stmt &stmt, const Group &group) const {
    const bool reads = std::find(stmt.operands.begin(), stmt.operands.end(), group.dest) != stmt.operands.end();
    // Products into one accumulator are done in order by the matrix engine; threads multiply outside that order.
    const bool isOrdered = stmt.kind == Kind::Product && !stmt.isSynchronous();
    const bool writes = !isOrdered && stmt.dest == group.dest;
    const bool overwritesOperand = !group.aVariable.empty() && stmt.dest == group.aVariable;
    const bool overwritesBuffer = stmt.kind == Kind::StoreShared && readsMemoryOf(stmt.ref.buffer, group);
    return reads || writes || overwritesOperand || overwritesBuffer;
  }

  bool readsMemoryOf(const std::string &buffer, const Group &group) const {
    return std::any_of(group.buffers.begin(), group.buffers.end(),
                       [&](const std::string &other) { return other == buffer || lieTogether(memory, buffer, other); });
  }

  void product(plan::Stmt &stmt) {
    for (const std::string &buffer : buffersOf(stmt))
      if (unpublished.count(buffer))
        publish(stmt.loc, stmt.byWarps);
    if (stmt.isSynchronous()) {
      out->push_back(stmt);
      return;
    }
    if (out->empty() || out->back().kind != Kind::ProductCommit)
      emit(plan::ProductFence(), stmt.loc);
    Group group{stmt.dest, stmt.aShared ? "" : stmt.operands[0], buffersOf(stmt)};
    out->push_back(stmt);
    emit(plan::ProductCommit(), stmt.loc);
    queue.push_back(std::move(group));
  }

  /// What threads have staged becomes visible to all products. Warps that multiply read shared memory as they write it.
  void publish(SourceLoc loc, bool byWarps) {
    if (!byWarps)
      emit(plan::FenceProxy(), loc);
    sync(loc, allConsumersBarrier, placement.layout.threads * role.instances);
    unpublished.clear();
  }

  /// Other warpgroups may still be reading what the last iteration staged, unless stages are filled in turns.
  void storeStaged(plan::Stmt &stmt) {
    if (stmt.ref.cursor.empty())
      sync(stmt.loc, allConsumersBarrier, placement.layout.threads * role.instances);
    unpublished.insert(stmt.ref.buffer);
    out->push_back(stmt);
  }

  void waitForGroups(size_t count) {
    if (count == 0)
      return;
    count = std::max(count, queue.size() - std::min<size_t>(queue.size(), mostInFlight));
    emit(plan::ProductWait{static_cast<int>(queue.size() - count)}, {});
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(count));
    releaseDrained({}, true);
  }

  void arrive(const RingPlacement &ring, const std::string &cursor, SourceLoc loc) {
    emit(plan::Arrive{.at = {ring.empty(), cursor}, .byWarps = ring.isDrainedByWarps(), .inCluster = ring.isShared()},
         loc);
  }

  void sync(SourceLoc loc, int id, int threads) { emit(plan::Sync{id, threads}, loc); }

  template <plan::IsStatement S> plan::Stmt &emit(S statement, SourceLoc loc) {
    return plan::append(*out, std::move(statement), loc);
  }

  plan::Role &role;
  const Placement &placement;
  const MemoryOf &memory;
  std::map<std::string, const RingPlacement *> ringOf; ///< by buffer
  std::set<const RingPlacement *> lagging;             ///< findLagging
  std::set<std::string> stagedBuffers;
  std::set<std::string> unpublished; ///< staged, and not yet visible to the matrix engine

  plan::Body *out = nullptr;
  std::vector<Group> queue;
  std::set<const RingPlacement *> open;          ///< waited for at this level and not yet released
  std::map<const RingPlacement *, int> usesLeft; ///< statements to come at this level that use the ring
};

} // namespace

void synchronizeWarpgroups(plan::Role &role, const Placement &placement, const MemoryOf &memory) {
  Synchronizer(role, placement, memory).run();
}

} // namespace tkc::planner
