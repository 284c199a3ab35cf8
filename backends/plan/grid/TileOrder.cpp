// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/TileOrder.h"

#include "backends/plan/analysis/Nest.h"
#include "ir/Effects.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <numeric>
#include <optional>

namespace tkc::planner {
namespace {

bool dependsOn(const ir::Value *value, const ir::Value *axis) {
  return ir::searchBack(value, [&](const ir::Value *at, std::vector<const ir::Value *> &next) {
    const ir::Op *op = at->definingOp;
    if (op && op->bodies.empty())
      next.assign(op->operands().begin(), op->operands().end());
    return at == axis;
  });
}

/// How a scalar changes along an axis.
enum class Slope : uint8_t { None, Grows, Falls, Unknown };

Slope negated(Slope slope) {
  return slope == Slope::Grows ? Slope::Falls : slope == Slope::Falls ? Slope::Grows : slope;
}

/// Of a sum, a maximum or a minimum of two.
Slope together(Slope x, Slope y) { return x == y || y == Slope::None ? x : x == Slope::None ? y : Slope::Unknown; }

Slope slopeOf(const ir::Value *value, const ir::Value *axis) {
  if (!dependsOn(value, axis))
    return Slope::None;
  if (value == axis)
    return Slope::Grows;
  const ir::Op *op = value->definingOp;
  if (!op)
    return Slope::Unknown;
  const auto operand = [&](int i) { return slopeOf(op->operand(i), axis); };
  const auto isPositive = [&](int i) {
    const ir::Op *factor = op->operand(i)->definingOp;
    return factor && factor->kind == ir::OpKind::Const && factor->constant > 0;
  };
  switch (op->kind) {
  case ir::OpKind::Begin:
  case ir::OpKind::End:
  case ir::OpKind::Index:
    return operand(0);
  case ir::OpKind::Add:
  case ir::OpKind::Max:
  case ir::OpKind::Min:
    return together(operand(0), operand(1));
  case ir::OpKind::Sub:
    return together(operand(0), negated(operand(1)));
  case ir::OpKind::Mul:
    return isPositive(1) ? operand(0) : isPositive(0) ? operand(1) : Slope::Unknown;
  case ir::OpKind::Div:
    return isPositive(1) ? operand(0) : Slope::Unknown;
  default:
    return Slope::Unknown;
  }
}

/// Scalars at one tile of an axis of the grid, in numbers: dims are of so many tiles, parameters a quarter of that.
/// nullopt: it depends on more.
class Sample {
public:
  static constexpr int64_t tiles = 16;

  Sample(const ir::Value *axis, int64_t tile) : axis(axis), tile(tile), extent(tiles * axis->type.rows) {}

  /// What the loop runs over.
  std::optional<int64_t> rangeOf(const ir::Op &loop) {
    const std::optional<int64_t> begin = of(loop.operand(0)), end = of(loop.operand(1));
    return begin && end ? std::optional(*end - *begin) : std::nullopt;
  }

  std::optional<int64_t> of(const ir::Value *value) {
    if (const auto known = values.find(value); known != values.end())
      return known->second;
    const std::optional<int64_t> result = compute(value);
    values.emplace(value, result);
    return result;
  }

private:
  std::optional<int64_t> compute(const ir::Value *value) {
    const ir::Op *op = value->definingOp;
    if (!op)
      return std::nullopt;
    const auto operand = [&](int i) { return of(op->operand(i)); };
    switch (op->kind) {
    case ir::OpKind::Const:
      return static_cast<int64_t>(op->constant);
    case ir::OpKind::Dim:
      return extent;
    case ir::OpKind::Param:
      return op->result()->type.elem == ElemType::I32 ? std::optional(extent / 4) : std::nullopt;
    case ir::OpKind::Begin:
      return op->operand(0) == axis ? std::optional(tile * axis->type.rows) : std::nullopt;
    case ir::OpKind::End:
      return op->operand(0) == axis ? std::optional((tile + 1) * axis->type.rows) : std::nullopt;
    case ir::OpKind::Index:
      return op->operand(0) == axis ? std::optional(tile) : std::nullopt;
    case ir::OpKind::Add:
    case ir::OpKind::Sub:
    case ir::OpKind::Mul:
    case ir::OpKind::Div:
    case ir::OpKind::Max:
    case ir::OpKind::Min:
      break;
    default:
      return std::nullopt;
    }
    const std::optional<int64_t> x = operand(0), y = operand(1);
    if (!x || !y || (op->kind == ir::OpKind::Div && *y <= 0))
      return std::nullopt;
    switch (op->kind) {
    case ir::OpKind::Add:
      return *x + *y;
    case ir::OpKind::Sub:
      return *x - *y;
    case ir::OpKind::Mul:
      return *x * *y;
    case ir::OpKind::Div:
      return (*x - (*x % *y + *y) % *y) / *y;
    case ir::OpKind::Max:
      return std::max(*x, *y);
    default:
      return std::min(*x, *y);
    }
  }

  const ir::Value *axis;
  int64_t tile, extent;
  ir::ValueMap<std::optional<int64_t>> values;
};

/// What the loops of an example run over, together.
std::optional<int64_t> lengthAt(const Nest &nest, const ir::Value *axis, int64_t tile) {
  Sample sample(axis, tile);
  std::optional<int64_t> length = 0;
  walkTile(nest, [&](const ir::Op &op, int) {
    if (op.kind != ir::OpKind::For)
      return;
    const std::optional<int64_t> range = sample.rangeOf(op);
    length = length && range ? std::optional(*length + std::max<int64_t>(*range, 0)) : std::nullopt;
  });
  return length;
}

/// Where both ends of what a tile's loops see move along the axis, as a sliding window's do: by lengths of some tiles,
/// of a window that is a quarter of what there is.
Slope sampledLength(const Nest &nest, const ir::Value *axis) {
  bool grows = false, falls = false;
  std::optional<int64_t> before;
  for (int64_t tile = 0; tile < Sample::tiles; ++tile) {
    const std::optional<int64_t> length = lengthAt(nest, axis, tile);
    if (!length)
      return Slope::Unknown;
    grows |= before && *length > *before;
    falls |= before && *length < *before;
    before = length;
  }
  return grows == falls ? Slope::Unknown : grows ? Slope::Grows : Slope::Falls;
}

/// How the length of a tile's loops changes along an axis. Where one loop goes on from the end of another, as the
/// parts of a split loop do, it counts for both and cancels.
Slope lengthAlong(const Nest &nest, const ir::Value *axis) {
  std::vector<const ir::Value *> begins, ends;
  walkTile(nest, [&](const ir::Op &op, int) {
    if (op.kind != ir::OpKind::For)
      return;
    begins.push_back(op.operand(0));
    ends.push_back(op.operand(1));
  });
  Slope slope = Slope::None;
  for (const ir::Value *begin : begins)
    if (const auto end = std::find(ends.begin(), ends.end(), begin); end != ends.end())
      ends.erase(end);
    else
      slope = together(slope, negated(slopeOf(begin, axis)));
  for (const ir::Value *end : ends)
    slope = together(slope, slopeOf(end, axis));
  return slope;
}

/// Whether a loop inside another has a length that changes along the axis: then lengths that are added up say nothing
/// of the work.
bool changesInside(const Nest &nest, const ir::Value *axis) {
  bool found = false;
  walkTile(nest, [&](const ir::Op &op, int depth) {
    found |=
        op.kind == ir::OpKind::For && depth > 0 && (dependsOn(op.operand(0), axis) || dependsOn(op.operand(1), axis));
  });
  return found;
}

/// Whether tile i and the ith from the end are together as long for every i but for a step of a loop, in examples as
/// those of sampledLength: lengths grow or fall evenly all along.
bool lengthsPairUp(const Nest &nest, const ir::Value *axis) {
  if (axis->type.kind != ir::Type::TileIndex || changesInside(nest, axis))
    return false;
  int64_t step = 1, least = INT64_MAX, most = 0;
  walkTile(nest, [&](const ir::Op &op, int) {
    if (op.kind == ir::OpKind::For)
      step = std::max(step, op.tileSize);
  });
  for (int64_t tile = 0; tile < Sample::tiles / 2; ++tile) {
    const std::optional<int64_t> one = lengthAt(nest, axis, tile);
    const std::optional<int64_t> other = lengthAt(nest, axis, Sample::tiles - 1 - tile);
    if (!one || !other)
      return false;
    least = std::min(least, *one + *other);
    most = std::max(most, *one + *other);
  }
  return most - least <= step;
}

/// Whether the last of a tile's loops has one step, in examples as those of sampledLength.
bool endsInOneStep(const Nest &nest, const ir::Value *axis) {
  std::vector<const ir::Op *> loops;
  walkTile(nest, [&](const ir::Op &op, int depth) {
    if (op.kind == ir::OpKind::For && depth == 0)
      loops.push_back(&op);
  });
  if (loops.size() < 2)
    return false;
  const ir::Op &last = *loops.back();
  for (int64_t tile = 0; tile < Sample::tiles; ++tile) {
    const std::optional<int64_t> range = Sample(axis, tile).rangeOf(last);
    if (!range || *range > std::max<int64_t>(last.tileSize, 1))
      return false;
  }
  return true;
}

void noteLongestFirst(const Nest &nest, size_t axis, bool reversed, Placement &placement, const plan::Grid &grid) {
  placement.notes.push_back({plan::Note::Grid,
                             reversed ? fmt::format("`{}` is walked from its end: its later tiles have longer loops, "
                                                    "and the longest go first",
                                                    grid.axes[axis].name)
                                      : fmt::format("`{}` is walked from its beginning: its first tiles have the "
                                                    "longest loops, which go first",
                                                    grid.axes[axis].name),
                             nest.axes[axis]->loc});
}

} // namespace

TileLengths orderTiles(const Nest &nest, Placement &placement, plan::Grid &grid, bool triesLengths) {
  if (nest.isRagged())
    return {};
  std::vector<int> dependentLoads(nest.axes.size(), 0);
  walkTile(nest, [&](const ir::Op &op, int depth) {
    for (size_t i = 0; i < nest.axes.size(); ++i) {
      const ir::Value *axis = nest.axes[i]->body().args[0].get();
      if (op.kind == ir::OpKind::Load && depth > 0 && placement.loadKeys.count(&op))
        dependentLoads[i] += std::any_of(op.operands().begin(), op.operands().end(),
                                         [&](const ir::Value *operand) { return dependsOn(operand, axis); });
    }
  });
  std::string uneven;
  TileLengths lengths, others{.equal = true};
  for (size_t i = 0; i < nest.axes.size(); ++i) {
    const ir::Value *axis = nest.axes[i]->body().args[0].get();
    Slope length = lengthAlong(nest, axis);
    others.equal &= length == Slope::None;
    const bool tries = triesLengths && length == Slope::Unknown && axis->type.kind == ir::Type::TileIndex;
    if (tries)
      length = sampledLength(nest, axis);
    if (length != Slope::Grows && length != Slope::Falls)
      continue;
    uneven = grid.axes[i].name;
    lengths = {.differ = true,
               .change = !tries,
               .endInOneStep = endsInOneStep(nest, axis),
               .pairUp = lengthsPairUp(nest, axis)};
    if (length == Slope::Grows)
      grid.reversed.push_back(uneven);
    noteLongestFirst(nest, i, length == Slope::Grows, placement, grid);
  }
  std::vector<size_t> order(nest.axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return dependentLoads[x] > dependentLoads[y]; });
  std::vector<plan::GridAxis> axes;
  for (size_t i : order) {
    axes.push_back(std::move(grid.axes[i]));
    if (order.size() > 1)
      placement.notes.push_back(
          {plan::Note::Grid,
           fmt::format("`{}` is axis {} from outside: {} of the loops' loads depend on it; the more, "
                       "the farther out, so that blocks of one time share tiles in L2",
                       axes.back().name, axes.size(), dependentLoads[i]),
           nest.axes[i]->loc});
  }
  grid.axes = std::move(axes);
  return grid.axes.size() > 1 && grid.axes.back().name == uneven ? lengths : others;
}

} // namespace tkc::planner
