// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/sema/TileAxes.h"

#include <algorithm>
#include <set>
#include <vector>

namespace tkc::sema {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// An axis of a value: where the search goes on.
using Axis = std::pair<const Value *, int>;

/// The axes that the result's `axis` is made of; empty where it is of one element by its nature. Returns true where it
/// is a range's.
bool addSources(const Op &op, int axis, std::vector<Axis> &sources) {
  switch (op.kind) {
  case OpKind::Elements:
    return axis == op.axis;
  case OpKind::AsCol:
  case OpKind::AsRow:
    sources.emplace_back(op.operand(0), axis); // a vector that is one row of a gather has that row
    return axis == (op.kind == OpKind::AsCol ? 0 : 1);
  case OpKind::Reduce:
    if (axis != op.axis)
      sources.emplace_back(op.operand(0), axis);
    return false;
  case OpKind::Transpose:
    sources.emplace_back(op.operand(0), 1 - axis);
    return false;
  case OpKind::Dot:
    sources.emplace_back(op.operand(axis == 0 ? 0 : 1), axis);
    return false;
  case OpKind::DotScaled:
    sources.emplace_back(op.operand(axis == 0 ? 0 : 2), axis);
    return false;
  case OpKind::Begin:
  case OpKind::End:
  case OpKind::Index:
  case OpKind::Shift:
    return false;
  case OpKind::Load: {
    const auto isElement = [](const ir::ViewIndex &index) {
      return index.kind == ir::ViewIndex::Element || index.kind == ir::ViewIndex::Gather;
    };
    for (const ir::ViewIndex &index : op.view.indices)
      if (isElement(index))
        sources.emplace_back(op.operand(index.operand), axis);
    return std::count_if(op.view.indices.begin(), op.view.indices.end(), isElement) + 2 ==
           static_cast<long>(op.view.indices.size());
  }
  default:
    for (const Value *operand : op.operands())
      sources.emplace_back(operand, axis);
    return false;
  }
}

} // namespace

bool isTileAxis(const Value *value, int axis) {
  std::set<Axis> seen{{value, axis}};
  std::vector<Axis> open{{value, axis}}, sources;
  while (!open.empty()) {
    auto [at, atAxis] = open.back();
    open.pop_back();
    if (at->type.isTile() && (atAxis == 0 ? at->type.rows : at->type.cols) > 1)
      return true;
    sources.clear();
    const Op *op = at->definingOp;
    if (op && op->bodies.empty()) {
      if (addSources(*op, atAxis, sources))
        return true;
    } else if (op) { // of a loop or a branch
      for (const auto &body : op->bodies)
        sources.emplace_back(body->terminator()->operand(at->index), atAxis);
    } else if (at->index > 0) { // carried: as it enters, since what the loop makes of it may not be known yet
      sources.emplace_back(at->ownerBlock->parent->operand(at->index + 1), atAxis);
    }
    for (const Axis &source : sources)
      if (seen.insert(source).second)
        open.push_back(source);
  }
  return false;
}

} // namespace tkc::sema
