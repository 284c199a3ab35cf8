// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/RangeAnalysis.h"

#include "ir/Effects.h"

#include <algorithm>
#include <cassert>
#include <llvm/ADT/Hashing.h>
#include <llvm/Support/MathExtras.h>
#include <numeric>

namespace tkc::ir {

// ---- affine forms --------------------------------------------------------------------------------------------------

static Affine combine(const Affine &x, const Affine &y, int64_t factor) {
  Affine sum;
  sum.valid = x.valid && y.valid;
  auto addScaled = [&](int64_t a, int64_t b) {
    int64_t product = 0, result = 0;
    sum.valid &= !llvm::MulOverflow(b, factor, product) && !llvm::AddOverflow(a, product, result);
    return result;
  };
  sum.constant = addScaled(x.constant, y.constant);
  auto a = x.terms.begin(), b = y.terms.begin();
  while (a != x.terms.end() || b != y.terms.end()) {
    bool takesA = b == y.terms.end() || (a != x.terms.end() && a->first <= b->first);
    bool takesB = a == x.terms.end() || (b != y.terms.end() && b->first <= a->first);
    unsigned atom = takesA ? a->first : b->first;
    int64_t coefficient = addScaled(takesA ? a->second : 0, takesB ? b->second : 0);
    if (coefficient != 0)
      sum.terms.emplace_back(atom, coefficient);
    a += takesA;
    b += takesB;
  }
  return sum;
}

Affine operator+(const Affine &x, const Affine &y) { return combine(x, y, 1); }
Affine operator-(const Affine &x, const Affine &y) { return combine(x, y, -1); }
Affine operator*(const Affine &x, int64_t factor) { return combine(Affine(), x, factor); }

// ---- atoms ---------------------------------------------------------------------------------------------------------

RangeAnalysis::RangeAnalysis(const Function &function) : function(function) {}

static Atom atomOf(Atom::Kind kind, Value *value) {
  Atom atom;
  atom.kind = kind;
  atom.value = value;
  return atom;
}

Affine RangeAnalysis::single(unsigned atom) const {
  Affine form;
  form.terms.emplace_back(atom, 1);
  return form;
}

static size_t hashOf(const Affine &form) {
  size_t hash = llvm::hash_value(form.constant);
  for (auto [atom, coefficient] : form.terms)
    hash = llvm::hash_combine(hash, atom, coefficient);
  return hash;
}

unsigned RangeAnalysis::intern(Atom atom, bool &isNew) {
  size_t hash = llvm::hash_combine(static_cast<unsigned>(atom.kind), atom.value, atom.symbol, atom.axis, atom.divisor,
                                   hashOf(atom.lhs), hashOf(atom.rhs));
  auto [first, last] = atomsByHash.equal_range(hash);
  for (; first != last; ++first)
    if (atoms[first->second].atom == atom) {
      isNew = false;
      return first->second;
    }
  isNew = true;
  auto id = static_cast<unsigned>(atoms.size());
  atoms.push_back({std::move(atom), {}, {}, {}, {}});
  atomsByHash.emplace(hash, id);
  return id;
}

std::pair<Value *, Value *> RangeAnalysis::rangeOf(const Value *induction) {
  const Op *loop = induction->ownerBlock->parent;
  return {loop->operand(0), loop->operand(1)};
}

static bool isInduction(const Value *value) {
  return !value->definingOp && value->index == 0 && value->ownerBlock->parent &&
         (value->ownerBlock->parent->kind == OpKind::For || value->ownerBlock->parent->kind == OpKind::Parallel);
}

Affine RangeAnalysis::opaque(Value *value) {
  std::vector<Bound> lower, upper;
  if (isInduction(value)) {
    auto [lo, hi] = rangeOf(value);
    lower.push_back({1, formOf(lo)});
    upper.push_back({1, formOf(hi) - 1});
  } else if (Op *op = definedBy(value, OpKind::Mod)) {
    Affine divisor = formOf(op->operand(1));
    if (isNonNegative(divisor - 1)) {
      lower.push_back({1, 0});
      upper.push_back({1, divisor - 1});
    }
  } else if (Op *op = definedBy(value, OpKind::Param); op && isInteger(value->type.elem)) {
    if (const std::optional<int64_t> above = function.findParam(op->name)->above)
      lower.push_back({1, Affine(*above + 1)});
  }
  bool isNew = false;
  unsigned id = intern(atomOf(Atom::Scalar, value), isNew);
  if (isNew) {
    atoms[id].lower = std::move(lower);
    atoms[id].upper = std::move(upper);
  }
  return single(id);
}

Affine RangeAnalysis::symbol(const std::string &name) {
  if (std::optional<int64_t> constant = function.findConstant(name))
    return Affine(*constant);
  Atom atom;
  atom.symbol = name;
  bool isNew = false;
  unsigned id = intern(std::move(atom), isNew);
  if (isNew)
    atoms[id].lower.push_back({1, 0});
  return single(id);
}

Affine RangeAnalysis::indexOf(Value *root) {
  auto [lo, hi] = rangeOf(root);
  Affine first = formOf(lo), length = formOf(hi) - first;
  bool isNew = false;
  unsigned id = intern(atomOf(Atom::Index, root), isNew);
  if (isNew) {
    atoms[id].lower.push_back({1, 0});
    atoms[id].upper.push_back({root->type.rows, length - (isAlwaysFull(root) ? root->type.rows : 1)});
  }
  return single(id);
}

Affine RangeAnalysis::beginOf(Value *tileIndex) {
  if (Op *shift = definedBy(tileIndex, OpKind::Shift))
    return beginOf(shift->operand(0)) + formOf(shift->operand(1));
  auto [lo, hi] = rangeOf(tileIndex);
  Affine exact = formOf(lo) + indexOf(tileIndex) * tileIndex->type.rows;
  bool isNew = false;
  unsigned id = intern(atomOf(Atom::Begin, tileIndex), isNew);
  if (isNew) {
    Affine last = formOf(hi) - (isAlwaysFull(tileIndex) ? tileIndex->type.rows : 1);
    atoms[id].lower = {{1, exact}, {1, formOf(lo)}};
    atoms[id].upper = {{1, last}, {1, exact}};
  }
  return single(id);
}

Affine RangeAnalysis::endOf(Value *tileIndex) {
  if (Op *shift = definedBy(tileIndex, OpKind::Shift))
    return endOf(shift->operand(0)) + formOf(shift->operand(1));
  Affine begin = beginOf(tileIndex);
  int64_t size = tileIndex->type.rows;
  if (isAlwaysFull(tileIndex))
    return begin + size;
  Affine last = formOf(rangeOf(tileIndex).second);
  bool isNew = false;
  unsigned id = intern(atomOf(Atom::End, tileIndex), isNew);
  if (isNew) {
    atoms[id].lower = {{1, begin + 1}};
    atoms[id].upper = {{1, last}, {1, begin + size}};
  }
  return single(id);
}

Affine RangeAnalysis::elementOf(Value *tileIndex, int axis) {
  if (Op *shift = definedBy(tileIndex, OpKind::Shift))
    return elementOf(shift->operand(0), axis) + formOf(shift->operand(1));
  Affine begin = beginOf(tileIndex), end = endOf(tileIndex);
  Affine last = formOf(rangeOf(tileIndex).second);
  Atom atom = atomOf(Atom::Element, tileIndex);
  atom.axis = axis;
  bool isNew = false;
  unsigned id = intern(atom, isNew);
  if (isNew) {
    Bound inTile{1, begin + (tileIndex->type.rows - 1)};
    atoms[id].lower = {{1, begin}};
    atoms[id].upper = {inTile, {1, end - 1}};
    // A tile that is cut short ends where the range does.
    atoms[id].lowerBeyond = {{1, last}, {1, end}};
    atoms[id].upperBeyond = {inTile};
  }
  return single(id);
}

bool RangeAnalysis::isAlwaysFull(Value *tileIndex) {
  Value *root = rootTileIndex(tileIndex);
  auto [lo, hi] = rangeOf(root);
  return isMultiple(formOf(hi) - formOf(lo), root->type.rows);
}

/// A range that has a tile begins before it ends: if with the smaller of two, then not with one that is the end or
/// more.
std::vector<Affine> RangeAnalysis::startsOf(Value *rootTileIndex) {
  auto [lo, hi] = rangeOf(rootTileIndex);
  const Affine first = formOf(lo), end = formOf(hi);
  if (first.terms.size() != 1 || first != single(first.terms[0].first) ||
      atoms[first.terms[0].first].atom.kind != Atom::Min)
    return {first};
  const Atom &smaller = atoms[first.terms[0].first].atom;
  std::vector<Affine> starts = {smaller.lhs, smaller.rhs};
  std::erase_if(starts, [&](const Affine &start) { return isNonNegative(start - end); });
  return starts;
}

std::vector<Affine> RangeAnalysis::choicesOf(const Atom &atom) {
  if (atom.kind == Atom::Min || atom.kind == Atom::Max)
    return {atom.lhs, atom.rhs};
  if (atom.kind == Atom::Begin) {
    std::vector<Affine> begins = startsOf(atom.value);
    for (Affine &begin : begins)
      begin = begin + indexOf(atom.value) * atom.value->type.rows;
    return begins;
  }
  if (const Op *select = atom.kind == Atom::Scalar ? definedBy(atom.value, OpKind::Select) : nullptr)
    return {formOf(select->operand(1)), formOf(select->operand(2))};
  return {};
}

bool RangeAnalysis::isMultiple(const Affine &form, int64_t size) {
  int budget = 400;
  return isMultiple(form, size, budget);
}

bool RangeAnalysis::isMultiple(const Affine &form, int64_t size, int &budget) {
  if (!form.valid || --budget < 0)
    return false;
  for (auto [id, coefficient] : form.terms) {
    if (coefficient % size == 0)
      continue;
    const std::vector<Affine> choices = choicesOf(atoms[id].atom);
    Affine rest = form;
    std::erase(rest.terms, Affine::Term(id, coefficient));
    return !choices.empty() && std::all_of(choices.begin(), choices.end(), [&](const Affine &choice) {
      return isMultiple(rest + choice * coefficient, size, budget);
    });
  }
  return form.constant % size == 0;
}

// ---- forms of values -----------------------------------------------------------------------------------------------

Affine RangeAnalysis::formOf(const DimExpr &dim) {
  switch (dim.kind) {
  case DimExpr::Const:
    return Affine(dim.value);
  case DimExpr::Symbol:
    return symbol(dim.symbol);
  case DimExpr::Add:
    return formOf(*dim.lhs) + formOf(*dim.rhs);
  case DimExpr::Sub:
    return formOf(*dim.lhs) - formOf(*dim.rhs);
  case DimExpr::Mul: {
    Affine x = formOf(*dim.lhs), y = formOf(*dim.rhs);
    if (x.isConstant() || y.isConstant())
      return x.isConstant() ? y * x.constant : x * y.constant;
    break;
  }
  case DimExpr::Div:
  case DimExpr::Mod: {
    Affine x = formOf(*dim.lhs), y = formOf(*dim.rhs);
    if (!y.isConstant() || y.constant < 1)
      break;
    Affine q = quotient(x, y.constant);
    return dim.kind == DimExpr::Div ? q : x - q * y.constant;
  }
  }
  // A product of symbols: an atom named by its text.
  Atom atom;
  atom.symbol = dim.str();
  bool isNew = false;
  return single(intern(std::move(atom), isNew));
}

/// Whether ops on i32 can compute the form, and the sum of two. Arithmetic that goes beyond is not looked into.
static bool fitsI32(const Affine &form) {
  constexpr int64_t largest = int64_t(1) << 30;
  const auto fits = [](int64_t number, int64_t limit) { return number <= limit && number >= -limit; };
  return form.valid && fits(form.constant, 2 * largest) &&
         std::all_of(form.terms.begin(), form.terms.end(),
                     [&](const Affine::Term &term) { return fits(term.second, largest); });
}

Affine RangeAnalysis::formOf(Value *value) {
  auto found = forms.find(value);
  if (found != forms.end())
    return found->second;
  Affine form = computeForm(value);
  if (!fitsI32(form))
    form = opaque(value);
  forms.emplace(value, form);
  return form;
}

Affine RangeAnalysis::computeForm(Value *value) {
  // Forms are of numbers that fit i32.
  if (value->type.elem == ElemType::Bool || value->type.elem == ElemType::I64 || isFloat(value->type.elem))
    return opaque(value);
  return value->definingOp ? formOfOp(value, *value->definingOp) : opaque(value);
}

Affine RangeAnalysis::formOfOp(Value *value, const Op &op) {
  switch (op.kind) {
  case OpKind::Const:
    return Affine(static_cast<int64_t>(op.constant));
  case OpKind::Dim:
    return symbol(op.name);
  case OpKind::Add:
    return formOf(op.operand(0)) + formOf(op.operand(1));
  case OpKind::Sub:
    return formOf(op.operand(0)) - formOf(op.operand(1));
  case OpKind::Neg:
    return formOf(op.operand(0)) * -1;
  case OpKind::Mul: {
    Affine x = formOf(op.operand(0)), y = formOf(op.operand(1));
    if (x.isConstant())
      return y * x.constant;
    return y.isConstant() ? x * y.constant : opaque(value);
  }
  case OpKind::Div:
  case OpKind::Mod: {
    Affine x = formOf(op.operand(0)), y = formOf(op.operand(1));
    if (!y.isConstant() || y.constant < 1)
      return opaque(value);
    Affine q = quotient(x, y.constant);
    return op.kind == OpKind::Div ? q : x - q * y.constant;
  }
  case OpKind::Min:
    return minimum(formOf(op.operand(0)), formOf(op.operand(1)));
  case OpKind::Max:
    return maximum(formOf(op.operand(0)), formOf(op.operand(1)));
  case OpKind::Full:
    return formOf(op.operand(0));
  case OpKind::Cast:
    return isInteger(op.operand(0)->type.elem) && op.operand(0)->type.elem != ElemType::I64 &&
                   value->type.elem == ElemType::I32
               ? formOf(op.operand(0))
               : opaque(value);
  case OpKind::Begin:
    return beginOf(op.operand(0));
  case OpKind::End:
    return endOf(op.operand(0));
  case OpKind::Index:
    return indexOf(rootTileIndex(op.operand(0)));
  case OpKind::Elements:
    return elementOf(op.operand(0), op.axis);
  case OpKind::Iota: {
    Atom atom;
    atom.kind = Atom::Iota;
    atom.axis = value->type.isColumn() ? 0 : 1;
    atom.divisor = std::max(value->type.rows, value->type.cols);
    bool isNew = false;
    unsigned id = intern(atom, isNew);
    if (isNew) {
      atoms[id].lower.push_back({1, 0});
      atoms[id].upper.push_back({1, atom.divisor - 1});
    }
    return single(id);
  }
  default: // loads, parameters, bit arithmetic, …: as they are
    return opaque(value);
  }
}

Affine RangeAnalysis::quotient(const Affine &form, int64_t divisor) {
  if (divisor == 1)
    return form;
  // Terms that divide come out: ⌊(B·q + r) / B⌋ = q + ⌊r / B⌋.
  Affine whole, rest;
  whole.valid = form.valid;
  whole.constant = llvm::divideFloorSigned(form.constant, divisor);
  rest.constant = form.constant - whole.constant * divisor;
  for (auto [atom, coefficient] : form.terms)
    (coefficient % divisor == 0 ? whole : rest)
        .terms.emplace_back(atom, coefficient % divisor == 0 ? coefficient / divisor : coefficient);
  if (rest.terms.empty())
    return whole;
  Atom atom;
  atom.kind = Atom::Div;
  atom.lhs = rest;
  atom.divisor = divisor;
  bool isNotNegative = isNonNegative(rest);
  bool isNew = false;
  unsigned id = intern(atom, isNew);
  if (isNew) {
    atoms[id].upper = {{divisor, rest}};
    atoms[id].lower = {{divisor, rest - (divisor - 1)}};
    if (isNotNegative)
      atoms[id].lower.push_back({1, 0});
  }
  return whole + single(id);
}

std::optional<Affine> RangeAnalysis::simplerExtreme(const Affine &x, const Affine &y, bool wantMax) {
  if (isNonNegative(x - y))
    return wantMax ? x : y;
  if (isNonNegative(y - x))
    return wantMax ? y : x;
  return std::nullopt;
}

Affine RangeAnalysis::minimum(const Affine &x, const Affine &y) {
  if (std::optional<Affine> one = simplerExtreme(x, y, false))
    return *one;
  Atom atom;
  atom.kind = Atom::Min;
  atom.lhs = x;
  atom.rhs = y;
  bool isNew = false;
  unsigned id = intern(atom, isNew);
  if (isNew)
    atoms[id].upper = {{1, x}, {1, y}};
  return single(id);
}

Affine RangeAnalysis::maximum(const Affine &x, const Affine &y) {
  if (std::optional<Affine> one = simplerExtreme(x, y, true))
    return *one;
  Atom atom;
  atom.kind = Atom::Max;
  atom.lhs = x;
  atom.rhs = y;
  bool isNew = false;
  unsigned id = intern(atom, isNew);
  if (isNew)
    atoms[id].lower = {{1, x}, {1, y}};
  return single(id);
}

// ---- proofs --------------------------------------------------------------------------------------------------------

bool RangeAnalysis::isNonNegative(const Affine &form, const Beyond &beyond) {
  int budget = 400;
  return prove(form, beyond, budget);
}

bool RangeAnalysis::isNonNegative(const Affine &form, const std::set<std::string> &notEmpty) {
  positiveDims = &notEmpty;
  const bool proven = isNonNegative(form);
  positiveDims = nullptr;
  return proven;
}

bool RangeAnalysis::prove(const Affine &form, const Beyond &beyond, int &budget) {
  if (!form.valid || --budget < 0)
    return false;
  if (form.terms.empty())
    return form.constant >= 0;
  auto [id, coefficient] = form.terms.back();
  const AtomInfo &info = atoms[id];
  bool needsLower = coefficient > 0;
  // The smaller (larger) of two is no less (more) than both: either may be it.
  bool needsBoth = info.atom.kind == (needsLower ? Atom::Min : Atom::Max);
  if (needsBoth)
    return proveWith(form, id, coefficient, {1, info.atom.lhs}, beyond, budget) &&
           proveWith(form, id, coefficient, {1, info.atom.rhs}, beyond, budget);
  if (needsLower && info.atom.kind == Atom::Symbol && positiveDims && positiveDims->count(info.atom.symbol) != 0)
    return proveWith(form, id, coefficient, {1, 1}, beyond, budget);
  bool isBeyond =
      info.atom.kind == Atom::Element && info.atom.value == beyond.tileIndex && info.atom.axis == beyond.axis;
  const std::vector<Bound> &bounds =
      isBeyond ? (needsLower ? info.lowerBeyond : info.upperBeyond) : (needsLower ? info.lower : info.upper);
  for (const Bound &bound : bounds)
    if (proveWith(form, id, coefficient, bound, beyond, budget))
      return true;
  return false;
}

bool RangeAnalysis::proveWith(const Affine &form, unsigned atom, int64_t coefficient, const Bound &bound,
                              const Beyond &beyond, int &budget) {
  int64_t divisor = std::gcd(coefficient, bound.scale);
  // factor · form has a multiple of scale · atom in it, which the bound replaces.
  int64_t factor = bound.scale / divisor;
  Affine rest = form;
  rest.terms.pop_back();
  assert(form.terms.back().first == atom && "the latest atom goes first");
  return prove(rest * factor + bound.form * (coefficient / divisor), beyond, budget);
}

std::optional<bool> RangeAnalysis::compare(OpKind kind, Value *x, Value *y, const Beyond &beyond) {
  Affine difference = formOf(y) - formOf(x);
  // No element is beyond the end of a range of whole tiles, so all is true of those: first what masks are for, that
  // none is below the end.
  const bool first = beyond.tileIndex == nullptr;
  auto decide = [&](const Affine &yes, const Affine &no) -> std::optional<bool> {
    for (bool answer : {first, !first})
      if (isNonNegative(answer ? yes : no, beyond))
        return answer;
    return std::nullopt;
  };
  if (kind == OpKind::Lt)
    return decide(difference - 1, difference * -1);
  if (kind == OpKind::Le)
    return decide(difference, difference * -1 - 1);
  if (kind == OpKind::Gt)
    return decide(difference * -1 - 1, difference);
  if (kind == OpKind::Ge)
    return decide(difference * -1, difference - 1);
  return std::nullopt;
}

// ---- back to ops ---------------------------------------------------------------------------------------------------

Value *RangeAnalysis::materializeAtom(const Atom &atom, Builder &builder) {
  switch (atom.kind) {
  case Atom::Symbol:
    return builder.dim(atom.symbol);
  case Atom::Scalar:
    return atom.value;
  case Atom::Index:
    return builder.index(atom.value);
  case Atom::Begin:
    return builder.begin(atom.value);
  case Atom::End:
    return builder.end(atom.value);
  case Atom::Element:
    return builder.elements(atom.value, atom.axis);
  case Atom::Div:
    return builder.binary(OpKind::Div, materialize(atom.lhs, builder),
                          builder.constant(ElemType::I32, static_cast<double>(atom.divisor)));
  case Atom::Min:
  case Atom::Max:
    return builder.binary(atom.kind == Atom::Min ? OpKind::Min : OpKind::Max, materialize(atom.lhs, builder),
                          materialize(atom.rhs, builder));
  case Atom::Iota:
    return atom.axis == 0 ? builder.iota(atom.divisor, 1) : builder.iota(1, atom.divisor);
  }
  return nullptr;
}

Value *RangeAnalysis::materialize(const Affine &form, Builder &builder) {
  auto number = [&](int64_t value) { return builder.constant(ElemType::I32, static_cast<double>(value)); };
  Value *sum = nullptr;
  // What is added first, so that a difference is one op.
  for (bool negative : {false, true})
    for (auto [id, coefficient] : form.terms) {
      if ((coefficient < 0) != negative)
        continue;
      int64_t size = std::abs(coefficient);
      Value *term = materializeAtom(atoms[id].atom, builder);
      if (size != 1)
        term = builder.binary(OpKind::Mul, term, number(size));
      if (!sum)
        sum = negative ? builder.unary(OpKind::Neg, term) : term;
      else
        sum = builder.binary(negative ? OpKind::Sub : OpKind::Add, sum, term);
    }
  if (!sum)
    return number(form.constant);
  if (form.constant == 0)
    return sum;
  return builder.binary(form.constant > 0 ? OpKind::Add : OpKind::Sub, sum, number(std::abs(form.constant)));
}

} // namespace tkc::ir
