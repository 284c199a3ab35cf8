// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/rowwise/KeepInShared.h"

#include "backends/plan/roles/FreshName.h"
#include <algorithm>
#include <fmt/core.h>
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
  /// `isAligned`: tiles that are copied ahead come with 16 bytes more (AlignRows.h).
  Keeper(plan::Role &role, const plan::Plan &plan, bool isAligned) : role(role), isAligned(isAligned) {
    for (const plan::Var &var : plan.preludeVars)
      fixed.insert(var.name);
    for (const plan::GridAxis &axis : plan.grid.axes)
      fixed.insert(axis.name);
    taken = fixed;
    for (const plan::Var &var : role.vars)
      taken.insert(var.name);
    noteWrites(role.body);
  }

  /// `ahead`: all that is kept is on its way before the first of it is worked with. Empty, or why it cannot be.
  std::string run(std::vector<plan::Buffer> &buffers, int64_t budget, int64_t most, bool ahead) {
    const std::vector<Kept> found = find();
    int64_t tileBytes = 0;
    for (const Kept &kept : found)
      tileBytes += bytesOf(kept.type.elem, kept.type.rows * kept.type.cols) + (isAligned ? 16 : 0);
    const int64_t tiles = tileBytes == 0 ? 0 : std::min(budget / tileBytes, most);
    if (tiles <= 0)
      return ahead ? "no tiles are kept" : "";
    if (std::string why = ahead ? whyNotAhead(found) : ""; !why.empty())
      return why;
    isAhead = ahead;
    for (const Kept &kept : found)
      keep(kept, tiles, buffers);
    if (ahead)
      bringAhead(found.front().passes.front(), tiles);
    place();
    return "";
  }

private:
  // ---- finding
  void noteWrites(const plan::Body &body) {
    plan::walk(body, [&](const plan::Stmt &stmt) {
      if (stmt.kind == Kind::Store || stmt.kind == Kind::Atomic || stmt.kind == Kind::CopyOut)
        written.insert(stmt.view.tensor);
    });
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
    role.vars.push_back({freshName(hint, taken), type});
    return role.vars.back().name;
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
    const std::string end = endOfKept(first, tiles);
    if (isAhead)
      copies.push_back(copyOf(load, role.body[first], buffer));
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
  std::string endOfKept(size_t first, int64_t tiles) {
    const plan::Stmt &loop = role.body[first];
    if (const auto known = endOf.find(first); isAhead && known != endOf.end())
      return known->second;
    const std::string size = number("kept_size", tiles * loop.tileSize, first);
    const std::string end = declare("kept_end", scalar(ElemType::I32));
    before[first].push_back(compute(ir::OpKind::Add, end, {loop.operands[0], size}, loop.loc));
    return endOf[first] = end;
  }

  /// A constant, before the statement at `place`.
  std::string number(const std::string &hint, int64_t value, size_t place) {
    const std::string name = declare(hint, scalar(ElemType::I32));
    plan::Stmt constant = compute(ir::OpKind::Const, name, {}, role.body[place].loc);
    constant.constant = static_cast<double>(value);
    before[place].push_back(constant);
    return name;
  }

  // ---- bringing ahead
  /// Copies wait by groups of a fixed number, so all tensors' tiles of one iteration make one; threads copy 16 bytes.
  std::string whyNotAhead(const std::vector<Kept> &found) const {
    for (const Kept &kept : found) {
      if (kept.passes.front() != found.front().passes.front())
        return "several loops are the first to go along what is kept";
      if (kept.type.layout.vec * byteWidth(kept.type.elem) != 16)
        return "a thread holds other than 16 bytes beside each other";
    }
    return "";
  }

  plan::Stmt copyOf(const plan::Stmt &load, const plan::Stmt &loop, const plan::Buffer &buffer) {
    plan::VarType cursor;
    cursor.kind = plan::VarType::Cursor;
    cursor.rows = buffer.stages;
    plan::Stmt copy = load;
    copy.kind = Kind::CopyIn;
    copy.dest.clear();
    copy.ref = {buffer.name, declare(buffer.name + "_fill", cursor), false, plan::Division::Whole};
    std::replace(copy.operands.begin(), copy.operands.end(), loop.dest, ahead(loop));
    return copy;
  }

  /// The index of the loop that brings what `loop` works with.
  std::string ahead(const plan::Stmt &loop) {
    if (aheadIndex.empty())
      aheadIndex = declare(loop.dest + "_ahead", role.findVar(loop.dest)->type);
    return aheadIndex;
  }

  /// Before the first pass as many groups of copies are begun as tiles can be kept, empty ones where the row ends; each
  /// of its iterations begins another one, and so waits for all but the newest `tiles - 1`.
  void bringAhead(const Pass &pass, int64_t tiles) {
    const size_t first = pass.front();
    const SourceLoc loc = role.body[first].loc;
    const std::string begin = role.body[first].operands[0], stop = role.body[pass.back()].operands[1];
    const int64_t size = role.body[first].tileSize;
    const auto add = [&](ir::OpKind op, const std::string &hint, const std::string &a, const std::string &b) {
      const std::string dest = declare(hint, scalar(ElemType::I32));
      before[first].push_back(compute(op, dest, {a, b}, loc));
      return dest;
    };
    const std::string end = endOf.at(first);
    const std::string keptStop = add(ir::OpKind::Min, "kept_stop", add(ir::OpKind::Max, "stop", stop, begin), end);
    plan::Stmt loop = role.body[first];
    loop.dest = aheadIndex;
    loop.operands = {begin, keptStop};
    loop.body.clear();
    for (const plan::Stmt &copy : copies) {
      loop.body.push_back(copy);
      plan::append(loop.body, plan::Advance{copy.ref.cursor}, loc);
    }
    plan::append(loop.body, plan::CopyCommit(), loc);
    before[first].push_back(loop);
    // From the end of the last of these on.
    const std::string width = number("tile_size", size, first);
    const std::string all = add(ir::OpKind::Sub, "kept_length", keptStop, begin);
    const std::string padded = add(ir::OpKind::Add, "padded", all, number("rounding", size - 1, first));
    const std::string whole = add(ir::OpKind::Mul, "whole", add(ir::OpKind::Div, "kept_tiles", padded, width), width);
    loop.dest = declare(aheadIndex + "_none", role.findVar(aheadIndex)->type);
    loop.operands = {add(ir::OpKind::Add, "none_begin", begin, whole), end};
    loop.body.clear();
    plan::append(loop.body, plan::CopyCommit(), loc);
    before[first].push_back(loop);
    for (const size_t i : pass)
      waitIn(role.body[i], end, static_cast<int>(tiles) - 1);
  }

  /// At the start of an iteration whose tiles were brought ahead.
  void waitIn(plan::Stmt &loop, const std::string &end, int newest) {
    const std::string begin = declare("begin_value", scalar(ElemType::I32));
    const std::string isKept = declare("has_come", scalar(ElemType::Bool));
    plan::Stmt branch;
    branch.kind = Kind::If;
    branch.loc = loop.loc;
    branch.operands = {isKept};
    plan::append(branch.body, plan::CopyWait{.left = newest}, loop.loc);
    plan::append(branch.body, plan::Sync{0, role.warps * role.instances * role.lanes}, loop.loc);
    plan::append(branch.body, plan::CopyCommit(), loop.loc);
    plan::Body head = {compute(ir::OpKind::Begin, begin, {loop.dest}, loop.loc),
                       compute(ir::OpKind::Lt, isKept, {begin, end}, loop.loc), std::move(branch)};
    loop.body.insert(loop.body.begin(), std::make_move_iterator(head.begin()), std::make_move_iterator(head.end()));
  }

  void keepIn(plan::Stmt &loop, const std::string &key, const plan::BufferRef &ref, const std::string &end,
              bool isFirst) {
    isFirst = isFirst && !isAhead; // what is on its way is found there by the first as well
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
    plan::append(branch.body, plan::Advance{ref.cursor}, loc);
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
      if (const auto found = before.find(i); found != before.end())
        body.insert(body.end(), found->second.begin(), found->second.end());
      body.push_back(std::move(role.body[i]));
    }
    role.body = std::move(body);
  }

  plan::Role &role;
  const bool isAligned;
  std::set<std::string> taken;         ///< names of variables
  std::set<std::string> fixed;         ///< of those that are the same throughout a tile of the grid
  std::set<std::string> written;       ///< tensors
  std::map<size_t, plan::Body> before; ///< what comes before a statement of the role
  std::map<size_t, std::string> endOf; ///< of what the loops from here on keep
  bool isAhead = false;
  std::string aheadIndex;
  plan::Body copies; ///< of a tile of each tensor, where they are brought ahead
};

} // namespace

std::string keepInShared(plan::Role &role, std::vector<plan::Buffer> &buffers, const plan::Plan &plan,
                         const arch::Description &arch, const Schedule &schedule) {
  const bool ahead = schedule.keepAhead.value_or(false);
  if (ahead && !arch.hasAsyncCopy)
    return fmt::format("`{}` has no copies of threads that run while these go on", arch.name);
  int64_t used = reserved;
  for (const plan::Buffer &buffer : buffers)
    used += buffer.totalBytes();
  const int64_t threads = int64_t{role.warps} * role.instances * arch.warpSize;
  const int64_t share = arch.sharedBytesPerMultiprocessor * threads / threadsAtOnce;
  const int64_t budget = std::min(schedule.keep ? arch.sharedBytesPerBlock : share, arch.sharedBytesPerBlock) - used;
  return Keeper(role, plan, ahead && schedule.alignRows.value_or(false))
      .run(buffers, budget, schedule.keep.value_or(mostTiles), ahead);
}

} // namespace tkc::planner
