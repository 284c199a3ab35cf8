// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/ComputeProducts.h"

#include "backends/plan/placement/TileRegisters.h"
#include "backends/plan/roles/CarriedVariables.h"
#include "ir/Effects.h"
#include "ir/Products.h"

#include <algorithm>
#include <tuple>

namespace tkc::planner {

using Kind = plan::StmtKind;

void ComputeProducts::lower(const ir::Op &dot) {
  for (size_t side : {0, 1})
    if (const ir::Value *factor = ir::factorOf(dot, side); isPacked(factor->type.elem) && !isRingOperand(dot, side)) {
      unsupported.push_back({dot.loc, "a product of packed elements that are computed"});
      return;
    }
  const ProductPlacement &product = placement.products.at(&dot);
  const bool accumulates = ir::addendOf(dot) != nullptr;
  for (size_t position : {0, 1})
    if ((position == 0 ? product.a : product.b).kind == Operand::Staged)
      stageOperand(dot, position);
  if (accumulates && !builder.isDefined(dot.result()) && isOverwritten(*ir::addendOf(dot), dot))
    builder.alias(dot.result(), builder.use(ir::addendOf(dot)));
  const std::string dest = builder.define(dot.result());
  if (accumulates)
    builder.emitMove(dest, builder.use(ir::addendOf(dot)), dot.loc);
  const plan::VarType type = builder.typeOf(dot.result());
  if (type == product.made)
    return emitProduct(dot, dest, accumulates);
  // A part of what the instruction makes: one row, one column.
  const std::string made = temporary(dot.result(), "_made", product.made);
  emitProduct(dot, made, false);
  if (!accumulates)
    return emitSpread(dest, made, {}, dot.loc);
  const std::string part = temporary(dot.result(), "_part", type);
  emitSpread(part, made, {}, dot.loc);
  plan::Stmt &sum = builder.emit(Kind::Compute, dot.loc);
  sum.op = ir::OpKind::Add;
  sum.dest = dest;
  sum.operands = {dest, part};
}

bool ComputeProducts::isOverwritten(const ir::Value &addend, const ir::Op &dot) {
  return diesAt(&addend, dot) && !(addend.definingOp && isRenaming(*addend.definingOp));
}

bool ComputeProducts::isRingOperand(const ir::Op &dot, size_t side) const {
  const ProductPlacement &product = placement.products.at(&dot);
  return (side == 0 ? product.a : product.b).kind == Operand::Ring;
}

void ComputeProducts::emitProduct(const ir::Op &dot, const std::string &dest, bool accumulates) {
  const ProductPlacement &product = placement.products.at(&dot);
  const plan::Division division = product.made.division;
  const bool aShared = product.a.kind != Operand::Register;
  const std::string a = aShared ? "" : asFed(dot, 0);
  plan::Stmt &stmt = builder.emit(Kind::Product, dot.loc);
  stmt.dest = dest;
  stmt.accumulate = accumulates;
  stmt.byThreads = product.byThreads;
  stmt.byWarps = product.byWarps;
  stmt.aShared = aShared;
  stmt.count = product.byWarps && aShared && !accumulates ? stepsAtATime(dot, product.made) : 0;
  if (aShared)
    stmt.aRef = refTo(product.a, division == plan::Division::Rows ? division : plan::Division::Whole);
  else
    stmt.operands = {a};
  stmt.ref = refTo(product.b, division == plan::Division::Cols ? division : plan::Division::Whole);
  if (ir::isScaled(dot)) {
    stmt.count = 0;
    stmt.scales = {refTo(product.scales[0], stmt.aRef.slice), refTo(product.scales[1], stmt.ref.slice)};
  }
}

int ComputeProducts::stepsAtATime(const ir::Op &dot, const plan::VarType &made) const {
  int64_t registers = registersOf(made, placement.instances);
  for (const ir::Op *at = repeatingOp(dot.parent); at; at = repeatingOp(at->parent))
    if (at->kind == ir::OpKind::For)
      for (size_t i = 1; i < at->body().args.size(); ++i)
        registers += registersOf(builder.typeOf(at->body().args[i].get()), placement.instances);
  // ptxas loads further ahead than Clang does.
  const int64_t mostOfThem = placement.maxRegistersPerThread * (placement.multipliesByWarps() ? 15 : 20) / 32;
  constexpr int64_t loadsAtATime = 24;
  if (registers < mostOfThem)
    return 0;
  const int byCols = made.division == plan::Division::Cols ? placement.instances : 1;
  const int byRows = made.division == plan::Division::Rows ? placement.instances : 1;
  const int64_t loads = made.rows / byRows / plan::instructionRows(made.layout) + made.cols / byCols / 16;
  const ir::Type &factor = ir::factorOf(dot, 0)->type;
  const int64_t steps = plan::sharedBytes(factor.elem, factor.cols) / 32;
  for (const int count : {4, 2})
    if (steps % count == 0 && count * loads <= loadsAtATime)
      return steps > count ? count : 0;
  return steps % 2 == 0 && steps > 2 ? 2 : 0;
}

std::string ComputeProducts::asFed(const ir::Op &dot, size_t position) {
  const ProductPlacement &product = placement.products.at(&dot);
  const Operand &operand = position == 0 ? product.a : product.b;
  const plan::VarType home = builder.typeOf(operand.value), &fed = position == 0 ? product.aFed : product.bFed;
  const bool alongCols = (position == 0) != (operand.transposed != operand.storesTransposed);
  const int64_t contracted = position == 0 ? ir::factorOf(dot, 0)->type.cols : ir::factorOf(dot, 1)->type.rows;
  const bool isPadded = contracted != (alongCols ? fed.cols : fed.rows);
  if (home == fed && !isPadded)
    return builder.use(operand.value);
  const std::string dest = temporary(operand.value, operand.kind == Operand::Register ? "_operand" : "_fed", fed);
  emitSpread(dest, builder.use(operand.value),
             {isPadded && !alongCols ? contracted : 0, isPadded && alongCols ? contracted : 0}, dot.loc);
  return dest;
}

void ComputeProducts::emitSpread(const std::string &dest, const std::string &source, std::pair<int64_t, int64_t> within,
                                 SourceLoc loc) {
  plan::Stmt &stmt = builder.emit(Kind::Spread, loc);
  stmt.dest = dest;
  stmt.operands = {source};
  std::tie(stmt.rowHi, stmt.colHi) = within;
}

std::string ComputeProducts::temporary(const ir::Value *value, const std::string &what, const plan::VarType &type) {
  std::string &name = temporaries[{value, what}];
  if (name.empty())
    name = builder.declare(builder.use(value) + what, type);
  return name;
}

plan::BufferRef ComputeProducts::refTo(const Operand &operand, plan::Division slice) const {
  plan::BufferRef ref{operand.buffer, "", operand.transposed, slice};
  if (operand.kind != Operand::Ring)
    return ref;
  ref.cursor = stageCursor(placement, *placement.findRing(placement.loadKeys.at(operand.value->definingOp)));
  return ref;
}

void ComputeProducts::stageOperand(const ir::Op &dot, size_t position) {
  const ProductPlacement &product = placement.products.at(&dot);
  const Operand &operand = position == 0 ? product.a : product.b;
  if (!stagedNow.insert(operand.buffer).second)
    return;
  const std::string source = asFed(dot, position);
  builder.emitStoreShared(source, position == 0 ? product.aFed : product.bFed, operand.buffer, operand.storesTransposed,
                          dot.loc);
}

} // namespace tkc::planner
