// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/LookUpTables.h"

#include "backends/plan/roles/FreshName.h"
#include "backends/plan/roles/RoleBuilder.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;
using ir::ViewIndex;

constexpr int64_t mostElements = 256;
/// A table pays for being copied, and for the barrier, if this many elements are read for each that it has and by each
/// thread. A loop counts as so many iterations.
constexpr int64_t fewestReads = 4, fewestReadsByThread = 8, iterations = 8;

struct Table {
  plan::Stmt load;                   ///< of the row, without a variable
  int64_t size = 0;                  ///< elements
  size_t known = 0, used = 0;        ///< places in the role's body: where the row is known, and is first gathered from
  int64_t reads = 0;                 ///< of elements, in a tile of the grid
  std::vector<plan::Stmt *> gathers; ///< these become look-ups
};

class Tables {
public:
  Tables(plan::Role &role, const plan::Plan &plan, const Placement &placement)
      : role(role), plan(plan), placement(placement), threads(placement.layout.threads * placement.instances) {
    for (const plan::Var &var : plan.preludeVars)
      knownAt[var.name] = 0, taken.insert(var.name);
    for (const plan::GridAxis &axis : plan.grid.axes)
      knownAt[axis.name] = 0, taken.insert(axis.name);
    for (const plan::Var &var : role.vars)
      taken.insert(var.name);
    findKnown();
    for (size_t i = 0; i < role.body.size(); ++i)
      find(role.body[i], i, 1);
  }

  std::vector<std::string> run(std::vector<plan::Buffer> &buffers, bool comesAgain) {
    std::vector<Table *> all;
    for (auto &[key, table] : tables)
      if (pays(table))
        all.push_back(&table);
    shareBarriers(all);
    std::vector<std::string> tensors;
    for (Table *table : all) {
      tensors.push_back(table->load.view.tensor);
      place(*table, buffers);
    }
    insert(comesAgain);
    return tensors;
  }

private:
  /// Variables that the body itself gives their only value, and where it has done so.
  void findKnown() {
    std::map<std::string, int> writes;
    plan::walk(role.body, [&](const plan::Stmt &stmt) { ++writes[stmt.dest]; });
    for (size_t i = 0; i < role.body.size(); ++i)
      if (role.body[i].kind != Kind::For && writes.at(role.body[i].dest) == 1)
        knownAt[role.body[i].dest] = i + 1;
  }

  /// Gathers of a statement of the body, and of those inside it, which run `times` times.
  void find(plan::Stmt &stmt, size_t place, int64_t times) {
    if (std::optional<Table> row = rowOf(stmt)) {
      const plan::VarType &type = role.findVar(stmt.dest)->type;
      Table &table = tables.try_emplace(plan::print(row->load), *row).first->second;
      table.used = table.gathers.empty() ? beforePipeline(place) : table.used;
      table.reads += times * type.rows * type.cols;
      table.gathers.push_back(&stmt);
    }
    for (plan::Body *inner : stmt.bodies())
      for (plan::Stmt &each : *inner)
        find(each, place, stmt.kind == Kind::For ? times * iterations : times);
  }

  /// Loops that are one pipeline stay side by side.
  size_t beforePipeline(size_t place) const {
    while (role.body[place].kind == Kind::For && role.body[place].operands.size() > 2)
      --place;
    return place;
  }

  /// The row that a load gathers from along its last dim, if it may be kept: nothing changes the tensor, and where the
  /// row lies is known before.
  std::optional<Table> rowOf(const plan::Stmt &stmt) const {
    if (stmt.kind != Kind::Load || stmt.view.indices.empty() || stmt.view.indices.back().kind != ViewIndex::Gather)
      return std::nullopt;
    const ViewIndex &gather = stmt.view.indices.back();
    const plan::Var *at = role.findVar(stmt.operands[gather.operand]);
    const ir::Param &param = *std::find_if(plan.params.begin(), plan.params.end(),
                                           [&](const ir::Param &each) { return each.name == stmt.view.tensor; });
    const ir::DimExpr &dim = param.dims.back();
    if (!at || at->type.kind != plan::VarType::Fragment || at->type.elem != ElemType::I32 ||
        param.mode != ir::ParamMode::In || isPacked(param.elem) || !dim.isConst() || dim.value > mostElements)
      return std::nullopt;
    // With `else` there is nothing to load where another index is outside.
    if (stmt.hasElse && stmt.view.indices.size() > 1)
      return std::nullopt;
    Table table;
    table.size = dim.value;
    table.load = stmt;
    table.load.dest.clear();
    table.load.operands.clear();
    table.load.hasElse = false;
    for (ViewIndex &index : table.load.view.indices) {
      if (&index == &table.load.view.indices.back()) {
        index = {ViewIndex::Span, 0, 0, dim.value};
        continue;
      }
      const auto known = knownAt.find(stmt.operands[index.operand]);
      if (index.kind != ViewIndex::Element || known == knownAt.end())
        return std::nullopt;
      table.known = std::max(table.known, known->second);
      table.load.operands.push_back(known->first);
      index.operand = static_cast<unsigned>(table.load.operands.size() - 1);
    }
    return table;
  }

  bool pays(const Table &table) const {
    return table.known <= table.used && table.reads >= fewestReads * table.size &&
           table.reads >= fewestReadsByThread * threads;
  }

  /// A table is stored with one that is needed earlier, if it is known by then.
  static void shareBarriers(std::vector<Table *> &all) {
    std::stable_sort(all.begin(), all.end(), [](const Table *a, const Table *b) { return a->used < b->used; });
    size_t barrier = 0;
    for (size_t i = 0; i < all.size(); ++i)
      barrier = all[i]->used = i > 0 && all[i]->known <= barrier ? barrier : all[i]->used;
  }

  /// Each instance holds the whole row, in rows of its own threads.
  plan::VarType typeOf(const Table &table) const {
    const int each = placement.layout.threads;
    plan::VarType type;
    type.kind = plan::VarType::Row;
    type.elem = role.findVar(table.gathers.front()->dest)->type.elem;
    type.cols = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(table.size)));
    type.layout = {plan::Layout::Rows, threads, std::min(static_cast<int>(type.cols), each & -each), 1};
    return type;
  }

  void place(Table &table, std::vector<plan::Buffer> &buffers) {
    const plan::VarType type = typeOf(table);
    plan::Buffer buffer;
    buffer.name = nameOf(table.load.view.tensor + "_table", buffers);
    buffer.elem = type.elem;
    buffer.rows = 1;
    buffer.cols = type.cols;
    buffer.swizzle = plan::Swizzle::None;
    buffer.loc = table.load.loc;
    buffers.push_back(buffer);
    table.load.dest = declare(table.load.view.tensor + "_row", type);
    if (!table.load.operands.empty())
      loadWhatThereIs(table, type.elem);
    before[table.known].push_back(table.load);
    plan::Stmt &store = plan::append(stores[table.used], Kind::StoreShared, table.load.loc);
    store.ref = {buffer.name, "", false, plan::Division::Whole};
    store.operands = {table.load.dest};
    store.firstInstance = placement.instances > 1;
    for (plan::Stmt *gather : table.gathers)
      lookUp(*gather, buffer.name, table.size);
  }

  /// Where the gathers stand in a loop or branch, the tensor need not have the row if that does not run.
  void loadWhatThereIs(Table &table, ElemType elem) {
    plan::VarType scalar;
    scalar.elem = elem;
    scalar.layout = {};
    plan::Stmt &nothing = plan::append(before[table.known], Kind::Compute, table.load.loc);
    nothing.op = ir::OpKind::Const;
    nothing.dest = declare("nothing", scalar);
    table.load.hasElse = true;
    table.load.operands.push_back(nothing.dest);
  }

  static void lookUp(plan::Stmt &gather, const std::string &buffer, int64_t size) {
    plan::Stmt stmt;
    stmt.kind = Kind::LookUp;
    stmt.loc = gather.loc;
    stmt.dest = gather.dest;
    stmt.ref = {buffer, "", false, plan::Division::Whole};
    stmt.operands = {gather.operands[gather.view.indices.back().operand]};
    stmt.count = static_cast<int>(size);
    stmt.hasElse = gather.hasElse;
    if (gather.hasElse)
      stmt.operands.push_back(gather.operands.back());
    gather = std::move(stmt);
  }

  /// What comes before the statements of the body: loads, and stores with the barriers around them.
  void insert(bool comesAgain) {
    const plan::Sync all{placement.hasNamedBarriers ? allConsumersBarrier : 0, threads};
    plan::Body body;
    for (size_t i = 0; i < role.body.size(); ++i) {
      if (const auto loads = before.find(i); loads != before.end())
        std::move(loads->second.begin(), loads->second.end(), std::back_inserter(body));
      if (const auto found = stores.find(i); found != stores.end()) {
        const SourceLoc loc = found->second.front().loc;
        if (comesAgain)
          plan::append(body, all, loc);
        std::move(found->second.begin(), found->second.end(), std::back_inserter(body));
        plan::append(body, all, loc);
      }
      body.push_back(std::move(role.body[i]));
    }
    role.body = std::move(body);
  }

  std::string nameOf(const std::string &hint, const std::vector<plan::Buffer> &buffers) const {
    const auto isTaken = [&](const std::string &name) {
      const auto is = [&](const plan::Buffer &buffer) { return buffer.name == name; };
      return std::any_of(buffers.begin(), buffers.end(), is) ||
             std::any_of(placement.buffers.begin(), placement.buffers.end(), is);
    };
    return freshName(hint, isTaken);
  }

  std::string declare(const std::string &hint, const plan::VarType &type) {
    role.vars.push_back({freshName(hint, taken), type});
    return role.vars.back().name;
  }

  plan::Role &role;
  const plan::Plan &plan;
  const Placement &placement;
  const int threads;
  std::set<std::string> taken;           ///< names of variables
  std::map<std::string, size_t> knownAt; ///< variables of one value, and the statement of the body that may read them
  std::map<std::string, Table> tables;   ///< by the load of the row
  std::map<size_t, plan::Body> before;   ///< loads, by the statement that they come before
  std::map<size_t, plan::Body> stores;
};

} // namespace

std::vector<std::string> placeLookUpTables(plan::Role &role, std::vector<plan::Buffer> &buffers, const plan::Plan &plan,
                                           const Placement &placement, bool comesAgain) {
  return Tables(role, plan, placement).run(buffers, comesAgain);
}

} // namespace tkc::planner
