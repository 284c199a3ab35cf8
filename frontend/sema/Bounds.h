// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known about integers when compiling, enough to see that a moved tile stays inside its tensor.
//
// An integer is a sum of atoms with coefficients: symbols, begins and ends of tile indices, values of ops. `a <= b` is
// shown by replacing atoms in b - a by their bounds (begin(t) >= lo of t's range, min(x, y) <= x, …) until a constant
// and symbols, which are not negative, remain.
#pragma once

#include "ir/TileIR.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tkc::sema {

/// `constant + Σ coefficient · atom`.
struct Linear {
  /// A symbol has a name; begin and end of a root tile index, and other values, have `value`.
  struct Atom {
    enum Kind : uint8_t { Symbol, Begin, End, Value } kind = Symbol;
    std::string symbol;
    const ir::Value *value = nullptr;
    auto operator<=>(const Atom &) const = default;
  };
  int64_t constant = 0;
  std::map<Atom, int64_t> terms;

  static Linear number(int64_t value) { return {value, {}}; }
  static Linear atom(Atom atom) { return {0, {{std::move(atom), 1}}}; }
  Linear &add(const Linear &other, int64_t factor = 1);
  bool isConstant() const { return terms.empty(); }
  /// Only symbols and a constant.
  bool isSymbolic() const;
};

/// "N - 3", for messages; atoms that have no name in the source are "…".
std::string text(const Linear &linear);

class Bounds {
public:
  Linear linear(const ir::Value *value) const;
  Linear linear(const ir::DimExpr &dim) const;
  /// The first element of a tile index that may be moved, and one past its last existing one.
  Linear beginOf(const ir::Value *tileIndex) const;
  Linear endOf(const ir::Value *tileIndex) const;

  /// A parameter that `where` may name beside dims. Dims are never negative, but such a scalar may be.
  void addScalar(std::string name) { scalars.insert(std::move(name)); }
  /// A `where` condition of the kernel: `nonNegative` >= 0.
  void addFact(Linear nonNegative) { facts.push_back(std::move(nonNegative)); }
  /// True only when it surely holds.
  bool isNonNegative(const Linear &linear) const;
  bool isAtMost(const Linear &small, const Linear &large) const;

  /// Whether the value depends on an element read from a tensor, which makes it the caller's promise.
  static bool isReadFromTensor(const ir::Value *value);

private:
  struct Search;
  bool prove(const Linear &linear, int depth, Search &search) const;
  std::vector<Linear> lowerBounds(const Linear::Atom &atom, Search &search) const;
  std::vector<Linear> upperBounds(const Linear::Atom &atom, Search &search) const;
  bool isNonNegativeSymbol(const std::string &symbol, Search &search) const;
  bool hasNonNegativeParts(const std::string &compound, Search &search) const;

  std::vector<Linear> facts;
  std::set<std::string> scalars;
  mutable std::map<std::string, ir::DimExpr> compounds; ///< what atoms stand for that are products or quotients of dims
};

} // namespace tkc::sema
