// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/resources/SharedLiveness.h"

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;
using Names = std::set<std::string>;

Names operator|(Names one, const Names &other) {
  one.insert(other.begin(), other.end());
  return one;
}

/// Goes through a role from its end, with the buffers of which something is yet to be read.
class Liveness {
public:
  explicit Liveness(const Names &buffers) : buffers(buffers) {}

  /// A block may take tile after tile.
  Interference run(const plan::Role &role) {
    const Names atEnd = before(role.finish, {});
    untilSettled(atEnd, [&](const Names &after) { return before(role.body, after); });
    return std::move(found);
  }

private:
  /// What is live where a loop goes on: `after` it, or before a further iteration.
  template <class Iteration> Names untilSettled(const Names &after, const Iteration &iteration) {
    Names live = after;
    for (size_t known = live.size() + 1; known != live.size();) {
      known = live.size();
      live = live | iteration(live);
    }
    return live;
  }

  Names before(const plan::Body &body, Names live) {
    for (auto stmt = body.rbegin(); stmt != body.rend(); ++stmt)
      live = before(*stmt, std::move(live));
    return live;
  }

  Names before(const plan::Stmt &stmt, Names live) {
    switch (stmt.kind) {
    case Kind::For:
      return beforeLoop(stmt, live);
    case Kind::If:
      return before(stmt.body, live) | before(stmt.orElse, live);
    case Kind::Ahead: // what is not copied, as there is no such tile, is not read
      return before(stmt.body, before(stmt.orElse, std::move(live)));
    case Kind::Each:
      return before(stmt.body, std::move(live));
    case Kind::StoreShared:
    case Kind::CopyIn:
    case Kind::Place:
      fill(stmt, live);
      return live;
    case Kind::LoadShared:
    case Kind::CopyOut:
      read(stmt.ref, live);
      return live;
    case Kind::Product:
      for (const plan::BufferRef &ref : plan::operandRefs(stmt))
        read(ref, live);
      return live;
    default:
      return live;
    }
  }

  /// Of a pipelined loop any part may be left out: loops before or after it may have done that part (JoinPipelines.h).
  Names beforeLoop(const plan::Stmt &loop, const Names &after) {
    const Names atEnd = after | before(loop.epilogue, after);
    const Names inside = untilSettled(atEnd, [&](const Names &live) { return before(loop.body, live); });
    return inside | before(loop.prologue, inside) | before(loop.orElse, after);
  }

  void read(const plan::BufferRef &ref, Names &live) const {
    if (buffers.count(ref.buffer))
      live.insert(ref.buffer);
  }

  void fill(const plan::Stmt &stmt, Names &live) {
    const std::string &filled = stmt.ref.buffer;
    if (!buffers.count(filled))
      return;
    for (const std::string &other : live)
      if (other != filled) {
        found[filled].insert(other);
        found[other].insert(filled);
      }
    if (stmt.colHi == 0) // all of it
      live.erase(filled);
  }

  const Names &buffers;
  Interference found;
};

} // namespace

Interference findInterference(const plan::Role &role, const std::set<std::string> &buffers) {
  return Liveness(buffers).run(role);
}

} // namespace tkc::planner
