// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/verify/GlobalOrder.h"

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
}

int Numbering::slotOf(const Plan &plan, const std::string &buffer, int64_t stage) const {
  int number = static_cast<int>(stage);
  for (const Buffer &each : plan.buffers) {
    if (each.name == buffer)
      return number;
    number += each.stages * each.instances;
  }
  for (const TensorBuffer &each : plan.tensors) {
    if (each.name == buffer)
      return number;
    number += each.stages;
  }
  return -1;
}

int Numbering::barrierOf(const Plan &plan, const std::string &barrier, int64_t stage) const {
  int number = static_cast<int>(stage);
  for (const Barrier &each : plan.barriers) {
    if (each.name == barrier)
      return number;
    number += each.stages * each.instances;
  }
  return -1;
}

bool operator==(const Event &one, const Event &other) {
  const auto same = [](const std::shared_ptr<const GlobalTouch> &x, const std::shared_ptr<const GlobalTouch> &y) {
    return x && y ? *x == *y : x == y;
  };
  return one.kind == other.kind && one.parity == other.parity && one.stmt == other.stmt &&
         one.barrier == other.barrier && one.instance == other.instance && one.a == other.a && one.b == other.b &&
         one.dest == other.dest && std::ranges::equal(one.scales, other.scales) && same(one.global, other.global);
}

namespace {

class Tracer {
public:
  Tracer(const Plan &plan, const RoleSummary &summary, const Numbering &numbering, const Inputs &inputs, int instance,
         size_t &left, Quotients &quotients, Facts *facts)
      : plan(plan), summary(summary), role(summary.role), numbering(numbering), inputs(inputs),
        scalars(inputs, instance), instance(instance), left(left), quotients(quotients), facts(facts) {}

  std::optional<Trace> run(const std::vector<Tile> &tiles) {
    isLaunched = plan.grid.ragged || !tiles.empty();
    body(plan.prelude);
    for (const Tile &tile : tiles) {
      ++tileNumber;
      for (size_t i = 0; i < tile.size(); ++i)
        scalars.set(plan.grid.axes[i].name, tile[i]);
      body(role.body);
    }
    tileNumber = -1;
    body(role.finish);
    forgiveUnread();
    return left == 0 ? std::nullopt : std::optional(Trace{std::move(events), std::move(boxes)});
  }

private:
  struct CursorState {
    int64_t stage = 0, round = 0;
    const Stmt *advance = nullptr; ///< the last
  };

  const CursorState &use(const std::string &name) {
    const CursorState &cursor = cursors[name];
    if (facts && cursor.advance)
      facts->counted.insert(cursor.advance);
    return cursor;
  }

  bool mayGoOn() { return left != 0 && --left != 0; }

  void body(const Body &statements) {
    for (const Stmt &each : statements) {
      if (!mayGoOn())
        return;
      if (each.kind == StmtKind::Expect)
        ownCopies(&each + 1, statements.data() + statements.size());
      stmt(each);
    }
  }

  /// The copies after an Expect that no copy engine does come before its arrivals.
  void ownCopies(const Stmt *at, const Stmt *end) {
    for (; at != end && at->kind == StmtKind::CopyIn; ++at)
      if (at->map.empty() && !at->isThreadCopy())
        emit(Event::CopyIn, *at).a = touched(at->ref);
  }

  void stmt(const Stmt &stmt);
  void loop(const Stmt &stmt);
  void passBy(const Stmt &loop);
  void forgiveUnread();
  void tileAhead(const Stmt &stmt);
  void registers(const Stmt &stmt);
  void assign(const Stmt &stmt);
  void divide(const Stmt &stmt);
  void access(const Stmt &stmt);
  /// What of global memory the statement accesses, where that is to stay in order.
  std::shared_ptr<const GlobalTouch> globalOf(const Stmt &stmt) const {
    if (tileNumber < 0 || !summary.watched.count(stmt.view.tensor))
      return nullptr;
    return std::make_shared<const GlobalTouch>(globalTouch(plan, role, stmt, scalars, tileNumber));
  }
  void global(const Stmt &stmt) {
    if (std::shared_ptr<const GlobalTouch> touch = globalOf(stmt))
      emit(Event::Global, stmt).global = std::move(touch);
  }
  /// Where the box of a copy by the engine begins along its tensor's rows, parts and shares of it apart.
  int64_t columnOf(const Stmt &stmt) const {
    const ir::ViewIndex &index = stmt.view.indices[static_cast<size_t>(plan.findMap(stmt.map)->colDim)];
    const bool isTiled = index.kind == ir::ViewIndex::Tiled;
    return (isTiled ? scalars.get(stmt.operands[index.operand]).begin : index.lo) + stmt.colLo;
  }
  Event &emit(Event::Kind kind, const Stmt &stmt) {
    Event &event = events.emplace_back();
    event.kind = kind;
    event.stmt = &stmt;
    event.instance = turn;
    if (kind == Event::CopyIn || kind == Event::CopyOut || kind == Event::ThreadCopy)
      event.global = globalOf(stmt);
    if ((kind == Event::CopyIn || kind == Event::CopyOut) && !stmt.map.empty())
      boxes.push_back({&stmt, columnOf(stmt)});
    if (const BarrierRef *ref = stmt.barrier())
      event.barrier = numbering.barrierOf(plan, ref->barrier, use(ref->cursor).stage);
    return event;
  }
  Touched touched(const BufferRef &ref) {
    const Buffer *shared = plan.findBuffer(ref.buffer);
    const CursorState &cursor = use(ref.cursor);
    const int64_t step = ref.cursor.empty() ? -1 : cursor.round * summary.types.at(ref.cursor).rows + cursor.stage;
    return {shared ? shared : plan.findTensor(ref.buffer),
            step,
            numbering.slotOf(plan, ref.buffer, cursor.stage),
            ref.slice,
            ref.transposed,
            inSurplus};
  }

  /// A stage and the round in which it is filled.
  static std::pair<int, int64_t> placeOf(const Touched &touched) { return {touched.slot, touched.step}; }

  const Plan &plan;
  const RoleSummary &summary;
  const Role &role;
  const Numbering &numbering;
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
  std::map<std::string, CursorState> cursors; ///< the empty name: stage 0
  std::set<std::pair<int, int64_t>> passedBy; ///< stages and rounds that loops of no iterations would have read
  std::unordered_map<const Stmt *, uint64_t> occurrences;
};

void Tracer::registers(const Stmt &stmt) {
  bool touches = summary.productRegisters.count(stmt.dest) != 0;
  for (const std::string &operand : stmt.operands)
    touches |= summary.productRegisters.count(operand) != 0;
  if (touches)
    emit(Event::Registers, stmt);
}

/// Of tiles nothing is known.
void Tracer::divide(const Stmt &stmt) {
  if (stmt.quotient == ir::Quotient::Any || !isLaunched)
    return;
  const auto isBelow = [&](size_t operand, double least) {
    const std::string &name = stmt.operands[operand];
    return scalars.knows(name) && scalars.get(name).value < least;
  };
  if (isBelow(1, 1) || (stmt.quotient == ir::Quotient::Natural && isBelow(0, 0)))
    quotients.wrong = &stmt;
}

void Tracer::access(const Stmt &stmt) {
  const auto tensor = std::find_if(plan.params.begin(), plan.params.end(),
                                   [&](const ir::Param &param) { return param.name == stmt.view.tensor; });
  if (tensor == plan.params.end() || stmt.hasElse || inSurplus)
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

void Tracer::assign(const Stmt &stmt) {
  const VarType &type = summary.types.at(stmt.dest);
  if (type.kind == VarType::Scalar || type.kind == VarType::TileIndex)
    scalars.run(stmt, type, occurrences[&stmt]++);
}

void Tracer::loop(const Stmt &stmt) {
  auto lo = toInteger(scalars.get(stmt.operands[0]).value);
  int64_t step = std::max<int64_t>(stmt.tileSize, 1);
  const int64_t hi = inputs.endOf(lo, toInteger(scalars.get(stmt.operands[1]).value), step);
  bool pipelined = !stmt.prologue.empty() || !stmt.epilogue.empty();
  bool goesOn = stmt.operands.size() > 2 && toInteger(scalars.get(stmt.operands[2]).value) < lo;
  for (int64_t at = lo, index = 0; at < hi && mayGoOn(); at += step, ++index) {
    scalars.set(stmt.dest, {static_cast<double>(at), at, std::min(at + step, hi), index});
    body(pipelined && !goesOn && index == 0 ? stmt.prologue : stmt.body);
  }
  if (lo >= hi)
    passBy(stmt);
  body(goesOn || lo < hi ? stmt.epilogue : stmt.orElse);
}

/// Nobody need read what a loop of no iterations would have read.
void Tracer::passBy(const Stmt &loop) {
  walk(loop, [&](const Stmt &stmt) {
    std::vector<BufferRef> refs = operandRefs(stmt);
    refs.push_back(stmt.ref);
    for (const BufferRef &ref : refs)
      if (!ref.cursor.empty())
        passedBy.insert(placeOf(touched(ref)));
  });
}

void Tracer::forgiveUnread() {
  for (Event &event : events)
    event.a.isSurplus |= passedBy.count(placeOf(event.a)) != 0;
}

void Tracer::tileAhead(const Stmt &stmt) {
  auto lo = toInteger(scalars.get(stmt.operands[0]).value);
  int64_t step = std::max<int64_t>(stmt.tileSize, 1);
  const int64_t hi = inputs.endOf(lo, toInteger(scalars.get(stmt.operands[1]).value), step);
  int64_t from = stmt.operands.size() > 2 ? (scalars.get(stmt.operands[2]).begin - lo) / step : 0;
  int64_t begin = lo + (from + stmt.count) * step;
  if (begin >= hi && !stmt.always)
    return body(stmt.orElse);
  scalars.set(stmt.dest, {static_cast<double>(begin), begin, std::min(begin + step, hi), from + stmt.count});
  const bool outer = inSurplus;
  inSurplus = outer || begin >= hi;
  body(stmt.body);
  inSurplus = outer;
}

void Tracer::stmt(const Stmt &stmt) {
  if (facts)
    facts->executed.insert(&stmt);
  divide(stmt);
  access(stmt);
  switch (stmt.kind) {
  case StmtKind::Compute:
    // The runtime takes two halves of the scratch buffer in turn, so that the one barrier orders every access to it.
    if (!stmt.ref.buffer.empty())
      emit(Event::Sync, stmt);
    registers(stmt);
    return assign(stmt);
  case StmtKind::Move:
  case StmtKind::Spread:
    registers(stmt);
    return assign(stmt);
  case StmtKind::Load:
    registers(stmt);
    global(stmt);
    return assign(stmt);
  case StmtKind::Store:
  case StmtKind::Atomic:
    global(stmt);
    return registers(stmt);
  case StmtKind::LoadShared:
  case StmtKind::LookUp:
    registers(stmt);
    emit(Event::LoadShared, stmt).a = touched(stmt.ref);
    return;
  case StmtKind::Fetch:
    return global(stmt);
  case StmtKind::Place:
    emit(Event::StoreShared, stmt).a = touched(stmt.ref);
    return;
  case StmtKind::StoreShared:
    registers(stmt);
    emit(Event::StoreShared, stmt).a = touched(stmt.ref);
    return;
  case StmtKind::FenceProxy:
    emit(Event::FenceProxy, stmt);
    return;
  case StmtKind::LoadTensor:
    emit(Event::LoadTensor, stmt).a = touched(stmt.ref);
    return;
  case StmtKind::StoreTensor:
  case StmtKind::ScaleTensor:
    emit(Event::StoreTensor, stmt).a = touched(stmt.ref);
    return;
  case StmtKind::TensorFence:
    emit(Event::TensorFence, stmt);
    return;
  case StmtKind::Sync:
  case StmtKind::Stagger:
    emit(Event::Sync, stmt);
    return;
  case StmtKind::Expect:
    emit(Event::Expect, stmt);
    return;
  case StmtKind::CopyIn:
    if (stmt.isThreadCopy()) {
      emit(Event::ThreadCopy, stmt).a = touched(stmt.ref);
      return;
    }
    // Copies by the role's own threads went before the Expect, whose arrivals tell that they are done.
    if (!stmt.map.empty())
      emit(Event::CopyIn, stmt).a = touched(stmt.ref);
    return;
  case StmtKind::Claim:
    emit(Event::CopyIn, stmt).a = touched(stmt.ref);
    return;
  case StmtKind::NextTile:
    emit(Event::LoadShared, stmt).a = touched(stmt.ref);
    return;
  case StmtKind::CopyOut:
    emit(stmt.map.empty() ? Event::LoadShared : Event::CopyOut, stmt).a = touched(stmt.ref);
    if (stmt.map.empty())
      global(stmt);
    return;
  case StmtKind::CopyCommit:
    emit(Event::CopyCommit, stmt);
    return;
  case StmtKind::CopyWait:
    emit(Event::CopyWait, stmt);
    return;
  case StmtKind::BulkCommit:
    emit(Event::BulkCommit, stmt);
    return;
  case StmtKind::BulkWait:
    emit(Event::BulkWait, stmt);
    return;
  case StmtKind::Record:
  case StmtKind::WaitForPrevious: // of the prelude
    return;
  case StmtKind::ProductFence:
    emit(Event::ProductFence, stmt);
    return;
  case StmtKind::Product: {
    if (stmt.isSynchronous())
      registers(stmt);
    Event event{.kind = stmt.isSynchronous() ? Event::LoadShared : Event::Product,
                .stmt = &stmt,
                .instance = turn,
                .b = touched(stmt.ref)};
    if (stmt.aShared)
      event.a = touched(stmt.aRef);
    if (stmt.isTensorProduct())
      event.dest = touched(stmt.destRef);
    for (size_t side = 0; side < std::min<size_t>(stmt.scales.size(), 2); ++side)
      event.scales[side] = touched(stmt.scales[side]);
    events.push_back(event);
    // In turns: a barrier comes after the reads of each turn, and between two turns.
    for (int barrier = 1; barrier < 2 * stmt.turns; ++barrier) {
      emit(Event::Sync, stmt);
      if (barrier % 2 == 0)
        events.push_back(event);
    }
    return;
  }
  case StmtKind::ProductCommit:
    emit(Event::ProductCommit, stmt);
    return;
  case StmtKind::ProductWait:
    emit(Event::ProductWait, stmt);
    return;
  case StmtKind::ClusterSync:
    emit(Event::ClusterSync, stmt);
    return;
  case StmtKind::Wait: {
    const auto &wait = stmt.as<Wait>();
    emit(Event::Wait, stmt).parity = ((cursors[wait.at.cursor].round % 2) != 0) != wait.inverted;
    return;
  }
  case StmtKind::Arrive:
    emit(Event::Arrive, stmt);
    return;
  case StmtKind::Advance: {
    const VarName &ring = stmt.as<Advance>().ring;
    CursorState &cursor = cursors[ring];
    if (++cursor.stage >= summary.types.at(ring).rows)
      cursor = {0, cursor.round + 1, nullptr};
    cursor.advance = &stmt;
    return;
  }
  case StmtKind::For:
    return loop(stmt);
  case StmtKind::If: {
    bool taken = !stmt.turn.empty() ? use(stmt.turn).stage == instance
                                    : (stmt.map.empty() || inputs.mapsFit.at(stmt.map)) &&
                                          (stmt.operands.empty() || scalars.get(stmt.operands[0]).value != 0);
    return body(taken ? stmt.body : stmt.orElse);
  }
  case StmtKind::Ahead:
    return tileAhead(stmt);
  case StmtKind::Each:
    for (turn = 0; turn < role.instances; ++turn)
      body(stmt.body);
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

RoleSummary::RoleSummary(const Plan &plan, const Role &role)
    : role(role), oneThread(runsOnOneThread(role)), watched(watchedTensors(plan)) {
  for (const Body *body : {&role.body, &role.finish})
    walk(*body, [&](const Stmt &stmt) {
      instancesDiffer |= stmt.kind == StmtKind::If && !stmt.turn.empty();
      instancesDiffer |= stmt.kind == StmtKind::Compute && stmt.tileSize > 0;
      if (stmt.kind != StmtKind::Product || stmt.isSynchronous() || stmt.isTensorProduct())
        return;
      productRegisters.insert(stmt.dest);
      productRegisters.insert(stmt.operands.begin(), stmt.operands.end());
    });
  for (const std::vector<Var> *vars : {&plan.preludeVars, &role.vars})
    for (const Var &var : *vars)
      types[var.name] = var.type;
}

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
      const int64_t each = axis.name == plan.grid.clusterAxis ? plan.cluster : 1;
      auto index = static_cast<int64_t>(hash % static_cast<uint64_t>((steps + each - 1) / each)) * each;
      index += each > 1 ? block : 0;
      int64_t begin = lo + index * step;
      tile.push_back({static_cast<double>(begin), begin, std::min(begin + step, hi), index});
      scalars.set(axis.name, tile.back());
    }
    if (tile.size() == plan.grid.axes.size())
      tiles.push_back(std::move(tile));
  }
  return tiles;
}

std::optional<Trace> trace(const Plan &plan, const RoleSummary &role, const Numbering &numbering, const Inputs &inputs,
                           const std::vector<Tile> &tiles, int instance, size_t &left, Quotients &quotients,
                           Facts *facts) {
  return Tracer(plan, role, numbering, inputs, instance, left, quotients, facts).run(tiles);
}

} // namespace tkc::plan
