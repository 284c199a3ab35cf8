// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/pipeline/FenceReads.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;
using Buffers = std::set<std::string>;

/// Of each barrier the buffers that the copy engine fills after a wait for it.
using Guarded = std::map<std::string, Buffers>;

void findGuarded(const plan::Body &body, std::string waited, Guarded &guarded) {
  for (const plan::Stmt &stmt : body) {
    if (const auto *wait = stmt.getIf<plan::Wait>(); wait && wait->inverted)
      waited = wait->at.barrier;
    const bool isByEngine = stmt.kind == Kind::Claim || (stmt.kind == Kind::CopyIn && !stmt.map.empty());
    if (isByEngine && !waited.empty())
      guarded[waited].insert(stmt.ref.buffer);
    for (const plan::Body *inner : stmt.bodies())
      findGuarded(*inner, waited, guarded);
  }
}

/// What threads read of shared memory at a statement.
Buffers readAt(const plan::Stmt &stmt) {
  switch (stmt.kind) {
  case Kind::LoadShared:
  case Kind::LookUp:
  case Kind::NextTile:
    return {stmt.ref.buffer};
  case Kind::CopyOut:
    return stmt.map.empty() ? Buffers{stmt.ref.buffer} : Buffers();
  case Kind::Product: {
    if (!stmt.isSynchronous())
      return {};
    Buffers buffers{stmt.ref.buffer, stmt.aRef.buffer};
    for (const plan::BufferRef &scale : stmt.scales)
      buffers.insert(scale.buffer);
    return buffers;
  }
  default:
    return {};
  }
}

class Fencer {
public:
  explicit Fencer(const Guarded &guarded) : guarded(guarded) {}

  /// A role's body is run for one tile after the other.
  void run(plan::Role &role) { loop({&role.body}, {}); }

private:
  /// What may be read and not fenced where the bodies, which follow each other and begin anew, end.
  Buffers loop(const std::vector<plan::Body *> &bodies, Buffers reads) {
    for (int round = 0; round < 2; ++round)
      for (plan::Body *body : bodies)
        reads.merge(walk(*body, reads));
    return reads;
  }

  Buffers walk(plan::Body &body, Buffers reads) {
    for (size_t at = 0; at < body.size(); ++at) {
      if (const auto *arrive = body[at].getIf<plan::Arrive>(); arrive && isHandedBack(arrive->at.barrier, reads)) {
        const size_t place = arrive->byWarps ? at : beforeBarrier(body, at);
        body.insert(body.begin() + static_cast<std::ptrdiff_t>(place), plan::Stmt(plan::FenceProxy(), body[at].loc));
        ++at;
        reads.clear();
      }
      if (body[at].kind == Kind::FenceProxy)
        reads.clear();
      reads.merge(readAt(body[at]));
      reads = inner(body[at], std::move(reads));
    }
    return reads;
  }

  /// One thread arrives for all at `arrival`, behind a barrier of theirs, before which each fences. A role of one
  /// thread has no such barrier.
  static size_t beforeBarrier(const plan::Body &body, size_t arrival) {
    for (size_t at = arrival; at-- > 0 && readAt(body[at]).empty() && body[at].body.empty();)
      if (body[at].kind == Kind::Sync)
        return at;
    return arrival;
  }

  Buffers inner(plan::Stmt &stmt, Buffers reads) {
    if (stmt.kind == Kind::For)
      return loop({&stmt.prologue, &stmt.body, &stmt.epilogue, &stmt.orElse}, std::move(reads));
    Buffers both = walk(stmt.body, reads);
    both.merge(walk(stmt.orElse, std::move(reads)));
    return both;
  }

  bool isHandedBack(const std::string &barrier, const Buffers &reads) const {
    const auto found = guarded.find(barrier);
    return found != guarded.end() && std::any_of(found->second.begin(), found->second.end(),
                                                 [&](const std::string &buffer) { return reads.count(buffer) != 0; });
  }

  const Guarded &guarded;
};

} // namespace

void fenceReads(plan::Plan &plan) {
  Guarded guarded;
  for (const plan::Role &role : plan.roles)
    findGuarded(role.body, {}, guarded);
  if (!guarded.empty())
    for (plan::Role &role : plan.roles)
      Fencer(guarded).run(role);
}

} // namespace tkc::planner
