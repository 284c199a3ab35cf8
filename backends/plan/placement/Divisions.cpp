// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/Divisions.h"

#include "backends/plan/analysis/Nest.h"
#include "ir/Products.h"

#include <algorithm>

namespace tkc::planner {
namespace {

bool isSpread(const ir::Value *value) {
  return value->type.kind == ir::Type::Tile || value->type.kind == ir::Type::Vector;
}

/// Columns that an instance's share is a multiple of.
int64_t unitOfCols(const Placement &placement) {
  return placement.layout.kind == plan::Layout::Mfma ? plan::blockSide(placement.layout) : 16;
}

/// Whether nothing but products reads the value, or what it is transposed to.
bool isMultipliedAlone(const ir::Value &value) {
  return std::all_of(value.users.begin(), value.users.end(), [](const ir::Op *user) {
    return ir::isProduct(*user) || (user->kind == ir::OpKind::Transpose && isMultipliedAlone(*user->result()));
  });
}

/// Whether the value does nothing but say which rows another role copies to a ring: no computing thread holds it.
bool saysWhatIsCopied(const ir::Value &value, const Placement &placement) {
  const std::optional<ir::OpSet> loads = placement.rowsPickedBy(value);
  return loads && std::all_of(loads->begin(), loads->end(),
                              [](const ir::Op *load) { return isMultipliedAlone(*load->result()); });
}

} // namespace

plan::Division divisionOf(int64_t rows, int64_t cols, const Placement &placement) {
  const int instances = placement.instances;
  const int64_t rowUnit = plan::instructionRows(placement.layout);
  const int64_t colUnit = unitOfCols(placement);
  if (instances == 1)
    return plan::Division::Whole;
  if (placement.byCols)
    return plan::Division::Cols;
  if (rows == 1 || rows % (rowUnit * instances) == 0 || rows > rowUnit || cols % (colUnit * instances) != 0)
    return plan::Division::Rows;
  return plan::Division::Cols;
}

Divisions::Divisions(const Nest &nest, const Placement &placement) : byCols(placement.byCols) {
  walkTile(nest, [&](const ir::Op &op, int) { visit(op, placement); });
  walkTile(nest, [&](const ir::Op &op, int) {
    for (const auto &result : op.results)
      noteExtents(result.get(), placement);
    noteCombined(op);
  });
  findColumnVectors(nest, placement);
}

void Divisions::noteExtents(const ir::Value *value, const Placement &placement) {
  const ir::Type &type = value->type;
  if (type.kind != ir::Type::Tile)
    return;
  Class &found = classes[root(value)];
  const int64_t rowUnit = plan::instructionRows(placement.layout), instances = placement.instances;
  found.indivisible |= type.rows > 1 && type.rows % (rowUnit * instances) != 0;
  // What is staged by columns has the rows of whole instructions.
  found.wholeRows |= (type.rows > 1 && type.rows % rowUnit != 0) ||
                     (type.cols > 1 && type.cols % (unitOfCols(placement) * instances) != 0);
  found.isWide |= type.rows > 1 && type.cols > 1;
}

/// What combines the columns of a row would meet the other instances for it.
void Divisions::noteCombined(const ir::Op &op) {
  if ((op.kind == ir::OpKind::Reduce || op.kind == ir::OpKind::Cumsum) && op.axis == 1)
    classes[root(op.operand(0))].wholeRows = true;
}

const ir::Value *Divisions::root(const ir::Value *value) {
  const ir::Value *at = value;
  while (classes[at].parent)
    at = classes[at].parent;
  if (at != value)
    classes[value].parent = at;
  return at;
}

void Divisions::tie(const ir::Value *a, const ir::Value *b) {
  if (!isSpread(a) || !isSpread(b))
    return;
  a = root(a), b = root(b);
  if (a == b)
    return;
  Class &from = classes[b], &to = classes[a];
  from.parent = a;
  to.indivisible |= from.indivisible;
  to.wholeRows |= from.wholeRows;
  to.isWide |= from.isWide;
  if (from.imposed && !to.imposed)
    to.imposed = true, to.division = from.division;
}

void Divisions::impose(const ir::Value *value, plan::Division division) {
  Class &found = classes[root(value)];
  if (!found.imposed)
    found.imposed = true, found.division = division;
}

void Divisions::visit(const ir::Op &op, const Placement &placement) {
  auto tieAll = [&] {
    for (const ir::Value *operand : op.operands())
      for (const auto &result : op.results)
        tie(result.get(), operand);
  };
  auto tieYield = [&](const ir::Block &body) {
    if (body.ops.empty() || body.ops.back()->kind != ir::OpKind::Yield)
      return;
    const ir::Op &yield = *body.ops.back();
    for (size_t i = 0; i < yield.operands().size(); ++i)
      tie(op.result(i), yield.operand(i));
  };
  if (ir::isProduct(op)) {
    const ProductPlacement &product = placement.products.at(&op);
    const ir::Type &type = op.result()->type;
    const plan::Division division = divisionOf(type.rows, type.cols, placement);
    impose(op.result(), division);
    if (const ir::Value *addend = ir::addendOf(op))
      tie(op.result(), addend);
    if (product.a.kind == Operand::Register)
      tie(op.result(), product.a.value);
  } else if (op.kind == ir::OpKind::For) {
    for (size_t i = 0; i + 2 < op.operands().size(); ++i) {
      tie(op.result(i), op.operand(i + 2));
      tie(op.result(i), op.body().args[i + 1].get());
    }
    tieYield(op.body());
  } else if (op.kind == ir::OpKind::If) {
    tieYield(op.body(0));
    tieYield(op.body(1));
  } else if (op.view.hasGather()) {
    if (op.results.empty() || placement.loadKeys.count(&op) == 0)
      tieAddresses(op);
  } else if (op.kind != ir::OpKind::Transpose && op.kind != ir::OpKind::Load) {
    tieAll();
  }
}

/// What instances gather or scatter is at rows and columns that they hold the indices of.
void Divisions::tieAddresses(const ir::Op &op) {
  const bool loads = op.kind == ir::OpKind::Load;
  const ir::Value *moved = loads ? op.result() : op.operands().back();
  for (const ir::Value *operand : op.operands())
    if (operand != moved)
      tie(moved, operand);
}

plan::Division Divisions::of(const ir::Value *value) {
  const Class &found = classes[root(value)];
  if (byCols) // for every value alike: what meets in a store is not tied
    return plan::Division::Cols;
  if (found.imposed || !found.indivisible)
    return found.division;
  return found.isWide && !found.wholeRows ? plan::Division::Cols : plan::Division::Whole;
}

/// Orientation spreads between vectors that one op ties together, until nothing changes.
void Divisions::findColumnVectors(const Nest &nest, const Placement &placement) {
  auto isVector = [](const ir::Value *value) { return value->type.kind == ir::Type::Vector; };
  size_t before;
  do {
    before = columnVectors.size();
    walkTile(nest, [&](const ir::Op &op, int) {
      std::vector<const ir::Value *> tied;
      for (const ir::Value *operand : op.operands())
        if (isVector(operand))
          tied.push_back(operand);
      for (const auto &result : op.results)
        if (isVector(result.get()))
          tied.push_back(result.get());
      const bool column = (op.kind == ir::OpKind::AsCol && !saysWhatIsCopied(*op.result(), placement)) ||
                          std::any_of(tied.begin(), tied.end(),
                                      [&](const ir::Value *value) { return columnVectors.count(value) != 0; });
      if (column)
        columnVectors.insert(tied.begin(), tied.end());
    });
  } while (columnVectors.size() != before);
}

} // namespace tkc::planner
