// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/EdgeAnalysis.h"

#include "ir/Effects.h"
#include "support/Number.h"

#include <cmath>
#include <limits>

namespace tkc::ir {

EdgeAnalysis::EdgeAnalysis(const Function &function) : function(function), ranges(function) { run(function.body); }

Value *EdgeAnalysis::endAt(const Type &type, Place place) const {
  Value *end = place == PastRows ? type.rowEnd : place == PastCols ? type.colEnd : nullptr;
  if (!end)
    return nullptr;
  auto [found, isNew] = isFull.try_emplace(end, false);
  if (isNew)
    found->second = ranges.isAlwaysFull(end);
  return found->second ? nullptr : end;
}

Contents EdgeAnalysis::at(const Value *value, Place place) const {
  auto found = states.find(value);
  if (found == states.end())
    return isFloat(value->type.elem) ? Contents::anything() : Contents::finite();
  return found->second[endAt(value->type, place) ? place : Inside];
}

bool EdgeAnalysis::set(const Value *value, State state) {
  State &old = states[value];
  bool changed = old != state;
  old = state;
  return changed;
}

// ---- control flow --------------------------------------------------------------------------------------------------

void EdgeAnalysis::run(const Block &block) {
  for (auto &op : block.ops) {
    if (op->kind == OpKind::For) {
      runFor(*op);
    } else if (op->kind == OpKind::If) {
      runIf(*op);
    } else if (op->kind == OpKind::Parallel) {
      set(op->body().args[0].get(), {Contents::finite(), Contents::finite(), Contents::finite()});
      run(op->body());
    } else if (op->results.size() == 1) {
      State state;
      for (Place place : {Inside, PastRows, PastCols})
        state[place] = place == Inside || endAt(op->result()->type, place) ? transfer(*op, place) : Contents::none();
      set(op->result(), state);
    }
  }
}

/// What `target` holds once `value` may be it too.
EdgeAnalysis::State EdgeAnalysis::joined(const Value *target, const Value *value) const {
  auto found = states.find(target);
  State state = found == states.end() ? State() : found->second;
  for (Place place : {Inside, PastRows, PastCols})
    if (place == Inside || endAt(target->type, place))
      state[place] = state[place] | at(value, place);
  return state;
}

void EdgeAnalysis::runFor(const Op &op) {
  const Block &body = op.body();
  set(body.args[0].get(), {Contents::finite(), Contents::finite(), Contents::finite()});
  // In a loop around this one the states of the last round are kept, which the next can only add to: otherwise rounds
  // would multiply with depth.
  for (size_t i = 1; i < body.args.size(); ++i)
    set(body.args[i].get(), joined(body.args[i].get(), op.operand(i + 1)));
  // Sets only grow, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    run(body);
    for (size_t i = 1; i < body.args.size(); ++i)
      changed |= set(body.args[i].get(), joined(body.args[i].get(), body.terminator()->operand(i - 1)));
  }
  for (size_t i = 1; i < body.args.size(); ++i)
    set(op.result(i - 1), states[body.args[i].get()]);
}

void EdgeAnalysis::runIf(const Op &op) {
  for (auto &result : op.results)
    states.erase(result.get());
  for (auto &body : op.bodies) {
    run(*body);
    for (size_t i = 0; i < op.results.size(); ++i)
      set(op.result(i), joined(op.result(i), body->terminator()->operand(i)));
  }
}

// ---- operations ----------------------------------------------------------------------------------------------------

static bool isInsideAt(const Value *value, Value *end) { return end == nullptr; }

Contents EdgeAnalysis::transfer(const Op &op, Place place) {
  auto operand = [&](size_t i) { return at(op.operand(i), place); };
  auto isInside = [&](size_t i) { return isInsideAt(op.operand(i), endAt(op.operand(i)->type, place)); };
  const Type &type = op.result()->type;
  if (isElementwiseUnary(op.kind)) {
    const bool isExponential = op.kind == OpKind::Exp || op.kind == OpKind::Exp2;
    return apply(op.kind, operand(0), isInside(0) || (isExponential && isBounded(op.operand(0), place)));
  }
  if (isCompare(op.kind))
    return comparison(op, place);
  if (isElementwiseBinary(op.kind))
    return apply(op.kind, !isFloat(type.elem), operand(0), operand(1), isInside(1));
  Place across = place == PastRows ? PastCols : place == PastCols ? PastRows : Inside;
  switch (op.kind) {
  case OpKind::Const:
    return Contents::of(type.elem, op.constant);
  case OpKind::Cast:
    return convert(type.elem, operand(0));
  case OpKind::Select:
    return selected(op, place);
  case OpKind::Full:
  case OpKind::ToScalar:
  case OpKind::AsCol:
    return operand(0);
  case OpKind::AsRow:
    return at(op.operand(0), across);
  case OpKind::Transpose:
    return at(op.operand(0), across);
  case OpKind::Reduce:
    return reduceAll(op.reduce, operand(0));
  case OpKind::Cumsum: {
    bool isAlong = place == (op.axis == 0 ? PastRows : PastCols);
    return reduceAll(ReduceKind::Sum, isAlong ? operand(0) | inside(op.operand(0)) : operand(0));
  }
  case OpKind::Dot: {
    Contents a = place == PastRows ? operand(0) : inside(op.operand(0));
    Contents b = place == PastCols ? operand(1) : inside(op.operand(1));
    Contents product = sumOfProducts(a, b);
    return op.operands().size() == 3 ? apply(OpKind::Add, !isFloat(type.elem), product, operand(2), false) : product;
  }
  case OpKind::DotScaled: {
    const auto at = [&](size_t i, Place outer) { return place == outer ? operand(i) : inside(op.operand(i)); };
    const auto scaled = [&](size_t i, Place outer) {
      return apply(OpKind::Mul, false, at(i, outer), at(i + 1, outer), false);
    };
    Contents product = sumOfProducts(scaled(0, PastRows), scaled(2, PastCols));
    return op.operands().size() == 5 ? apply(OpKind::Add, false, product, operand(4), false) : product;
  }
  case OpKind::Load:
    return loaded(op, place);
  case OpKind::ExternCall:
    return isFloat(type.elem) ? Contents::anything() : Contents::finite();
  case OpKind::Dim:
  case OpKind::Param:
  case OpKind::Iota:
  case OpKind::Begin:
  case OpKind::End:
  case OpKind::Index:
  case OpKind::Elements:
  case OpKind::Shift:
  case OpKind::Philox:
    return type.elem == ElemType::Bool ? Contents::boolean() : Contents::finite();
  default: // element-wise above, no result below
    return Contents::anything();
  }
}

/// Whether `top` is the maximum of what `value` has along the axis that has not ended, or more.
static bool isMaximumOf(const Value *top, const Value *value, int ended) {
  if (const Op *reduce = definedBy(top, OpKind::Reduce))
    return reduce->reduce == ReduceKind::Max && reduce->operand(0) == value && reduce->axis != ended;
  if (const Op *larger = definedBy(top, OpKind::Max))
    return isMaximumOf(larger->operand(0), value, ended) || isMaximumOf(larger->operand(1), value, ended);
  // `where(m == -inf, 0, m)`: then the values are -inf, too.
  if (const Op *guard = definedBy(top, OpKind::Select))
    if (const Op *isNone = definedBy(guard->operand(0), OpKind::Eq); isNone && isNone->operand(0) == guard->operand(2))
      return constantOf(isNone->operand(1)) == -INFINITY && isMaximumOf(guard->operand(2), value, ended);
  return false;
}

/// Beyond the end a difference is not above 0 where a maximum is subtracted, and near 0 where a running sum has come to
/// the whole sum, since zeros are added there.
bool EdgeAnalysis::isBounded(const Value *value, Place place) const {
  const Op *difference = definedBy(value, OpKind::Sub);
  if (!difference || place == Inside)
    return false;
  const int ended = place == PastRows ? 0 : 1;
  const Value *x = difference->operand(0), *y = difference->operand(1);
  const auto isWhole = [&](const Value *total, const Value *running) {
    const Op *reduce = definedBy(total, OpKind::Reduce), *sums = definedBy(running, OpKind::Cumsum);
    return reduce && sums && reduce->reduce == ReduceKind::Sum && reduce->operand(0) == sums->operand(0) &&
           reduce->axis == ended && sums->axis == ended && at(sums->operand(0), place).is(Contents::Zero);
  };
  return isMaximumOf(y, x, ended) || isWhole(x, y) || isWhole(y, x);
}

Contents EdgeAnalysis::comparison(const Op &op, Place place) {
  Value *x = op.operand(0), *y = op.operand(1);
  if (isFloat(x->type.elem) || x->type.elem == ElemType::Bool)
    return Contents::boolean();
  Beyond beyond{endAt(op.result()->type, place), place == PastRows ? 0 : 1};
  std::optional<bool> known = ranges.compare(op.kind, x, y, beyond);
  if (!known)
    return Contents::boolean();
  return Contents(*known ? Contents::One : Contents::Zero);
}

Contents EdgeAnalysis::selected(const Op &op, Place place) const {
  Contents condition = at(op.operand(0), place), x = at(op.operand(1), place), y = at(op.operand(2), place);
  if (condition.is(Contents::One))
    return x;
  if (condition.is(Contents::Zero))
    return y;
  // `where(m == -inf, 0, m)` is never -inf.
  for (OpKind kind : {OpKind::Eq, OpKind::Ne}) {
    Op *compare = definedBy(op.operand(0), kind);
    if (!compare)
      continue;
    Contents &other = kind == OpKind::Eq ? y : x;
    const Value *chosen = op.operand(kind == OpKind::Eq ? 2 : 1);
    for (size_t i : {0, 1})
      if (compare->operand(i) == chosen)
        if (std::optional<double> number = constantOf(compare->operand(1 - i)))
          if (Contents one = Contents::of(ElemType::F32, *number); one.isExact())
            other = other.without(static_cast<Contents::Kind>(one.bits));
  }
  return x | y;
}

// ---- loads ---------------------------------------------------------------------------------------------------------

Contents EdgeAnalysis::loaded(const Op &op, Place place) {
  const Type &type = op.result()->type;
  if (type.elem == ElemType::Bool)
    return Contents::boolean();
  if (place == Inside)
    return op.hasElse ? Contents::finite() | inside(op.operands().back()) : Contents::finite();
  int axis = place == PastRows ? 0 : 1;
  std::vector<std::pair<unsigned, Value *>> axes; // dim, and its tile index or null
  for (unsigned dim = 0; dim < op.view.indices.size(); ++dim) {
    const ViewIndex &index = op.view.indices[dim];
    if (index.kind == ViewIndex::Tiled)
      axes.emplace_back(dim, op.operand(index.operand));
    else if (index.kind != ViewIndex::Element && index.kind != ViewIndex::Gather)
      axes.emplace_back(dim, nullptr);
  }
  const unsigned dim = axes.size() > static_cast<size_t>(axis) ? axes[static_cast<size_t>(axis)].first : 0;
  // Scales are finite wherever there are any; and the code 0 of f8e8m0 is no zero.
  if (type.elem == ElemType::F8E8M0 || (!op.view.hasGather() && op.view.indices[dim].divisor != 1))
    return op.hasElse ? Contents::finite() | inside(op.operands().back()) : Contents::finite();
  if (!op.view.hasGather())
    return loadedBeyond(op, dim, axes[static_cast<size_t>(axis)].second);
  return op.hasElse ? inside(op.operands().back()) : Contents(Contents::Zero);
}

Contents EdgeAnalysis::loadedBeyond(const Op &op, unsigned dim, Value *tileIndex) {
  Value *root = rootTileIndex(tileIndex);
  const Param &param = *function.findParam(op.view.tensor);
  Affine size = ranges.formOf(param.dims[dim]);
  Affine end = ranges.formOf(RangeAnalysis::rangeOf(root).second);
  Affine moved = ranges.beginOf(tileIndex) - ranges.beginOf(root);
  const Contents otherwise = op.hasElse ? inside(op.operands().back()) : Contents(Contents::Zero);
  if (!ranges.isNonNegative(end + moved - size)) {
    // The tensor goes on there, with numbers that other tiles read, or with what nobody promised: where each tile is
    // moved by another distance, as by `t - t.begin`, no other tile reads what this one has beyond its end.
    bool isRead = param.mode == ParamMode::In && followsFromShapes(RangeAnalysis::rangeOf(root).second) &&
                  followsFromShapes(tileIndex) && moved.valid && moved.terms.empty();
    return (isRead ? Contents::finite() : Contents::anything()) | otherwise;
  }
  return otherwise;
}

bool EdgeAnalysis::isMaskOf(const Value *value, const Value *end, int axis) {
  Op *select = definedBy(value, OpKind::Select);
  Op *exists = select ? definedBy(select->operand(0), OpKind::Lt) : nullptr;
  Op *elements = exists ? definedBy(exists->operand(0), OpKind::Elements) : nullptr;
  return elements && elements->operand(0) == end && elements->axis == axis &&
         exists->operand(1) == RangeAnalysis::rangeOf(end).second && select->operand(1)->type == select->result()->type;
}

// ---- needs ---------------------------------------------------------------------------------------------------------

std::vector<EdgeAnalysis::Need> EdgeAnalysis::unmetNeeds() const {
  std::vector<Need> needs;
  addUnmet(function.body, needs);
  return needs;
}

void EdgeAnalysis::addUnmet(const Block &block, std::vector<Need> &needs) const {
  for (auto &op : block.ops) {
    if (std::optional<Need> need = unmet(*op))
      needs.push_back(*need);
    for (auto &body : op->bodies)
      addUnmet(*body, needs);
  }
}

std::optional<EdgeAnalysis::Need> EdgeAnalysis::unmet(Op &op) const {
  if (op.kind == OpKind::Dot)
    return unmetOfDot(op, 0, 1);
  if (op.kind == OpKind::DotScaled) // whose scales are finite everywhere
    return unmetOfDot(op, 0, 2);
  if (op.kind == OpKind::Load || op.kind == OpKind::Store || op.kind == OpKind::Atomic)
    return unmetOfIndices(op);
  if (op.kind != OpKind::Reduce)
    return std::nullopt;
  const Type &type = op.operand(0)->type;
  Value *end = endAt(type, op.axis == 0 ? PastRows : PastCols);
  if (!end)
    return std::nullopt;
  bool isInt = isInteger(type.elem);
  const double infinity = INFINITY; // a float, to which the largest integer would be rounded
  const double least = isInt ? leastOf(type.elem) : -infinity;
  const double most = isInt ? greatestOf(type.elem) : infinity;
  int harmless = 0;
  double identity = 0;
  switch (op.reduce) {
  case ReduceKind::Sum:
    harmless = Contents::Zero;
    break;
  case ReduceKind::Prod:
    harmless = Contents::One;
    identity = 1;
    break;
  case ReduceKind::Max: // ignores NaN
    harmless = Contents::NegInf | Contents::NaN;
    identity = least;
    break;
  case ReduceKind::ArgMax: // of integers the first of equals, and what exists comes first; of NaN alone 0
    harmless = isInt ? Contents::NegInf : Contents::NaN;
    identity = isInt ? least : NAN;
    break;
  case ReduceKind::Min:
    harmless = Contents::PosInf | Contents::NaN;
    identity = most;
    break;
  case ReduceKind::ArgMin:
    harmless = isInt ? Contents::PosInf : Contents::NaN;
    identity = isInt ? most : NAN;
    break;
  }
  if (beyond(op.operand(0), op.axis).isWithin(Contents(harmless)))
    return std::nullopt;
  return Need{&op, 0, op.axis, end, identity};
}

/// Indices of a gather or scatter are -1 where they do not exist, beyond each end that they have. No set of kinds says
/// -1, so the masks themselves are looked for.
std::optional<EdgeAnalysis::Need> EdgeAnalysis::unmetOfIndices(Op &op) const {
  const auto isMasked = [](const Value *indices, const Value *end, int axis) {
    for (const Op *select; (select = definedBy(indices, OpKind::Select)) && constantOf(select->operand(2)) == -1.0;
         indices = select->operand(1))
      if (isMaskOf(indices, end, axis))
        return true;
    return false;
  };
  for (const ViewIndex &index : op.view.indices) {
    if (index.kind != ViewIndex::Gather)
      continue;
    Value *indices = op.operand(index.operand);
    for (int axis : {0, 1})
      if (Value *end = endAt(indices->type, axis == 0 ? PastRows : PastCols); end && !isMasked(indices, end, axis))
        return Need{&op, index.operand, axis, end, -1};
  }
  return std::nullopt;
}

/// Beyond the end of what is contracted, zero on one side and finite numbers on the other.
std::optional<EdgeAnalysis::Need> EdgeAnalysis::unmetOfDot(Op &op, size_t placeA, size_t placeB) const {
  Value *a = op.operand(placeA), *b = op.operand(placeB);
  Value *end = endAt(a->type, PastCols);
  if (!end)
    end = endAt(b->type, PastRows);
  if (!end)
    return std::nullopt;
  Contents beyondA = beyond(a, 1), beyondB = beyond(b, 0);
  Need maskA{&op, placeA, 1, end, 0}, maskB{&op, placeB, 0, end, 0};
  if (!beyondA.isWithin(Contents::finite()))
    return maskA;
  if (!beyondB.isWithin(Contents::finite()))
    return maskB;
  if (beyondA.is(Contents::Zero) || beyondB.is(Contents::Zero))
    return std::nullopt;
  // A loaded operand goes to the matrix unit as it comes; a computed one is in registers anyway.
  auto isLoaded = [](const Value *value) {
    if (Op *transpose = definedBy(value, OpKind::Transpose))
      value = transpose->operand(0);
    return definedBy(value, OpKind::Load) != nullptr;
  };
  return isLoaded(a) && !isLoaded(b) ? maskB : maskA;
}

} // namespace tkc::ir
