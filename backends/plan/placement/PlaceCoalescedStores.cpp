// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/PlaceCoalescedStores.h"

#include "backends/plan/analysis/Nest.h"
#include "backends/plan/placement/TensorMaps.h"
#include "ir/Products.h"
#include "ir/Views.h"

#include <algorithm>

namespace tkc::planner {
namespace {

void placeWholeStore(const ir::Function &function, const Nest &nest, const ir::Op &store, Placement &placement) {
  const ir::Value *value = store.operands().back();
  const bool isEarly = placement.contested.count(&store) != 0 && placement.lastWrites.count(&store) == 0;
  if (isEarly || value->type.kind != ir::Type::Tile || rangedDims(store.view).first < 0 || hasLaterProduct(nest, store))
    return;
  const plan::VarType &type = placement.types.at(value);
  const ElemType elem = function.findParam(store.view.tensor)->elem;
  const int64_t share = type.cols / (type.division == plan::Division::Cols ? placement.instances : 1);
  const bool exact =
      type.kind == plan::VarType::Fragment && type.rows == value->type.rows && type.cols == value->type.cols;
  if (!exact || isPacked(elem) || byteWidth(elem) >= 4 || share * byteWidth(elem) % 128 != 0 || store.view.hasGather())
    return;
  plan::Buffer buffer;
  buffer.name = placement.uniqueBuffer(store.view.tensor + "_tile");
  buffer.elem = elem;
  buffer.rows = type.rows;
  buffer.cols = type.cols;
  buffer.swizzle = chooseSwizzle(buffer.cols * byteWidth(elem));
  buffer.loc = store.loc;
  placement.buffers.push_back(buffer);
  placement.stores[&store] = {buffer.name, "", type.cols, 1, true};
}

} // namespace

bool hasLaterProduct(const Nest &nest, const ir::Op &store) {
  bool later = false, found = false;
  walkTile(nest, [&](const ir::Op &op, int) {
    later |= &op == &store;
    found |= later && ir::isProduct(op);
  });
  return found;
}

void placeCoalescedStores(const ir::Function &function, const Nest &nest, Placement &placement) {
  if (!placement.copiesItself)
    return;
  walkTile(nest, [&](const ir::Op &op, int depth) {
    if (op.kind == ir::OpKind::Store && depth == 0)
      placeWholeStore(function, nest, op, placement);
  });
}

} // namespace tkc::planner
