// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/OperandFit.h"

#include <algorithm>
#include <fmt/format.h>

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
                     operand.value->type.rows, placement.instances, sharers(placement), plan::slabRows(fed.layout),
                     key(placement));
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

} // namespace

std::string whyOperandsDoNotFit(const Placement &placement) {
  for (const auto &[dot, product] : placement.products)
    for (std::string why :
         {whyNotDivided(placement, *dot, product), whyNotShared(placement, product),
          whyNotStaged(placement, product.a, product.aFed), whyNotStaged(placement, product.b, product.bFed),
          whyNotSwizzled(placement, product, product.a), whyNotSwizzled(placement, product, product.b)})
      if (!why.empty())
        return why;
  return {};
}

} // namespace tkc::planner
