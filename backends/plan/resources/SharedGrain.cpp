// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/resources/SharedGrain.h"

#include "ir/plan/Grain.h"

#include <algorithm>
#include <map>

namespace tkc::planner {
namespace {

using plan::chunkGrain;
using plan::productGrain;
using plan::Stmt;
using plan::StmtKind;
using plan::wordGrain;

/// What the uses of a tile ask of its grain.
struct Wishes {
  int narrowest = chunkGrain; ///< the fewest bytes that a lane reads or stores at once
  int least = wordGrain;      ///< the finest grain that all uses can take

  void access(int bytes) {
    narrowest = std::min(narrowest, bytes);
    least = std::max(least, bytes);
  }
  int grain(int ofArchitecture) const { return std::max({narrowest, least, ofArchitecture}); }
};

class Uses {
public:
  Uses(const plan::Plan &plan, std::map<std::string, Wishes> &wishes) : plan(plan), wishes(wishes) {}

  void look(const plan::Role &role, const Stmt &stmt) {
    if (stmt.kind == StmtKind::Fetch) // fetches to registers
      return;
    if (stmt.kind == StmtKind::Product && stmt.isSynchronous() && stmt.scales.empty())
      return stmt.byThreads ? productByThreads(stmt) : product(role, stmt);
    const bool isAccess = stmt.kind == StmtKind::LoadShared || stmt.kind == StmtKind::StoreShared;
    if (isAccess && stmt.fromBlock == 0)
      return access(stmt, role.findVar(stmt.kind == StmtKind::LoadShared ? stmt.dest : stmt.operands.front())->type);
    if (stmt.kind == StmtKind::Place && !isFloat6(plan.findBuffer(stmt.ref.buffer)->elem))
      return; // a chunk at a time, whose parts are put in order in registers
    std::vector<plan::BufferRef> refs = {stmt.ref, stmt.aRef};
    refs.insert(refs.end(), stmt.scales.begin(), stmt.scales.end());
    for (const plan::BufferRef &ref : refs)
      wishes[ref.buffer].access(chunkGrain);
  }

private:
  /// By the runs of neighbours that a lane holds; of a transpose, by elements, wherever these are.
  void access(const Stmt &stmt, const plan::VarType &type) {
    if (stmt.ref.transposed)
      return;
    const int64_t run = plan::sharedBytes(type.elem, plan::runOf(type.layout));
    const bool isRun = type.layout.kind == plan::Layout::Mfma && run >= wordGrain;
    of(stmt.ref).access(isRun ? static_cast<int>(std::min<int64_t>(run, chunkGrain)) : chunkGrain);
  }

  /// Each lane has a row, and reads one element of it after the other.
  void productByThreads(const Stmt &stmt) {
    const auto byElements = [&](const plan::BufferRef &ref, bool isRight) {
      if (ref.transposed == isRight)
        of(ref).access(
            static_cast<int>(std::max<int64_t>(plan::sharedBytes(plan.findBuffer(ref.buffer)->elem, 1), wordGrain)));
    };
    if (stmt.aShared)
      byElements(stmt.aRef, false);
    byElements(stmt.ref, true);
  }

  void product(const plan::Role &role, const Stmt &stmt) {
    const plan::VarType &result = role.findVar(stmt.dest)->type;
    const int lanesOfRow = result.layout.threadsPerRow;
    int bytes = chunkGrain;
    if (!stmt.aShared)
      bytes = static_cast<int>(plan::sharedBytes(role.findVar(stmt.operands.front())->type.elem, result.layout.vec));
    else
      while (!fits(stmt.aRef, lanesOfRow * bytes, false) || !fits(stmt.ref, lanesOfRow * bytes, true))
        bytes /= 2;
    if (stmt.aShared)
      operand(stmt.aRef, bytes, false);
    operand(stmt.ref, bytes, true);
  }

  /// Whether steps of so many bytes along k are whole ones: of the operand, and of its panels.
  bool fits(const plan::BufferRef &ref, int step, bool isRight) const {
    const plan::Buffer &buffer = *plan.findBuffer(ref.buffer);
    const bool alongK = ref.transposed == isRight;
    return plan::sharedBytes(buffer.elem, alongK ? buffer.cols : buffer.rows) % step == 0 &&
           (!alongK || plan::bytes(buffer.swizzle) % step == 0);
  }

  /// Along k a lane reads so many bytes; down the columns it reads elements, wherever these are.
  void operand(const plan::BufferRef &ref, int bytes, bool isRight) {
    Wishes &wish = of(ref);
    if (ref.transposed == isRight)
      wish.narrowest = std::min(wish.narrowest, bytes);
    wish.least = std::max(wish.least, productGrain);
  }

  /// An instance's own rows may begin in the middle of those after which pieces of 4 bytes repeat.
  Wishes &of(const plan::BufferRef &ref) {
    Wishes &wish = wishes[ref.buffer];
    if (ref.slice != plan::Division::Whole)
      wish.least = std::max(wish.least, productGrain);
    return wish;
  }

  const plan::Plan &plan;
  std::map<std::string, Wishes> &wishes;
};

} // namespace

void chooseSharedGrains(plan::Plan &plan, int least) {
  if (least == chunkGrain)
    return;
  std::map<std::string, Wishes> wishes;
  Uses uses(plan, wishes);
  for (const plan::Role &role : plan.roles)
    for (const plan::Body *body : {&role.body, &role.finish})
      plan::walk(*body, [&](const Stmt &stmt) { uses.look(role, stmt); });
  for (plan::Buffer &buffer : plan.buffers)
    if (const auto found = wishes.find(buffer.name); found != wishes.end() && buffer.swizzle != plan::Swizzle::None)
      buffer.grain = std::max(found->second.grain(least), plan::leastGrain(buffer));
}

} // namespace tkc::planner
