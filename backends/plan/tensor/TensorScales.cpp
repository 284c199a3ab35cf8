// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/tensor/TensorScales.h"

#include <algorithm>

namespace tkc::planner {
namespace {

constexpr int64_t rowsTogether = 128; ///< that a copy brings: 4 columns, for 4 scales of each

/// Columns of the scales of one operand: its own rows, or, where these begin within a group, those of all instances.
int64_t columnsOf(const plan::Buffer &scales, const plan::BufferRef &ref, int instances) {
  const int64_t own = ref.slice == plan::Division::Whole ? scales.rows : scales.rows / instances;
  const int64_t copied = own % rowsTogether == 0 ? own : scales.rows;
  return copied / 32 * (scales.cols / 4);
}

template <class Visit> void visitProducts(plan::Body &body, const Visit &visit) {
  plan::walk(body, [&](plan::Stmt &stmt) {
    if (stmt.isTensorProduct() && !stmt.scales.empty())
      visit(stmt);
  });
}

} // namespace

void takeWhole(plan::Stmt &product) {
  product.ref.slice = product.aRef.slice = product.destRef.slice = plan::Division::Whole;
  for (plan::BufferRef &scales : product.scales)
    scales.slice = plan::Division::Whole;
}

TensorHomes placeTensorScales(plan::Role &role, const Placement &placement, TensorHomes homes) {
  int64_t columns = 0;
  visitProducts(role.body, [&](plan::Stmt &product) {
    int64_t both = 0;
    for (const plan::BufferRef &ref : product.scales)
      both += columnsOf(*placement.findBuffer(ref.buffer), ref, role.instances);
    columns = std::max(columns, both);
  });
  if (columns == 0)
    return homes;
  plan::TensorBuffer buffer;
  buffer.name = homes.scales = placement.uniqueBuffer("scales");
  buffer.elem = ElemType::I32; // four scales each
  buffer.rows = rowsTogether;
  buffer.cols = columns * role.instances;
  buffer.swizzle = plan::Swizzle::None;
  homes.buffers.push_back(buffer);
  const plan::Division share = role.instances > 1 ? plan::Division::Cols : plan::Division::Whole;
  visitProducts(role.body, [&](plan::Stmt &product) { product.scales.push_back({buffer.name, "", false, share}); });
  return homes;
}

} // namespace tkc::planner
