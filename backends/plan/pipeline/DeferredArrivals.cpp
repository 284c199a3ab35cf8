// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/pipeline/DeferredArrivals.h"

#include "ir/plan/Turns.h"

#include <algorithm>
#include <map>
#include <vector>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

bool isCopiedByThreads(const plan::Stmt &stmt) { return stmt.kind == Kind::CopyIn && stmt.map.empty(); }

/// A stage that a loop's body fills: from the statement that waits for room to the one that goes on to the next.
struct Fill {
  size_t wait, advance;

  plan::Stmt &expect(plan::Body &body) const { return body[wait + 1]; }
  const plan::Stmt &expect(const plan::Body &body) const { return body[wait + 1]; }
  const std::string &cursor(const plan::Body &body) const { return body[advance].as<plan::Advance>().ring; }
  /// Each thread of the role arrives, since all of them copy.
  bool isByThreads(const plan::Body &body) const { return !expect(body).one; }
};

/// Of a loop that does nothing but fill rings, and compute what that takes; nothing of others.
std::vector<Fill> fillsOf(const plan::Stmt &loop) {
  const plan::Body &body = loop.body;
  std::vector<Fill> fills;
  for (size_t at = 0; at < body.size(); ++at) {
    if (body[at].kind == Kind::Compute || body[at].kind == Kind::Load)
      continue;
    size_t end = at + 2;
    while (end < body.size() && body[end].kind == Kind::CopyIn)
      ++end;
    if (end >= body.size() || body[at].kind != Kind::Wait || body[at + 1].kind != Kind::Expect ||
        body[end].kind != Kind::Advance)
      return {};
    fills.push_back({at, end});
    at = end;
  }
  return fills;
}

/// What threads copy in vain if they wait for it before they copy what comes next: rows here and there, block scales.
bool takesLong(const plan::Stmt &stmt, const Placement &placement) {
  return isCopiedByThreads(stmt) && (stmt.view.hasGather() || placement.isScales(stmt.ref.buffer));
}

/// A loop that fills rings, some by threads, whose copies are such, or of vectors beside them.
bool fillsLate(const plan::Stmt &loop, const Placement &placement) {
  if (loop.kind != Kind::For || !loop.prologue.empty() || loop.tileSize == 0 || fillsOf(loop).empty())
    return false;
  return std::all_of(loop.body.begin(), loop.body.end(),
                     [&](const plan::Stmt &stmt) {
                       return !isCopiedByThreads(stmt) || takesLong(stmt, placement) ||
                              placement.findBuffer(stmt.ref.buffer)->rows == 1;
                     }) &&
         std::any_of(loop.body.begin(), loop.body.end(),
                     [&](const plan::Stmt &stmt) { return takesLong(stmt, placement); });
}

/// The barriers of what a loop fills: by threads, or all.
std::set<std::string> barriersOf(const plan::Stmt &loop, bool byThreads) {
  std::set<std::string> barriers;
  for (const Fill &fill : fillsOf(loop))
    if (!byThreads || fill.isByThreads(loop.body))
      barriers.insert(fill.expect(loop.body).as<plan::Expect>().at.barrier);
  return barriers;
}

/// By how many tiles a reader's loop on one of these barriers is ahead with some of its products: so many it waits for
/// before it hands back the first stage of others.
int tilesAhead(const Readers &readers, const std::set<std::string> &full) {
  int ahead = 0;
  for (const plan::Role *role : readers)
    plan::walk(role->body, [&](const plan::Stmt &loop) {
      std::map<std::string, int> waits;
      for (const plan::Stmt &early : loop.prologue)
        plan::walk(early, [&](const plan::Stmt &stmt) {
          if (stmt.kind != Kind::Wait)
            return;
          const std::string &barrier = stmt.as<plan::Wait>().at.barrier;
          if (full.count(barrier))
            ahead = std::max(ahead, ++waits[barrier] * static_cast<int>(plan::turnOf(loop, 0).every));
        });
    });
  return ahead;
}

/// Tiles by which arrivals may come after what they tell of was asked for; 0: they may not. For tile k a stage is asked
/// for whose ring has `stages` of them, so that the readers must be done with tile k - stages, for which they wait for
/// tiles up to k - stages + ahead: these must have been told of, and are where nothing after k - behind is left to
/// tell.
int mostBehind(const plan::Stmt &loop, const plan::Role &producer, const Readers &readers) {
  constexpr int most = 6;
  int stages = most + 1;
  for (const Fill &fill : fillsOf(loop))
    stages = std::min(stages, static_cast<int>(producer.findVar(fill.cursor(loop.body))->type.rows));
  // The oldest stage is told of while another one is left to be multiplied.
  return std::min(std::max(stages - 1, 1), stages - tilesAhead(readers, barriersOf(loop, false)));
}

/// A walk that fills a stage of each ring for each tile, and goes on until the last is told of:
///   for k in tiles(lo, hi + behind tiles) { if there is a tile k − behind { tell } if there is a tile k { fill }
///   commit }
/// It tells before it waits for a stage to be drained: what is there is multiplied meanwhile.
class LateWalk {
public:
  /// `told`: by barrier, the cursor at the oldest stage that is not told of. At the end of a walk nothing is left to
  /// tell, so all walks that fill a ring go on with one.
  LateWalk(plan::Role &role, const Placement &placement, const plan::Stmt &loop, int behind,
           std::map<std::string, std::string> &told)
      : role(role), placement(placement), loop(loop), behind(behind), told(told), fills(fillsOf(loop)) {}

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
  const plan::VarType &stagesOf(const Fill &fill) const { return role.findVar(fill.cursor(loop.body))->type; }

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
    for (plan::Stmt &stmt : tile.body)
      std::replace(stmt.operands.begin(), stmt.operands.end(), loop.dest, filled);
    for (const Fill &each : fills)
      if (each.isByThreads(loop.body))
        inGroup(tile.body, each);
    plan::append(to, plan::CopyCommit(), loop.loc);
  }

  /// What threads copy comes last, in a group, of which the arrival tells.
  static void inGroup(plan::Body &body, const Fill &fill) {
    fill.expect(body).one = true;
    const auto first = body.begin() + static_cast<std::ptrdiff_t>(fill.wait) + 2;
    const auto last = body.begin() + static_cast<std::ptrdiff_t>(fill.advance);
    std::for_each(std::stable_partition(first, last, [](const plan::Stmt &stmt) { return !isCopiedByThreads(stmt); }),
                  last, [](plan::Stmt &copy) {
                    copy.completes = {};
                    copy.toFirst = false;
                  });
  }

  /// The oldest stages' copies have come: each warp says so.
  void tell(plan::Body &to) {
    plan::append(to, plan::CopyWait{.left = behind - 1}, loop.loc);
    const bool gathers =
        std::any_of(loop.body.begin(), loop.body.end(), [](const plan::Stmt &stmt) { return stmt.view.hasGather(); });
    if (placement.usesTensorMemory() || (gathers && !placement.multipliesByWarps())) // engines read it
      plan::append(to, plan::FenceProxy(), loop.loc);
    for (const Fill &fill : fills)
      if (fill.isByThreads(loop.body))
        tell(fill, to);
  }

  void tell(const Fill &fill, plan::Body &to) {
    const auto &expect = fill.expect(loop.body).as<plan::Expect>();
    std::string &oldest = told[expect.at.barrier];
    if (oldest.empty()) {
      const plan::VarType stages = stagesOf(fill);
      oldest = declare(fill.cursor(loop.body) + "_told", stages);
    }
    plan::append(to, plan::Arrive{.at = {expect.at.barrier, oldest}, .toFirst = expect.toFirst, .byWarps = true},
                 loop.loc);
    plan::append(to, plan::Advance{oldest}, loop.loc);
  }

  plan::Role &role;
  const Placement &placement;
  const plan::Stmt loop;
  const int behind; ///< tiles by which arrivals come after what they tell of was asked for
  std::map<std::string, std::string> &told;
  const std::vector<Fill> fills;
};

} // namespace

std::set<std::string> deferArrivals(plan::Role &producer, const Readers &readers, const Placement &placement) {
  std::map<const plan::Stmt *, int> suitable; // by how many tiles arrivals may be behind
  std::set<std::string> others;               // barriers of what is filled elsewhere, too
  for (const plan::Stmt &stmt : producer.body)
    if (const int behind = fillsLate(stmt, placement) ? mostBehind(stmt, producer, readers) : 0; behind > 0)
      suitable[&stmt] = behind;
    else
      plan::walk(stmt, [&](const plan::Stmt &inner) {
        if (inner.kind == Kind::Expect)
          others.insert(inner.as<plan::Expect>().at.barrier);
      });
  // A ring is told of in one way, wherever it is filled.
  const auto sharesRings = [&](const plan::Stmt *loop) {
    const std::set<std::string> late = barriersOf(*loop, true);
    return std::any_of(late.begin(), late.end(), [&](const std::string &each) { return others.count(each) != 0; });
  };
  for (auto at = suitable.begin(); at != suitable.end();) {
    if (!sharesRings(at->first)) {
      ++at;
      continue;
    }
    others.merge(barriersOf(*at->first, false));
    suitable.erase(at);
    at = suitable.begin();
  }
  std::set<std::string> barriers;
  std::map<std::string, std::string> told;
  plan::Body all;
  for (plan::Stmt &stmt : producer.body) {
    const auto late = suitable.find(&stmt);
    if (late == suitable.end()) {
      all.push_back(std::move(stmt));
      continue;
    }
    barriers.merge(barriersOf(stmt, true));
    for (plan::Stmt &each : LateWalk(producer, placement, stmt, late->second, told).run())
      all.push_back(std::move(each));
  }
  producer.body = std::move(all);
  return barriers;
}

} // namespace tkc::planner
