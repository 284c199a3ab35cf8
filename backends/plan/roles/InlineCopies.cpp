// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/InlineCopies.h"

#include "backends/plan/analysis/Nest.h"
#include "backends/plan/roles/LateCopies.h"

#include <algorithm>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

/// Adds the ops that `value` is computed from, which stand in `block` (null: anywhere but there).
void addSources(const ir::Value *value, const ir::Block *inside, const ir::Block *outside, ir::OpSet &sources) {
  const ir::Op *op = value->definingOp;
  if (!op || op->kind == ir::OpKind::Parallel)
    return;
  const bool isWanted = inside ? op->parent == inside : op->parent != outside;
  if (isWanted && !sources.insert(op).second)
    return;
  for (const ir::Value *operand : op->operands())
    addSources(operand, inside, outside, sources);
}

} // namespace

InlineCopies::InlineCopies(RoleBuilder &builder, const Placement &placement) : builder(builder), placement(placement) {
  for (const RingPlacement &ring : placement.rings)
    if (ring.depth > 0 && ring.stages > 1)
      for (const std::string &cursor : {ring.cursor(), ring.fillCursor()})
        builder.role.vars.push_back({cursor, cursorType(ring.stages)});
}

const RingPlacement *InlineCopies::ringOf(const ir::Op *op) const {
  auto key = placement.loadKeys.find(op);
  return key == placement.loadKeys.end() ? nullptr : placement.findRing(key->second);
}

bool InlineCopies::isOnceLoad(const ir::Op &op) const {
  const RingPlacement *ring = ringOf(&op);
  return ring && ring->depth == 0 && !ring->isCopiedAgain;
}

void InlineCopies::addNeeded(ir::OpSet &needed) const {
  for (const auto &[load, key] : placement.loadKeys) {
    const bool isOnce = isOnceLoad(*load);
    if (isOnce)
      needed.insert(load);
    for (const ir::Value *operand : load->operands())
      addSources(operand, nullptr, ringOf(load)->depth == 0 ? nullptr : load->parent, needed);
  }
}

std::vector<const ir::Op *> InlineCopies::loadsOf(const ir::Op &loop, const RingPlacement &ring) const {
  std::vector<const ir::Op *> loads;
  for (const ir::Op *op : opsOf(loop.body()))
    if (ringOf(op) == &ring)
      loads.push_back(op);
  return loads;
}

void InlineCopies::pipeline(const ir::Op &loop, plan::Stmt &stmt) {
  std::vector<const RingPlacement *> rings;
  for (const ir::Op *op : opsOf(loop.body()))
    if (const RingPlacement *ring = ringOf(op); ring && std::find(rings.begin(), rings.end(), ring) == rings.end())
      rings.push_back(ring);
  for (const RingPlacement &ring : placement.rings)
    if (ring.isCopiedAgain && std::any_of(stmt.body.begin(), stmt.body.end(), [&](const plan::Stmt &inner) {
          return inner.kind == Kind::Product && readsOutOf(inner, ring);
        }))
      rings.push_back(&ring);
  for (plan::Stmt &inner : stmt.body)
    if (inner.kind == Kind::Product) {
      inner.interleaved = placement.interleaves && inner.byWarps && inner.count == 0 && inner.scales.empty();
      inner.turns = placement.turns;
      inner.meets.threads = placement.turns > 0 ? placement.layout.threads * placement.instances : 0;
    }
  if (placement.copiesLate)
    copyBeforeUse(
        builder, stmt, rings, [&](const RingPlacement &ring) { fillWhole(loop, ring); }, [&] { waitForCopies(loop); });
  else if (placement.throughRegisters)
    pipelineThroughRegisters(builder, stmt, rings,
                             [&](const RingPlacement &ring, CopyPart part, int count, bool inLoop) {
                               fill(loop, ring, part, count, inLoop);
                             });
  else
    pipelineCopies(
        builder, stmt, rings,
        [&](const RingPlacement &ring, int count, bool inLoop) { fill(loop, ring, CopyPart::Whole, count, inLoop); },
        placement.directLoads ? std::optional(directLoads(loop)) : std::nullopt);
}

/// The tile of this iteration.
void InlineCopies::fillWhole(const ir::Op &loop, const RingPlacement &ring) {
  if (ring.isCopiedAgain) {
    for (const RingMember &member : ring.members)
      load(*member.load);
    return;
  }
  if (!placement.throughRegisters)
    return fill(loop, ring, CopyPart::Whole, 0, true);
  fill(loop, ring, CopyPart::Fetch, 0, true);
  fill(loop, ring, CopyPart::Place, 0, true);
}

void InlineCopies::waitForCopies(const ir::Op &loop) {
  if (placement.throughRegisters)
    return;
  if (!placement.directLoads)
    builder.emit(plan::CopyCommit(), loop.loc);
  builder.emit(plan::CopyWait{.byLoads = placement.directLoads}, loop.loc);
}

DirectLoads InlineCopies::directLoads(const ir::Op &loop) {
  return {[&](const RingPlacement &ring) {
            int count = 0; // other loops may load more of the ring's members
            for (const ir::Op *load : loadsOf(loop, ring))
              count += placement.directLoadsOf(
                  *placement.findBuffer(placement.findMember(placement.loadKeys.at(load))->buffer));
            return count;
          },
          [&](int count, int ahead) { waitForLoads(loop, count, ahead); },
          placement.layout.threads * placement.instances, placement.turns};
}

void InlineCopies::finish(const ir::Op &loop) {
  if (placement.turns == 0 || !hasRings(loop))
    return;
  builder.emit(plan::Stagger{true, placement.layout.threads * placement.instances}, loop.loc);
}

bool InlineCopies::hasRings(const ir::Op &loop) const {
  const std::vector<const ir::Op *> ops = opsOf(loop.body());
  return std::any_of(ops.begin(), ops.end(), [&](const ir::Op *op) { return ringOf(op) != nullptr; });
}

void InlineCopies::waitForLoads(const ir::Op &loop, int count, int ahead) {
  const auto wait = [&](int loads) { builder.emit(plan::CopyWait{.byLoads = true, .left = loads}, loop.loc); };
  if (count == 0 || placement.loadsAlways)
    return wait(count);
  plan::Stmt guard = tileAhead(loop, ahead, true);
  builder.into(guard.body, [&] { wait(count); });
  builder.into(guard.orElse, [&] { wait(0); });
  builder.emit(Kind::Ahead, loop.loc) = std::move(guard);
}

/// An `ahead` for the tile `count` after the loop's, or, at the loop's start, number `count`, with no body yet.
plan::Stmt InlineCopies::tileAhead(const ir::Op &loop, int count, bool inLoop) {
  const ir::Value *induction = loop.body().args[0].get();
  plan::Stmt ahead;
  ahead.kind = Kind::Ahead;
  ahead.loc = loop.loc;
  ahead.operands = {builder.use(loop.operand(0)), builder.use(loop.operand(1))};
  if (inLoop)
    ahead.operands.push_back(builder.use(induction));
  ahead.count = count;
  ahead.tileSize = loop.tileSize;
  std::string &variable = aheadOf[&loop];
  if (variable.empty())
    variable = builder.declare(builder.use(induction) + "_ahead", builder.typeOf(induction));
  ahead.dest = variable;
  return ahead;
}

void InlineCopies::load(const ir::Op &op) {
  if (!placement.throughRegisters)
    return copy(op, CopyPart::Whole, "");
  copy(op, CopyPart::Fetch, "");
  copy(op, CopyPart::Place, "");
}

void InlineCopies::fill(const ir::Op &loop, const RingPlacement &ring, CopyPart part, int count, bool inLoop) {
  const ir::Value *induction = loop.body().args[0].get();
  const std::vector<const ir::Op *> loads = loadsOf(loop, ring);
  ir::OpSet sources;
  for (const ir::Op *load : loads)
    for (const ir::Value *operand : load->operands())
      if (part != CopyPart::Place)
        addSources(operand, &loop.body(), nullptr, sources);

  plan::Stmt ahead = tileAhead(loop, count, inLoop);
  ahead.loc = loads.front()->loc;
  ahead.always = placement.loadsAlways;
  const RoleBuilder::Names names = builder.visibleNames();
  builder.alias(induction, ahead.dest);
  for (const ir::Op *op : sources)
    builder.forget(op->result());
  builder.into(ahead.body, [&] {
    for (const ir::Op *op : opsOf(loop.body()))
      if (sources.count(op))
        builder.emitCompute(*op);
    for (const ir::Op *load : loads)
      copy(*load, part, ring.stages > 1 ? ring.fillCursor() : "");
    if (ring.stages > 1 && part != CopyPart::Fetch)
      builder.emit(plan::Advance{ring.fillCursor()}, {});
  });
  builder.setVisibleNames(names);
  builder.emit(Kind::Ahead, ahead.loc) = std::move(ahead);
}

/// The variable of what threads have fetched for a member and not yet placed: 16 bytes each at a time (of scales one),
/// along the rows as stored, or down them where those are the source's contiguous columns.
const std::string &InlineCopies::shareOf(const RingMember &member) {
  std::string &name = shares[member.key];
  if (!name.empty())
    return name;
  const plan::Buffer &buffer = *placement.findBuffer(member.buffer);
  plan::VarType type;
  type.kind = plan::VarType::Share;
  type.elem = buffer.elem;
  type.rows = buffer.rows;
  type.cols = buffer.cols;
  const int vec = placement.isScales(buffer.name) ? 1 : 16 * 8 / plan::sharedBits(buffer.elem);
  type.layout = {plan::Layout::Rows, placement.layout.threads * placement.instances,
                 member.transposing ? 1 : static_cast<int>(buffer.cols) / vec, vec};
  return name = builder.declare(member.buffer + "_share", type);
}

void InlineCopies::copy(const ir::Op &load, CopyPart part, const std::string &cursor) {
  const RingMember &member = *placement.findMember(placement.loadKeys.at(&load));
  const plan::BufferRef to{member.buffer, cursor, member.transposing, plan::Division::Whole};
  if (part == CopyPart::Place) {
    const std::string share = shareOf(member);
    plan::Stmt &place = builder.emit(Kind::Place, load.loc);
    place.ref = {to.buffer, to.cursor, false, to.slice}; // a share lies as the stage does
    place.operands = {share};
    return;
  }
  std::vector<std::string> operands;
  for (const ir::Value *operand : load.operands())
    operands.push_back(builder.use(operand));
  const std::string dest = part == CopyPart::Fetch ? shareOf(member) : "";
  plan::Stmt &copy = builder.emit(part == CopyPart::Fetch ? Kind::Fetch : Kind::CopyIn, load.loc);
  copy.dest = dest;
  copy.view = load.view;
  copy.operands = std::move(operands);
  copy.hasElse = load.hasElse;
  copy.ref = to;
  copy.loads = placement.directLoads ? placement.directLoadsOf(*placement.findBuffer(member.buffer)) : 0;
}

} // namespace tkc::planner
