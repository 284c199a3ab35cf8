// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/verify/Order.h"

#include "ir/plan/verify/GlobalOrder.h"
#include "ir/plan/verify/Memory.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::plan {
namespace {

class Run {
public:
  Run(const Plan &plan, const Numbering &numbering, const std::vector<Process> &processes, const std::string &where,
      Report &report, Facts *facts)
      : plan(plan), numbering(numbering), where(where), report(report), facts(facts), components(processes, numbering),
        memory(numbering, components), globalMemory(components), barriers(numbering.barriers.size()),
        named(static_cast<size_t>(components.numNamed())) {
    for (const Process &process : processes)
      states.push_back({process, Clock(components.count()), 0, 0, 0, 0, 0, 0, -1, 0, false, true, {}});
    for (BarrierState &barrier : barriers)
      barrier.join = Clock(components.count());
    for (NamedState &barrier : named)
      barrier.join = Clock(components.count());
  }

  void run() {
    bool progress = true;
    while (progress && !report.full()) {
      progress = false;
      for (size_t p = 0; p < states.size(); ++p)
        while (states[p].at < states[p].process.events->size() && step(p))
          progress = true;
    }
    if (report.full())
      return;
    if (std::any_of(states.begin(), states.end(), [](auto &state) { return state.at < state.process.events->size(); }))
      deadlock();
    else
      exit();
  }

private:
  struct State {
    Process process;
    Clock clock;
    size_t at;
    int syncs;          ///< barriers of its own threads passed: named ones, and those of the cluster
    int committed;      ///< product groups
    int bulk;           ///< bulk groups committed
    int copies;         ///< copy groups committed, or loads to shared memory issued
    int copied;         ///< of these waited for
    int arrivedAt;      ///< the generation of the named barrier that this process is blocked at; -1: none
    int clusterSyncs;   ///< barriers of the cluster passed
    bool atClusterSync; ///< and whether it stands at the next
    bool fencedAfter;   ///< a tensor fence came since it last passed a barrier
    std::vector<Clock> commitClocks;
    int globals = 0;     ///< accesses to global memory
    int globalSyncs = 0; ///< barriers for these passed
  };
  struct LastWait {
    int phase = -2, time = 0;
    const Stmt *stmt = nullptr;
  };
  struct BarrierState {
    int completed = 0, arrivals = 0;
    int64_t pendingBytes = 0, expected = 0, copied = 0;
    bool counted = false; ///< bytes in this phase
    Clock join;
    std::vector<Clock> history;                        ///< what the end of each phase tells
    std::vector<std::vector<const Stmt *>> arrivalsOf; ///< by phase, that under way too
    std::map<size_t, LastWait> waits;                  ///< by process
    const Stmt *lastArrival = nullptr;
  };
  struct NamedState {
    int completed = 0, arrived = 0, threads = 0;
    Clock join;
    Clock last; ///< what the end of the last generation tells
    const Stmt *stmt = nullptr;
  };

  // ---- names for messages

  std::string name(size_t p) const { return components.name(p); }
  std::string barrierName(int b) const {
    const Numbering::BarrierStage &stage = numbering.barriers[static_cast<size_t>(b)];
    std::string name = fmt::format("{}[{}]", stage.barrier->name, stage.stage);
    if (stage.barrier->instances > 1)
      name += fmt::format(" of instance {}", stage.instance + 1);
    return numbering.blocks == 1 ? name : fmt::format("{} of block {}", name, stage.block + 1);
  }
  int barrierOf(size_t p, const Event &event) const {
    return numbering.barrierIn(states[p].process.block, event.barrier, instanceOf(p, event));
  }
  int instanceOf(size_t p, const Event &event) const {
    return event.instance >= 0 ? event.instance : states[p].process.instance;
  }
  void violation(const Stmt &stmt, const std::string &message) { report.add(stmt.loc, message + where); }

  // ---- one event; false where the process has to wait

  bool step(size_t p) {
    State &state = states[p];
    const Event &event = (*state.process.events)[state.at];
    const bool isOthers = (event.stmt->inFirst || state.process.role->inFirst) && state.process.block > 0;
    if (isOthers || (!state.process.elected && isElected(event)) ||
        (event.stmt->firstInstance && instanceOf(p, event) > 0) || isForOtherHalf(state.process, *event.stmt))
      return ++state.at, true;
    if (!perform(p, event))
      return false;
    ++state.at;
    return true;
  }

  static bool isForOtherHalf(const Process &process, const Stmt &stmt) {
    const bool isFirst = process.instance < process.role->instances / 2;
    return stmt.kind == StmtKind::Stagger && isFirst != stmt.as<Stagger>().firstHalf;
  }

  static bool isElected(const Event &event) {
    switch (event.kind) {
    case Event::Arrive:
      return !event.stmt->as<Arrive>().byWarps;
    case Event::CopyIn:
    case Event::CopyOut:
    case Event::BulkCommit:
    case Event::BulkWait:
      return true;
    case Event::Expect:
    case Event::Wait:
    case Event::ThreadCopy:
    case Event::CopyCommit:
    case Event::CopyWait:
    case Event::LoadShared:
    case Event::StoreShared:
    case Event::FenceProxy:
    case Event::Sync:
    case Event::LoadTensor:
    case Event::StoreTensor:
    case Event::TensorFence:
    case Event::Product:
    case Event::ProductFence:
    case Event::ProductCommit:
    case Event::ProductWait:
    case Event::ClusterSync:
    case Event::Global:
    case Event::Registers:
      return event.stmt->one;
    }
    return false;
  }

  bool perform(size_t p, const Event &event) {
    State &state = states[p];
    switch (event.kind) {
    case Event::Wait:
      return wait(p, event);
    case Event::Arrive: {
      const auto &stmt = event.stmt->as<plan::Arrive>();
      if (stmt.byWarps) // whose threads meet before one of them arrives
        state.clock.raise(components.copies(p), state.copied);
      for (int block = 0; block < numbering.blocks; ++block)
        if (stmt.inCluster ? plan.areMates(block, state.process.block)
                           : block == (stmt.toFirst ? 0 : state.process.block))
          arrive(p, event, numbering.barrierIn(block, event.barrier, instanceOf(p, event)), 0,
                 stmt.byWarps ? state.process.threads / state.process.role->lanes : 1);
      return true;
    }
    case Event::Expect: {
      const auto &stmt = event.stmt->as<plan::Expect>();
      arrive(p, event, numbering.barrierIn(stmt.toFirst ? 0 : state.process.block, event.barrier, instanceOf(p, event)),
             state.process.elected ? stmt.bytes : 0, event.stmt->one ? 1 : state.process.threads);
      return true;
    }
    case Event::CopyIn:
      for (int block = 0; block < numbering.blocks; ++block)
        if (block == state.process.block || event.stmt->inCluster ||
            (event.stmt->multicast != Division::Whole && !event.stmt->toFirst &&
             plan.standAlong(event.stmt->along, block, state.process.block)))
          copyIn(p, event, block);
      return true;
    case Event::CopyOut:
      global(p, event, GlobalAccess::CopyWrite, {});
      access(p, event, event.a, Access::BulkRead, {components.bulk(state.process.engine), state.bulk + 1});
      return true;
    case Event::BulkCommit:
      ++state.bulk;
      return true;
    case Event::BulkWait:
      state.clock.raise(components.bulk(state.process.engine), state.bulk - event.stmt->as<plan::BulkWait>().left);
      return true;
    case Event::ThreadCopy:
      state.copies += event.stmt->loads;
      global(p, event, GlobalAccess::CopyRead,
             {components.copies(p), event.stmt->loads > 0 ? state.copies : state.copies + 1});
      access(p, event, event.a, Access::ThreadCopy,
             {components.copies(p), event.stmt->loads > 0 ? state.copies : state.copies + 1});
      return true;
    case Event::CopyCommit:
      ++state.copies;
      return true;
    case Event::CopyWait:
      state.copied = std::max(state.copied, state.copies - event.stmt->as<plan::CopyWait>().left);
      return true;
    case Event::LoadShared:
    case Event::StoreShared: {
      int time = ++state.clock.at(components.generic(p));
      Access::Agent agent = event.kind == Event::LoadShared ? Access::GenericRead : Access::GenericWrite;
      const int block = (state.process.block + event.stmt->fromBlock) % numbering.blocks;
      for (const Touched &touched : {event.a, event.b, event.scales[0], event.scales[1]})
        access(p, event, touched, agent, {components.generic(p), time}, block);
      if (block != state.process.block)
        remoteReads[{p, block}] = {components.generic(p), time, event.stmt};
      return true;
    }
    case Event::LoadTensor:
    case Event::StoreTensor: {
      const int time = ++state.clock.at(components.generic(p));
      access(p, event, event.a, event.kind == Event::LoadTensor ? Access::GenericRead : Access::GenericWrite,
             {components.generic(p), time});
      return true;
    }
    case Event::TensorFence:
      if (event.stmt->as<plan::TensorFence>().afterBarrier)
        state.fencedAfter = true;
      else
        state.clock.raise(components.tensorFence(p), state.clock.at(components.generic(p)));
      return true;
    case Event::FenceProxy:
      state.clock.raise(components.fence(p), state.clock.at(components.generic(p)));
      state.clock.raise(components.copyFence(p), state.copied);
      return true;
    case Event::Sync:
      return sync(p, event);
    case Event::Product:
      for (int block = 0; block < numbering.blocks; ++block)
        if (event.stmt->byPair || block == state.process.block)
          product(p, event, block);
      return true;
    case Event::ProductCommit: {
      const auto &stmt = event.stmt->as<plan::ProductCommit>();
      tick(p);
      ++state.committed;
      state.commitClocks.push_back(state.clock);
      for (int block = 0; block < numbering.blocks && !stmt.completes.empty(); ++block)
        if (stmt.inCluster ? plan.areMates(block, state.process.block) : block == state.process.block)
          arriveLater(p, event, numbering.barrierIn(block, event.barrier, instanceOf(p, event)));
      return true;
    }
    case Event::ProductWait:
      return productWait(p, event);
    case Event::ClusterSync:
      return clusterSync(p);
    case Event::Global:
      byThreads(p, event);
      return true;
    case Event::ProductFence:
    case Event::Registers:
      return true;
    }
    return true;
  }

  /// A scalar is stored by one thread; what many hold, by the first instance.
  void byThreads(size_t p, const Event &event) {
    State &state = states[p];
    const Stmt &stmt = *event.stmt;
    const VarType &held = event.global->held;
    const bool isOwn = stmt.kind != StmtKind::Load || stmt.own;
    const bool ofFirst = isOwn && stmt.kind != StmtKind::Fetch && stmt.kind != StmtKind::CopyOut &&
                         (held.kind == VarType::Scalar || (stmt.own && heldPart(held) == Division::Whole));
    if (ofFirst && (instanceOf(p, event) > 0 || (held.kind == VarType::Scalar && !state.process.elected)))
      return;
    const bool isRead = stmt.kind == StmtKind::Load || stmt.kind == StmtKind::Fetch;
    global(p, event, isRead ? GlobalAccess::Read : GlobalAccess::Write, {components.global(p), ++state.globals});
  }

  void global(size_t p, const Event &event, GlobalAccess::Agent agent, Access::End end) {
    if (!event.global)
      return;
    const State &state = states[p];
    const std::string problem = globalMemory.access(
        {event.stmt, agent, p, state.at, instanceOf(p, event), event.global.get(), end, state.globalSyncs},
        state.clock);
    if (!problem.empty())
      violation(*event.stmt, problem);
  }

  int tick(size_t p) { return ++states[p].clock.at(components.time(p)); }

  /// What a product does in `block`: in its own, or in each of a pair's.
  void product(size_t p, const Event &event, int block) {
    const State &state = states[p];
    const Access::End end{components.engine(state.process.engine), state.committed + 1};
    for (const Touched &touched : {event.a, event.b, event.scales[0], event.scales[1]})
      access(p, event, touched, Access::ProductRead, end, block);
    access(p, event, event.dest, Access::ProductWrite, end, block);
  }

  void access(size_t p, const Event &event, const Touched &touched, Access::Agent agent, Access::End end) {
    access(p, event, touched, agent, end, states[p].process.block);
  }

  void access(size_t p, const Event &event, const Touched &touched, Access::Agent agent, Access::End end, int block) {
    if (touched.slot < 0)
      return;
    Process process = states[p].process;
    process.instance = instanceOf(p, event);
    const int slot = numbering.slotIn(block, touched.slot, process.instance);
    const bool isGeneric = agent == Access::GenericRead || agent == Access::GenericWrite;
    const Rect rect = numbering.isTensor(slot)
                          ? tensorRectOf(touched, numbering.slots[static_cast<size_t>(slot)].stage, process, isGeneric)
                          : shareOfRank(rectOf(touched, process), event, process.block);
    access(p, event, slot, rect, agent, end, touched);
  }

  /// Of what an instance reads, the columns that are those of the block's rank.
  Rect shareOfRank(Rect rect, const Event &event, int rank) const {
    if (event.stmt->share == Division::Cols) {
      const Rect share = shareOf(event.a, Division::Cols, rank, numbering.blocks);
      rect.colLo = share.colLo, rect.colHi = share.colHi;
    }
    return rect;
  }

  void access(size_t p, const Event &event, int slot, const Rect &rect, Access::Agent agent, Access::End end,
              const Touched &touched) {
    State &state = states[p];
    Access access{event.stmt,       agent, p, state.at, rect, end, state.syncs, slot, touched.step, touched.isSurplus,
                  state.fencedAfter};
    std::string problem = memory.access(slot, access, state.clock);
    if (!problem.empty())
      violation(*event.stmt, problem);
  }

  // ---- mbarriers

  /// A wait on a parity passes when the newest phase of that parity is over: PTX ISA, "mbarrier.try_wait.parity". Which
  /// phase that is follows from what the process knows of the barrier.
  bool wait(size_t p, const Event &event) {
    State &state = states[p];
    const int number = barrierOf(p, event);
    BarrierState &barrier = barriers[static_cast<size_t>(number)];
    int component = components.barrier(number), phase = state.clock.at(component) - 1;
    if (((phase & 1) != 0) != event.parity)
      ++phase;
    if (barrier.completed < phase + 1)
      return false;
    if (barrier.completed > phase + 1) {
      violation(*event.stmt, fmt::format("`{}` of `{}` can come when `{}` is two phases on, and then waits for a third",
                                         print(*event.stmt), name(p), barrierName(number)));
    }
    if (phase >= 0) {
      state.clock.join(barrier.history[static_cast<size_t>(phase)]);
      if (facts) {
        const std::vector<const Stmt *> &arrivals = barrier.arrivalsOf[static_cast<size_t>(phase)];
        facts->awaited.insert(arrivals.begin(), arrivals.end());
        facts->awaitedBarriers.insert(event.stmt->barrier()->barrier);
      }
    }
    barrier.waits[p] = {phase, tick(p), event.stmt};
    state.fencedAfter = false;
    return true;
  }

  void arrive(size_t p, const Event &event, int number, int64_t bytes, int count) {
    BarrierState &barrier = barriers[static_cast<size_t>(number)];
    const Stmt &stmt = *event.stmt;
    if (states[p].clock.at(components.barrier(number)) < barrier.completed)
      violation(stmt,
                fmt::format("`{}` of `{}` may come before phase {} of `{}` is over, and count for it: nothing that "
                            "`{}` waited for says that it is",
                            print(stmt), name(p), barrier.completed - 1, barrierName(number), name(p)));
    int needed = numbering.barriers[static_cast<size_t>(number)].barrier->arrivals;
    if (barrier.arrivals + count > needed) {
      violation(stmt, fmt::format("`{}` of `{}` is one arrival more than the {} that a phase of `{}` takes",
                                  print(stmt), name(p), needed, barrierName(number)));
      return;
    }
    barrier.arrivals += count;
    barrier.expected += bytes;
    barrier.pendingBytes += bytes;
    barrier.counted |= bytes > 0;
    barrier.lastArrival = &stmt;
    barrier.arrivalsOf.resize(static_cast<size_t>(barrier.completed) + 1);
    barrier.arrivalsOf.back().push_back(&stmt);
    const int time = tick(p);
    const int block = numbering.barriers[static_cast<size_t>(number)].block;
    if (block != states[p].process.block)
      remoteArrivals[{p, block}] = {components.time(p), time, &stmt};
    barrier.join.join(states[p].clock);
    maybeComplete(p, number);
  }

  /// An arrival once all products so far are over: it tells of them, and the thread itself goes on without knowing.
  void arriveLater(size_t p, const Event &event, int number) {
    State &state = states[p];
    const Clock known = state.clock;
    state.clock.raise(components.engine(state.process.engine), state.committed);
    barriers[static_cast<size_t>(number)].counted = true;
    arrive(p, event, number, 0, 1);
    const int time = state.clock.at(components.time(p));
    state.clock = known;
    state.clock.raise(components.time(p), time);
  }

  /// What a copy brings to `block`: all it copies, where it is not this block's share for several blocks.
  void copyIn(size_t p, const Event &event, int block) {
    const int counting = event.stmt->toFirst ? 0 : block;
    const int number = numbering.barrierIn(counting, event.barrier, states[p].process.instance);
    BarrierState &barrier = barriers[static_cast<size_t>(number)];
    State &state = states[p];
    int component = components.barrier(number);
    if (state.clock.at(component) < barrier.completed)
      violation(
          *event.stmt,
          fmt::format("`{}` of `{}` may bring its bytes before phase {} of `{}` is over: nothing that `{}` waited for "
                      "says that it is",
                      print(*event.stmt), name(p), barrier.completed - 1, barrierName(number), name(p)));
    const bool isShare = event.stmt->multicast != Division::Whole && !event.stmt->toFirst;
    const std::string &along = event.stmt->along;
    const Rect rect = isShare ? shareOf(event.a, event.stmt->multicast, plan.placeAlong(along, state.process.block),
                                        plan.blocksAlong(along))
                              : rectOf(event.a, state.process);
    access(p, event, numbering.slotIn(block, event.a.slot, states[p].process.instance), rect, Access::CopyWrite,
           {component, barrier.completed + 1}, event.a);
    if (block == state.process.block)
      global(p, event, GlobalAccess::CopyRead, {component, barrier.completed + 1});
    const bool isClaim = event.stmt->kind == StmtKind::Claim;
    int64_t bytes = event.stmt->map.empty() && !isClaim ? 0
                    : isShare                           ? bytesOf(event.a.buffer->elem, rect.area())
                                                        : event.a.buffer->copiedBytes();
    barrier.copied += bytes;
    barrier.pendingBytes -= bytes;
    barrier.counted = true;
    tick(p);
    barrier.join.join(state.clock);
    maybeComplete(p, number);
  }

  void maybeComplete(size_t p, int b) {
    BarrierState &barrier = barriers[static_cast<size_t>(b)];
    int needed = numbering.barriers[static_cast<size_t>(b)].barrier->arrivals;
    if (barrier.arrivals < needed || barrier.pendingBytes != 0)
      return;
    State &state = states[p];
    // Where nobody else's arrival and no copy is part of the phase, the last to arrive knows that it is over.
    bool knows = !barrier.counted && barrier.join.isBefore(state.clock);
    for (auto &[waiter, last] : barrier.waits)
      if (last.phase == barrier.completed - 1 && barrier.join.at(components.time(waiter)) < last.time)
        violation(*last.stmt,
                  fmt::format("`{}` of `{}` may still stand at phase {} when the next phase of `{}` ends with "
                              "`{}`: its one-bit phase then looks unfinished again",
                              print(*last.stmt), name(waiter), last.phase, barrierName(b),
                              print(*barrier.lastArrival)));
    barrier.join.raise(components.barrier(b), ++barrier.completed);
    if (knows)
      state.clock.raise(components.barrier(b), barrier.completed);
    barrier.history.push_back(barrier.join);
    barrier.join = Clock(components.count());
    barrier.arrivals = 0;
    barrier.expected = barrier.copied = 0;
    barrier.counted = false;
  }

  // ---- named barriers and product groups

  bool sync(size_t p, const Event &event) {
    State &state = states[p];
    const Stmt &stmt = *event.stmt;
    const auto *asSync = stmt.getIf<plan::Sync>();
    const bool global = asSync && asSync->global;
    const auto [first, threads] = *namedBarrier(stmt);
    bool perInstance = threads < threadsOf(*state.process.role);
    auto id = static_cast<size_t>(first + (perInstance ? state.process.instance : 0)) % Components::namedBarriers;
    const size_t number = static_cast<size_t>(state.process.block) * Components::namedBarriers + id;
    NamedState &barrier = named[number];
    int component = components.named(static_cast<int>(number));
    if (state.arrivedAt < 0) {
      if (state.clock.at(component) < barrier.completed)
        violation(stmt, fmt::format("`{}` of `{}` may meet an earlier use of named barrier {}: nothing orders them",
                                    print(stmt), name(p), id));
      if (barrier.stmt && barrier.arrived > 0 && barrier.threads != threads)
        violation(stmt, fmt::format("named barrier {} is used for {} threads by `{}` and for {} by `{}`", id, threads,
                                    print(stmt), barrier.threads, print(*barrier.stmt)));
      state.arrivedAt = barrier.completed;
      barrier.stmt = &stmt;
      barrier.threads = threads;
      barrier.arrived += state.process.threads;
      // A thread's wait tells of its own copies; those of the others of its warp are known after a barrier, too.
      state.clock.raise(components.copies(p), state.copied);
      if (global)
        state.clock.raise(components.global(p), state.globals);
      tick(p);
      barrier.join.join(state.clock);
      if (barrier.arrived > threads)
        violation(stmt,
                  fmt::format("named barrier {} is for {} threads and {} come to it", id, threads, barrier.arrived));
      if (barrier.arrived >= threads) {
        barrier.join.raise(component, ++barrier.completed);
        barrier.last = barrier.join;
        barrier.join = Clock(components.count());
        barrier.arrived = 0;
      }
    }
    if (barrier.completed <= state.arrivedAt)
      return false;
    // Nobody can be two generations behind: the next one needs this process.
    state.clock.join(barrier.last);
    state.arrivedAt = -1;
    ++state.syncs;
    state.globalSyncs += global ? 1 : 0;
    return true;
  }

  /// All warps of an instance issue a product together: one warp's wait says that the others have issued it.
  bool productWait(size_t p, const Event &event) {
    State &state = states[p];
    int groups = state.committed - event.stmt->as<plan::ProductWait>().left;
    if (groups <= 0)
      return true;
    for (State &other : states)
      if (other.process.engine == state.process.engine && other.committed < groups)
        return false;
    for (State &other : states)
      if (other.process.engine == state.process.engine)
        state.clock.joinBut(other.commitClocks[static_cast<size_t>(groups) - 1], components.firstGeneric(),
                            components.firstFence());
    state.clock.raise(components.engine(state.process.engine), groups);
    return true;
  }

  /// Threads that have exited are not waited for: PTX ISA, "barrier.cluster".
  bool clusterSync(size_t p) {
    State &state = states[p];
    const auto generation = static_cast<size_t>(state.clusterSyncs);
    if (!state.atClusterSync) {
      state.atClusterSync = true;
      tick(p);
      if (clusterJoins.size() <= generation)
        clusterJoins.emplace_back(components.count());
      clusterJoins[generation].join(state.clock);
    }
    if (!std::all_of(states.begin(), states.end(), [&](const State &other) {
          return (other.atClusterSync && other.clusterSyncs == state.clusterSyncs) ||
                 other.clusterSyncs > state.clusterSyncs || other.at >= other.process.events->size();
        }))
      return false;
    state.clock.join(clusterJoins[generation]);
    state.atClusterSync = false;
    ++state.clusterSyncs;
    ++state.syncs;
    return true;
  }

  // ---- the end

  void deadlock() {
    std::string waits;
    const Stmt *first = nullptr;
    for (size_t p = 0; p < states.size(); ++p) {
      const State &state = states[p];
      if (state.at >= state.process.events->size() || !state.process.elected)
        continue;
      const Event &event = (*state.process.events)[state.at];
      first = first ? first : event.stmt;
      waits +=
          fmt::format("{}`{}` at `{}`{}", waits.empty() ? "" : ", ", name(p), print(*event.stmt), pending(p, event));
    }
    if (first)
      violation(*first, "deadlock: " + waits + " wait for ever");
  }

  std::string pending(size_t p, const Event &event) const {
    if (event.barrier < 0)
      return {};
    const int number = barrierOf(p, event);
    const BarrierState &barrier = barriers[static_cast<size_t>(number)];
    int needed = numbering.barriers[static_cast<size_t>(number)].barrier->arrivals;
    std::string text = fmt::format(" ({} has {} of {} arrivals", barrierName(number), barrier.arrivals, needed);
    if (barrier.pendingBytes != 0)
      text += fmt::format(", expects {} bytes, copies bring {}", barrier.expected, barrier.copied);
    return text + ")";
  }

  void exit() {
    for (size_t b = 0; b < barriers.size(); ++b) {
      const BarrierState &barrier = barriers[b];
      if (barrier.arrivals == 0 && barrier.pendingBytes == 0)
        continue;
      int number = static_cast<int>(b), needed = numbering.barriers[b].barrier->arrivals;
      std::string message =
          fmt::format("`{}` is left with {} of {} arrivals and {} of {} bytes when the block ends", barrierName(number),
                      barrier.arrivals, needed, barrier.copied, barrier.expected);
      report.add(barrier.lastArrival ? barrier.lastArrival->loc : plan.loc, message + where);
    }
    for (int block = 0; block < numbering.blocks; ++block)
      exit(block);
  }

  /// A block's shared memory is gone once its last thread has exited.
  void exit(int block) {
    Clock all(components.count());
    for (size_t p = 0; p < states.size(); ++p)
      if (states[p].process.block == block) {
        all.join(states[p].clock);
        all.raise(components.copies(p), states[p].copied);
      }
    for (auto &[stmt, problem] : memory.unfinished(block, all))
      violation(*stmt, problem);
    for (const auto *uses : {&remoteArrivals, &remoteReads})
      for (const auto &[from, last] : *uses)
        if (from.second == block && all.at(last.component) < last.time)
          violation(*last.stmt,
                    fmt::format("`{}` of `{}` may come when block {} has ended: nothing that block {} waited "
                                "for says that it is done",
                                print(*last.stmt), name(from.first), block + 1, block + 1));
  }

  const Plan &plan;
  const Numbering &numbering;
  const std::string &where;
  Report &report;
  Facts *facts;
  Components components;
  Memory memory;
  GlobalMemory globalMemory;
  std::vector<State> states;
  std::vector<BarrierState> barriers;
  std::vector<NamedState> named;
  std::vector<Clock> clusterJoins; ///< what those who came to each barrier of the cluster knew
  struct RemoteUse {
    int component;
    int time;
    const Stmt *stmt;
  };
  /// By process and block: its last arrival at a barrier of another block than its own, and its last read there.
  std::map<std::pair<size_t, int>, RemoteUse> remoteArrivals, remoteReads;
};

} // namespace

void checkOrder(const Plan &plan, const Numbering &numbering, const std::vector<Process> &processes,
                const std::string &where, Report &report, Facts *facts) {
  Run(plan, numbering, processes, where, report, facts).run();
}

} // namespace tkc::plan
