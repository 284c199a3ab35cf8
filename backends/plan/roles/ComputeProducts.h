// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of the role that computes: their operands from rings, staging buffers and registers, and what they make.
#pragma once

#include "backends/plan/roles/RoleBuilder.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tkc::planner {

/// By which the computing role finds a ring's stage; empty: it fills the only one itself.
inline std::string stageCursor(const Placement &placement, const RingPlacement &ring) {
  return ring.stages > 1 || !placement.copiesItself ? ring.cursor() : "";
}

class ComputeProducts {
public:
  ComputeProducts(RoleBuilder &builder, const Placement &placement, std::vector<Unsupported> &unsupported)
      : builder(builder), placement(placement), unsupported(unsupported) {}

  void lower(const ir::Op &dot);
  /// Before a pass over a loop's body: what is staged there is staged once.
  void beginPass() { stagedNow.clear(); }

private:
  /// Whether the product may add to the variable of its addend: nothing needs that afterwards, by this name or by
  /// another.
  static bool isOverwritten(const ir::Value &addend, const ir::Op &dot);
  bool isRingOperand(const ir::Op &dot, size_t side) const;
  void emitProduct(const ir::Op &dot, const std::string &dest, bool accumulates);
  /// How many steps of k a product that fills most registers, with what the loops around it carry, takes at a time: as
  /// the compiler loads all operands of one stretch ahead, these have to fit beside. 0: all.
  int stepsAtATime(const ir::Op &dot, const plan::VarType &made) const;
  /// The variable that feeds a computed operand to the product: the value's, or one of the rows of whole instructions,
  /// of the operand's layout, with zeros where padding would be contracted.
  std::string asFed(const ir::Op &dot, size_t position);
  void emitSpread(const std::string &dest, const std::string &source, std::pair<int64_t, int64_t> within,
                  SourceLoc loc);
  /// A variable beside that of `value`; the same each time that the op is lowered.
  std::string temporary(const ir::Value *value, const std::string &what, const plan::VarType &type);
  plan::BufferRef refTo(const Operand &operand, plan::Division slice) const;
  void stageOperand(const ir::Op &dot, size_t position);

  RoleBuilder &builder;
  const Placement &placement;
  std::vector<Unsupported> &unsupported;
  std::set<std::string> stagedNow; ///< staging buffers that were stored to in this pass over the body
  std::map<std::pair<const ir::Value *, std::string>, std::string, ir::InOrder> temporaries;
};

} // namespace tkc::planner
