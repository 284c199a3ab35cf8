// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes equal values once: an op that repeats one above it, in its own body or in one around it, takes that one's
// result. Loads count where the kernel does not write their tensor.
#include "ir/Effects.h"
#include "ir/passes/Passes.h"

#include <bit>
#include <llvm/ADT/Hashing.h>
#include <unordered_map>

namespace tkc::ir {
namespace {

bool sameView(const View &x, const View &y) {
  if (x.tensor != y.tensor || x.indices.size() != y.indices.size())
    return false;
  for (size_t i = 0; i < x.indices.size(); ++i)
    if (x.indices[i].kind != y.indices[i].kind || x.indices[i].operand != y.indices[i].operand ||
        x.indices[i].lo != y.indices[i].lo || x.indices[i].hi != y.indices[i].hi)
      return false;
  return true;
}

bool isSame(const Op &x, const Op &y) {
  return x.kind == y.kind && x.operands() == y.operands() && x.result()->type == y.result()->type &&
         std::bit_cast<uint64_t>(x.constant) == std::bit_cast<uint64_t>(y.constant) && x.name == y.name &&
         x.axis == y.axis && x.reduce == y.reduce && x.hasElse == y.hasElse && sameView(x.view, y.view);
}

size_t hashOf(const Op &op) {
  return llvm::hash_combine(static_cast<unsigned>(op.kind),
                            llvm::hash_combine_range(op.operands().begin(), op.operands().end()),
                            std::bit_cast<uint64_t>(op.constant), op.name);
}

class Eliminator {
public:
  explicit Eliminator(const Function &function) : function(function) {}

  void run(Block &block) {
    std::vector<std::unordered_multimap<size_t, Op *>::iterator> here;
    for (auto next = block.ops.begin(); next != block.ops.end();) {
      Op &op = **next++;
      for (auto &body : op.bodies)
        run(*body);
      if (!isPure(op) && !isStableLoad(function, op))
        continue;
      size_t hash = hashOf(op);
      if (Op *first = find(op, hash)) {
        if (first->result()->name.empty())
          first->result()->name = op.result()->name;
        replaceAllUses(op.result(), first->result());
        erase(&op);
      } else {
        here.push_back(available.emplace(hash, &op));
      }
    }
    for (auto entry : here)
      available.erase(entry);
  }

private:
  const Function &function;
  std::unordered_multimap<size_t, Op *> available;

  Op *find(const Op &op, size_t hash) const {
    auto [first, last] = available.equal_range(hash);
    for (; first != last; ++first)
      if (isSame(*first->second, op))
        return first->second;
    return nullptr;
  }
};

} // namespace

void eliminateCommonSubexpressions(Function &function) { Eliminator(function).run(function.body); }

} // namespace tkc::ir
