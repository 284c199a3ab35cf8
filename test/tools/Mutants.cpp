// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Mutants.h"

#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <fmt/core.h>
#include <functional>
#include <map>
#include <set>

namespace tkc {
namespace {

using plan::Body;
using plan::Plan;
using plan::Role;
using plan::Stmt;
using plan::StmtKind;

/// Calls `visit(body, i)` for every statement of a Body or const Body and what it holds, bodies first, so that a
/// visitor may erase the statement.
template <class B, class Visit> void forEach(B &body, const Visit &visit) {
  for (size_t i = 0; i < body.size(); ++i) {
    for (B *inner : {&body[i].prologue, &body[i].body, &body[i].epilogue, &body[i].orElse})
      forEach(*inner, visit);
    visit(body, i);
  }
}

bool synchronises(StmtKind kind) {
  switch (kind) {
  case StmtKind::Wait:
  case StmtKind::Arrive:
  case StmtKind::Expect:
  case StmtKind::ProductWait:
  case StmtKind::ProductFence:
  case StmtKind::ProductCommit:
  case StmtKind::Sync:
  case StmtKind::Stagger:
  case StmtKind::FenceProxy:
  case StmtKind::BulkCommit:
  case StmtKind::BulkWait:
  case StmtKind::CopyCommit:
  case StmtKind::CopyWait:
  case StmtKind::Advance:
  case StmtKind::ClusterSync:
  case StmtKind::TensorFence:
  case StmtKind::Claim:
    return true;
  case StmtKind::Compute:
  case StmtKind::Move:
  case StmtKind::Spread:
  case StmtKind::Load:
  case StmtKind::Store:
  case StmtKind::Atomic:
  case StmtKind::LoadShared:
  case StmtKind::LookUp:
  case StmtKind::StoreShared:
  case StmtKind::LoadTensor:
  case StmtKind::StoreTensor:
  case StmtKind::ScaleTensor:
  case StmtKind::Fetch:
  case StmtKind::Place:
  case StmtKind::CopyIn:
  case StmtKind::CopyOut:
  case StmtKind::NextTile:
  case StmtKind::Product:
  case StmtKind::For:
  case StmtKind::If:
  case StmtKind::Record:
  case StmtKind::WaitForPrevious: // without it the kernel is launched after the one before has ended
  case StmtKind::Ahead:
  case StmtKind::Each:
    return false;
  }
  return false;
}

class Mutator {
public:
  explicit Mutator(const Plan &plan) : original(plan) {
    plan::Report ignored;
    plan::checkProtocol(original, plan::Budget(), ignored, &facts);
  }

  std::vector<Mutant> run() {
    for (size_t role = 0; role < original.roles.size(); ++role)
      for (bool finish : {false, true})
        statements(role, finish);
    for (const plan::Buffer &buffer : original.buffers)
      if (buffer.stages > 1)
        rings(buffer.name);
    for (const plan::TensorBuffer &tensor : original.tensors)
      if (tensor.stages > 1)
        rings(tensor.name);
    for (const plan::Barrier &barrier : original.barriers)
      arrivals(barrier.name);
    return std::move(mutants);
  }

private:
  template <class R> static auto &bodyOf(R &role, bool finish) { return finish ? role.finish : role.body; }

  static void flip(bool &field) { field = !field; }

  /// The groups that a wait leaves under way.
  static int &leftBy(Stmt &wait) {
    if (auto *products = wait.getIf<plan::ProductWait>())
      return products->left;
    if (auto *copies = wait.getIf<plan::CopyWait>())
      return copies->left;
    return wait.as<plan::BulkWait>().left;
  }

  /// What says that a statement reaches the barriers of all blocks of a cluster.
  static bool *isInCluster(Stmt &stmt) {
    if (auto *arrive = stmt.getIf<plan::Arrive>())
      return &arrive->inCluster;
    if (auto *commit = stmt.getIf<plan::ProductCommit>())
      return &commit->inCluster;
    return &stmt.inCluster;
  }

  /// And what says that it reaches the first block's.
  static bool *isToFirst(Stmt &stmt) {
    if (auto *arrive = stmt.getIf<plan::Arrive>())
      return &arrive->toFirst;
    if (auto *expect = stmt.getIf<plan::Expect>())
      return &expect->toFirst;
    return &stmt.toFirst;
  }

  void statements(size_t role, bool finish) {
    std::vector<const Stmt *> all;
    forEach(bodyOf(original.roles[role], finish), [&](const Body &body, size_t i) { all.push_back(&body[i]); });
    for (size_t number = 0; number < all.size(); ++number) {
      const Stmt &stmt = *all[number];
      auto change = [&](const std::string &how, const std::function<void(Body &, size_t)> &apply, bool drops) {
        mutants.push_back({changed(role, finish, number, apply),
                           fmt::format("{} `{}` of `{}`", how, print(stmt), original.roles[role].name), stmt.loc,
                           harmlessBecause(original.roles[role], stmt, drops)});
      };
      if (synchronises(stmt.kind))
        change(
            "without", [](Body &body, size_t i) { body.erase(body.begin() + static_cast<std::ptrdiff_t>(i)); }, true);
      if (const auto *sync = stmt.getIf<plan::Sync>(); sync && sync->global)
        change("for shared memory alone", [](Body &body, size_t i) { body[i].as<plan::Sync>().global = false; }, true);
      if (stmt.own)
        change("by all threads", [](Body &body, size_t i) { body[i].own = false; }, true);
      if (stmt.kind == StmtKind::Wait)
        change("other phase in", [](Body &body, size_t i) { flip(body[i].as<plan::Wait>().inverted); }, false);
      if (stmt.kind == StmtKind::ProductWait || stmt.kind == StmtKind::BulkWait || stmt.kind == StmtKind::CopyWait)
        change("one group more left by", [](Body &body, size_t i) { ++leftBy(body[i]); }, true);
      if (Stmt copy = stmt; *isInCluster(copy))
        change("in its own block only", [](Body &body, size_t i) { *isInCluster(body[i]) = false; }, false);
      if (Stmt copy = stmt; *isToFirst(copy) && !original.roles[role].inFirst) // otherwise they are one
        change("in its own block by", [](Body &body, size_t i) { *isToFirst(body[i]) = false; }, false);
      if (stmt.multicast != plan::Division::Whole) {
        change(
            "other shares in",
            [](Body &body, size_t i) {
              body[i].multicast =
                  body[i].multicast == plan::Division::Rows ? plan::Division::Cols : plan::Division::Rows;
            },
            false);
        change(
            "the whole tile for itself by", [](Body &body, size_t i) { body[i].multicast = plan::Division::Whole; },
            false);
      }
      if (!stmt.along.empty())
        change(
            "along the other axis",
            [&](Body &body, size_t i) {
              const plan::Grid &grid = original.grid;
              body[i].along = body[i].along == grid.acrossAxis ? grid.clusterAxis : grid.acrossAxis;
            },
            false);
      if (stmt.kind == StmtKind::Arrive && original.roles[role].warps > 1) // one warp arrives once either way
        change("other threads in", [](Body &body, size_t i) { flip(body[i].as<plan::Arrive>().byWarps); }, false);
      if (stmt.kind == StmtKind::If && plan::any(stmt.body, isArrival))
        tellsLater(role, finish, number, stmt);
      if (stmt.kind == StmtKind::If && !stmt.map.empty() && !stmt.operands.empty())
        change("wherever tiles begin", [](Body &body, size_t i) { body[i].operands.clear(); }, false);
      if (stmt.kind == StmtKind::Expect)
        change("16 bytes fewer in", [](Body &body, size_t i) { body[i].as<plan::Expect>().bytes -= 16; }, false);
    }
  }

  static bool isArrival(const Stmt &stmt) { return stmt.kind == StmtKind::Arrive; }

  /// Arrivals for tiles before, which a branch holds, after those waits of the tile ahead that they come before.
  void tellsLater(size_t role, bool finish, size_t number, const Stmt &branch) {
    const auto swap = [](Body &body, size_t i) {
      if (i + 1 < body.size() && body[i + 1].kind == StmtKind::Ahead)
        std::swap(body[i], body[i + 1]);
    };
    bool isBefore = false;
    forEach(bodyOf(original.roles[role], finish), [&](const Body &body, size_t i) {
      isBefore |= &body[i] == &branch && i + 1 < body.size() && body[i + 1].kind == StmtKind::Ahead;
    });
    const auto arrival = std::find_if(branch.body.begin(), branch.body.end(), isArrival);
    if (isBefore && arrival != branch.body.end())
      mutants.push_back(
          {changed(role, finish, number, swap),
           fmt::format("after the tile ahead was asked for, `{}` of `{}`", print(*arrival), original.roles[role].name),
           branch.loc, "no wait that it then comes after depends on it"});
  }

  Plan changed(size_t role, bool finish, size_t number, const std::function<void(Body &, size_t)> &apply) {
    Plan copy = original;
    size_t at = 0;
    bool done = false;
    forEach(bodyOf(copy.roles[role], finish), [&](Body &body, size_t i) {
      if (!done && at++ == number)
        apply(body, i), done = true;
    });
    return copy;
  }

  /// Why a plan may stay sound with this statement changed, or without it where `dropped`; empty: it may not.
  std::string harmlessBecause(const Role &role, const Stmt &stmt, bool dropped) const {
    if (!facts.executed.count(&stmt))
      return "no run executes it, at any of the sizes tried";
    if (!dropped)
      return "";
    switch (stmt.kind) {
    case StmtKind::Load:
      return "a barrier comes after the loads of all threads, before what they load is written";
    case StmtKind::Wait:
      return "what it waits for is already known from other waits wherever an access relies on it";
    case StmtKind::ProductWait:
      return "a later wait covers its groups before their registers and stages are used again";
    case StmtKind::ProductFence:
      return "no vector work touches the next products' registers since an earlier fence";
    case StmtKind::Sync:
      return "every two accesses that it orders are ordered by other barriers";
    case StmtKind::TensorFence:
      return "what it orders touches no tensor memory that others touched since an earlier fence, or a later fence "
             "comes first";
    case StmtKind::FenceProxy:
      return "a later fence comes before the first asynchronous access";
    case StmtKind::BulkWait:
      return "a later wait covers its groups before their stage is written again and before the block ends";
    case StmtKind::CopyWait:
      return "a later wait covers its groups before their stages are read and before the block ends";
    case StmtKind::ProductCommit:
      if (stmt.barrier())
        return facts.awaited.count(&stmt) ? "" : "the block ends before anybody waits for the phase that it counts for";
      [[fallthrough]];
    case StmtKind::CopyCommit:
    case StmtKind::BulkCommit:
      return "a later commit closes the group before the wait that counts it";
    case StmtKind::Advance:
      if (!facts.counted.count(&stmt))
        return "the block ends before its cursor is used again";
      if (!countsPhases(role, stmt.as<plan::Advance>().ring))
        return "all threads meet between what reads the same stage and what writes it again";
      return isAlwaysStageZero(role, stmt.as<plan::Advance>().ring)
                 ? "its ring has one stage, and nobody asks for its phase"
                 : "";
    case StmtKind::ClusterSync:
      return original.grid.dynamic ? "who asks for tiles waits for the other blocks' last arrivals" : "";
    case StmtKind::Arrive:
      return facts.awaited.count(&stmt) ? "" : "the block ends before anybody waits for the phase that it counts for";
    default:
      return "";
    }
  }

  /// Whether barriers go by the cursor; else it only says which stage is used next.
  static bool countsPhases(const Role &role, const std::string &cursor) {
    const auto goesBy = [&](const Stmt &stmt) { return stmt.barrier() && stmt.barrier()->cursor == cursor; };
    return plan::any(role.body, goesBy) || plan::any(role.finish, goesBy);
  }

  static bool isAlwaysStageZero(const Role &role, const std::string &cursor) {
    bool asked = false;
    for (const Body *body : {&role.body, &role.finish})
      plan::walk(*body,
                 [&](const Stmt &stmt) { asked |= stmt.kind == StmtKind::Wait && stmt.barrier()->cursor == cursor; });
    return !asked && role.findVar(cursor)->type.rows == 1;
  }

  void rings(const std::string &buffer) {
    shrink(fmt::format("one stage fewer in buffer `{}` alone", buffer), {buffer}, {}, {}, "");
    std::set<std::string> buffers{buffer}, barriers, cursors;
    while (grow(buffers, barriers, cursors)) {
    }
    for (const std::string &barrier : barriers)
      shrink(fmt::format("one stage fewer in barrier `{}` alone", barrier), {}, {barrier}, {}, "");
    for (const std::string &cursor : cursors)
      shrink(fmt::format("one stage fewer in cursor `{}` alone", cursor), {}, {}, {cursor}, "");
    shrink(fmt::format("one stage fewer in the whole ring of `{}`", buffer), buffers, barriers, cursors,
           "buffer, barriers and cursors agree on a ring that is deep enough");
  }

  /// Adds what shares a cursor, as "role.cursor", with what is there; false where nothing was added.
  bool grow(std::set<std::string> &buffers, std::set<std::string> &barriers, std::set<std::string> &cursors) {
    size_t before = buffers.size() + barriers.size() + cursors.size();
    for (const Role &role : original.roles)
      for (bool finish : {false, true})
        forEach(bodyOf(role, finish), [&](const Body &body, size_t i) {
          auto link = [&](std::set<std::string> &set, const std::string &name, const std::string &cursor) {
            if (name.empty() || cursor.empty())
              return;
            std::string full = role.name + "." + cursor;
            if (set.count(name) || cursors.count(full))
              set.insert(name), cursors.insert(full);
          };
          link(buffers, body[i].ref.buffer, body[i].ref.cursor);
          link(buffers, body[i].aRef.buffer, body[i].aRef.cursor);
          link(buffers, body[i].destRef.buffer, body[i].destRef.cursor);
          if (const plan::BarrierRef *ref = body[i].barrier())
            link(barriers, ref->barrier, ref->cursor);
        });
    return buffers.size() + barriers.size() + cursors.size() != before;
  }

  void shrink(const std::string &change, const std::set<std::string> &buffers, const std::set<std::string> &barriers,
              const std::set<std::string> &cursors, const std::string &ifHarmless) {
    Plan copy = original;
    for (plan::Buffer &buffer : copy.buffers)
      buffer.stages -= buffers.count(buffer.name) ? 1 : 0;
    for (plan::TensorBuffer &tensor : copy.tensors)
      tensor.stages -= buffers.count(tensor.name) ? 1 : 0;
    for (plan::Barrier &barrier : copy.barriers)
      barrier.stages -= barriers.count(barrier.name) ? 1 : 0;
    for (Role &role : copy.roles)
      for (plan::Var &var : role.vars)
        var.type.rows -= cursors.count(role.name + "." + var.name) ? 1 : 0;
    mutants.push_back({std::move(copy), change, original.loc, ifHarmless});
  }

  void arrivals(const std::string &name) {
    for (int by : {-1, 1}) {
      Plan copy = original;
      for (plan::Barrier &barrier : copy.barriers)
        barrier.arrivals += barrier.name == name ? by : 0;
      mutants.push_back(
          {std::move(copy), fmt::format("one arrival {} in `{}`", by < 0 ? "fewer" : "more", name), original.loc,
           facts.awaitedBarriers.count(name) ? "" : "the block ends before anybody waits for a phase of it"});
    }
  }

  const Plan &original;
  plan::Facts facts; ///< about the original
  std::vector<Mutant> mutants;
};

} // namespace

std::vector<Mutant> mutantsOf(const Plan &plan) { return Mutator(plan).run(); }

} // namespace tkc
