// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector work: stretches, in which the compiler mixes instructions, a part at a time.
#include "backends/cost/Simulator.h"

#include <algorithm>
#include <cmath>

namespace tkc::cost {

using plan::Stmt;
using plan::StmtKind;

namespace {

/// Clocks of vector work after which another role's gets its turn.
constexpr double turnClocks = 128;

} // namespace

/// Does a part of the open stretch, so that roles that compute at the same time take turns, as warps do. Whether
/// anything was left to do.
bool Simulator::workOn(Process &process) {
  if (!process.hasOpen)
    return false;
  if (process.parts == 0) {
    const double longest = *std::max_element(process.open.begin(), process.open.end());
    process.parts = std::max(1, static_cast<int>(std::ceil(longest / clocks(turnClocks))));
    for (double &each : process.open)
      each /= process.parts;
    process.openSince = process.now;
  }
  process.now = servers.work(process.open, process.now, process.tally.busy);
  if (--process.parts > 0)
    return true;
  process.now += clocks(process.openLatency);
  span(process, Span::Compute, "", process.openSince, process.now, process.openLoc);
  process.open = {};
  process.openLatency = 0;
  process.hasOpen = false;
  std::fill(process.reducing.begin(), process.reducing.end(), 0);
  return true;
}

/// Whether the open stretch has to be over before a statement.
bool Simulator::endsStretch(const Process &process, const Node &node) const {
  switch (node.stmt->kind) {
  case StmtKind::Compute:
  case StmtKind::Move:
  case StmtKind::Spread:
  case StmtKind::LoadShared:
  case StmtKind::LookUp:
  case StmtKind::StoreShared:
  case StmtKind::Place:
  case StmtKind::LoadTensor:
  case StmtKind::StoreTensor:
  case StmtKind::ScaleTensor:
  case StmtKind::Store:
  case StmtKind::Atomic:
    return std::any_of(node.reads.begin(), node.reads.end(), [&](int read) {
      return process.reducing[static_cast<size_t>(read)] || process.ready[static_cast<size_t>(read)] > process.now;
    });
  case StmtKind::Product:
    return !node.stmt->isSynchronous();
  case StmtKind::Load:
  case StmtKind::Fetch:
  case StmtKind::FenceProxy:
  case StmtKind::TensorFence:
  case StmtKind::ProductFence:
  case StmtKind::Stagger:
  case StmtKind::WaitForPrevious:
  case StmtKind::NextTile:
  case StmtKind::BulkCommit:
  case StmtKind::CopyCommit:
  case StmtKind::ProductCommit:
  case StmtKind::Advance:
  case StmtKind::Claim:
  case StmtKind::If:
  case StmtKind::Ahead:
  case StmtKind::Each:
  case StmtKind::Record:
    return false;
  case StmtKind::Sync:
  case StmtKind::Expect:
  case StmtKind::CopyIn:
  case StmtKind::CopyOut:
  case StmtKind::BulkWait:
  case StmtKind::CopyWait:
  case StmtKind::ProductWait:
  case StmtKind::Wait:
  case StmtKind::Arrive:
  case StmtKind::ClusterSync:
  case StmtKind::For:
    return true;
  }
  return true;
}

/// Adds a statement's work to the open stretch, after what it needs.
void Simulator::stretch(Process &process, const Node &node) {
  for (int read : node.reads) {
    const auto at = static_cast<size_t>(read);
    waitUntil(process, process.ready[at], "wait loads", *node.stmt);
  }
  if (!process.hasOpen)
    process.openLoc = node.stmt->loc;
  process.hasOpen = true;
  add(process.open, node.demand);
  process.openLatency += dependentClocks;
  if (node.endsReduction) {
    process.openLatency += shuffleClocks * (node.work.shuffles > 0 ? 2 : 0);
    process.reducing[static_cast<size_t>(node.dest)] = 1;
  }
}

bool Simulator::compute(Process &process, const Node &node) {
  const Stmt &stmt = *node.stmt;
  if (node.isScalar && stmt.kind != StmtKind::LoadShared) {
    process.scalars->run(stmt, node.destType, 0);
    return true;
  }
  stretch(process, node);
  if (stmt.kind == StmtKind::LoadTensor || stmt.kind == StmtKind::LoadShared || stmt.kind == StmtKind::LookUp)
    process.openLatency += shuffleClocks;
  // The warps of a reduction meet.
  return stmt.kind != StmtKind::Compute || stmt.ref.buffer.empty() || meet(process, stmt);
}

void Simulator::load(Process &process, const Node &node) {
  if (node.isScalar) {
    process.scalars->run(*node.stmt, node.destType, 0);
    return;
  }
  // The compiler asks for it before the work of the stretch.
  const double there = servers.transfer(node.traffic, process.now, process.tally);
  add(process.open, node.demand);
  process.hasOpen = true;
  process.ready[static_cast<size_t>(node.dest)] = there;
}

} // namespace tkc::cost
