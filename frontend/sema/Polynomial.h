// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer polynomials of symbols: dims in a normal form, so that `B * N` and `N * B` are seen to be one.
#pragma once

#include "ir/TileIR.h"

#include <map>
#include <string>
#include <vector>

namespace tkc::sema {

class Polynomial {
public:
  explicit Polynomial(const ir::DimExpr &dim);

  bool isZero() const { return terms.empty(); }
  /// A number other than zero.
  bool isNonZeroNumber() const { return terms.size() == 1 && terms.begin()->first.empty(); }
  Polynomial operator-(const Polynomial &other) const;
  Polynomial operator*(const Polynomial &other) const;
  /// Every `symbol` replaced.
  Polynomial replaced(const std::string &symbol, const Polynomial &by) const;

private:
  Polynomial() = default;
  using Monomial = std::vector<std::string>; ///< factors in order, a power as a repetition
  void add(const Monomial &monomial, int64_t factor);
  std::map<Monomial, int64_t> terms;
};

} // namespace tkc::sema
