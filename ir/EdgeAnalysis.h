// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands beyond the edges of tiles in an implementation that pads them to their size.
//
// The meaning of a program has nothing beyond an edge. An implementation computes whole tiles, so there is something:
//   - a load from a range that ends where its tensor does gives zeros, since copy engines fill with zeros;
//   - a load from a range that ends inside the tensor gives what the tensor holds there: finite numbers where the range
//     follows from shapes, so that other tiles are at home there; anything, even NaN, where a tensor or a parameter
//     says how far the range goes, since the rest may never have been written;
//   - what a gather, or a load with `else`, does not find is what stands after `else`, or zero. No implementation may
//     follow an index that does not exist, so the indices of gathers and scatters are to be -1 there: whoever is given
//     a negative one reads and writes nothing;
//   - a store writes what exists;
//   - no tile ends within itself whose range is a multiple of its size, as that from `lo` to `lo + n / B * B`;
//   - every other operation computes from what its operands hold there.
// Inputs are finite where they exist. Where both axes have ended nothing is claimed, and nothing is needed: an
// operation sees beyond one edge only along rows or columns that exist.
#pragma once

#include "ir/Contents.h"
#include "ir/RangeAnalysis.h"

#include <array>
#include <unordered_map>
#include <vector>

namespace tkc::ir {

class EdgeAnalysis {
public:
  explicit EdgeAnalysis(const Function &function);

  /// Of the elements that exist.
  Contents inside(const Value *value) const { return at(value, Inside); }
  /// Of the elements beyond the end of the rows (axis 0) or columns (axis 1). On an axis that is full, `inside`.
  Contents beyond(const Value *value, int axis) const { return at(value, axis == 0 ? PastRows : PastCols); }

  /// What an operation must find beyond the edge of an operand.
  struct Need {
    Op *op = nullptr;
    size_t operand = 0;
    int axis = 0;         ///< of the operand
    Value *end = nullptr; ///< the tile index with which the axis ends
    double identity = 0;  ///< what to put there
  };
  /// Needs that are not met, in order of the operations, one of each.
  std::vector<Need> unmetNeeds() const;
  /// Whether `value` selects by whether an element exists: what does not is the select's last operand.
  static bool isMaskOf(const Value *value, const Value *end, int axis);

private:
  enum Place : uint8_t { Inside, PastRows, PastCols };
  using State = std::array<Contents, 3>;

  const Function &function;
  mutable RangeAnalysis ranges; ///< which learns of values as it is asked
  std::unordered_map<const Value *, State> states;
  mutable std::unordered_map<const Value *, bool> isFull; ///< by tile index: no tile of it ends within itself

  /// The tile index with which tiles of this type may end within themselves; null where none does.
  Value *endAt(const Type &type, Place place) const;
  Contents at(const Value *value, Place place) const;
  bool set(const Value *value, State state);
  void run(const Block &block);
  void runFor(const Op &op);
  void runIf(const Op &op);
  State joined(const Value *target, const Value *value) const;
  Contents transfer(const Op &op, Place place);
  bool isBounded(const Value *value, Place place) const;
  Contents comparison(const Op &op, Place place);
  Contents selected(const Op &op, Place place) const;
  Contents loaded(const Op &op, Place place);
  Contents loadedBeyond(const Op &op, unsigned dim, Value *tileIndex);
  std::optional<Need> unmet(Op &op) const;
  /// `placeA`, `placeB`: of what is multiplied among the operands.
  std::optional<Need> unmetOfDot(Op &op, size_t placeA, size_t placeB) const;
  void addUnmet(const Block &block, std::vector<Need> &needs) const;
  std::optional<Need> unmetOfIndices(Op &op) const;
};

} // namespace tkc::ir
