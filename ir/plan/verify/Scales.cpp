// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of products, and block scales: their types and shapes; they lie beside their operands, k contiguous. PTX ISA,
// "Block Scaling for mma.sync"; "AMD Instinct CDNA4 Instruction Set Architecture", "Matrix Arithmetic Instructions".
#include "ir/plan/verify/Verify.h"

#include <fmt/core.h>

namespace tkc::plan {
namespace {

std::pair<int64_t, int64_t> shapeOf(const Plan &plan, const BufferRef &ref) {
  const Buffer &buffer = *plan.findBuffer(ref.buffer);
  return ref.transposed ? std::pair(buffer.cols, buffer.rows) : std::pair(buffer.rows, buffer.cols);
}

/// The block of elements along k that a scale of this type is for; 0: no such scales.
int64_t blockOf(ElemType factor, ElemType scale) {
  if (scale == ElemType::F8E8M0)
    return isFloat8(factor) || isPackedFloat(factor) ? 32 : 0;
  return scale == ElemType::F8E4M3 && factor == ElemType::F4E2M1 ? 16 : 0;
}

} // namespace

bool canMultiply(const Stmt &product, ElemType a, ElemType b) {
  return product.scales.empty() ? a == b || (isFloat8(a) && isFloat8(b)) : ir::canMultiplyScaled(a, b);
}

bool checkScales(const Plan &plan, const Stmt &stmt, ElemType factor, std::pair<int64_t, int64_t> a,
                 std::pair<int64_t, int64_t> b, Report &report) {
  const auto complain = [&](std::string what) {
    report.add(stmt.loc, fmt::format("`{}`: {}", print(stmt), what));
    return false;
  };
  const Buffer &left = *plan.findBuffer(stmt.scales[0].buffer), &right = *plan.findBuffer(stmt.scales[1].buffer);
  const int64_t block = blockOf(factor, left.elem);
  if (left.elem != right.elem || block == 0)
    return complain(
        fmt::format("{} with scales of {} and {}", spelling(factor), spelling(left.elem), spelling(right.elem)));
  // Tensor memory takes whole groups of 128 rows and four scales.
  const bool inGroups = stmt.isTensorProduct();
  const auto padded = [&](int64_t rows, int64_t k) {
    return inGroups ? std::pair((rows + 127) / 128 * 128, (k / block + 3) / 4 * 4) : std::pair(rows, k / block);
  };
  const std::pair<int64_t, int64_t> ofA = shapeOf(plan, stmt.scales[0]), ofB = shapeOf(plan, stmt.scales[1]);
  if (ofA != padded(a.first, a.second) || std::pair(ofB.second, ofB.first) != padded(b.second, b.first) ||
      a.second % block != 0)
    return complain(fmt::format("scales {}x{} and {}x{}: one for each {} elements of {}x{} and {}x{} is wanted",
                                ofA.first, ofA.second, ofB.first, ofB.second, block, a.first, a.second, b.first,
                                b.second));
  if (stmt.scales[0].transposed || !stmt.scales[1].transposed || left.swizzle != Swizzle::None ||
      right.swizzle != Swizzle::None)
    return complain("scales lie row by row, the contracted axis contiguous, without a swizzle");
  if (stmt.byThreads || !stmt.aShared || stmt.scales[0].slice != stmt.aRef.slice ||
      stmt.scales[1].slice != stmt.ref.slice)
    return complain("an instruction multiplies, and instances share scales as they share what these scale");
  return true;
}

} // namespace tkc::plan
