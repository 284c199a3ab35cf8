// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/sema/Polynomial.h"

#include <algorithm>

namespace tkc::sema {

using ir::DimExpr;

Polynomial::Polynomial(const DimExpr &dim) {
  switch (dim.kind) {
  case DimExpr::Const:
    add({}, dim.value);
    return;
  case DimExpr::Add:
    *this = Polynomial(*dim.lhs) - (Polynomial(DimExpr::constant(-1)) * Polynomial(*dim.rhs));
    return;
  case DimExpr::Sub:
    *this = Polynomial(*dim.lhs) - Polynomial(*dim.rhs);
    return;
  case DimExpr::Mul:
    *this = Polynomial(*dim.lhs) * Polynomial(*dim.rhs);
    return;
  case DimExpr::Symbol:
  case DimExpr::Div: // quotients and remainders are symbols of their own
  case DimExpr::Mod:
    add({dim.str()}, 1);
    return;
  }
}

void Polynomial::add(const Monomial &monomial, int64_t factor) {
  int64_t &term = terms[monomial];
  term += factor;
  if (term == 0)
    terms.erase(monomial);
}

Polynomial Polynomial::operator-(const Polynomial &other) const {
  Polynomial result = *this;
  for (auto &[monomial, factor] : other.terms)
    result.add(monomial, -factor);
  return result;
}

Polynomial Polynomial::operator*(const Polynomial &other) const {
  Polynomial result;
  for (auto &[left, leftFactor] : terms)
    for (auto &[right, rightFactor] : other.terms) {
      Monomial product = left;
      product.insert(product.end(), right.begin(), right.end());
      std::sort(product.begin(), product.end());
      result.add(product, leftFactor * rightFactor);
    }
  return result;
}

Polynomial Polynomial::replaced(const std::string &symbol, const Polynomial &by) const {
  Polynomial result;
  for (auto &[monomial, factor] : terms) {
    Polynomial product(DimExpr::constant(factor));
    for (const std::string &name : monomial)
      product = product * (name == symbol ? by : Polynomial(DimExpr::named(name)));
    result = result - (Polynomial(DimExpr::constant(-1)) * product);
  }
  return result;
}

} // namespace tkc::sema
