// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much a call has to do, for rates: what `tkc bench` divides by the time.
#pragma once

#include "backends/targets/Description.h"
#include "frontend/Sema.h"
#include "ir/TileIR.h"
#include "support/Tensor.h"

namespace tkc::harness {

/// Two for each multiply-add of each `@`, over the elements that exist in its loops: grid and loops are walked with the
/// call's dims. Bounds and branches that depend on tensors' values count as empty and as taken. 0 where the walk would
/// be longer than some seconds. With `instructionsOf`, over all elements of the tiles that the loops touch, each axis
/// filled up to that GPU's smallest matrix instruction for their types.
double countProductOperations(const ir::Function &function, const CallArguments &arguments,
                              const arch::Description *instructionsOf = nullptr);

/// Bytes of the tensors: each read once, each written once. Workspace of programs does not count.
double countBytes(const Signature &signature, const CallArguments &arguments);

} // namespace tkc::harness
