// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/ProductShapes.h"

#include "backends/plan/placement/ComputeWarps.h"
#include "backends/plan/placement/Divisions.h"
#include "ir/Products.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

void checkWidths(const arch::Description &arch, const Placement &out, std::string &error) {
  for (const auto &[dot, product] : out.products) {
    const arch::MatrixInstruction *instruction = instructionOf(*dot, arch, out);
    const bool byCols = product.made.division == plan::Division::Cols;
    const int64_t cols = product.made.cols / (byCols ? out.instances : 1);
    if (instruction && !product.byWarps && cols > instruction->nMax)
      error = fmt::format("one warpgroup would make {} columns of a product, and the instruction makes {} at most: "
                          "take smaller tiles or, for tiles of 64 rows, more `warpgroups`",
                          cols, instruction->nMax);
  }
}

/// One instruction makes the rows of an instance, or two do.
void checkInstructionRows(const arch::Description &arch, const Placement &out, std::string &error) {
  constexpr int64_t mostRows = 128; // by wgmma: runtime/include/tk/wgmma.h
  for (const auto &[dot, product] : out.products) {
    if (product.inTensor && product.isScaled() && product.made.layout.kind != plan::Layout::Tensor)
      error = "a warpgroup would have other than 128 rows of a product with block scales: take other tiles or "
              "`warpgroups`";
    const bool byRows = product.made.division == plan::Division::Rows;
    const int64_t rows = product.made.rows / (byRows ? out.instances : 1);
    if (product.inTensor && rows != plan::instructionRows(product.made.layout))
      error = fmt::format("one warpgroup would have {} rows of a product, and the instruction makes 64 or 128: take "
                          "other tiles or `warpgroups`",
                          rows);
    else if (instructionOf(*dot, arch, out) && !product.inTensor && !product.byWarps && rows > mostRows)
      error = fmt::format("one warpgroup would have {} rows of a product, and it takes {} at most: take smaller tiles "
                          "or more `warpgroups`",
                          rows, mostRows);
  }
}

void noteResult(Placement &out, const ir::Op &dot, const plan::VarType &made) {
  const int64_t holders = made.division == plan::Division::Whole ? 1 : out.instances;
  out.note(plan::Note::Operands, dot.loc,
           fmt::format("result: {}x{} in registers, {} a thread{}", made.rows, made.cols,
                       made.rows * made.cols * std::max(byteWidth(made.elem), 4) / 4 / (out.layout.threads * holders),
                       made.division == plan::Division::Whole
                           ? ""
                           : fmt::format(", divided by {}", plan::spelling(made.division))));
}

/// The register tile that feeds a computed operand; for a load the home of nothing.
plan::VarType fed(const arch::Description &arch, const Placement &out, const ir::Op &dot,
                  const ProductPlacement &product, size_t position) {
  const Operand &operand = position == 0 ? product.a : product.b;
  if (operand.kind == Operand::Ring)
    return {};
  plan::VarType type = homeOf(out, operand.value);
  const bool isTile = type.kind == plan::VarType::Fragment;
  type.kind = plan::VarType::Fragment;
  type.layout = product.made.layout;
  if (operand.kind == Operand::Register) {
    if (!instructionOf(dot, arch, out)->registerA) // the threads of a row exchange what an accumulator leaves them
      type.layout.kind = plan::Layout::Operand;
    type.division = product.made.division;
    type.rows = product.made.rows;
    type.cols = outerExtent(out, product.b, 0);
  } else {
    const plan::Buffer &buffer = *out.findBuffer(operand.buffer);
    const int64_t rows = operand.storesTransposed ? buffer.cols : buffer.rows;
    if (!isTile && type.rows == 1) // a row is stored to every row, by each instance to its own
      type.division = out.instances > 1 && rows % rowUnit(out, plan::Division::Rows, rows) == 0 ? plan::Division::Rows
                                                                                                : plan::Division::Whole;
    type.layout = out.layoutOf(rows, type.division);
    type.rows = roundUp(rows, rowUnit(out, type.division, rows));
    type.cols = operand.storesTransposed ? buffer.rows : buffer.cols;
  }
  return type;
}

} // namespace

bool isDividedByCols(const Placement &out, const ir::Op &dot) {
  const ir::Type &type = dot.result()->type;
  return divisionOf(type.rows, type.cols, out) == plan::Division::Cols;
}

int64_t rowUnit(const Placement &out, plan::Division division, int64_t rows) {
  if (out.layout.kind == plan::Layout::Rows)
    return out.layout.threads / out.layout.threadsPerRow;
  const int64_t each = plan::instructionRows(out.layoutOf(rows, division));
  return division == plan::Division::Rows ? each * out.instances : each;
}

int64_t colUnit(const Placement &out, plan::Division division) {
  if (out.layout.kind == plan::Layout::Rows)
    return static_cast<int64_t>(out.layout.threadsPerRow) * out.layout.vec;
  const int64_t unit = out.layout.kind == plan::Layout::Mfma ? plan::blockSide(out.layout) : 16;
  return division == plan::Division::Cols ? unit * out.instances : unit;
}

plan::VarType homeOf(const Placement &out, const ir::Value *value) {
  auto found = out.types.find(value);
  return found == out.types.end() ? plan::VarType{plan::VarType::Scalar, value->type.elem, 1, 1, {}, {}}
                                  : found->second;
}

int64_t outerExtent(const Placement &out, const Operand &operand, int axis) {
  const plan::Buffer &buffer = *out.findBuffer(operand.buffer);
  return (axis == 0) != operand.transposed ? buffer.rows : buffer.cols;
}

void shapeProducts(const arch::Description &arch, Placement &out) {
  for (auto &[dot, product] : out.products) {
    const ir::Type &type = dot->result()->type;
    const bool byCols = isDividedByCols(out, *dot);
    product.made = homeOf(out, dot->result());
    product.made.kind = plan::VarType::Fragment;
    const plan::Division unit = byCols ? plan::Division::Cols : plan::Division::Rows;
    product.made.layout = out.layoutOf(type.rows, unit);
    product.made.division = out.instances == 1 ? plan::Division::Whole
                            : byCols           ? plan::Division::Cols
                                               : plan::Division::Rows;
    product.made.rows = roundUp(type.rows, rowUnit(out, unit, type.rows));
    if (product.a.kind == Operand::Staged && outerExtent(out, product.a, 0) % product.made.rows == 0)
      product.made.rows = outerExtent(out, product.a, 0); // columns of it, stored in steps of what is contracted
    product.made.cols = outerExtent(out, product.b, 1);
    product.aFed = fed(arch, out, *dot, product, 0);
    product.bFed = fed(arch, out, *dot, product, 1);
    noteResult(out, *dot, product.made);
  }
}

void checkProductShapes(const arch::Description &arch, const Placement &out, std::string &error) {
  checkWidths(arch, out, error);
  checkInstructionRows(arch, out, error);
}

} // namespace tkc::planner
