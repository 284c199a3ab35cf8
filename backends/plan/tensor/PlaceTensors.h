// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of products in tensor memory. A variable that products write has a buffer there beside its registers, and at
// every place one of the two holds its value, or both:
//   a product leaves it in tensor memory; vector work that reads it loads it first
//   vector work leaves it in registers; a product that accumulates stores it first
//   x = x · column, between products, is done in place in tensor memory
// What a loop carries from product to product stays in tensor memory while the loop runs. Left operands that were
// computed are stored to buffers of their own.
#pragma once

#include "backends/plan/placement/Placement.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

struct TensorHomes {
  std::string scales;                      ///< the buffer through which block scales pass; empty: none
  std::vector<plan::TensorBuffer> buffers; ///< without columns yet
  std::set<std::string> carried;           ///< variables that stay in tensor memory in a loop
  std::set<std::string>
      rings; ///< buffers that only one loop of products fills, and one load empties: they may have stages
};

/// Rewrites the products of `role` and what touches their results. `inRegisters`: carried variables that stay in
/// registers, and visit tensor memory for each product.
TensorHomes placeTensors(plan::Role &role, const Placement &placement, const std::set<std::string> &inRegisters);
/// What the buffer of a variable is called: no buffer of shared memory has that name, whatever users call tensors.
std::string tensorBufferOf(const Placement &placement, const std::string &var);

/// Whether a loop or branch holds products into tensor memory, and scalar work at most besides.
bool isForMatrixRole(const plan::Role &role, const plan::Stmt &stmt);
/// Whether a variable of the role is a scalar or a tile index.
bool isScalar(const plan::Role &role, const std::string &name);
/// Whether it holds a product into tensor memory.
bool hasTensorProduct(const plan::Stmt &stmt);

} // namespace tkc::planner
