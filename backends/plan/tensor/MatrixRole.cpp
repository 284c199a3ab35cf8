// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/tensor/MatrixRole.h"

#include "backends/plan/tensor/AccumulatorRings.h"
#include "backends/plan/tensor/AllocateTensors.h"
#include "backends/plan/tensor/CorrectionRole.h"
#include "backends/plan/tensor/MatrixRoleBarriers.h"
#include "backends/plan/tensor/PlaceTensors.h"
#include "backends/plan/tensor/RematerializeScalars.h"
#include "backends/plan/tensor/TensorScales.h"

#include <algorithm>
#include <bit>
#include <fmt/core.h>
#include <utility>

namespace tkc::planner {
namespace {

class Splitter : MatrixRoleBarriers {
public:
  Splitter(plan::Role &role, const Placement &placement, const TensorHomes &homes, const Way &way,
           const std::string &factors)
      : MatrixRoleBarriers(role, placement), homes(homes), way(way), factors(factors) {
    for (const auto &[key, buffer] : placement.staged)
      staged.insert(buffer);
    walk(role.body, [&](const plan::Stmt &stmt) {
      if (stmt.kind == Kind::Product && stmt.isSynchronous())
        readByThreads.merge(buffersOf(stmt));
    });
    issuers = isForOneThread() ? 1 : role.instances;
    if (!factors.empty())
      correction = findCorrection(role);
    result.whyNoCorrection = correction.why;
    if (!correction.why.empty())
      correction.tensors.clear();
  }

  MatrixRoleResult run() {
    result.tensors = homes.buffers;
    for (plan::TensorBuffer &tensor : result.tensors)
      if (homes.rings.count(tensor.name))
        tensor.stages = way.accumulatorStages;
    matrix().name = "matrix";
    matrix().warps = 1;
    matrix().instances = issuers;
    matrix().inFirst = placement.byPairs;
    result.failsForPairs = placement.byPairs && !isForOneThread();
    scalars = scalarsOfProducts(role, result.unsupported);
    countReads(role.body, reads);
    findRingUsers();
    plan::Body products;
    plan::Body rescaling;
    both(role.body, products, rescaling, 0);
    matrix().body = std::move(products);
    dropUnasked(matrix().body);
    if (corrects())
      declareCorrection(std::move(rescaling));
    declareVars();
    result.barriers = std::move(barriers);
    result.emptyArrivals = std::move(emptyArrivals);
    for (const std::string &accumulator : homes.rings) // from tile to tile
      spans.useAlways(accumulator);
    spans.useAlways(homes.scales); // every product's
    result.columns =
        allocateTensors(result.tensors, spans.uses(), issuers == 1 || way.meets ? Sharing::Any : way.sharing);
    return std::move(result);
  }

private:
  plan::Role &matrix() { return result.matrix; }
  bool corrects() const { return !correction.tensors.empty(); }
  Stream &streamOf(const plan::Stmt &stmt) { return corrects() && correction.does(stmt) ? rescaler : computer; }
  /// Whether loops of products alone fill every accumulator.
  bool areAllRings() const {
    bool all = true;
    walk(role.body, [&](const plan::Stmt &stmt) {
      all &= !stmt.isTensorProduct() || homes.rings.count(stmt.destRef.buffer) != 0;
    });
    return all;
  }

  /// One thread for all instances: they share the columns of products that nothing but the ends of loops waits for.
  bool isForOneThread() const {
    constexpr int64_t mostCols = 256; // of one instruction
    bool suits = areAllRings();
    walk(role.body, [&](const plan::Stmt &stmt) {
      if (!stmt.isTensorProduct())
        return;
      suits &= stmt.destRef.slice != plan::Division::Rows;
      for (const plan::TensorBuffer &tensor : homes.buffers)
        suits &= tensor.name != stmt.destRef.buffer || tensor.cols <= mostCols;
    });
    return suits;
  }
  void declareVars() {
    Names used;
    walk(matrix().body, [&](const plan::Stmt &stmt) {
      used.insert(stmt.dest);
      used.insert(stmt.operands.begin(), stmt.operands.end());
    });
    for (const plan::Var &var : role.vars)
      if (used.count(var.name))
        matrix().vars.push_back(var);
    for (const std::string &cursor : matrixCursors)
      matrix().vars.push_back({cursor, cursorType(cursorStages.at(cursor))});
    for (const std::string &cursor : computer.cursors)
      role.vars.push_back({cursor, cursorType(cursorStages.at(cursor))});
    dropUnusedVars(role);
  }

  /// The role that rescales: what it stores in the end it waits for at the very end.
  void declareCorrection(plan::Body body) {
    plan::Role rescaling = role;
    rescaling.name = "correction";
    rescaling.body = std::move(body);
    for (const std::string &cursor : rescaler.cursors)
      rescaling.vars.push_back({cursor, cursorType(cursorStages.at(cursor))});
    for (plan::Role *each : {&rescaling, &role})
      if (!storesByEngine(*each))
        each->finish.clear();
    if (correction.onlyRescales)
      takeInTurn(rescaling, factors + ".empty");
    dropUnusedVars(rescaling);
    result.correction = std::move(rescaling);
  }

  // ---- one straight line of statements, for all roles
  /// `lower` takes the statements of `body`: what becomes of them goes to `into` and `rescaling`, and back to `body`.
  /// Nothing is in flight when it ends.
  template <class Lower> void divided(plan::Body &body, plan::Body &into, plan::Body &rescaling, Lower lower) {
    plan::Body *savedOut = computer.out, *savedRescaling = rescaler.out, *savedProducts = products;
    plan::Body rest;
    computer.out = &rest;
    rescaler.out = &rescaling;
    products = &into;
    untrusted();
    lower();
    waitForAll();
    untrusted();
    computer.out = savedOut;
    rescaler.out = savedRescaling;
    products = savedProducts;
    body = std::move(rest);
  }

  void both(plan::Body &body, plan::Body &into, plan::Body &rescaling, int depth) {
    const Level savedMine = std::move(mine), savedMatrix = std::move(ofMatrix);
    mine = {}, ofMatrix = {};
    countUses(body, depth, false, mine);
    countUses(body, depth, true, ofMatrix);
    divided(body, into, rescaling, [&] {
      for (plan::Stmt &stmt : body) {
        const SourceLoc loc = stmt.loc;
        const auto byMatrix = ringsIn(stmt, depth, true), byThreads = ringsIn(stmt, depth, false);
        spans.step();
        open(byThreads, mine, false, loc);
        step(stmt, depth, byMatrix);
        close(byThreads, mine, false, loc);
        close(byMatrix, ofMatrix, true, loc);
      }
      spans.step();
    });
    mine = savedMine, ofMatrix = savedMatrix;
  }

  /// Where control flow meets, nothing is known of fences.
  void untrusted() {
    matrixFenced = false;
    sent.clear();
    for (Stream *stream : {&computer, &rescaler})
      stream->fenced = stream->handed = false;
  }

  void step(plan::Stmt &stmt, int depth, const std::set<const RingPlacement *> &rings) {
    if (stmt.isTensorProduct())
      return product(stmt, rings);
    if (stmt.kind == Kind::For || (stmt.kind == Kind::If && stmt.map.empty())) {
      if (hasTensorProduct(stmt))
        return nested(stmt, depth, rings);
      waitForGroups(computer, computer.queue.size());
      return emptied(stmt, depth);
    }
    Stream &stream = streamOf(stmt);
    if (&stream == &rescaler)
      receive(stmt);
    if (stmt.kind == Kind::If) { // the ways of one store
      waitForGroups(stream, groupsBlockingAny(stream, stmt));
      stream.out->push_back(std::move(stmt));
      return;
    }
    waitForGroups(stream, groupsBlocking(stream, stmt));
    if (isTensorAccess(stmt))
      return access(stream, stmt);
    if (stmt.kind == Kind::StoreShared && staged.count(stmt.ref.buffer))
      return storeStaged(stmt);
    if (stmt.kind == Kind::Product)
      publish(buffersOf(stmt), stmt.loc);
    if (scalars.count(stmt.dest))
      products->push_back(stmt);
    sent.erase(stmt.dest);
    if (corrects() && correction.scalars.count(stmt.dest))
      rescaler.out->push_back(stmt);
    stream.out->push_back(std::move(stmt));
  }

  // ---- what the computing role sends to that which rescales
  /// Columns that the statement needs and that were not sent yet since they were made.
  void receive(const plan::Stmt &stmt) {
    std::set<std::string> needed;
    plan::walk(stmt, [&](const plan::Stmt &each) {
      for (const std::string &operand : each.operands)
        if (correction.received.count(operand))
          needed.insert(operand);
    });
    for (const std::string &column : needed)
      if (sent.insert(column).second)
        send(column, stmt.loc);
  }

  void send(const std::string &column, SourceLoc loc) {
    const int stages = placement.findBuffer(factors)->stages;
    const std::string full = factors + ".full", empty = factors + ".empty", at = factors + "_at";
    barrier(full, stages, warps());
    barrier(empty, stages, warps());
    const plan::BufferRef ref{factors, at, true, role.findVar(column)->type.division};
    const auto wait = [&](Stream &stream, const std::string &barrier, bool inverted) {
      plan::append(*stream.out, plan::Wait{{barrier, cursor(stream.cursors, at, stages)}, inverted}, loc);
    };
    const auto arrive = [&](Stream &stream, const std::string &barrier) {
      const plan::BarrierRef there{barrier, cursor(stream.cursors, at, stages)};
      plan::append(*stream.out, plan::Arrive{.at = there, .byWarps = true}, loc);
    };
    wait(computer, empty, true);
    if (std::exchange(storesToRescale, false) && !std::exchange(computer.handed, true))
      plan::append(*computer.out, plan::TensorFence(), loc);
    plan::Stmt &store = plan::append(*computer.out, Kind::StoreShared, loc);
    store.ref = ref;
    store.operands = {column};
    arrive(computer, full);
    plan::append(*computer.out, plan::Advance{cursor(computer.cursors, at, stages)}, loc);
    wait(rescaler, full, false);
    plan::Stmt &load = plan::append(*rescaler.out, Kind::LoadShared, loc);
    load.ref = ref;
    load.dest = column;
    arrive(rescaler, empty);
    plan::append(*rescaler.out, plan::Advance{cursor(rescaler.cursors, at, stages)}, loc);
    computer.fenced = rescaler.fenced = false;
  }

  // ---- products
  void product(plan::Stmt &stmt, const std::set<const RingPlacement *> &rings) {
    const Group group{stmt.destRef.buffer, {stmt.destRef.buffer}, operandsOf(stmt), nullptr, 0, !stmt.accumulate};
    handOver(group, stmt.loc);
    open(rings, ofMatrix, true, stmt.loc);
    issueProduct(stmt);
    enqueue(group, stmt.loc);
  }

  void issueProduct(plan::Stmt &stmt) {
    if (!std::exchange(matrixFenced, true))
      issue(plan::TensorFence{.afterBarrier = true}, stmt.loc);
    stmt.byPair = placement.byPairs;
    if (issuers < role.instances)
      takeWhole(stmt);
    stmt.ref.cursor = cursorOf(stmt.ref.buffer);
    if (ringOf.count(stmt.aRef.buffer))
      stmt.aRef.cursor = cursorOf(stmt.aRef.buffer);
    products->push_back(std::move(stmt));
  }

  std::string cursorOf(const std::string &buffer) const {
    const auto found = ringOf.find(buffer);
    return found == ringOf.end() ? "" : found->second->cursor();
  }

  Names operandsOf(const plan::Stmt &product) const {
    Names operands;
    for (const std::string &buffer : buffersOf(product))
      if (!ringOf.count(buffer) && buffer != homes.scales)
        operands.insert(buffer);
    return operands;
  }

  /// What the computing role did so far is known before the products that follow.
  void handOver(const Group &group, SourceLoc loc) {
    spans.touch(group.writes, group.overwrites);
    spans.touch(group.reads);
    publish(group.reads, loc);
    const std::string go = group.site + ".go", at = group.site + "_go";
    const bool isRescaled = correction.isFor(group.site);
    rescaled.erase(group.site);
    barrier(go, 1, warps() * (isRescaled ? 2 : 1));
    for (Stream *stream : {&computer, &rescaler}) {
      if (stream == &rescaler && !isRescaled)
        continue;
      waitForGroups(*stream, groupsOf(*stream, group.site)); // it arrives again once its last arrivals were seen
      if (!std::exchange(stream->handed, true)) {
        if (stream == &computer)
          storesToRescale = false;
        plan::append(*stream->out, plan::TensorFence(), loc);
        if (way.meets)
          syncAll(loc);
      }
      plan::append(*stream->out, plan::Arrive{.at = {go, ""}, .byWarps = true}, loc);
    }
    const std::string cursorName = cursor(matrixCursors, at, 1);
    issue(plan::Wait{{go, cursorName}}, loc);
    issue(plan::Advance{cursorName}, loc);
    matrixFenced = false;
  }

  void enqueue(Group group, SourceLoc loc) {
    enqueueIn(computer, group, loc);
    if (correction.isFor(group.site))
      enqueueIn(rescaler, group, loc);
  }

  // ---- the computing role
  void access(Stream &stream, plan::Stmt &stmt) {
    spans.touch({stmt.ref.buffer}, stmt.kind == Kind::StoreTensor);
    storesToRescale |= &stream == &computer && correction.isFor(stmt.ref.buffer);
    if (&stream == &rescaler)
      rescaled.insert(stmt.ref.buffer);
    else if (rescaled.count(stmt.ref.buffer))
      result.whyNoCorrection =
          fmt::format("`{}` is read after it was rescaled, without a product between", stmt.ref.buffer);
    if (homes.rings.count(stmt.ref.buffer)) { // emptyRings
      stream.out->push_back(std::move(stmt));
      return;
    }
    if (stmt.kind == Kind::StoreTensor && way.meetsBefore.count(stmt.ref.buffer)) {
      plan::append(*stream.out, plan::TensorFence(), stmt.loc);
      syncAll(stmt.loc);
      stream.fenced = false;
    }
    if (!std::exchange(stream.fenced, true))
      plan::append(*stream.out, plan::TensorFence{.afterBarrier = true}, stmt.loc);
    stream.handed = false;
    stream.out->push_back(std::move(stmt));
  }

  /// Products of other instances may still read what was staged before, and other threads, where they multiply.
  void storeStaged(plan::Stmt &stmt) {
    if (role.instances > 1 || readByThreads.count(stmt.ref.buffer))
      syncAll(stmt.loc);
    unpublished.insert(stmt.ref.buffer);
    computer.out->push_back(std::move(stmt));
  }

  void publish(const Names &buffers, SourceLoc loc) {
    bool any = false;
    for (const std::string &buffer : buffers)
      any |= unpublished.erase(buffer) != 0;
    if (!any)
      return;
    plan::append(*computer.out, plan::FenceProxy(), loc);
    syncAll(loc);
  }

  // ---- loops and branches
  /// Without products into tensor memory.
  void emptied(plan::Stmt &stmt, int depth) {
    plan::Body none, nothing;
    mayNotRun([&] {
      for (plan::Body *body : stmt.bodies())
        if (!body->empty())
          inner(stmt, *body, none, nothing, depth);
    });
    computer.out->push_back(std::move(stmt));
  }

  /// The bodies of a loop or a branch: what was stored before them has not been fenced where they do not run.
  template <class Bodies> void mayNotRun(Bodies bodies) {
    const bool stored = storesToRescale;
    bodies();
    storesToRescale |= stored;
  }

  void inner(const plan::Stmt &stmt, plan::Body &body, plan::Body &into, plan::Body &rescaling, int depth) {
    if (stmt.kind == Kind::For)
      return both(body, into, rescaling, depth + 1);
    // The bodies of a branch use the rings that the level around it holds open.
    divided(body, into, rescaling, [&] {
      for (plan::Stmt &each : body) {
        spans.step();
        step(each, depth, {});
      }
    });
  }

  void nested(plan::Stmt &stmt, int depth, const std::set<const RingPlacement *> &rings) {
    if (const std::string accumulator = ringFilledBy(stmt); !accumulator.empty())
      return fillAccumulators(stmt, depth, rings);
    if (isForMatrixRole(role, stmt))
      return alone(stmt, depth, rings);
    waitForAll();
    open(rings, ofMatrix, true, stmt.loc);
    plan::Stmt theirs = shell(stmt), rescaling = shell(stmt);
    const int begin = spans.now();
    const auto mineParts = stmt.bodies();
    plan::Body *const theirParts[] = {&theirs.prologue, &theirs.body, &theirs.epilogue, &theirs.orElse};
    plan::Body *const rescalingParts[] = {&rescaling.prologue, &rescaling.body, &rescaling.epilogue, &rescaling.orElse};
    Names again;
    mayNotRun([&] {
      for (int i = 0; i < 4; ++i)
        if (!mineParts[i]->empty()) {
          again.merge(neededFromBefore(*mineParts[i], homes));
          inner(stmt, *mineParts[i], *theirParts[i], *rescalingParts[i], depth);
        }
    });
    if (stmt.kind == Kind::For)
      spans.carry(again, begin);
    products->push_back(std::move(theirs));
    if (!rescaling.prologue.empty() || !rescaling.body.empty() || !rescaling.epilogue.empty() ||
        !rescaling.orElse.empty())
      rescaler.out->push_back(std::move(rescaling));
    computer.out->push_back(std::move(stmt));
    untrusted();
  }

  /// A loop or branch of the matrix role like `stmt`, still empty.
  static plan::Stmt shell(const plan::Stmt &stmt) {
    plan::Stmt copy;
    copy.kind = stmt.kind;
    copy.loc = stmt.loc;
    copy.dest = stmt.dest;
    copy.operands = stmt.operands;
    copy.tileSize = stmt.tileSize;
    copy.map = stmt.map;
    return copy;
  }

  /// A nest of products and nothing else runs in the matrix role alone, between one arrival and one commit.
  void alone(plan::Stmt &stmt, int depth, const std::set<const RingPlacement *> &rings) {
    Group group;
    walkProducts(stmt, [&](plan::Stmt &product) {
      group.writes.insert(product.destRef.buffer);
      group.reads.merge(operandsOf(product));
    });
    group.site = *group.writes.begin();
    waitForAll();
    handOver(group, stmt.loc);
    open(rings, ofMatrix, true, stmt.loc);
    keepScalars(stmt);
    const SourceLoc loc = stmt.loc;
    products->push_back(onlyProducts(stmt, depth));
    matrixFenced = false;
    enqueue(group, loc);
  }

  template <class Visit> static void walkProducts(plan::Stmt &stmt, const Visit &visit) {
    plan::walk(stmt, [&](plan::Stmt &inner) {
      if (inner.isTensorProduct())
        visit(inner);
    });
  }

  plan::Stmt onlyProducts(plan::Stmt &stmt, int depth) {
    plan::Stmt theirs = shell(stmt);
    const auto mineParts = stmt.bodies();
    plan::Body *const theirParts[] = {&theirs.prologue, &theirs.body, &theirs.epilogue, &theirs.orElse};
    const bool isLoop = stmt.kind == Kind::For;
    for (int i = 0; i < 4; ++i)
      issueAll(*mineParts[i], *theirParts[i], isLoop ? depth + 1 : depth, isLoop);
    return theirs;
  }

  void issueAll(plan::Body &body, plan::Body &into, int depth, bool isLevel) {
    plan::Body *saved = std::exchange(products, &into);
    const Level savedLevel = ofMatrix;
    if (isLevel) {
      ofMatrix = {};
      countUses(body, depth, true, ofMatrix);
    }
    matrixFenced = false;
    for (plan::Stmt &stmt : body) {
      const auto rings = isLevel ? ringsIn(stmt, depth, true) : std::set<const RingPlacement *>();
      const SourceLoc loc = stmt.loc;
      open(rings, ofMatrix, true, loc);
      if (stmt.isTensorProduct())
        issueProduct(stmt);
      else if (hasTensorProduct(stmt))
        into.push_back(onlyProducts(stmt, depth));
      else if (scalars.count(stmt.dest))
        into.push_back(std::move(stmt));
      close(rings, ofMatrix, true, loc);
    }
    matrixFenced = false;
    if (isLevel)
      ofMatrix = savedLevel;
    products = saved;
  }

  // ---- scalars that a nest of products computes besides
  static void countReads(const plan::Body &body, std::map<std::string, int> &counts) {
    walk(body, [&](const plan::Stmt &stmt) {
      for (const std::string &operand : stmt.operands)
        ++counts[operand];
    });
  }

  /// Those that are read outside of the nest the other roles compute in a loop of their own.
  void keepScalars(const plan::Stmt &nest) {
    std::map<std::string, int> inside;
    countReads({nest}, inside);
    bool forComputer = false, forRescaler = false;
    plan::walk(nest, [&](const plan::Stmt &stmt) {
      if (stmt.kind == Kind::For || stmt.dest.empty() || reads[stmt.dest] == inside[stmt.dest])
        return;
      forComputer = true;
      forRescaler |= corrects() && correction.scalars.count(stmt.dest) != 0;
    });
    plan::Stmt rest = nest;
    dropProducts(rest);
    if (forRescaler)
      rescaler.out->push_back(rest);
    if (forComputer)
      computer.out->push_back(std::move(rest));
  }

  static void dropProducts(plan::Stmt &stmt) {
    for (plan::Body *body : stmt.bodies()) {
      for (plan::Stmt &inner : *body)
        dropProducts(inner);
      std::erase_if(*body, [](const plan::Stmt &inner) {
        const auto inners = inner.bodies();
        const bool isControl = inner.kind == Kind::For || inner.kind == Kind::If;
        return inner.isTensorProduct() ||
               (isControl && std::all_of(inners.begin(), inners.end(), [](const auto *each) { return each->empty(); }));
      });
    }
    if (isRepeated(stmt)) // only products make something else of a first iteration
      stmt.prologue.clear();
  }

  /// Whether the first iteration is like the others.
  static bool isRepeated(const plan::Stmt &loop) {
    return loop.epilogue.empty() && loop.orElse.empty() &&
           std::equal(loop.prologue.begin(), loop.prologue.end(), loop.body.begin(), loop.body.end(),
                      [](const plan::Stmt &one, const plan::Stmt &other) {
                        return one.body.empty() && other.body.empty() && plan::print(one) == plan::print(other);
                      });
  }

  // ---- accumulators that are rings
  std::string ringFilledBy(plan::Stmt &stmt) const {
    std::string found;
    if (stmt.kind == Kind::For && !stmt.prologue.empty())
      for (const plan::Stmt &inner : stmt.prologue)
        if (inner.isTensorProduct() && homes.rings.count(inner.destRef.buffer))
          found = inner.destRef.buffer;
    return found;
  }

  void fillAccumulators(plan::Stmt &stmt, int depth, const std::set<const RingPlacement *> &rings) {
    Names accumulators;
    walkProducts(stmt, [&](plan::Stmt &product) {
      accumulators.insert(product.destRef.buffer);
      product.destRef.cursor = product.destRef.buffer + "_fill";
    });
    waitForAll();
    open(rings, ofMatrix, true, stmt.loc);
    keepScalars(stmt);
    const SourceLoc loc = stmt.loc;
    plan::Stmt theirs = onlyProducts(stmt, depth);
    plan::Body waits;
    plan::Body *saved = std::exchange(products, &waits);
    for (const std::string &accumulator : accumulators) {
      spans.touch({accumulator});
      const int emptying = issuers < role.instances ? warps() * role.instances : warps();
      barrier(accumulator + ".free", way.accumulatorStages, emptying * (placement.byPairs ? 2 : 1));
      barrier(accumulator + ".ready", way.accumulatorStages, 1);
      const std::string at = cursor(matrixCursors, accumulator + "_fill", way.accumulatorStages);
      issue(plan::Wait{{accumulator + ".free", at}, true}, loc);
      products = &theirs.epilogue;
      issue(plan::ProductCommit{{accumulator + ".ready", at}, placement.byPairs}, loc);
      issue(plan::Advance{at}, loc);
      products = &waits;
    }
    theirs.prologue.insert(theirs.prologue.begin(), waits.begin(), waits.end());
    products = saved;
    products->push_back(std::move(theirs));
    matrixFenced = false;
  }

private:
  const TensorHomes &homes;
  const Way &way;
  const std::string &factors; ///< by which columns go to the role that rescales; empty: there is none
  Correction correction;
  MatrixRoleResult result;
  Names staged, unpublished;
  Names readByThreads;              ///< by products that threads do
  Names scalars;                    ///< that both roles compute
  std::map<std::string, int> reads; ///< of each variable, by what the role was before
  Level mine, ofMatrix;
  bool storesToRescale = false; ///< the computing role has touched such an accumulator, and not fenced since
  Names rescaled;               ///< accumulators that were since the last product into them
  Names sent;                   ///< columns that the role which rescales has as they are
};

/// Buffers that the role stores to, where an instance has columns that are another's in a buffer of other times.
Names storedToOthers(const plan::Role &computing, const std::vector<plan::TensorBuffer> &tensors) {
  const auto areOthers = [](const plan::TensorBuffer &one, const plan::TensorBuffer &other) {
    const bool alike = one.offset == other.offset && one.totalColumns() == other.totalColumns();
    return !alike && one.offset < other.offset + other.totalColumns() && other.offset < one.offset + one.totalColumns();
  };
  Names stored;
  walk(computing.body, [&](const plan::Stmt &stmt) {
    if (stmt.kind == plan::StmtKind::StoreTensor)
      for (const plan::TensorBuffer &one : tensors)
        for (const plan::TensorBuffer &other : tensors)
          if (one.name == stmt.ref.buffer && areOthers(one, other))
            stored.insert(one.name);
  });
  return stored;
}

bool multipliesRows(const Placement &placement) {
  return std::any_of(placement.products.begin(), placement.products.end(),
                     [](const auto &product) { return product.first->result()->type.rows == 1; });
}

} // namespace

MatrixRoleResult splitMatrixRole(plan::Role &computing, const Placement &placement, int64_t columns,
                                 int accumulatorStages, const std::string &factors) {
  std::set<std::string> inRegisters;
  Way way{accumulatorStages};
  const plan::Role lowered = computing;
  while (true) {
    computing = lowered;
    const TensorHomes homes = placeTensorScales(computing, placement, placeTensors(computing, placement, inRegisters));
    if (!factors.empty())
      rescaleEarly(computing);
    Splitter splitter(computing, placement, homes, way, factors);
    MatrixRoleResult result = splitter.run();
    emptyRings(computing, homes, way.accumulatorStages, placement.byPairs);
    if (result.columns <= columns) {
      Names stored = way.meets ? storedToOthers(computing, result.tensors) : Names();
      if (stored == way.meetsBefore)
        return result;
      way.meetsBefore = std::move(stored);
      continue;
    }
    if (way.accumulatorStages > 1) {
      --way.accumulatorStages;
      continue;
    }
    if (computing.instances > 1 && way.sharing == Sharing::Alike) {
      way.sharing = Sharing::Widened;
      continue;
    }
    // A left operand of one row is stored before its product, and so before instances meet.
    if (computing.instances > 1 && !way.meets && !multipliesRows(placement)) {
      way.meets = true;
      continue;
    }
    // What does not fit stays in registers, and visits tensor memory for each product.
    std::string largest;
    int64_t most = 0;
    for (const std::string &var : homes.carried)
      for (const plan::TensorBuffer &tensor : result.tensors)
        if (tensor.name == tensorBufferOf(placement, var) && !inRegisters.count(var) && tensor.totalColumns() > most)
          largest = var, most = tensor.totalColumns();
    if (largest.empty())
      return result;
    inRegisters.insert(largest);
  }
}

void takeTensors(MatrixRoleResult &products, Placement &placement, plan::Plan &plan) {
  constexpr int64_t fewestColumns = 32; // that tcgen05.alloc takes
  plan.tensors = std::move(products.tensors);
  plan.barriers = std::move(products.barriers);
  plan.tensorColumns =
      static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::max(products.columns, fewestColumns))));
  placement.note(plan::Note::Roles, {},
                 fmt::format("a thread issues products for {}; tensor memory: {} columns in use",
                             placement.instances == 1         ? "the computing warpgroup"
                             : products.matrix.instances == 1 ? "the computing warpgroups"
                                                              : "each of the computing warpgroups",
                             products.columns));
}

} // namespace tkc::planner
