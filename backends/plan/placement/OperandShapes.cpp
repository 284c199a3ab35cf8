// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/OperandShapes.h"

#include "backends/plan/analysis/Nest.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

bool areWarps(const Placement &placement) {
  return placement.multipliesByWarps() || placement.layout.kind == plan::Layout::Mfma;
}
std::string_view sharers(const Placement &placement) { return areWarps(placement) ? "groups of warps" : "warpgroups"; }
std::string_view key(const Placement &placement) { return areWarps(placement) ? "warps" : "warpgroups"; }

/// Rows and columns of an operand, as the product reads it.
std::pair<int64_t, int64_t> shapeOf(const Placement &placement, const Operand &operand, const plan::VarType &fed) {
  if (operand.kind == Operand::Register)
    return {fed.rows, fed.cols};
  const plan::Buffer &buffer = *placement.findBuffer(operand.buffer);
  return operand.transposed ? std::pair(buffer.cols, buffer.rows) : std::pair(buffer.rows, buffer.cols);
}

/// What is tied to several products may be divided another way than one of them.
std::string whyNotDivided(const Placement &placement, const ir::Op &dot, const ProductPlacement &product) {
  const auto home = placement.types.find(dot.result());
  if (home == placement.types.end() || home->second.kind != plan::VarType::Fragment ||
      home->second.division == product.made.division)
    return {};
  return fmt::format("{} would divide a product of {}x{} by {}, and by {} what it is worked with: take other tiles or "
                     "fewer `{}`",
                     sharers(placement), dot.result()->type.rows, dot.result()->type.cols,
                     plan::spelling(product.made.division), plan::spelling(home->second.division), key(placement));
}

/// Products that share a loaded tile may have it padded along different axes.
std::string whyNotShared(const Placement &placement, const ProductPlacement &product) {
  const auto a = shapeOf(placement, product.a, product.aFed), b = shapeOf(placement, product.b, product.bFed);
  const auto tell = [](int64_t lines, int64_t whole, std::string_view what) {
    return fmt::format("several products read one tile, of which {} lines have to be filled up to {} to be {} of one "
                       "product, and not for another: take other tiles or another "
                       "number of warps or warpgroups",
                       lines, whole, what);
  };
  if (a.first != product.made.rows)
    return tell(a.first, product.made.rows, "rows");
  if (a.second != b.first)
    return tell(std::min(a.second, b.first), std::max(a.second, b.first), "rows or columns");
  return {};
}

/// Every instance has rows of what all stage together for a product.
std::string whyNotStaged(const Placement &placement, const Operand &operand, const plan::VarType &fed) {
  if (operand.kind != Operand::Staged || fed.division == plan::Division::Whole)
    return {};
  const plan::Buffer &buffer = *placement.findBuffer(operand.buffer);
  if (fed.rows <= (operand.storesTransposed ? buffer.cols : buffer.rows))
    return {};
  return fmt::format("a computed operand of {} rows is shared by {} {}, which have {} rows or more each: take other "
                     "tiles or fewer `{}`",
                     operand.value->type.rows, placement.instances, sharers(placement),
                     plan::instructionRows(fed.layout), key(placement));
}

/// What an instance holds of a tile is what it holds of the operand that is made of it: both are as long along the axis
/// that they are divided by.
std::string whyNotFed(const Placement &placement, const Operand &operand, const plan::VarType &fed) {
  if (operand.kind == Operand::Ring || placement.instances == 1)
    return {};
  const auto home = placement.types.find(operand.value);
  if (home == placement.types.end() || home->second.kind != plan::VarType::Fragment ||
      home->second.division != fed.division)
    return {};
  const bool byCols = fed.division == plan::Division::Cols;
  const int64_t held = byCols ? home->second.cols : home->second.rows, taken = byCols ? fed.cols : fed.rows;
  if (held == taken || fed.division == plan::Division::Whole)
    return {};
  const ir::Type &type = operand.value->type;
  return fmt::format("a computed operand of {}x{} is shared by {} {}, which have parts of {} {} and multiply {}: take "
                     "other tiles or fewer `{}`",
                     type.rows, type.cols, placement.instances, sharers(placement), held, byCols ? "columns" : "rows",
                     taken, key(placement));
}

/// What instances share by columns has panels as narrow as a share of them, of 32 bytes at least.
std::string whyNotSwizzled(const Placement &placement, const ProductPlacement &product, const Operand &operand) {
  if (product.byThreads || operand.kind == Operand::Register)
    return {};
  const plan::Buffer &buffer = *placement.findBuffer(operand.buffer);
  if (buffer.swizzle != plan::Swizzle::None)
    return {};
  return fmt::format(
      "an operand of {} columns is shared by {} {}, whose parts are no multiples of 32 bytes: take other "
      "tiles or fewer `{}`",
      buffer.cols, placement.instances, sharers(placement), key(placement));
}

/// A tile in memory of so many rows and columns, which is as large as two tiles need: an instance's share of it is that
/// of the tile if there are as many.
bool hasShares(const plan::VarType &type, int64_t rows, int64_t cols) {
  const plan::Division held = plan::heldPart(type);
  return (held != plan::Division::Rows || type.rows == rows) && (held != plan::Division::Cols || type.cols == cols);
}

/// What vector work turns goes through memory, from the shares of one tile to those of another.
std::string whyNotTurned(const Placement &placement, const ir::Op &op) {
  if (op.kind != ir::OpKind::Transpose || placement.onlyFeedsProducts(op.result()))
    return {};
  const auto from = placement.types.find(op.operand(0)), to = placement.types.find(op.result());
  if (from == placement.types.end() || to == placement.types.end())
    return {};
  const int64_t rows = std::max(from->second.rows, to->second.cols),
                cols = std::max(from->second.cols, to->second.rows);
  if (hasShares(from->second, rows, cols) && hasShares(to->second, cols, rows))
    return {};
  const ir::Type &type = op.operand(0)->type;
  return fmt::format("a tile of {}x{} that {} {} share is transposed, and they would have other parts of one that is "
                     "filled up to {}x{}: take other tiles or fewer `{}`",
                     type.rows, type.cols, placement.instances, sharers(placement), rows, cols, key(placement));
}

} // namespace

std::string whyOperandsDoNotFit(const Nest &nest, const Placement &placement) {
  for (const auto &[dot, product] : placement.products)
    for (std::string why :
         {whyNotDivided(placement, *dot, product), whyNotShared(placement, product),
          whyNotStaged(placement, product.a, product.aFed), whyNotStaged(placement, product.b, product.bFed),
          whyNotFed(placement, product.a, product.aFed), whyNotFed(placement, product.b, product.bFed),
          whyNotSwizzled(placement, product, product.a), whyNotSwizzled(placement, product, product.b)})
      if (!why.empty())
        return why;
  std::string whyNot;
  if (placement.instances > 1)
    walkTile(nest, [&](const ir::Op &op, int) {
      if (whyNot.empty())
        whyNot = whyNotTurned(placement, op);
    });
  return whyNot;
}

} // namespace tkc::planner
