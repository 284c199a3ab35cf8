// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which accesses the copy engine can do, as far as it shows when compiling.
#pragma once

#include "ir/TileIR.h"

#include <string>

namespace tkc::planner {

/// Whether the copy engine can do a load or store, as far as it shows when compiling: at most two ranged dims, the last
/// one contiguous; what is stored ends with the tensor or a whole tile, as the engine writes whatever exists there.
bool suitsCopyEngine(const ir::Function &function, const ir::Op &access);
/// Why the copy engine cannot do it; empty where it can.
std::string whyNotByCopyEngine(const ir::Function &function, const ir::Op &access);

/// Whether all that stands against it is that tiles may stop before the tensor does.
bool mayStopBeforeTensor(const ir::Function &function, const ir::Op &access);

/// Where boxes begin along the rows of their tensor: whether at multiples of so many columns.
enum class BoxStarts : uint8_t { Always, Sometimes, Never };
BoxStarts boxStarts(const ir::Function &function, const ir::Op &access, int64_t step);
/// Whether the rows of every tile that is accessed begin whole 16 bytes after those of the tensor.
bool beginsWide(const ir::Function &function, const ir::Op &access);
/// Whether they end so, or where the tensor's rows do.
bool endsWide(const ir::Function &function, const ir::Op &access);
/// Whether they begin a multiple of so many elements after those of the tensor.
bool beginsAtMultiples(const ir::Function &function, const ir::Op &access, int64_t elements);

} // namespace tkc::planner
