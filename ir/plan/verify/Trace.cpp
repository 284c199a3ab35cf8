// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/Turns.h"
#include "ir/plan/verify/GlobalOrder.h"
#include "ir/plan/verify/RoleSummary.h"

#include <algorithm>
#include <set>

namespace tkc::plan {

Numbering::Numbering(const Plan &plan) : blocks(plan.cluster) {
  for (int block = 0; block < blocks; ++block) {
    for (const Buffer &buffer : plan.buffers)
      for (int instance = 0; instance < buffer.instances; ++instance)
        for (int stage = 0; stage < buffer.stages; ++stage)
          slots.push_back({&buffer, stage, block, instance, false});
    for (const TensorBuffer &tensor : plan.tensors)
      for (int stage = 0; stage < tensor.stages; ++stage)
        slots.push_back({&tensor, stage, block, 0, true});
    for (const Barrier &barrier : plan.barriers)
      for (int instance = 0; instance < barrier.instances; ++instance)
        for (int stage = 0; stage < barrier.stages; ++stage)
          barriers.push_back({&barrier, stage, block, instance});
  }
  findOverlaps();
}

void Numbering::findOverlaps() {
  overlapping.resize(slots.size());
  const auto beginOf = [](const Slot &slot) { return slot.buffer->offset + slot.place() * slot.buffer->stageBytes(); };
  const auto meet = [&](const Slot &one, const Slot &other) {
    return one.buffer != other.buffer && one.block == other.block && !one.isTensor && !other.isTensor &&
           beginOf(one) < beginOf(other) + other.buffer->stageBytes() &&
           beginOf(other) < beginOf(one) + one.buffer->stageBytes();
  };
  for (size_t i = 0; i < slots.size(); ++i)
    for (size_t j = 0; j < slots.size(); ++j)
      if (meet(slots[i], slots[j]))
        overlapping[i].push_back(static_cast<int>(j));
}

int Numbering::slotOf(const std::string &buffer) const {
  const auto found = std::ranges::find(slots, buffer, [](const Slot &slot) -> auto & { return slot.buffer->name; });
  return found == slots.end() ? -1 : static_cast<int>(found - slots.begin());
}

int Numbering::barrierOf(const std::string &barrier) const {
  const auto found =
      std::ranges::find(barriers, barrier, [](const BarrierStage &stage) -> auto & { return stage.barrier->name; });
  return found == barriers.end() ? -1 : static_cast<int>(found - barriers.begin());
}

bool operator==(const Event &one, const Event &other) {
  const auto same = [](const std::shared_ptr<const GlobalTouch> &x, const std::shared_ptr<const GlobalTouch> &y) {
    return x && y ? *x == *y : x == y;
  };
  return one.kind == other.kind && one.parity == other.parity && one.stmt == other.stmt &&
         one.barrier == other.barrier && one.instance == other.instance && one.a == other.a && one.b == other.b &&
         one.dest == other.dest && one.scales[0] == other.scales[0] && one.scales[1] == other.scales[1] &&
         same(one.global, other.global);
}

namespace {

class Tracer {
public:
  Tracer(const Plan &plan, const RoleSummary &summary, const Inputs &inputs, int instance, size_t &left,
         Quotients &quotients, Facts *facts)
      : plan(plan), summary(summary), role(summary.role), inputs(inputs), scalars(inputs, instance), instance(instance),
        left(left), quotients(quotients), facts(facts), cursors(static_cast<size_t>(summary.numCursors)),
        occurrences(static_cast<size_t>(summary.numStmts)) {
    events.reserve(static_cast<size_t>(summary.numStmts));
  }

  std::optional<Trace> run(const std::vector<Tile> &tiles) {
    isLaunched = plan.grid.ragged || !tiles.empty();
    body(summary.prelude);
    for (const Tile &tile : tiles) {
      ++tileNumber;
      for (size_t i = 0; i < tile.size(); ++i)
        scalars.set(plan.grid.axes[i].name, tile[i]);
      body(summary.body);
    }
    tileNumber = -1;
    body(summary.finish);
    forgiveUnread();
    return left == 0 ? std::nullopt : std::optional(Trace{std::move(events), std::move(boxes)});
  }

private:
  struct CursorState {
    int64_t stage = 0, round = 0;
    const Stmt *advance = nullptr; ///< the last
  };

  CursorState &cursorAt(int number) { return cursors[static_cast<size_t>(number)]; }
  const CursorState &use(int number) {
    const CursorState &cursor = cursorAt(number);
    if (facts && cursor.advance)
      facts->counted.insert(cursor.advance);
    return cursor;
  }

  bool mayGoOn() { return left != 0 && --left != 0; }

  void body(const ResolvedBody &statements) {
    for (const ResolvedStmt &each : statements) {
      if (!mayGoOn())
        return;
      if (each.stmt->kind == StmtKind::Expect)
        ownCopies(&each + 1, statements.data() + statements.size());
      stmt(each);
    }
  }

  /// The copies after an Expect that no copy engine does come before its arrivals.
  void ownCopies(const ResolvedStmt *at, const ResolvedStmt *end) {
    for (; at != end && at->stmt->kind == StmtKind::CopyIn; ++at)
      if (at->stmt->map.empty() && !at->stmt->isThreadCopy())
        emit(Event::CopyIn, *at).a = touched(at->ref);
  }

  void stmt(const ResolvedStmt &it);
  void product(const ResolvedStmt &it);
  void loop(const ResolvedStmt &it);
  void passBy(const ResolvedStmt &it);
  void passBy(const ResolvedBody &body);
  void forgiveUnread();
  void tileAhead(const ResolvedStmt &it);
  void divide(const Stmt &stmt);
  void access(const Stmt &stmt);
  void registers(const ResolvedStmt &it) {
    if (it.touchesProducts)
      emit(Event::Registers, it);
  }
  void assign(const ResolvedStmt &it) {
    if (it.scalar)
      scalars.run(*it.stmt, *it.scalar, occurrences[static_cast<size_t>(it.number)]++);
  }
  /// What of global memory the statement accesses, where that is to stay in order.
  std::shared_ptr<const GlobalTouch> globalOf(const ResolvedStmt &it) const {
    if (tileNumber < 0 || !it.isWatched)
      return nullptr;
    return std::make_shared<const GlobalTouch>(globalTouch(plan, role, *it.stmt, scalars, tileNumber));
  }
  void global(const ResolvedStmt &it) {
    if (std::shared_ptr<const GlobalTouch> touch = globalOf(it))
      emit(Event::Global, it).global = std::move(touch);
  }
  /// Where the box of a copy by the engine begins along its tensor's rows, parts and shares of it apart.
  int64_t columnOf(const Stmt &stmt) const {
    const ir::ViewIndex &index = stmt.view.indices[static_cast<size_t>(plan.findMap(stmt.map)->colDim)];
    const bool isTiled = index.kind == ir::ViewIndex::Tiled;
    return (isTiled ? scalars.get(stmt.operands[index.operand]).begin : index.lo) + stmt.colLo;
  }
  Event &emit(Event::Kind kind, const ResolvedStmt &it) {
    Event &event = events.emplace_back();
    event.kind = kind;
    event.stmt = it.stmt;
    event.instance = turn;
    if (kind == Event::CopyIn || kind == Event::CopyOut || kind == Event::ThreadCopy)
      event.global = globalOf(it);
    if ((kind == Event::CopyIn || kind == Event::CopyOut) && !it.stmt->map.empty())
      boxes.push_back({it.stmt, columnOf(*it.stmt)});
    if (it.barrier >= 0)
      event.barrier = it.barrier + static_cast<int>(use(it.cursor).stage);
    return event;
  }
  Touched touched(const ResolvedRef &ref) {
    if (ref.slot < 0)
      return {};
    const CursorState &cursor = use(ref.cursor);
    return {ref.buffer,
            ref.ringStages > 0 ? cursor.round * ref.ringStages + cursor.stage : -1,
            ref.slot + static_cast<int>(cursor.stage),
            ref.slice,
            ref.transposed,
            inSurplus};
  }

  /// A stage and the round in which it is filled.
  static std::pair<int, int64_t> placeOf(const Touched &touched) { return {touched.slot, touched.step}; }

  const Plan &plan;
  const RoleSummary &summary;
  const Role &role;
  const Inputs &inputs;
  Scalars scalars;
  const int instance;
  int turn = -1; ///< in Each: the instance
  int tileNumber = -1;
  size_t &left;           ///< statements that may still be run
  bool isLaunched = true; ///< a grid that has no tile is not, unless what it has is found on the device
  bool inSurplus = false; ///< the body of an Ahead for a tile that does not exist
  Quotients &quotients;
  Facts *facts;
  std::vector<Event> events;
  std::vector<BoxStart> boxes;
  std::vector<CursorState> cursors;           ///< by number
  std::set<std::pair<int, int64_t>> passedBy; ///< stages and rounds that loops of no iterations would have read
  std::vector<uint64_t> occurrences;          ///< of each statement
};

/// Of tiles nothing is known.
void Tracer::divide(const Stmt &stmt) {
  if (stmt.quotient == ir::Quotient::Any || !isLaunched)
    return;
  const auto isBelow = [&](size_t operand, double least) {
    const Scalar *known = scalars.find(stmt.operands[operand]);
    return known && known->value < least;
  };
  if (isBelow(1, 1) || (stmt.quotient == ir::Quotient::Natural && isBelow(0, 0)))
    quotients.wrong = &stmt;
}

void Tracer::access(const Stmt &stmt) {
  if (stmt.view.indices.empty() || stmt.hasElse || inSurplus)
    return;
  const auto tensor = std::find_if(plan.params.begin(), plan.params.end(),
                                   [&](const ir::Param &param) { return param.name == stmt.view.tensor; });
  if (tensor == plan.params.end())
    return;
  const auto sizeOf = [&](const std::string &symbol) {
    const auto found = inputs.dims.find(symbol);
    return found == inputs.dims.end() ? std::nullopt : std::optional(found->second);
  };
  for (size_t i = 0; i < stmt.view.indices.size() && i < tensor->dims.size(); ++i) {
    const ir::ViewIndex::Kind kind = stmt.view.indices[i].kind;
    if (kind == ir::ViewIndex::Element || kind == ir::ViewIndex::Gather)
      quotients.isPromised &= ir::evaluate(tensor->dims[i], sizeOf).value_or(1) > 0;
  }
}

void Tracer::loop(const ResolvedStmt &it) {
  const Stmt &stmt = *it.stmt;
  auto lo = toInteger(scalars.get(stmt.operands[0]).value);
  int64_t step = std::max<int64_t>(stmt.tileSize, 1);
  const int64_t hi = inputs.endOf(lo, toInteger(scalars.get(stmt.operands[1]).value), step);
  bool pipelined = !stmt.prologue.empty() || !stmt.epilogue.empty();
  bool goesOn = stmt.operands.size() > 2 && toInteger(scalars.get(stmt.operands[2]).value) < lo;
  const auto [first, every] = turnOf(stmt, instance);
  const int64_t begin = lo + first * step;
  for (int64_t at = begin, index = first; at < hi && mayGoOn(); at += every * step, index += every) {
    scalars.set(stmt.dest, {static_cast<double>(at), at, std::min(at + step, hi), index});
    body(pipelined && !goesOn && index == first ? it.prologue : it.body);
  }
  if (begin >= hi)
    passBy(it);
  body(goesOn || begin < hi ? it.epilogue : it.orElse);
}

/// Nobody need read what a loop of no iterations would have read.
void Tracer::passBy(const ResolvedStmt &it) {
  for (const ResolvedRef *ref : {&it.ref, &it.a, &it.scales[0], &it.scales[1]})
    if (ref->ringStages > 0)
      passedBy.insert(placeOf(touched(*ref)));
  for (const ResolvedBody *inner : {&it.prologue, &it.body, &it.epilogue, &it.orElse})
    passBy(*inner);
}

void Tracer::passBy(const ResolvedBody &body) {
  for (const ResolvedStmt &it : body)
    passBy(it);
}

void Tracer::forgiveUnread() {
  for (Event &event : events)
    event.a.isSurplus |= passedBy.count(placeOf(event.a)) != 0;
}

void Tracer::tileAhead(const ResolvedStmt &it) {
  const Stmt &stmt = *it.stmt;
  auto lo = toInteger(scalars.get(stmt.operands[0]).value);
  int64_t step = std::max<int64_t>(stmt.tileSize, 1);
  const int64_t hi = inputs.endOf(lo, toInteger(scalars.get(stmt.operands[1]).value), step);
  int64_t from = stmt.operands.size() > 2 ? (scalars.get(stmt.operands[2]).begin - lo) / step : 0;
  int64_t begin = lo + (from + stmt.count) * step;
  if (begin >= hi && !stmt.always)
    return body(it.orElse);
  scalars.set(stmt.dest, {static_cast<double>(begin), begin, std::min(begin + step, hi), from + stmt.count});
  const bool outer = inSurplus;
  inSurplus = outer || begin >= hi;
  body(it.body);
  inSurplus = outer;
}

void Tracer::product(const ResolvedStmt &it) {
  const Stmt &stmt = *it.stmt;
  if (stmt.isSynchronous())
    registers(it);
  Event event{.kind = stmt.isSynchronous() ? Event::LoadShared : Event::Product,
              .stmt = &stmt,
              .instance = turn,
              .a = touched(it.a),
              .b = touched(it.ref),
              .dest = touched(it.dest),
              .scales = {touched(it.scales[0]), touched(it.scales[1])}};
  events.push_back(event);
  // In turns: a barrier comes after the reads of each turn, and between two turns.
  for (int barrier = 1; barrier < 2 * stmt.turns; ++barrier) {
    emit(Event::Sync, it);
    if (barrier % 2 == 0)
      events.push_back(event);
  }
}

void Tracer::stmt(const ResolvedStmt &it) {
  const Stmt &stmt = *it.stmt;
  if (facts)
    facts->executed.insert(&stmt);
  divide(stmt);
  access(stmt);
  switch (stmt.kind) {
  case StmtKind::Compute:
    // The runtime takes two halves of the scratch buffer in turn, so that the one barrier orders every access to it.
    if (!stmt.ref.buffer.empty())
      emit(Event::Sync, it);
    registers(it);
    return assign(it);
  case StmtKind::Move:
  case StmtKind::Spread:
    registers(it);
    return assign(it);
  case StmtKind::Load:
    registers(it);
    global(it);
    return assign(it);
  case StmtKind::Store:
  case StmtKind::Atomic:
    global(it);
    return registers(it);
  case StmtKind::LoadShared:
  case StmtKind::LookUp:
    registers(it);
    emit(Event::LoadShared, it).a = touched(it.ref);
    return;
  case StmtKind::Fetch:
    return global(it);
  case StmtKind::Place:
    emit(Event::StoreShared, it).a = touched(it.ref);
    return;
  case StmtKind::StoreShared:
    registers(it);
    emit(Event::StoreShared, it).a = touched(it.ref);
    return;
  case StmtKind::FenceProxy:
    emit(Event::FenceProxy, it);
    return;
  case StmtKind::LoadTensor:
    emit(Event::LoadTensor, it).a = touched(it.ref);
    return;
  case StmtKind::StoreTensor:
  case StmtKind::ScaleTensor:
    emit(Event::StoreTensor, it).a = touched(it.ref);
    return;
  case StmtKind::TensorFence:
    emit(Event::TensorFence, it);
    return;
  case StmtKind::Sync:
  case StmtKind::Stagger:
    emit(Event::Sync, it);
    return;
  case StmtKind::Expect:
    emit(Event::Expect, it);
    return;
  case StmtKind::CopyIn:
    if (stmt.isThreadCopy()) {
      emit(Event::ThreadCopy, it).a = touched(it.ref);
      return;
    }
    // Copies by the role's own threads went before the Expect, whose arrivals tell that they are done.
    if (!stmt.map.empty())
      emit(Event::CopyIn, it).a = touched(it.ref);
    return;
  case StmtKind::Claim:
    emit(Event::CopyIn, it).a = touched(it.ref);
    return;
  case StmtKind::NextTile:
    emit(Event::LoadShared, it).a = touched(it.ref);
    return;
  case StmtKind::CopyOut:
    emit(stmt.map.empty() ? Event::LoadShared : Event::CopyOut, it).a = touched(it.ref);
    if (stmt.map.empty())
      global(it);
    return;
  case StmtKind::CopyCommit:
    emit(Event::CopyCommit, it);
    return;
  case StmtKind::CopyWait:
    emit(Event::CopyWait, it);
    return;
  case StmtKind::BulkCommit:
    emit(Event::BulkCommit, it);
    return;
  case StmtKind::BulkWait:
    emit(Event::BulkWait, it);
    return;
  case StmtKind::Record:
  case StmtKind::WaitForPrevious: // of the prelude
    return;
  case StmtKind::ProductFence:
    emit(Event::ProductFence, it);
    return;
  case StmtKind::Product:
    return product(it);
  case StmtKind::ProductCommit:
    emit(Event::ProductCommit, it);
    return;
  case StmtKind::ProductWait:
    emit(Event::ProductWait, it);
    return;
  case StmtKind::ClusterSync:
    emit(Event::ClusterSync, it);
    return;
  case StmtKind::Wait:
    emit(Event::Wait, it).parity = ((cursorAt(it.cursor).round % 2) != 0) != stmt.as<Wait>().inverted;
    return;
  case StmtKind::Arrive:
    emit(Event::Arrive, it);
    return;
  case StmtKind::Advance: {
    CursorState &cursor = cursorAt(it.cursor);
    for (int left = stagesBy(stmt.as<Advance>(), instance); left > 0; --left)
      if (++cursor.stage >= it.ringStages)
        cursor = {0, cursor.round + 1, nullptr};
    cursor.advance = &stmt;
    return;
  }
  case StmtKind::For:
    return loop(it);
  case StmtKind::If: {
    bool taken = !stmt.turn.empty() ? use(it.cursor).stage == instance
                                    : (stmt.map.empty() || inputs.mapsFit.at(stmt.map)) &&
                                          (stmt.operands.empty() || scalars.get(stmt.operands[0]).value != 0);
    return body(taken ? it.body : it.orElse);
  }
  case StmtKind::Ahead:
    return tileAhead(it);
  case StmtKind::Each:
    for (turn = 0; turn < role.instances; ++turn)
      body(it.body);
    turn = -1;
    return;
  }
}

/// Runs the prelude and the bounds of ragged axes.
void runScalars(const Plan &plan, const Body &body, Scalars &scalars) {
  for (const Stmt &stmt : body)
    if (stmt.kind == StmtKind::Compute || stmt.kind == StmtKind::Move || stmt.kind == StmtKind::Load)
      for (const Var &var : plan.preludeVars)
        if (var.name == stmt.dest)
          scalars.run(stmt, var.type, 0);
}

} // namespace

std::vector<Tile> chooseTiles(const Plan &plan, const Inputs &inputs, int block) {
  std::vector<Tile> tiles;
  uint64_t hash = inputs.seed;
  int wanted = plan.grid.persistent ? inputs.tiles : 1;
  for (int i = 0; i < wanted; ++i) {
    Scalars scalars(inputs);
    runScalars(plan, plan.prelude, scalars);
    Tile tile;
    for (const GridAxis &axis : plan.grid.axes) {
      runScalars(plan, axis.bounds, scalars);
      auto lo = toInteger(scalars.get(axis.lo).value), hi = toInteger(scalars.get(axis.hi).value);
      int64_t step = std::max<int64_t>(axis.tileSize, 1), steps = std::max<int64_t>(0, (hi - lo + step - 1) / step);
      if (steps == 0)
        break;
      hash = mix(hash, static_cast<uint64_t>(i));
      const int64_t each = plan.blocksAlong(axis.name);
      auto index = static_cast<int64_t>(hash % static_cast<uint64_t>((steps + each - 1) / each)) * each;
      index += plan.placeAlong(axis.name, block);
      int64_t begin = lo + index * step;
      tile.push_back({static_cast<double>(begin), begin, std::min(begin + step, hi), index});
      scalars.set(axis.name, tile.back());
    }
    if (tile.size() == plan.grid.axes.size())
      tiles.push_back(std::move(tile));
  }
  return tiles;
}

std::optional<Trace> trace(const Plan &plan, const RoleSummary &role, const Inputs &inputs,
                           const std::vector<Tile> &tiles, int instance, size_t &left, Quotients &quotients,
                           Facts *facts) {
  return Tracer(plan, role, inputs, instance, left, quotients, facts).run(tiles);
}

} // namespace tkc::plan
