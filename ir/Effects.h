// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the passes ask about ops: may it move, may it go, is it a known number.
#pragma once

#include "ir/TileIR.h"

namespace tkc::ir {

/// Its results depend on its operands alone, and computing it does nothing else: element-wise ops, products, …
bool isPure(const Op &op);
/// A load from a tensor that the kernel never writes: gives the same wherever it stands.
bool isStableLoad(const Function &function, const Op &op);
/// Stores or adds to memory, here or in a body.
bool writesMemory(const Op &op);

/// The number that every element of `value` is, if that is known: a `const`, or a `full` or a `cast` of one.
std::optional<double> constantOf(const Value *value);
bool isConstant(const Value *value, double number);
/// `value`'s defining op if it is of this kind, else null.
Op *definedBy(const Value *value, OpKind kind);
/// Made of constants, dims and induction variables alone: no tensor and no parameter has a say.
bool followsFromShapes(const Value *value);
/// `value` is an argument of `block` or made by an op in it or in a body within it.
bool isDefinedIn(const Value *value, const Block &block);

} // namespace tkc::ir
