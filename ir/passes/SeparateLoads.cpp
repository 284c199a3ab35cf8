// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clones of a loop share what they load, which is known by its place in the source (`loadKey`). So a load's second
// reader has a place of its own: one byte behind the load's, where no other load of the same tile begins.
#include "ir/passes/SeparateLoads.h"

#include "ir/Products.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

namespace tkc::planner {
namespace {

/// An operand of a product that is this tile, or its transpose.
struct Reader {
  ir::Op *product;
  size_t side;
  bool transposed;
};

void findReaders(ir::Value *tile, bool transposed, std::vector<Reader> &readers) {
  std::vector<ir::Op *> seen;
  for (ir::Op *user : tile->users) {
    if (std::find(seen.begin(), seen.end(), user) != seen.end())
      continue;
    seen.push_back(user);
    if (user->kind == ir::OpKind::Transpose)
      findReaders(user->result(), !transposed, readers);
    else if (ir::isProduct(*user))
      for (size_t side : {0, 1})
        if (ir::factorOf(*user, side) == tile)
          readers.push_back({user, side, transposed});
  }
}

} // namespace

bool separateLoads(ir::Function &function) {
  std::vector<ir::Op *> loads;
  std::unordered_map<const ir::Op *, size_t> order; // clones have their readers in the same order
  ir::walk(function.body, [&](ir::Op &op) {
    order.emplace(&op, order.size());
    if (op.kind == ir::OpKind::Load)
      loads.push_back(&op);
  });
  bool any = false;
  for (ir::Op *load : loads) {
    std::vector<Reader> readers;
    findReaders(load->result(), false, readers);
    std::stable_sort(readers.begin(), readers.end(),
                     [&](const Reader &a, const Reader &b) { return order.at(a.product) < order.at(b.product); });
    for (size_t i = 1; i < readers.size(); ++i) {
      const Reader &reader = readers[i];
      ir::Builder builder(function, load->parent);
      builder.setInsertionPointBefore(std::next(load->position)->get());
      ir::ValueMap<ir::Value *> none;
      ir::Op *own = builder.clone(*load, none);
      own->loc.offset += static_cast<uint32_t>(i);
      ir::Value *tile = own->result();
      if (reader.transposed) {
        builder.setLoc(reader.product->loc);
        tile = builder.transpose(tile);
      }
      reader.product->setOperand(ir::isScaled(*reader.product) ? 2 * reader.side : reader.side, tile);
      any = true;
    }
  }
  return any;
}

} // namespace tkc::planner
