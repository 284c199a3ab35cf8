// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/DynamicTiles.h"

#include "backends/plan/roles/RoleBuilder.h"

#include <algorithm>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

constexpr int answers = 2;

class TileRequests {
public:
  TileRequests(const std::string &buffer, int blocks)
      : buffer(buffer), full(buffer + ".full"), empty(buffer + ".empty"), wanted(buffer + ".wanted"),
        cursor(buffer + "_at"), blocks(blocks) {}

  /// Lets the loading role say when the next tile is asked for; returns its arrivals in one block.
  int want(plan::Role &role, Ask when) const {
    const int arrivals = arrive(role, wanted);
    const auto isLoop = [](const plan::Stmt &stmt) { return stmt.kind == Kind::For; };
    const auto first = std::find_if(role.body.begin(), role.body.end(), isLoop);
    const auto afterLast = std::find_if(role.body.rbegin(), role.body.rend(), isLoop).base();
    if (first != role.body.end() && when != Ask::WhenLoaded)
      std::rotate(when == Ask::BeforeLoops ? first : afterLast - 1, role.body.end() - 1, role.body.end());
    return arrivals;
  }

  /// At the end of a tile; returns the arrivals of the role in one block.
  int learn(plan::Role &role) const {
    role.vars.push_back({cursor, cursorType(answers)});
    plan::append(role.body, plan::Wait{{full, cursor}}, {});
    plan::append(role.body, Kind::NextTile, {}).ref = {buffer, cursor, false, plan::Division::Whole};
    const int arrivals = arrive(role, empty);
    plan::append(role.body, plan::Advance{cursor}, {});
    return arrivals;
  }

  plan::Role asker(int firstWarp, Ask when) const {
    plan::Role role;
    role.name = "scheduler";
    role.firstWarp = firstWarp;
    role.warps = 1;
    if (when != Ask::Ahead)
      plan::append(role.body, plan::Wait{{wanted, cursor}}, {}).inFirst = blocks > 1;
    plan::append(role.body, plan::Wait{{empty, cursor}, true}, {}).inFirst = blocks > 1;
    plan::append(role.body, plan::Expect{{full, cursor}, 16}, {}).one = true;
    plan::Stmt &ask = plan::append(role.body, Kind::Claim, {});
    ask.completes = {full, cursor};
    ask.ref = {buffer, cursor, false, plan::Division::Whole};
    ask.one = true;
    ask.inFirst = ask.inCluster = blocks > 1;
    return role;
  }

  /// The other blocks' arrivals for the last answers come while this one lasts.
  void drain(plan::Role &role) const {
    for (int i = 0; i < answers; ++i) {
      plan::append(role.finish, plan::Wait{{empty, cursor}, true}, {}).inFirst = true;
      plan::append(role.finish, plan::Advance{cursor}, {});
    }
  }

private:
  int arrive(plan::Role &role, const std::string &barrier) const {
    const bool alone = plan::runsOnOneThread(role);
    plan::append(role.body, plan::Arrive{.at = {barrier, cursor}, .toFirst = blocks > 1, .byWarps = !alone}, {});
    return alone ? role.instances : role.totalWarps();
  }

  const std::string buffer, full, empty, wanted, cursor;
  const int blocks;
};

/// The ring of answers: two, so that roles may be a tile apart.
plan::Buffer answerBuffer(const Placement &placement) {
  plan::Buffer buffer;
  buffer.name = placement.uniqueBuffer("tile");
  buffer.elem = ElemType::I32;
  buffer.rows = 1;
  buffer.cols = 4;
  buffer.swizzle = plan::Swizzle::None;
  buffer.stages = answers;
  return buffer;
}

/// What stands against what the key `captured` asks for; empty: nothing.
std::string whyNotCaptured(const TileScheduler &tiles, const plan::Grid &grid) {
  const std::optional<uint8_t> &asked = tiles.schedule.captured;
  if (asked && !grid.counted)
    return "`captured`: no counter hands out the tiles of the kernel, whose launches are all alike";
  if (asked && static_cast<plan::Uncounted>(*asked) == plan::Uncounted::Pairs && !tiles.canPair(grid))
    return "`captured = 2`: along no axis of the grid, walked last, do tiles become longer or shorter";
  return {};
}

} // namespace

std::string chooseDynamicTiles(const TileScheduler &tiles, Placement &placement, plan::Grid &grid, std::string &why) {
  const arch::Description &arch = tiles.arch;
  const Schedule &schedule = tiles.schedule;
  const bool takes = tiles.takesTilesInTurn() && !tiles.nest.isRagged() &&
                     (schedule.persistent || tiles.isFlat() || tiles.sharesOutUneven());
  if (schedule.claimTiles.value_or(false) && !(takes && tiles.canTakeDynamicTiles())) {
    why = takes ? "`claim_tiles`: the kernel has no loading warps beside which another could ask for one block alone"
                : "`claim_tiles`: the grid is not one of which blocks take tile after tile";
    return {};
  }
  const bool byDefault =
      arch.hasClusterLaunchControl ? placement.usesTensorMemory() || tiles.lengths.differ : tiles.lengths.differ;
  const bool claims = takes && tiles.canTakeDynamicTiles() && schedule.claimTiles.value_or(byDefault);
  grid.counted = claims && !arch.hasClusterLaunchControl;
  why = whyNotCaptured(tiles, grid);
  if (!claims || !why.empty())
    return {};
  placement.buffers.push_back(answerBuffer(placement));
  return placement.buffers.back().name;
}

/// Behind the answer come the next tile's first loads. Tiles of one length gain nothing by waiting: their last loop may
/// be the one step that a mask needs, which begins too late for an answer. Of tiles whose lengths change, rings of more
/// than two stages leave the loading role early enough for both; a step more does, where the last loop is one. Ahead: a
/// counter would give the blocks that begin first two more tiles each, before the others have their second.
Ask whenToAsk(const TileScheduler &tiles) {
  if (!tiles.lengths.change)
    return tiles.arch.hasClusterLaunchControl ? Ask::Ahead : Ask::BeforeLoops;
  const std::vector<RingPlacement> &rings = tiles.placement.rings;
  const bool isDeep = std::any_of(rings.begin(), rings.end(),
                                  [](const RingPlacement &ring) { return ring.depth > 0 && ring.stages > 2; });
  return tiles.lengths.endInOneStep && !isDeep ? Ask::BeforeLastLoop : Ask::WhenLoaded;
}

plan::Role lowerDynamicTiles(const std::string &buffer, int firstWarp, int blocks, Ask when,
                             std::vector<plan::Role> &roles, std::vector<plan::Barrier> &barriers) {
  const TileRequests requests(buffer, blocks);
  plan::Role scheduler = requests.asker(firstWarp, when);
  if (when != Ask::Ahead)
    barriers.push_back(
        {buffer + ".wanted", answers, requests.want(roles.front(), when) * (roles.front().inFirst ? 1 : blocks)});
  int arrivals = requests.learn(scheduler) * blocks;
  if (blocks > 1)
    requests.drain(scheduler);
  for (plan::Role &role : roles)
    arrivals += requests.learn(role) * (role.inFirst ? 1 : blocks);
  barriers.push_back({buffer + ".full", answers, 1});
  barriers.push_back({buffer + ".empty", answers, arrivals});
  return scheduler;
}

} // namespace tkc::planner
