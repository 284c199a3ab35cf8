// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an access sees of a tensor.
#pragma once

#include "ir/TileIR.h"

#include <utility>

namespace tkc::ir {

/// Whether `value` is that dim of a tensor.
bool isDim(const Value *value, const DimExpr &dim);

/// Dims of the tensor along which the rows (-1: none) and columns of an access run.
std::pair<int, int> rangedDims(const View &view);

} // namespace tkc::ir
