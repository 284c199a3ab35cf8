// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps by which the copy engine moves boxes of a tensor to and from buffers, and the swizzles of these.
#pragma once

#include "backends/targets/Description.h"
#include "ir/plan/PlanIR.h"

#include <string>

namespace tkc::planner {

/// The map by which the engine moves boxes of `boxRows` rows between what `access` sees and a stage of `buffer`.
plan::TensorMap makeMap(const ir::Op &access, const plan::Buffer &buffer, int64_t boxRows);

/// The map by which the engine brings operand `position` of a product.
plan::TensorMap makeOperandMap(const ir::Op &dot, size_t position, const ir::Op &load, const plan::Buffer &buffer);

/// The same of an operand that is converted on its way. Its boxes may be narrow: then L2 fetches two of them at once, and
/// two of 128 bytes (docs/notes/widened-weights.md).
plan::TensorMap makeConvertedMap(const ir::Op &dot, size_t position, const ir::Op &load, const plan::Buffer &buffer);

/// Why the engine cannot bring a tile, stored as `stored` says, to a stage of `buffer`; empty: it can, as far as it
/// shows when compiling.
std::string whyNotByEngine(const ir::Function &function, const arch::Description &arch, const ir::Op &load,
                           const plan::Buffer &buffer, const ir::Type &stored);

plan::Swizzle chooseSwizzle(int64_t rowBytes);

} // namespace tkc::planner
