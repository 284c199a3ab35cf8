// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/analysis/Quotients.h"
#include "ir/Quotients.h"

#include <algorithm>

namespace tkc::planner {
namespace {

class QuotientFinder {
public:
  QuotientFinder(const ir::Function &function, const Nest &nest, bool loadsAlways)
      : function(function), nest(nest), loadsAlways(loadsAlways), quotients(function) {}

  ir::OpMap<ir::Quotient> find() {
    visit(function.body);
    return std::move(found);
  }

private:
  void visit(const ir::Block &block) {
    for (const auto &op : block.ops) {
      const bool divides = op->kind == ir::OpKind::Div || op->kind == ir::OpKind::Mod;
      if (divides && isInteger(op->result()->type.elem))
        found[op.get()] = quotients.of(*op, placeOf(*op));
      for (const auto &body : op->bodies)
        visit(*body);
    }
  }

  /// The block in whose place the op is computed.
  const ir::Block &placeOf(const ir::Op &op) const {
    if (std::find(nest.prelude.begin(), nest.prelude.end(), &op) != nest.prelude.end())
      return function.body;
    const ir::Block *block = op.parent;
    while (loadsAlways && block->parent && block->parent->kind == ir::OpKind::For)
      block = block->parent->parent;
    return *block;
  }

  const ir::Function &function;
  const Nest &nest;
  const bool loadsAlways;
  ir::Quotients quotients;
  ir::OpMap<ir::Quotient> found;
};

} // namespace

ir::OpMap<ir::Quotient> quotientsOf(const ir::Function &function, const Nest &nest, bool loadsAlways) {
  return QuotientFinder(function, nest, loadsAlways).find();
}

} // namespace tkc::planner
