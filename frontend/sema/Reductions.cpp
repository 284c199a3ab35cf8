// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions and running sums: `row…` goes along the rows and leaves a column, `col…` down the columns and leaves a
// row.
#include "frontend/sema/Elaborator.h"

namespace tkc::sema {
namespace {

struct Row {
  std::string_view name; ///< without row or col
  ir::ReduceKind kind;
  bool isMean = false;
};
constexpr Row rows[] = {
    {"max", ir::ReduceKind::Max},       {"sum", ir::ReduceKind::Sum},        {"min", ir::ReduceKind::Min},
    {"prod", ir::ReduceKind::Prod},     {"mean", ir::ReduceKind::Sum, true}, {"argmax", ir::ReduceKind::ArgMax},
    {"argmin", ir::ReduceKind::ArgMin},
};

} // namespace

Val Elaborator::reduction(const Args &args) {
  int axis = args.name.starts_with("row") ? 1 : 0;
  ir::Value *x = toTile(args.vals[0], args.ranges[0]);
  if (!x || !hasWholeAxis(x->type, axis, args.ranges[0]))
    return Val::error();
  for (const Row &row : rows) {
    if (row.name != args.name.substr(3))
      continue;
    if (row.isMean && !isFloat(x->type.elem))
      x = builder.cast(ElemType::F32, x);
    ir::Value *result = builder.reduce(row.kind, axis, x);
    return Val::ofValue(row.isMean ? meanOf(result, x->type, axis) : result);
  }
  return Val::error();
}

ir::Value *Elaborator::meanOf(ir::Value *sum, const ir::Type &reduced, int axis) {
  ir::Value *end = axis == 1 ? reduced.colEnd : reduced.rowEnd;
  int64_t size = axis == 1 ? reduced.cols : reduced.rows;
  ElemType elem = sum->type.elem;
  ir::Value *count = end ? builder.cast(elem, builder.binary(ir::OpKind::Sub, builder.end(end), builder.begin(end)))
                         : builder.constant(elem, static_cast<double>(size));
  return builder.binary(ir::OpKind::Div, sum, count);
}

Val Elaborator::cumsum(const Args &args) {
  ir::Value *x = toTile(args.vals[0], args.ranges[0]);
  const Val &axis = args.vals[1];
  if (!axis.isInteger() || (axis.number != 0 && axis.number != 1)) {
    error(Diag::cumsum_axis, args.ranges[1]);
    return Val::error();
  }
  return x && hasWholeAxis(x->type, static_cast<int>(axis.number), args.ranges[0])
             ? Val::ofValue(builder.cumsum(static_cast<int>(axis.number), x))
             : Val::error();
}

} // namespace tkc::sema
