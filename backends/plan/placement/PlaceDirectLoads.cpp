// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/PlaceDirectLoads.h"

#include "backends/plan/analysis/CopyEngineAccess.h"
#include "backends/plan/analysis/Nest.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

namespace tkc::planner {
namespace {

/// Whether something holds for every load that comes to the member's buffer, clones included.
template <class Predicate> bool allLoads(const Placement &placement, const RingMember &member, const Predicate &holds) {
  return std::all_of(placement.loadKeys.begin(), placement.loadKeys.end(),
                     [&](const auto &it) { return it.second != member.key || holds(*it.first); });
}

/// Why a load cannot go straight to its buffer; empty: it can.
std::string whyNot(const ir::Function &function, const Placement &placement, const RingMember &member) {
  const plan::Buffer &buffer = *placement.findBuffer(member.buffer);
  if (member.isVector || member.transposing)
    return "it is transposed on its way";
  if (bitWidth(buffer.elem) < 8 || placement.directLoadsOf(buffer) == 0)
    return fmt::format("its {} bytes are no whole loads of all threads", buffer.stageBytes());
  if (!allLoads(placement, member, [](const ir::Op &load) { return !load.hasElse; }))
    return "tiles may begin before the tensor, as they have an `else`";
  if (!allLoads(placement, member,
                [&](const ir::Op &load) { return beginsWide(function, load) && endsWide(function, load); }))
    return "rows of tiles do not begin and end at whole 16 bytes";
  return whyNotByCopyEngine(function, *member.load);
}

/// What is loaded beyond the last tile of such a loop harms nobody: a tile that begins behind its tensor has no rows or
/// columns. An integer of the loop that indexes the tensor would not be kept within it.
bool hasPlainLoop(const Nest &nest, const Placement &placement) {
  int loops = 0;
  bool plain = true;
  std::set<const ir::Value *> integers; // of the loop
  walkTile(nest, [&](const ir::Op &op, int depth) {
    loops += op.kind == ir::OpKind::For ? 1 : 0;
    if (op.kind == ir::OpKind::For && op.body().args[0]->type.isScalar())
      integers.insert(op.body().args[0].get());
    if (depth > 0 && op.results.size() == 1 && op.result()->type.isScalar())
      integers.insert(op.result());
    if (op.kind == ir::OpKind::Load) {
      const auto operands = op.operands();
      plain &= std::none_of(operands.begin(), operands.end(),
                            [&](const ir::Value *operand) { return integers.count(operand) != 0; });
    }
    const bool isProduct = op.kind == ir::OpKind::Dot || op.kind == ir::OpKind::Transpose;
    const bool isOperand =
        op.kind == ir::OpKind::Load && placement.loadKeys.count(&op) != 0 && placement.registerLoads.count(&op) == 0;
    const bool isWork = op.results.size() == 1 && op.result()->type.isTile();
    plain &= depth == 0 || isProduct || isOperand || (!isWork && op.kind != ir::OpKind::Load);
  });
  return loops == 1 && plain;
}

} // namespace

void placeDirectLoads(const ir::Function &function, const Nest &nest, const arch::Description &arch,
                      bool takesTilesInTurn, Placement &placement) {
  placement.hasPlainLoop = placement.copiesItself && hasPlainLoop(nest, placement);
  if (!placement.throughRegisters || placement.rings.empty() || arch.directLoadBytes < leastDirectBytes)
    return;
  for (const RingPlacement &ring : placement.rings)
    for (const RingMember &member : ring.members)
      if (const std::string why = whyNot(function, placement, member); !why.empty()) {
        placement.notes.push_back({plan::Note::Copies,
                                   fmt::format("copies go through registers: of `{}` {}", member.buffer, why),
                                   member.load->loc});
        return;
      }
  placement.throughRegisters = false;
  placement.directLoads = true;
  placement.loadsAlways = placement.hasPlainLoop && !placement.copiesLate &&
                          !takesTilesInTurn; // the next tile begins at the cursors of this one
}

int Placement::directLoadsOf(const plan::Buffer &buffer) const {
  const int64_t each = static_cast<int64_t>(leastDirectBytes) * layout.threads * instances;
  return buffer.stageBytes() % each == 0 ? static_cast<int>(buffer.stageBytes() / each) : 0;
}

} // namespace tkc::planner
