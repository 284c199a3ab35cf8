// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/KeepRows.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

/// Threads of a multiprocessor that are to find place beside what their blocks keep.
constexpr int64_t threadsAtOnce = 1024;
/// Of each block besides its own shared memory, and what aligning that costs.
constexpr int64_t reserved = 2048;
constexpr int64_t mostTiles = 16;

/// Loops that one loop of the source was split into, by their places in the role's body: each begins where the one
/// before ends, at a multiple of the tile size.
using Pass = std::vector<size_t>;

/// A load that every loop of `first` has, and all loops of `again` as well.
struct Kept {
  std::string key; ///< what is loaded, but for the loop's index
  plan::VarType type;
  std::vector<Pass> passes;
};

class Keeper {
public:
  Keeper(plan::Role &role, const plan::Plan &plan) : role(role) {
    for (const plan::Var &var : plan.preludeVars)
      fixed.insert(var.name);
    for (const plan::GridAxis &axis : plan.grid.axes)
      fixed.insert(axis.name);
    taken = fixed;
    for (const plan::Var &var : role.vars)
      taken.insert(var.name);
    noteWrites(role.body);
  }

  void run(std::vector<plan::Buffer> &buffers, int64_t budget, int64_t most) {
    const std::vector<Kept> found = find();
    int64_t tileBytes = 0;
    for (const Kept &kept : found)
      tileBytes += bytesOf(kept.type.elem, kept.type.rows * kept.type.cols);
    const int64_t tiles = tileBytes == 0 ? 0 : std::min(budget / tileBytes, most);
    if (tiles <= 0)
      return;
    for (const Kept &kept : found)
      keep(kept, tiles, buffers);
    place();
  }

private:
  // ---- finding
  void noteWrites(const plan::Body &body) {
    for (const plan::Stmt &stmt : body) {
      if (stmt.kind == Kind::Store || stmt.kind == Kind::Atomic || stmt.kind == Kind::CopyOut)
        written.insert(stmt.view.tensor);
      for (const plan::Body *inner : {&stmt.prologue, &stmt.body, &stmt.epilogue, &stmt.orElse})
        noteWrites(*inner);
    }
  }

  std::vector<Pass> passes() const {
    std::vector<Pass> all;
    for (size_t i = 0; i < role.body.size(); ++i) {
      const plan::Stmt &stmt = role.body[i];
      if (stmt.kind != Kind::For || stmt.tileSize == 0 || !stmt.prologue.empty() || !stmt.epilogue.empty())
        continue;
      const plan::Stmt *before = all.empty() ? nullptr : &role.body[all.back().back()];
      const bool goesOn = before && before->loc == stmt.loc && before->tileSize == stmt.tileSize &&
                          before->operands[1] == stmt.operands[0];
      if (goesOn)
        all.back().push_back(i);
      else
        all.push_back({i});
    }
    return all;
  }

  bool haveSameTiles(const Pass &one, const Pass &other) const {
    const auto &body = role.body;
    return body[one.front()].operands[0] == body[other.front()].operands[0] &&
           body[one.back()].operands[1] == body[other.back()].operands[1] &&
           body[one.front()].tileSize == body[other.front()].tileSize;
  }

  /// What a load of a loop's tiles loads, with another name for the index; empty: something that may change meanwhile.
  std::string keyOf(const plan::Stmt &load, const plan::Stmt &loop) const {
    const bool isTile = load.kind == Kind::Load && !load.hasElse && !written.count(load.view.tensor);
    if (!isTile || std::find(load.operands.begin(), load.operands.end(), loop.dest) == load.operands.end())
      return {};
    plan::Stmt renamed = load;
    renamed.dest = "$";
    for (std::string &operand : renamed.operands) {
      if (operand != loop.dest && !fixed.count(operand))
        return {};
      operand = operand == loop.dest ? "$" : operand;
    }
    return plan::print(renamed);
  }

  /// Whether every element is held by one thread.
  static bool isHeldOnce(const plan::VarType &type) {
    const plan::Layout &layout = type.layout;
    const int rowsAtOnce = layout.kind == plan::Layout::Rows ? layout.threads / layout.threadsPerRow : 0;
    const bool isWhole = rowsAtOnce > 0 && type.cols % (layout.threadsPerRow * layout.vec) == 0 && !isPacked(type.elem);
    return isWhole && ((type.kind == plan::VarType::Fragment && type.rows % rowsAtOnce == 0) ||
                       (type.kind == plan::VarType::Row && rowsAtOnce == 1));
  }

  /// The loads of a loop, by what they load; what is loaded twice in an iteration is left out.
  std::map<std::string, plan::Stmt *> loadsOf(plan::Stmt &loop) const {
    std::map<std::string, plan::Stmt *> loads;
    std::set<std::string> twice;
    for (plan::Stmt &stmt : loop.body)
      if (const std::string key = keyOf(stmt, loop); !key.empty() && isHeldOnce(role.findVar(stmt.dest)->type))
        if (!loads.emplace(key, &stmt).second)
          twice.insert(key);
    for (const std::string &key : twice)
      loads.erase(key);
    return loads;
  }

  bool allLoad(const Pass &pass, const std::string &key, const plan::VarType &type) const {
    return std::all_of(pass.begin(), pass.end(), [&](size_t i) {
      const auto loads = loadsOf(role.body[i]);
      const auto found = loads.find(key);
      return found != loads.end() && role.findVar(found->second->dest)->type == type;
    });
  }

  std::vector<Kept> find() const {
    std::vector<Kept> found;
    const std::vector<Pass> all = passes();
    for (size_t i = 0; i < all.size(); ++i)
      for (const auto &[key, load] : loadsOf(role.body[all[i].front()])) {
        Kept kept{key, role.findVar(load->dest)->type, {}};
        const bool known =
            std::any_of(found.begin(), found.end(), [&, &key = key](const Kept &it) { return it.key == key; });
        for (size_t j = i; j < all.size() && !known; ++j)
          if (haveSameTiles(all[i], all[j]) && allLoad(all[j], key, kept.type))
            kept.passes.push_back(all[j]);
        if (kept.passes.size() > 1 && kept.passes.front() == all[i])
          found.push_back(std::move(kept));
      }
    return found;
  }

  // ---- keeping
  std::string declare(const std::string &hint, const plan::VarType &type) {
    std::string name = hint;
    for (int i = 2; !taken.insert(name).second; ++i)
      name = fmt::format("{}_{}", hint, i);
    role.vars.push_back({name, type});
    return name;
  }

  static plan::VarType scalar(ElemType elem) {
    plan::VarType type;
    type.elem = elem;
    return type;
  }

  plan::Stmt compute(ir::OpKind op, const std::string &dest, std::vector<std::string> operands, SourceLoc loc) const {
    plan::Stmt stmt;
    stmt.kind = Kind::Compute;
    stmt.loc = loc;
    stmt.op = op;
    stmt.dest = dest;
    stmt.operands = std::move(operands);
    return stmt;
  }

  void keep(const Kept &kept, int64_t tiles, std::vector<plan::Buffer> &buffers) {
    const size_t first = kept.passes.front().front();
    const plan::Stmt &load = *loadsOf(role.body[first]).at(kept.key);
    plan::Buffer buffer;
    buffer.name = "kept_" + load.dest;
    buffer.elem = kept.type.elem;
    buffer.rows = kept.type.kind == plan::VarType::Row ? 1 : kept.type.rows;
    buffer.cols = kept.type.cols;
    buffer.swizzle = plan::Swizzle::None;
    buffer.stages = static_cast<int>(tiles);
    buffer.loc = load.loc;
    buffers.push_back(buffer);
    const std::string end = endOfKept(role.body[first], tiles);
    for (const Pass &pass : kept.passes) {
      plan::VarType cursor;
      cursor.kind = plan::VarType::Cursor;
      cursor.rows = tiles;
      const std::string at = declare(buffer.name + "_at", cursor);
      for (const size_t i : pass)
        keepIn(role.body[i], kept.key, {buffer.name, at, false, plan::Division::Whole}, end,
               pass == kept.passes.front());
    }
  }

  /// Tiles that begin before this are kept.
  std::string endOfKept(const plan::Stmt &loop, int64_t tiles) {
    const std::string size = declare("kept_size", scalar(ElemType::I32));
    const std::string end = declare("kept_end", scalar(ElemType::I32));
    plan::Stmt constant = compute(ir::OpKind::Const, size, {}, loop.loc);
    constant.constant = static_cast<double>(tiles * loop.tileSize);
    before[&loop - role.body.data()] = {constant, compute(ir::OpKind::Add, end, {loop.operands[0], size}, loop.loc)};
    return end;
  }

  void keepIn(plan::Stmt &loop, const std::string &key, const plan::BufferRef &ref, const std::string &end,
              bool isFirst) {
    plan::Stmt *load = loadsOf(loop).at(key);
    const auto at = loop.body.begin() + (load - loop.body.data());
    const SourceLoc loc = load->loc;
    const std::string begin = declare("begin_value", scalar(ElemType::I32));
    const std::string isKept = declare("is_kept", scalar(ElemType::Bool));
    plan::Stmt branch;
    branch.kind = Kind::If;
    branch.loc = loc;
    branch.operands = {isKept};
    plan::Stmt &moved = plan::append(branch.body, isFirst ? Kind::StoreShared : Kind::LoadShared, loc);
    moved.ref = ref;
    if (isFirst)
      moved.operands = {load->dest};
    else
      moved.dest = load->dest;
    plan::append(branch.body, Kind::Advance, loc).cursor = ref.cursor;
    if (!isFirst)
      branch.orElse.push_back(*load);
    plan::Body replaced;
    if (isFirst)
      replaced.push_back(*load);
    replaced.push_back(compute(ir::OpKind::Begin, begin, {loop.dest}, loc));
    replaced.push_back(compute(ir::OpKind::Lt, isKept, {begin, end}, loc));
    replaced.push_back(std::move(branch));
    const auto next = loop.body.erase(at);
    loop.body.insert(next, std::make_move_iterator(replaced.begin()), std::make_move_iterator(replaced.end()));
  }

  /// What the loops need to know goes before them.
  void place() {
    plan::Body body;
    for (size_t i = 0; i < role.body.size(); ++i) {
      if (const auto found = before.find(static_cast<ptrdiff_t>(i)); found != before.end())
        body.insert(body.end(), found->second.begin(), found->second.end());
      body.push_back(std::move(role.body[i]));
    }
    role.body = std::move(body);
  }

  plan::Role &role;
  std::set<std::string> taken;            ///< names of variables
  std::set<std::string> fixed;            ///< of those that are the same throughout a tile of the grid
  std::set<std::string> written;          ///< tensors
  std::map<ptrdiff_t, plan::Body> before; ///< what comes before a statement of the role
};

} // namespace

void keepRows(plan::Role &role, std::vector<plan::Buffer> &buffers, const plan::Plan &plan,
              const arch::Description &arch, const Schedule &schedule) {
  int64_t used = reserved;
  for (const plan::Buffer &buffer : buffers)
    used += buffer.totalBytes();
  const int64_t threads = int64_t{role.warps} * role.instances * arch.warpSize;
  const int64_t share = arch.sharedBytesPerMultiprocessor * threads / threadsAtOnce;
  const int64_t budget = std::min(schedule.keep ? arch.sharedBytesPerBlock : share, arch.sharedBytesPerBlock) - used;
  Keeper(role, plan).run(buffers, budget, schedule.keep.value_or(mostTiles));
}

} // namespace tkc::planner
