// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/tensor/MatrixRoleBarriers.h"

#include <algorithm>

namespace tkc::planner {

MatrixRoleBarriers::MatrixRoleBarriers(plan::Role &role, const Placement &placement)
    : role(role), placement(placement) {
  for (const RingPlacement &ring : placement.rings)
    for (const RingMember &member : ring.members)
      ringOf[member.buffer] = &ring;
}

const std::string &MatrixRoleBarriers::cursor(Names &of, const std::string &name, int stages) {
  cursorStages[name] = stages;
  return *of.insert(name).first;
}

Names MatrixRoleBarriers::buffersOf(const plan::Stmt &reader) {
  Names buffers{reader.ref.buffer};
  for (const plan::BufferRef &ref : plan::operandRefs(reader))
    buffers.insert(ref.buffer);
  return buffers;
}

std::set<const RingPlacement *> MatrixRoleBarriers::ringsIn(const plan::Stmt &stmt, int depth, bool byMatrix) const {
  std::set<const RingPlacement *> rings;
  plan::walk(stmt, [&](const plan::Stmt &inner) {
    const bool reads =
        byMatrix ? inner.isTensorProduct()
                 : inner.kind == Kind::LoadShared || (inner.kind == Kind::Product && !inner.isTensorProduct());
    if (!reads)
      return;
    for (const std::string &buffer : buffersOf(inner))
      if (auto found = ringOf.find(buffer); found != ringOf.end() && (depth < 0 || found->second->depth == depth))
        rings.insert(found->second);
  });
  return rings;
}

void MatrixRoleBarriers::findRingUsers() {
  for (const plan::Stmt &stmt : role.body) {
    usedByMatrix.merge(ringsIn(stmt, -1, true));
    usedByThreads.merge(ringsIn(stmt, -1, false));
  }
  for (const RingPlacement &ring : placement.rings) {
    int arrivals = usedByMatrix.count(&ring) ? issuers : 0;
    arrivals += usedByThreads.count(&ring) ? role.instances * warps() : 0;
    emptyArrivals[ring.empty()] = arrivals;
  }
}

void MatrixRoleBarriers::countUses(const plan::Body &body, int depth, bool byMatrix, Level &level) const {
  for (const plan::Stmt &stmt : body)
    for (const RingPlacement *ring : ringsIn(stmt, depth, byMatrix))
      ++level.left[ring];
}

void MatrixRoleBarriers::open(const std::set<const RingPlacement *> &rings, Level &level, bool byMatrix,
                              SourceLoc loc) {
  for (const RingPlacement *ring : rings)
    if (level.open.insert(ring).second) {
      const std::string at = cursor(byMatrix ? matrixCursors : computer.cursors, ring->cursor(), ring->stages);
      plan::append(byMatrix ? *products : *computer.out, plan::Wait{{ring->full(), at}}, loc).one = byMatrix;
      (byMatrix ? matrixFenced : computer.fenced) = false;
    }
}

void MatrixRoleBarriers::close(const std::set<const RingPlacement *> &rings, Level &level, bool byMatrix,
                               SourceLoc loc) {
  for (const RingPlacement *ring : rings) {
    if (--level.left[ring] > 0)
      continue;
    if (byMatrix) {
      commitDrained(*ring, loc);
    } else {
      plan::append(*computer.out, plan::Arrive{.at = {ring->empty(), ring->cursor()}, .byWarps = true}, loc);
    }
    plan::append(byMatrix ? *products : *computer.out, plan::Advance{ring->cursor()}, loc);
    level.open.erase(ring);
  }
}

void MatrixRoleBarriers::commitDrained(const RingPlacement &ring, SourceLoc loc) {
  const bool inCluster = placement.byPairs || ring.isShared();
  plan::Stmt commit(plan::ProductCommit{{ring.empty(), ring.cursor()}, inCluster}, loc);
  commit.one = true;
  size_t at = products->size();
  // What goes to other blocks comes before what this block's threads are told: they end the block, and by then the
  // others' barriers have it.
  while (inCluster && at > 0 && (*products)[at - 1].kind == Kind::ProductCommit)
    --at;
  for (Stream *stream : {&computer, &rescaler})
    for (Group &group : stream->queue)
      group.commit += group.body == products && group.commit >= at ? 1 : 0;
  products->insert(products->begin() + static_cast<std::ptrdiff_t>(at), std::move(commit));
}

void MatrixRoleBarriers::barrier(const std::string &name, int stages, int arrivals) {
  const auto hasName = [&](const plan::Barrier &it) { return it.name == name; };
  if (std::none_of(barriers.begin(), barriers.end(), hasName))
    barriers.push_back({name, stages, arrivals, issuers});
}

void MatrixRoleBarriers::enqueueIn(Stream &stream, Group group, SourceLoc loc) {
  issue(plan::ProductCommit(), loc);
  group.body = products;
  group.commit = products->size() - 1;
  stream.queue.push_back(std::move(group));
}

void MatrixRoleBarriers::dropUnasked(plan::Body &body) {
  std::erase_if(body, [](const plan::Stmt &stmt) { return stmt.kind == Kind::ProductCommit && !stmt.barrier(); });
  for (plan::Stmt &stmt : body)
    for (plan::Body *inner : stmt.bodies())
      dropUnasked(*inner);
}

void MatrixRoleBarriers::waitForAll() {
  for (Stream *stream : {&computer, &rescaler})
    waitForGroups(*stream, stream->queue.size());
}

void MatrixRoleBarriers::waitForGroups(Stream &stream, size_t count) {
  if (count == 0)
    return;
  const Group &last = stream.queue[count - 1];
  const std::string event = &stream == &computer ? "done" : "made", done = last.site + "." + event;
  (*last.body)[last.commit].as<plan::ProductCommit>().completes.barrier = done;
  barrier(done, 1, 1);
  const std::string at = last.site + "_" + event;
  plan::append(*stream.out, plan::Wait{{done, cursor(stream.cursors, at, 1)}}, {});
  plan::append(*stream.out, plan::Advance{at}, {});
  stream.fenced = false;
  for (size_t i = 0; i < count; ++i) {
    spans.touch(stream.queue[i].writes);
    spans.touch(stream.queue[i].reads);
  }
  stream.queue.erase(stream.queue.begin(), stream.queue.begin() + static_cast<std::ptrdiff_t>(count));
}

} // namespace tkc::planner
