// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The type rules that the verifier and the passes share.
#pragma once

#include "ir/TileIR.h"

namespace tkc::ir {

/// What type an op's result must have, or why its operands fit no type.
struct ExpectedType {
  Type type;
  std::string problem; ///< empty: none

  ExpectedType(Type type) : type(type) {}
  ExpectedType(std::string problem) : problem(std::move(problem)) {}
};

/// Whether an element-wise op takes elements of this type, as its row of Ops.def says.
bool takesElements(OpKind kind, ElemType elem);
/// For every op with one result and no body. The number of operands is right.
ExpectedType expectedType(const Function &function, const Op &op);
/// Why a Load's, Store's or Atomic's view is no slice of its tensor; empty where it is one.
std::string viewProblem(const Function &function, const Op &op);
/// A value of type `from` may become a carried value or a result of type `to`: the same but for edges, which a full
/// tile may take on.
bool canEnter(const Type &from, const Type &to);
/// A value may be stored to a slice: shapes agree (a column or a row fits a vector), edges meet, the element type is
/// converted.
bool canStore(const Type &value, const Type &slice);

} // namespace tkc::ir
