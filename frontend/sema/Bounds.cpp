// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/sema/Bounds.h"

#include "ir/Effects.h"

#include <algorithm>

namespace tkc::sema {

using ir::OpKind;

namespace {

constexpr int maxDepth = 6;     ///< of replacing atoms by bounds; expressions in kernels need two or three
constexpr int maxSteps = 20000; ///< of one proof; the library needs at most 31, but each condition multiplies them
constexpr int maxOps = 128;     ///< of arithmetic that is looked into, what is used twice counting twice
constexpr int64_t maxCoefficient = int64_t(1) << 40; ///< far above any i32, so that sums of those do not overflow

Linear scaled(const Linear &linear, int64_t factor) {
  Linear result;
  return result.add(linear, factor);
}

bool haveCommonAtom(const Linear &a, const Linear &b) {
  return std::any_of(a.terms.begin(), a.terms.end(), [&](const auto &term) { return b.terms.count(term.first) != 0; });
}

/// The product where one side is a number, unless it is beyond what any i32 could be.
std::optional<Linear> product(const Linear &lhs, const Linear &rhs) {
  if (!lhs.isConstant() && !rhs.isConstant())
    return std::nullopt;
  const Linear &of = lhs.isConstant() ? rhs : lhs;
  const int64_t factor = lhs.isConstant() ? lhs.constant : rhs.constant;
  const auto fits = [&](int64_t number) {
    int64_t result = 0;
    return !__builtin_mul_overflow(number, factor, &result) && result < maxCoefficient && result > -maxCoefficient;
  };
  bool allFit = fits(of.constant);
  for (const auto &term : of.terms)
    allFit &= fits(term.second);
  return allFit ? std::optional(scaled(of, factor)) : std::nullopt;
}

/// Whether the arithmetic that makes a scalar has at most `left` ops, which goes down by them.
bool isSmall(const ir::Value *value, int &left) {
  const ir::Op *op = value->definingOp;
  if (--left < 0)
    return false;
  if (!op || !value->type.isScalar() || (!ir::isElementwiseBinary(op->kind) && !ir::isElementwiseUnary(op->kind)))
    return true;
  for (size_t i = 0; i < op->operands().size(); ++i)
    if (!isSmall(op->operand(i), left))
      return false;
  return true;
}

/// The loop or grid axis that an induction variable belongs to.
const ir::Op *loopOf(const ir::Value *value) {
  if (!value->ownerBlock || value->index != 0 || !value->ownerBlock->parent)
    return nullptr;
  const ir::Op *op = value->ownerBlock->parent;
  return op->kind == OpKind::For || op->kind == OpKind::Parallel ? op : nullptr;
}

} // namespace

Linear &Linear::add(const Linear &other, int64_t factor) {
  constant += other.constant * factor;
  for (auto &[atom, coefficient] : other.terms) {
    int64_t &mine = terms[atom];
    mine += coefficient * factor;
    if (mine == 0)
      terms.erase(atom);
  }
  return *this;
}

bool Linear::isSymbolic() const {
  for (auto &term : terms)
    if (term.first.kind != Atom::Symbol)
      return false;
  return true;
}

std::string text(const Linear &linear) {
  std::string result;
  auto append = [&](int64_t factor, const std::string &what) {
    if (!result.empty())
      result += factor < 0 ? " - " : " + ";
    else if (factor < 0)
      result += "-";
    int64_t size = factor < 0 ? -factor : factor;
    result += what.empty() ? std::to_string(size) : size == 1 ? what : std::to_string(size) + " * " + what;
  };
  for (auto &[atom, coefficient] : linear.terms)
    append(coefficient, atom.kind == Linear::Atom::Symbol ? atom.symbol : "…");
  if (linear.constant != 0 || result.empty())
    append(linear.constant, "");
  return result;
}

Linear Bounds::linear(const ir::DimExpr &dim) const {
  using ir::DimExpr;
  switch (dim.kind) {
  case DimExpr::Const:
    return Linear::number(dim.value);
  case DimExpr::Symbol:
    return Linear::atom({Linear::Atom::Symbol, dim.symbol, nullptr});
  case DimExpr::Add:
    return linear(*dim.lhs).add(linear(*dim.rhs));
  case DimExpr::Sub:
    return linear(*dim.lhs).add(linear(*dim.rhs), -1);
  case DimExpr::Mul: {
    if (std::optional<Linear> both = product(linear(*dim.lhs), linear(*dim.rhs)))
      return *std::move(both);
    break;
  }
  case DimExpr::Div:
  case DimExpr::Mod:
    break;
  }
  const std::string name = dim.str();
  compounds.try_emplace(name, dim);
  return Linear::atom({Linear::Atom::Symbol, name, nullptr});
}

/// The dim expression that an op computes from symbols and constants alone, so that `N / 2` in a dim and in a range
/// are one atom.
static std::optional<ir::DimExpr> asDim(const ir::Value *value) {
  using ir::DimExpr;
  const ir::Op *op = value->definingOp;
  if (!op || !value->type.isScalar())
    return std::nullopt;
  if (op->kind == OpKind::Const)
    return DimExpr::constant(static_cast<int64_t>(op->constant));
  if (op->kind == OpKind::Dim)
    return DimExpr::named(op->name);
  std::optional<DimExpr::Kind> kind;
  if (op->kind == OpKind::Add)
    kind = DimExpr::Add;
  else if (op->kind == OpKind::Sub)
    kind = DimExpr::Sub;
  else if (op->kind == OpKind::Mul)
    kind = DimExpr::Mul;
  else if (op->kind == OpKind::Div)
    kind = DimExpr::Div;
  else if (op->kind == OpKind::Mod)
    kind = DimExpr::Mod;
  if (!kind || value->type.elem != ElemType::I32)
    return std::nullopt;
  std::optional<DimExpr> lhs = asDim(op->operand(0)), rhs = asDim(op->operand(1));
  return lhs && rhs ? std::optional(DimExpr::binary(*kind, *lhs, *rhs)) : std::nullopt;
}

Linear Bounds::linear(const ir::Value *value) const {
  if (int left = maxOps; !isSmall(value, left))
    return Linear::atom({Linear::Atom::Value, {}, value});
  if (std::optional<ir::DimExpr> dim = asDim(value))
    return linear(*dim);
  const ir::Op *op = value->definingOp;
  if (op && value->type.isScalar() && value->type.elem == ElemType::I32) {
    if (op->kind == OpKind::Add)
      return linear(op->operand(0)).add(linear(op->operand(1)));
    if (op->kind == OpKind::Sub)
      return linear(op->operand(0)).add(linear(op->operand(1)), -1);
    if (op->kind == OpKind::Neg)
      return scaled(linear(op->operand(0)), -1);
    if (op->kind == OpKind::Begin)
      return beginOf(op->operand(0));
    if (op->kind == OpKind::End)
      return endOf(op->operand(0));
    if (op->kind == OpKind::Mul)
      if (std::optional<Linear> both = product(linear(op->operand(0)), linear(op->operand(1))))
        return *std::move(both);
  }
  return Linear::atom({Linear::Atom::Value, {}, value});
}

static const ir::Value *rootOf(const ir::Value *tileIndex) {
  return ir::rootTileIndex(const_cast<ir::Value *>(tileIndex));
}

/// How far a tile index was moved.
static Linear shiftOf(const Bounds &bounds, const ir::Value *tileIndex) {
  Linear shift;
  for (; tileIndex->definingOp && tileIndex->definingOp->kind == OpKind::Shift;
       tileIndex = tileIndex->definingOp->operand(0))
    shift.add(bounds.linear(tileIndex->definingOp->operand(1)));
  return shift;
}

Linear Bounds::beginOf(const ir::Value *tileIndex) const {
  return shiftOf(*this, tileIndex).add(Linear::atom({Linear::Atom::Begin, {}, rootOf(tileIndex)}));
}

Linear Bounds::endOf(const ir::Value *tileIndex) const {
  return shiftOf(*this, tileIndex).add(Linear::atom({Linear::Atom::End, {}, rootOf(tileIndex)}));
}

/// One question, with all that is asked on the way.
struct Bounds::Search {
  int depth = 1; ///< of replacing atoms by bounds
  int stepsLeft = maxSteps;
  bool onlyRelated = true; ///< takes only conditions that have an atom in common with what is to be shown
  bool leftOut = false;    ///< there was another one
  /// Products and quotients whose parts are being asked about. A condition may lead from the parts of one back to
  /// itself, as `P == (N - 1) / 2 + 1` does: N - 1 = (P - (N - 1) / 2 - 1) + …
  std::set<std::string> open;
};

/// Short proofs are looked for first, since conditions lead far. For the same reason conditions on other dims are left
/// out at first: each of them leads to the parts of all products and quotients that it names.
bool Bounds::isNonNegative(const Linear &linear) const {
  for (const bool onlyRelated : {true, false}) {
    Search search;
    search.onlyRelated = onlyRelated;
    for (; search.depth <= maxDepth && search.stepsLeft > 0; ++search.depth)
      if (prove(linear, 0, search))
        return true;
    if (!search.leftOut)
      return false;
  }
  return false;
}

/// Whether both parts of a product or quotient of dims are not negative, and so it is not negative itself.
bool Bounds::hasNonNegativeParts(const std::string &compound, Search &search) const {
  if (!search.open.insert(compound).second)
    return false;
  const ir::DimExpr &dim = compounds.at(compound);
  const bool holds = prove(linear(*dim.lhs), 0, search) && prove(linear(*dim.rhs), 0, search);
  search.open.erase(compound);
  return holds;
}

bool Bounds::isNonNegativeSymbol(const std::string &symbol, Search &search) const {
  return scalars.count(symbol) == 0 && (compounds.count(symbol) == 0 || hasNonNegativeParts(symbol, search));
}

std::vector<Linear> Bounds::lowerBounds(const Linear::Atom &atom, Search &search) const {
  switch (atom.kind) {
  case Linear::Atom::Symbol:
    return isNonNegativeSymbol(atom.symbol, search) ? std::vector{Linear::number(0)} : std::vector<Linear>{};
  case Linear::Atom::Begin:
    if (const ir::Op *loop = loopOf(atom.value))
      return {linear(loop->operand(0))};
    return {};
  case Linear::Atom::End:
    return {Linear::atom({Linear::Atom::Begin, {}, atom.value}).add(Linear::number(1))};
  case Linear::Atom::Value:
    break;
  }
  if (const ir::Op *loop = loopOf(atom.value))
    return {linear(loop->operand(0))};
  const ir::Op *op = atom.value->definingOp;
  if (op && op->kind == OpKind::Max)
    return {linear(op->operand(0)), linear(op->operand(1))};
  bool isQuotient = op && (op->kind == OpKind::Div || op->kind == OpKind::Mod || op->kind == OpKind::Index);
  // A quotient or remainder of what is not negative is not negative.
  if (isQuotient && (op->kind == OpKind::Index ||
                     (prove(linear(op->operand(0)), 0, search) && prove(linear(op->operand(1)), 0, search))))
    return {Linear::number(0)};
  return {};
}

std::vector<Linear> Bounds::upperBounds(const Linear::Atom &atom, Search &search) const {
  switch (atom.kind) {
  case Linear::Atom::Symbol:
    if (const auto compound = compounds.find(atom.symbol); compound != compounds.end())
      if (compound->second.kind == ir::DimExpr::Div && hasNonNegativeParts(atom.symbol, search))
        return {linear(*compound->second.lhs)};
    return {};
  case Linear::Atom::Begin:
    return {Linear::atom({Linear::Atom::End, {}, atom.value}).add(Linear::number(-1))};
  case Linear::Atom::End: {
    std::vector<Linear> result{
        Linear::atom({Linear::Atom::Begin, {}, atom.value}).add(Linear::number(atom.value->type.rows))};
    if (const ir::Op *loop = loopOf(atom.value))
      result.push_back(linear(loop->operand(1)));
    return result;
  }
  case Linear::Atom::Value:
    break;
  }
  if (const ir::Op *loop = loopOf(atom.value))
    return {linear(loop->operand(1)).add(Linear::number(-1))};
  const ir::Op *op = atom.value->definingOp;
  if (op && op->kind == OpKind::Min)
    return {linear(op->operand(0)), linear(op->operand(1))};
  if (op && op->kind == OpKind::Mod) {
    Linear largest = linear(op->operand(1)).add(Linear::number(-1)); // of a remainder by 0, which is 0, it is no bound
    if (prove(largest, 0, search))
      return {largest};
  }
  return {};
}

bool Bounds::prove(const Linear &linear, int depth, Search &search) const {
  if (--search.stepsLeft < 0)
    return false;
  const bool isPlain =
      linear.constant >= 0 && std::all_of(linear.terms.begin(), linear.terms.end(), [&](const auto &term) {
        return term.second > 0 && term.first.kind == Linear::Atom::Symbol &&
               isNonNegativeSymbol(term.first.symbol, search);
      });
  if (isPlain)
    return true;
  if (depth == search.depth)
    return false;
  for (auto &[atom, coefficient] : linear.terms) {
    if (atom.kind == Linear::Atom::Symbol && coefficient > 0 && linear.constant >= 0)
      continue;
    for (const Linear &bound : coefficient > 0 ? lowerBounds(atom, search) : upperBounds(atom, search)) {
      Linear weaker = linear;
      weaker.add(Linear::atom(atom), -coefficient).add(bound, coefficient);
      if (prove(weaker, depth + 1, search))
        return true;
    }
  }
  for (const Linear &fact : depth < 2 ? facts : std::vector<Linear>{}) {
    if (search.onlyRelated && !haveCommonAtom(fact, linear)) {
      search.leftOut = true;
      continue;
    }
    Linear rest = linear;
    if (prove(rest.add(fact, -1), depth + 1, search))
      return true;
  }
  return false;
}

bool Bounds::isAtMost(const Linear &small, const Linear &large) const {
  Linear difference = large;
  return isNonNegative(difference.add(small, -1));
}

bool Bounds::isReadFromTensor(const ir::Value *value) {
  return ir::searchBack(value, [&](const ir::Value *at, std::vector<const ir::Value *> &next) {
    const ir::Op *op = at->definingOp;
    if (const ir::Op *loop = loopOf(at))
      next = {loop->operand(0), loop->operand(1)};
    else if (op && op->bodies.empty())
      next.assign(op->operands().begin(), op->operands().end());
    return op && op->kind == OpKind::Load;
  });
}

} // namespace tkc::sema
