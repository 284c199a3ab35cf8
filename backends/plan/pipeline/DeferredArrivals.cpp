// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/pipeline/DeferredArrivals.h"

#include <algorithm>
#include <map>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

bool isCopiedByThreads(const plan::Stmt &stmt) { return stmt.kind == Kind::CopyIn && stmt.map.empty(); }

/// A loop that does nothing but fill a ring, whose copies by threads are of block scales.
bool fillsWithScales(const plan::Stmt &loop, const Placement &placement) {
  const plan::Body &body = loop.body;
  if (loop.kind != Kind::For || !loop.prologue.empty() || body.size() < 4 || body[0].kind != Kind::Wait ||
      body[1].kind != Kind::Expect || body[1].one || body.back().kind != Kind::Advance)
    return false;
  const bool copies = std::all_of(body.begin() + 2, body.end() - 1, [&](const plan::Stmt &stmt) {
    return stmt.kind == Kind::CopyIn && (!stmt.map.empty() || placement.isScales(stmt.ref.buffer));
  });
  return copies && std::any_of(body.begin(), body.end(), isCopiedByThreads);
}

/// A walk that fills a stage for each tile, and goes on until the last is told of:
///   for k in tiles(lo, hi + behind tiles) { if there is a tile k − behind { tell } if there is a tile k { fill }
///   commit }
/// It tells before it waits for a stage to be drained: what is there is multiplied meanwhile.
class LateWalk {
public:
  /// `told`: by barrier, the cursor at the oldest stage that is not told of. At the end of a walk nothing is left to
  /// tell, so all walks that fill a ring go on with one.
  LateWalk(plan::Role &role, const Placement &placement, const plan::Stmt &loop,
           std::map<std::string, std::string> &told)
      : role(role), placement(placement), loop(loop), told(told),
        behind(std::clamp(static_cast<int>(role.findVar(cursor())->type.rows) - 1, 1, mostBehind)) {}

  /// What stands in the loop's place.
  plan::Body run() {
    const plan::VarType scalar{plan::VarType::Scalar, ElemType::I32, 1, 1, {}, {}};
    plan::VarType truth = scalar;
    truth.elem = ElemType::Bool;
    plan::Body all;
    const std::string length = compute(all, ir::OpKind::Const, "behind", scalar, {});
    all.back().constant = static_cast<double>(behind * loop.tileSize);
    const std::string first = compute(all, ir::OpKind::Add, "first_told", scalar, {loop.operands[0], length});
    const std::string end = compute(all, ir::OpKind::Add, "end_told", scalar, {loop.operands[1], length});
    plan::Stmt walk = loop;
    walk.operands[1] = end;
    walk.body.clear();
    const std::string begin = compute(walk.body, ir::OpKind::Begin, "begin_" + loop.dest, scalar, {loop.dest});
    const std::string tells = compute(walk.body, ir::OpKind::Ge, "tells", truth, {begin, first});
    plan::Stmt &branch = emit(walk.body, Kind::If);
    branch.operands = {tells};
    tell(branch.body);
    fill(walk.body);
    all.push_back(std::move(walk));
    return all;
  }

private:
  const std::string &cursor() const { return loop.body.back().as<plan::Advance>().ring; }

  std::string declare(std::string name, const plan::VarType &type) {
    while (role.findVar(name))
      name += "_";
    role.vars.push_back({name, type});
    return name;
  }

  plan::Stmt &emit(plan::Body &to, Kind kind) const { return plan::append(to, kind, loop.loc); }

  std::string compute(plan::Body &to, ir::OpKind op, const std::string &hint, const plan::VarType &type,
                      std::vector<std::string> operands) {
    const std::string name = declare(hint, type);
    plan::Stmt &stmt = emit(to, Kind::Compute);
    stmt.op = op;
    stmt.dest = name;
    stmt.operands = std::move(operands);
    return name;
  }

  void fill(plan::Body &to) {
    const plan::VarType type = role.findVar(loop.dest)->type;
    const std::string filled = declare(loop.dest + "_ahead", type);
    plan::Stmt &tile = emit(to, Kind::Ahead);
    tile.operands = {loop.operands[0], loop.operands[1], loop.dest};
    tile.count = 0;
    tile.tileSize = loop.tileSize;
    tile.dest = filled;
    tile.body = loop.body;
    tile.body[1].one = true;
    for (plan::Stmt &stmt : tile.body) {
      std::replace(stmt.operands.begin(), stmt.operands.end(), loop.dest, filled);
      if (isCopiedByThreads(stmt)) { // in a group, of which the arrival tells
        stmt.completes = {};
        stmt.toFirst = false;
      }
    }
    std::stable_partition(tile.body.begin() + 2, tile.body.end() - 1,
                          [](const plan::Stmt &stmt) { return !isCopiedByThreads(stmt); });
    plan::append(to, plan::CopyCommit(), loop.loc);
  }

  /// The oldest stage's copies have come: each warp says so.
  void tell(plan::Body &to) {
    const plan::VarType type = role.findVar(cursor())->type;
    const auto &expect = loop.body[1].as<plan::Expect>();
    std::string &oldest = told[expect.at.barrier];
    if (oldest.empty())
      oldest = declare(cursor() + "_told", type);
    plan::append(to, plan::CopyWait{.left = behind - 1}, loop.loc);
    if (placement.usesTensorMemory())
      plan::append(to, plan::FenceProxy(), loop.loc);
    plan::append(to, plan::Arrive{.at = {expect.at.barrier, oldest}, .toFirst = expect.toFirst, .byWarps = true},
                 loop.loc);
    plan::append(to, plan::Advance{oldest}, loop.loc);
  }

  static constexpr int mostBehind = 6;
  plan::Role &role;
  const Placement &placement;
  const plan::Stmt loop;
  std::map<std::string, std::string> &told;
  int behind; ///< tiles by which arrivals come after what they tell of was asked for
};

} // namespace

std::set<std::string> deferArrivals(plan::Role &producer, const Placement &placement) {
  std::set<std::string> barriers, others; // that such loops alone fill, and whatever else is filled
  std::set<const plan::Stmt *> suitable;
  for (const plan::Stmt &stmt : producer.body) {
    const bool isLate = fillsWithScales(stmt, placement);
    if (isLate)
      suitable.insert(&stmt);
    plan::walk(stmt, [&](const plan::Stmt &inner) {
      if (inner.kind == Kind::Expect)
        (isLate ? barriers : others).insert(inner.as<plan::Expect>().at.barrier);
    });
  }
  for (const std::string &other : others)
    barriers.erase(other);
  std::map<std::string, std::string> told;
  plan::Body all;
  for (plan::Stmt &stmt : producer.body) {
    if (!suitable.count(&stmt) || barriers.count(stmt.body[1].as<plan::Expect>().at.barrier) == 0) {
      all.push_back(std::move(stmt));
      continue;
    }
    for (plan::Stmt &each : LateWalk(producer, placement, stmt, told).run())
      all.push_back(std::move(each));
  }
  producer.body = std::move(all);
  return barriers;
}

} // namespace tkc::planner
