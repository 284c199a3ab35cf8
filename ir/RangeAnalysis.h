// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known about integers when compiling: each index expression as an affine form over *atoms* (dims, induction
// variables, ends of tiles, quotients, …), bounds of each atom in terms of earlier ones, and proofs that a form is
// never negative by putting in bounds, latest atom first.
//   for j in tiles(0, B·⌊(i.begin + 1) / B⌋, B): j.row ≤ i.col ?
//   i.col − j.row ≥ i.begin − (B·⌊(i.begin + 1) / B⌋ − 1) ≥ 0
// Dims are never negative, and may be 0. What an index is made of does not overflow i32.
#pragma once

#include "ir/TileIR.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tkc::ir {

/// constant + Σ coefficient · atom. `valid` is false after an overflow of 64 bits: nothing is provable of it.
struct Affine {
  using Term = std::pair<unsigned, int64_t>; ///< atom, coefficient
  int64_t constant = 0;
  std::vector<Term> terms; ///< by atom, ascending; no coefficient is 0
  bool valid = true;

  Affine() = default;
  Affine(int64_t constant) : constant(constant) {}
  bool isConstant() const { return valid && terms.empty(); }
  friend bool operator==(const Affine &, const Affine &) = default;
};
Affine operator+(const Affine &x, const Affine &y);
Affine operator-(const Affine &x, const Affine &y);
Affine operator*(const Affine &x, int64_t factor);

/// An integer that is not taken apart further.
struct Atom {
  enum Kind : uint8_t {
    Symbol, ///< a dim
    Scalar, ///< `value` as it is: an induction variable, a parameter, a loaded integer, …; a tile stands for its
            ///< elements
    Index,  ///< of tile index `value`, as are the next three
    Begin,
    End,
    Element, ///< one element's index, along `axis`
    Div,     ///< ⌊lhs / divisor⌋, divisor ≥ 1
    Min,     ///< of lhs and rhs, as is the next
    Max,
    Iota, ///< one element of 0 … divisor − 1, along `axis`
  } kind = Symbol;
  Value *value = nullptr;
  std::string symbol;
  int axis = 0;
  Affine lhs, rhs;
  int64_t divisor = 1;

  friend bool operator==(const Atom &, const Atom &) = default;
};

/// Which elements of tile indices a proof is about: those that exist, but of one tile index along one axis those
/// between its end and its size.
struct Beyond {
  const Value *tileIndex = nullptr;
  int axis = 0;
};

/// Lives as long as the function does not lose values that it has seen.
class RangeAnalysis {
public:
  explicit RangeAnalysis(const Function &function);

  /// The form of an integer scalar, or of any element of an integer tile.
  Affine formOf(Value *value);
  Affine beginOf(Value *tileIndex);
  Affine endOf(Value *tileIndex);
  Affine elementOf(Value *tileIndex, int axis);
  /// The form of a tensor's dim.
  Affine formOf(const DimExpr &dim);

  bool isNonNegative(const Affine &form, const Beyond &beyond = {});
  /// Where these dims are at least 1.
  bool isNonNegative(const Affine &form, const std::set<std::string> &notEmpty);
  bool isLessEqual(Value *x, Value *y) { return isNonNegative(formOf(y) - formOf(x)); }
  bool isLess(Value *x, Value *y) { return isNonNegative(formOf(y) - formOf(x) - 1); }
  /// No tile of this index is cut short: its range is a multiple of its size.
  bool isAlwaysFull(Value *tileIndex);
  /// Whether the form is a multiple of `size`, whatever its atoms are.
  bool isMultiple(const Affine &form, int64_t size);
  /// The bounds of the range that a root tile index or an integer induction variable runs over.
  static std::pair<Value *, Value *> rangeOf(const Value *induction);

  /// What `Lt`, `Le`, `Gt` or `Ge` of x and y always gives; nullopt where it depends.
  std::optional<bool> compare(OpKind kind, Value *x, Value *y, const Beyond &beyond = {});

  const Atom &atom(unsigned id) const { return atoms[id].atom; }
  Affine quotient(const Affine &form, int64_t divisor);
  Affine minimum(const Affine &x, const Affine &y);
  Affine maximum(const Affine &x, const Affine &y);
  /// Ops that compute the form, at the builder's point.
  Value *materialize(const Affine &form, Builder &builder);

private:
  /// scale · atom ≤ form, or ≥.
  struct Bound {
    int64_t scale;
    Affine form;
  };
  struct AtomInfo {
    Atom atom;
    std::vector<Bound> lower, upper;
    std::vector<Bound> lowerBeyond, upperBeyond; ///< Element: of the elements past the end
  };

  const Function &function;
  std::deque<AtomInfo> atoms; ///< bounds refer to earlier atoms only
  std::unordered_multimap<size_t, unsigned> atomsByHash;
  std::unordered_map<const Value *, Affine> forms;
  const std::set<std::string> *positiveDims = nullptr; ///< of the proof that is under way

  Affine single(unsigned atom) const;
  unsigned intern(Atom atom, bool &isNew);
  Affine computeForm(Value *value);
  Affine formOfOp(Value *value, const Op &op);
  Affine opaque(Value *value);
  Affine symbol(const std::string &name);
  Affine indexOf(Value *rootTileIndex);
  bool isMultiple(const Affine &form, int64_t size, int &budget);
  std::vector<Affine> startsOf(Value *rootTileIndex);
  /// The forms of which the atom is one; none where they are not known.
  std::vector<Affine> choicesOf(const Atom &atom);
  std::optional<Affine> simplerExtreme(const Affine &x, const Affine &y, bool wantMax);
  bool prove(const Affine &form, const Beyond &beyond, int &budget);
  bool proveWith(const Affine &form, unsigned atom, int64_t coefficient, const Bound &bound, const Beyond &beyond,
                 int &budget);
  Value *materializeAtom(const Atom &atom, Builder &builder);
};

} // namespace tkc::ir
