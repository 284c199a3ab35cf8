// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In which shapes products take computed operands from registers, and what they make.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// The next multiple.
inline int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// Whether instances share the result by columns.
bool isDividedByCols(const Placement &out, const ir::Op &dot);

/// Rows of registers come in multiples of so many.
int64_t rowUnit(const Placement &out, plan::Division division, int64_t rows);
/// Columns as shared memory has them, so that tiles and operands fit each other.
int64_t colUnit(const Placement &out, plan::Division division);

/// The registers of a value; a scalar's where it has none.
plan::VarType homeOf(const Placement &out, const ir::Value *value);

/// Rows (axis 0) or columns of an operand in shared memory, as the product reads it.
int64_t outerExtent(const Placement &out, const Operand &operand, int axis);

/// Says of every product what it makes and how computed operands come to it.
void shapeProducts(const arch::Description &arch, Placement &out);

/// `error` is set where no instruction makes so many columns or rows.
void checkProductShapes(const arch::Description &arch, const Placement &out, std::string &error);

} // namespace tkc::planner
