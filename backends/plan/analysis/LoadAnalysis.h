// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which loads can be made ahead of their use by threads that do not compute, and which loads are one.
#pragma once

#include "ir/TileIR.h"

#include <string>
#include <utility>

namespace tkc::planner {

/// Strips Transpose ops: the value below, and whether an odd number was stripped.
std::pair<const ir::Value *, bool> throughTransposes(const ir::Value *value);

/// The same for every clone of a load that loop splitting made, and different for different loads of the source.
std::string loadKey(const ir::Op &load);

/// Whether the producer can compute all operands of a load: from parameters, loop indices and tensors that the block
/// does not write there. What is `contested` (MemoryDependence.h) nobody loads ahead.
bool isProducerComputed(const ir::Op &load, const ir::OpSet &contested);

/// A load of a rectangle that can go to shared memory ahead of its use. Fills other than zero go through registers.
bool isRingLoad(const ir::Value *value, const ir::OpSet &contested);

/// The same of a tile whose rows are picked by columns of indices: the threads that copy can compute those.
bool isRowGather(const ir::Value *value, const ir::OpSet &contested);

/// A vector, or a tile of one column, with so many elements.
bool isColumnOf(const ir::Type &type, int64_t rows);

/// How many loops, inside the tile, are around an op.
int depthOf(const ir::Op &op);

} // namespace tkc::planner
