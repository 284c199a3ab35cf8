// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block scales of products into tensor memory, which the instruction takes from tensor memory: the thread that issues a
// product first copies them there. Copies and products of one thread are done in order, so all products of an instance
// share the same columns.
#pragma once

#include "backends/plan/tensor/PlaceTensors.h"

namespace tkc::planner {

/// Gives the products of `role` that have scales the columns through which these pass, a buffer beside the others.
TensorHomes placeTensorScales(plan::Role &role, const Placement &placement, TensorHomes homes);

/// A product of one thread for all instances, of all that it refers to.
void takeWhole(plan::Stmt &product);

} // namespace tkc::planner
