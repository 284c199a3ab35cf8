// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dense tensors as bytes, as devices and other programs keep them: element after element, the lowest bits first.
#pragma once

#include "support/Tensor.h"

namespace tkc::harness {

/// Fills `tensor.data`, whose dims are known, from bytesOf its elements.
void readElements(const char *memory, Tensor &tensor);
void writeElements(const Tensor &tensor, char *memory);

} // namespace tkc::harness
