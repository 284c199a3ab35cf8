// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which values must be divided among the warpgroups alike. Everything but a product and a transposition ties its result
// to its operands; a product imposes a division on its result, and on a left operand that it reads from registers.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

class Divisions {
public:
  /// Ties values by the ops of the nest.
  Divisions(const Nest &nest, const Placement &placement);

  /// The division of the class of `value`. Where no product says otherwise: Rows; if some tile's rows cannot be divided
  /// without padding, Cols; and Whole if columns cannot either, or are combined.
  plan::Division of(const ir::Value *value);
  /// A vector is held as a column where it, or a vector computed with it, is used as one.
  bool isColumnVector(const ir::Value *value) const { return columnVectors.count(value) != 0; }

private:
  struct Class {
    const ir::Value *parent = nullptr;
    bool imposed = false;
    plan::Division division = plan::Division::Rows;
    bool indivisible = false; ///< some tile has rows that the warpgroups cannot share
    bool wholeRows = false;   ///< or columns, or rows are combined to something, or are no whole instructions
    bool isWide = false;      ///< some tile has rows and columns
  };
  const ir::Value *root(const ir::Value *value);
  void tie(const ir::Value *a, const ir::Value *b);
  void tieAddresses(const ir::Op &op);
  void impose(const ir::Value *value, plan::Division division);
  void visit(const ir::Op &op, const Placement &placement);
  void noteExtents(const ir::Value *value, const Placement &placement);
  void noteCombined(const ir::Op &op);

  void findColumnVectors(const Nest &nest, const Placement &placement);

  const bool byCols;
  ir::ValueMap<Class> classes;
  ir::ValueSet columnVectors;
};

/// How a product's result of this shape is divided among the instances.
plan::Division divisionOf(int64_t rows, int64_t cols, const Placement &placement);

} // namespace tkc::planner
