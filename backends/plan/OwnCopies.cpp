// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/OwnCopies.h"

#include "backends/plan/Multistage.h"
#include "backends/plan/Walk.h"

#include <algorithm>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

/// Adds the ops that `value` is computed from, which stand in `block` (null: anywhere but there).
void addSources(const ir::Value *value, const ir::Block *inside, const ir::Block *outside,
                std::set<const ir::Op *> &sources) {
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

OwnCopies::OwnCopies(RoleBuilder &builder, const Placement &placement) : builder(builder), placement(placement) {
  for (const RingPlacement &ring : placement.rings)
    if (ring.depth > 0 && ring.stages > 1)
      for (const std::string &cursor : {ring.cursor(), ring.fillCursor()})
        builder.role.vars.push_back({cursor, cursorType(ring.stages)});
}

const RingPlacement *OwnCopies::ringOf(const ir::Op *op) const {
  auto key = placement.loadKeys.find(op);
  return key == placement.loadKeys.end() ? nullptr : placement.findRing(key->second);
}

bool OwnCopies::isOnceLoad(const ir::Op &op) const {
  const RingPlacement *ring = ringOf(&op);
  return ring && ring->depth == 0;
}

void OwnCopies::addNeeded(std::set<const ir::Op *> &needed) const {
  for (const auto &[load, key] : placement.loadKeys) {
    const bool isOnce = isOnceLoad(*load);
    if (isOnce)
      needed.insert(load);
    for (const ir::Value *operand : load->operands())
      addSources(operand, nullptr, isOnce ? nullptr : load->parent, needed);
  }
}

std::vector<const ir::Op *> OwnCopies::loadsOf(const ir::Op &loop, const RingPlacement &ring) const {
  std::vector<const ir::Op *> loads;
  for (const ir::Op *op : opsOf(loop.body()))
    if (ringOf(op) == &ring)
      loads.push_back(op);
  return loads;
}

void OwnCopies::pipeline(const ir::Op &loop, plan::Stmt &stmt) {
  std::vector<const RingPlacement *> rings;
  for (const ir::Op *op : opsOf(loop.body()))
    if (const RingPlacement *ring = ringOf(op); ring && std::find(rings.begin(), rings.end(), ring) == rings.end())
      rings.push_back(ring);
  if (placement.throughRegisters)
    pipelineThroughRegisters(builder, stmt, rings,
                             [&](const RingPlacement &ring, CopyPart part, int count, bool inLoop) {
                               fill(loop, ring, part, count, inLoop);
                             });
  else
    pipelineCopies(builder, stmt, rings, [&](const RingPlacement &ring, int count, bool inLoop) {
      fill(loop, ring, CopyPart::Whole, count, inLoop);
    });
}

void OwnCopies::load(const ir::Op &op) {
  if (!placement.throughRegisters)
    return copy(op, CopyPart::Whole, "");
  copy(op, CopyPart::Fetch, "");
  copy(op, CopyPart::Place, "");
}

void OwnCopies::fill(const ir::Op &loop, const RingPlacement &ring, CopyPart part, int count, bool inLoop) {
  const ir::Value *induction = loop.body().args[0].get();
  const std::vector<const ir::Op *> loads = loadsOf(loop, ring);
  std::set<const ir::Op *> sources;
  for (const ir::Op *load : loads)
    for (const ir::Value *operand : load->operands())
      if (part != CopyPart::Place)
        addSources(operand, &loop.body(), nullptr, sources);

  plan::Stmt ahead;
  ahead.kind = Kind::Ahead;
  ahead.loc = loads.front()->loc;
  ahead.operands = {builder.use(loop.operand(0)), builder.use(loop.operand(1))};
  if (inLoop)
    ahead.operands.push_back(builder.use(induction));
  ahead.count = count;
  ahead.tileSize = loop.tileSize;
  std::string &variable = aheadOf[&loop];
  if (variable.empty())
    variable = builder.declare(builder.use(induction) + "_ahead", builder.typeOf(induction));
  ahead.dest = variable;
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
      builder.emit(Kind::Advance, {}).cursor = ring.fillCursor();
  });
  builder.setVisibleNames(names);
  builder.emit(Kind::Ahead, ahead.loc) = std::move(ahead);
}

/// The variable of what threads have fetched for a member and not yet placed: 16 bytes each at a time, along the rows
/// as stored, or down them where those are the source's contiguous columns.
const std::string &OwnCopies::shareOf(const RingMember &member) {
  std::string &name = shares[member.key];
  if (!name.empty())
    return name;
  const plan::Buffer &buffer = *placement.findBuffer(member.buffer);
  plan::VarType type;
  type.kind = plan::VarType::Share;
  type.elem = buffer.elem;
  type.rows = buffer.rows;
  type.cols = buffer.cols;
  const int vec = 16 / byteWidth(buffer.elem);
  type.layout = {plan::Layout::Rows, placement.layout.threads * placement.instances,
                 member.transposing ? 1 : static_cast<int>(buffer.cols) / vec, vec};
  return name = builder.declare(member.buffer + "_share", type);
}

void OwnCopies::copy(const ir::Op &load, CopyPart part, const std::string &cursor) {
  const RingMember &member = *placement.findMember(placement.loadKeys.at(&load));
  const plan::BufferRef to{member.buffer, cursor, member.transposing, plan::Division::Whole};
  if (part == CopyPart::Place) {
    const std::string share = shareOf(member);
    plan::Stmt &place = builder.emit(Kind::Place, load.loc);
    place.ref = to;
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
}

} // namespace tkc::planner
