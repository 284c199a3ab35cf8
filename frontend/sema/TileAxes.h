// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which way a [1, 1] tile lies: whether it is a column that has one element because its tiles have, a row, or a scalar.
#pragma once

#include "ir/TileIR.h"

namespace tkc::sema {

/// Whether axis 0 (rows) or 1 (columns) of `value` stems from a range of a tensor or a tile index, and so is of one
/// element only because the range's size is one. Where `value` is not [1, 1] nor a scalar, whether the axis is longer.
bool isTileAxis(const ir::Value *value, int axis);

} // namespace tkc::sema
