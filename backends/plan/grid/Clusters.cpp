// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/Clusters.h"

#include "backends/plan/analysis/Nest.h"
#include "ir/Effects.h"
#include "ir/Views.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

/// Whether `value` may differ between blocks that differ in `axis`. What a loop carries or a branch chooses may.
bool dependsOn(const ir::Value *value, const ir::Value *axis) {
  return ir::searchBack(value, [&](const ir::Value *at, std::vector<const ir::Value *> &next) {
    if (at == axis)
      return true;
    const ir::Op *op = at->definingOp;
    const ir::Op *loop = !op && at->ownerBlock ? at->ownerBlock->parent : nullptr;
    if (loop && loop->kind == ir::OpKind::For)
      next = {loop->operand(0), loop->operand(1)};
    else if (op)
      next.assign(op->operands().begin(), op->operands().end());
    return loop && loop->kind == ir::OpKind::For ? at->index != 0 : op && !op->bodies.empty();
  });
}

/// Whether every body that fills the ring has a load whose key is one of `shares`. The loop over a last tile may have
/// none, where threads compute the operand that whole tiles share.
bool hasShareInEachFill(const Placement &placement, const RingPlacement &ring,
                        const std::map<std::string, plan::Division> &shares) {
  std::map<const ir::Block *, bool> fills;
  for (const auto &[load, key] : placement.loadKeys)
    if (placement.findRing(key) == &ring)
      fills[load->parent] |= shares.count(key) != 0;
  return std::all_of(fills.begin(), fills.end(), [](const auto &fill) { return fill.second; });
}

/// What clusters along one axis share, or why they cannot be. `pairs`: clusters of two that multiply together.
class Axis {
public:
  Axis(const ir::Function &function, const Nest &nest, const ir::Op &axis, int blocks, bool pairs, Placement &placement)
      : function(function), nest(nest), axis(axis), induction(axis.body().args[0].get()), blocks(blocks), pairs(pairs),
        placement(placement) {
    if (axis.tileSize == 0)
      why = "its steps are no tiles";
    if (why.empty())
      checkControl();
    if (why.empty())
      checkEffects();
    if (why.empty())
      pairs ? findHalves() : findShares();
    if (why.empty() && shares.empty())
      why = "no operand that a loop loads by the copy engine is the same for neighbours and can be cut in shares";
  }

  const ir::Value *inductionVariable() const { return induction; }

  /// Bytes a stage that are loaded once a cluster.
  int64_t bytes() const {
    int64_t sum = 0;
    for (const auto &[key, share] : shares)
      sum += placement.findBuffer(placement.findMember(key)->buffer)->stageBytes();
    return sum;
  }

  void apply() const {
    for (RingPlacement &ring : placement.rings)
      for (RingMember &member : ring.members)
        if (auto share = shares.find(member.key); share != shares.end()) {
          member.multicast = share->second;
          if (share->second == plan::Division::Rows)
            for (plan::TensorMap &map : placement.maps)
              map.boxRows /= map.buffer == member.buffer ? blocks : 1;
          if (pairs) {
            plan::Buffer &buffer = *placement.findBuffer(member.buffer);
            (share->second == plan::Division::Rows ? buffer.rows : buffer.cols) /= blocks;
          }
        }
  }

  std::string why;

private:
  bool isSame(const ir::Op &load) const {
    return std::none_of(load.operands().begin(), load.operands().end(),
                        [&](const ir::Value *operand) { return dependsOn(operand, induction); });
  }

  /// Right operands are the same for both blocks and have halves; the rows of left ones follow the axis. Scales lie
  /// as their operands do, but each block has all those of the right one.
  void findHalves() {
    for (const auto &[dot, product] : placement.products)
      for (const auto &[load, key] : placement.loadKeys) {
        const RingMember &member = *placement.findMember(key);
        const bool isRight = member.buffer == product.b.buffer;
        if ((member.buffer == product.a.buffer || member.buffer == product.scales[0].buffer) && isSame(*load))
          refuse(fmt::format("rows of `{}` are the same for neighbours", load->view.tensor));
        if ((isRight || member.buffer == product.scales[1].buffer) && !isSame(*load))
          refuse(fmt::format("`{}` differs between neighbours", load->view.tensor));
        if (!isRight)
          continue;
        shares[key] = halfOf(*placement.findBuffer(member.buffer), product.b.transposed);
        if (shares[key] == plan::Division::Whole)
          refuse(fmt::format("half of a tile of `{}` is no multiple of a swizzle atom", load->view.tensor));
      }
  }

  /// The first reason is the one that is told.
  void refuse(std::string reason) {
    if (why.empty())
      why = std::move(reason);
  }

  /// Along the columns of the product.
  static plan::Division halfOf(const plan::Buffer &buffer, bool transposed) {
    if (transposed)
      return buffer.rows % 16 == 0 ? plan::Division::Rows : plan::Division::Whole;
    const int64_t span = plan::bytes(buffer.swizzle);
    const bool hasPanels = span != 0 && plan::sharedBytes(buffer.elem, buffer.cols) % (span * 2) == 0;
    return hasPanels ? plan::Division::Cols : plan::Division::Whole;
  }

  void findShares() {
    for (const auto &[load, key] : placement.loadKeys) {
      const RingMember &member = *placement.findMember(key);
      const bool same = isSame(*load);
      const plan::Division share = shareOf(*placement.findBuffer(member.buffer));
      if (placement.findRing(key)->depth > 0 && member.byEngine && !placement.asksStartOf(member) && same &&
          share != plan::Division::Whole && member.multicast == plan::Division::Whole &&
          !placement.findRing(key)->isDrainedByWarps() && !isReadByThreads(member))
        shares[key] = share;
    }
    dropPartlyShared();
  }

  /// A stage is freed at all neighbours. A block that fills it without a share of theirs does not wait for them, and
  /// could free a stage of theirs twice.
  void dropPartlyShared() {
    for (const RingPlacement &ring : placement.rings)
      if (!hasShareInEachFill(placement, ring, shares))
        for (const RingMember &member : ring.members)
          if (shares.erase(member.key) != 0 && shares.empty())
            refuse(fmt::format("not every loop that fills the ring of `{}` loads it by the copy engine", member.buffer));
  }

  /// An arrival at another block tells it that products have read a stage, and nothing about what threads have read.
  bool isReadByThreads(const RingMember &member) const {
    return std::any_of(placement.products.begin(), placement.products.end(), [&](const auto &entry) {
      const ProductPlacement &product = entry.second;
      return product.byThreads && (product.a.buffer == member.buffer || product.b.buffer == member.buffer);
    });
  }

  /// Whole panels, which take fewer copies, else rows of swizzle atoms.
  plan::Division shareOf(const plan::Buffer &buffer) const {
    const int64_t span = plan::bytes(buffer.swizzle);
    if (span != 0 && plan::sharedBytes(buffer.elem, buffer.cols) % (span * blocks) == 0)
      return plan::Division::Cols;
    return buffer.rows % (8 * blocks) == 0 ? plan::Division::Rows : plan::Division::Whole;
  }

  /// All blocks of a cluster fill and drain the rings equally often.
  void checkControl() {
    walkTile(nest, [&](const ir::Op &op, int) {
      const bool controls = op.kind == ir::OpKind::For || op.kind == ir::OpKind::If;
      if (!controls || !holdsRingLoad(op))
        return;
      const size_t count = op.kind == ir::OpKind::For ? 2 : 1;
      for (size_t i = 0; i < count; ++i)
        if (dependsOn(op.operand(i), induction))
          why = "neighbours run their loops differently often";
    });
  }

  bool holdsRingLoad(const ir::Op &op) const {
    bool holds = false;
    auto visit = [&](const ir::Op &inner, int) { holds |= placement.loadKeys.count(&inner) != 0; };
    for (const auto &body : op.bodies)
      walkOps(*body, 0, visit);
    return holds;
  }

  /// A tile beyond the end of the axis, which a cluster may have, must leave nothing: the threads clip what they write
  /// at the range's end, the copy engine at the tensor's.
  void checkEffects() {
    walkTile(nest, [&](const ir::Op &op, int) {
      if (op.kind != ir::OpKind::Store && op.kind != ir::OpKind::Atomic)
        return;
      const ir::Param *tensor = function.findParam(op.view.tensor);
      bool clipped = false;
      for (size_t d = 0; d < op.view.indices.size(); ++d) {
        const ir::ViewIndex &index = op.view.indices[d];
        if (index.kind == ir::ViewIndex::Tiled && op.operand(index.operand) == induction)
          clipped = !placement.stores.count(&op) || isDim(axis.operand(1), tensor->dims[d]);
      }
      if (!clipped)
        why = fmt::format("what is written to `{}` does not end where the axis ends", op.view.tensor);
    });
  }

  const ir::Function &function;
  const Nest &nest;
  const ir::Op &axis;
  const ir::Value *induction;
  int blocks;
  bool pairs;
  Placement &placement;
  std::map<std::string, plan::Division> shares; ///< by the member's key
};

/// The best axis but `taken`; blocks of a cluster then stand along it.
std::optional<size_t> form(const ir::Function &function, const Nest &nest, int blocks, bool pairs, Placement &placement,
                           std::string &why, std::optional<size_t> taken = std::nullopt) {
  if (nest.isRagged()) {
    why = "the launcher does not know the range of an axis of the grid";
    return std::nullopt;
  }
  std::optional<size_t> best;
  std::map<size_t, Axis> axes;
  for (size_t i = 0; i < nest.axes.size(); ++i)
    if (i != taken)
      axes.try_emplace(i, function, nest, *nest.axes[i], blocks, pairs, placement);
  for (const auto &[i, axis] : axes) {
    why += fmt::format("{}along `{}` {}", why.empty() ? "" : ", ", axis.inductionVariable()->name, axis.why);
    if (axis.why.empty() && (!best || axis.bytes() > axes.at(*best).bytes()))
      best = i;
  }
  if (best)
    axes.at(*best).apply();
  else if (axes.empty())
    why = taken ? "the grid has one axis" : "the kernel has one block";
  return best;
}

/// What products of pairs take, beside an axis along which the pairs stand.
std::string whyNoPairs(const Placement &placement) {
  constexpr int64_t mostCols = 256; // of one instruction
  if (placement.products.empty())
    return "there are no products";
  for (const auto &[dot, product] : placement.products) {
    if (!product.inTensor || product.made.rows != 128 || product.made.layout.kind != plan::Layout::Tensor)
      return "a product is not of 128 rows into tensor memory";
    if (product.made.cols > mostCols || product.made.cols % 32 != 0)
      return fmt::format("a product has {} columns: multiples of 32 up to {} are for pairs", product.made.cols,
                         mostCols);
    if (product.a.kind != Operand::Ring || product.b.kind != Operand::Ring)
      return "an operand of a product is computed";
  }
  for (const RingPlacement &ring : placement.rings)
    for (const RingMember &member : ring.members)
      if (!placement.isScales(member.buffer) &&
          (!member.byEngine || member.transposing || member.isVector || placement.asksStartOf(member)))
        return fmt::format("`{}` is not loaded by the copy engine as it lies", member.buffer);
  return {};
}

/// The axis along which pairs of blocks multiply together: each has its rows of the left operands and of the results,
/// and loads half of the right operands, which are the same for both; rings then hold those halves. Nothing where that
/// cannot be: `why` says so.
std::optional<size_t> pairBlocks(const ir::Function &function, const Nest &nest, Placement &placement,
                                 std::string &why) {
  why = whyNoPairs(placement);
  const std::optional<size_t> axis = why.empty() ? form(function, nest, 2, true, placement, why) : std::nullopt;
  placement.byPairs = axis.has_value();
  return axis;
}

/// Large tiles of products alone: what is loaded of the right operands is then half, and one instruction's work
/// twice.
bool pairsByDefault(const TileScheduler &tiles) {
  constexpr int64_t fewestCols = 256;
  return !tiles.schedule.cluster && tiles.schedule.split.value_or(1) == 1 && tiles.isFlat() &&
         std::all_of(tiles.placement.products.begin(), tiles.placement.products.end(),
                     [](const auto &it) { return it.second.made.cols >= fewestCols; });
}

/// Whether the kernel's blocks multiply in pairs, or, with the key, cannot: then there is an error.
bool formPairs(const ir::Function &function, const TileScheduler &tiles, Placement &placement, plan::Plan &plan,
               std::string &error) {
  std::string why;
  if (!tiles.arch.hasPairedProducts)
    why = fmt::format("{} has none", tiles.arch.name);
  else if (tiles.schedule.cluster.value_or(2) != 2 || tiles.schedule.clusterAcross.value_or(1) != 1)
    why = "a pair is a cluster of 2";
  const std::optional<size_t> axis = why.empty() ? pairBlocks(function, tiles.nest, placement, why) : std::nullopt;
  if (axis) {
    plan.cluster = 2;
    plan.grid.clusterAxis = plan.grid.axes[*axis].name;
    placement.note(plan::Note::Cluster, {},
                   fmt::format("pairs of blocks, which multiply together: each has 128 rows along `{}`, and loads half "
                               "of what is the same for both",
                               plan.grid.clusterAxis));
  } else if (tiles.schedule.twoCta) {
    error = fmt::format("`two_cta`, pairs of blocks: {}", why);
  }
  return axis || tiles.schedule.twoCta;
}

/// Loads that are shared and do not say so yet are shared along the axis.
void nameShares(Placement &placement, const std::string &axis) {
  for (RingPlacement &ring : placement.rings)
    for (RingMember &member : ring.members)
      if (member.multicast != plan::Division::Whole && member.along.empty())
        member.along = axis;
}

/// A stage is freed at the blocks along both axes. Only who has a part in filling it knows when it may be freed again.
std::string whyNotBoth(const Placement &placement, const plan::Grid &grid) {
  for (const RingPlacement &ring : placement.rings)
    for (const std::string &axis : {grid.clusterAxis, grid.acrossAxis})
      if (ring.isShared() && std::none_of(ring.members.begin(), ring.members.end(),
                                          [&](const RingMember &member) { return member.along == axis; }))
        return fmt::format("`cluster_across`: of what is loaded together with `{}`, nothing is shared along `{}`",
                           ring.members.front().buffer, axis);
  return {};
}

/// Clusters that stand along one axis get blocks along another as well, which share other operands. Returns what stands
/// against it.
std::string formAcross(const ir::Function &function, const TileScheduler &tiles, size_t taken, int blocks,
                       Placement &placement, plan::Plan &plan) {
  nameShares(placement, plan.grid.clusterAxis);
  std::string why;
  const std::optional<size_t> axis = form(function, tiles.nest, blocks, false, placement, why, taken);
  if (!axis)
    return fmt::format("`cluster_across`, {} blocks along another axis than `{}`: {}", blocks, plan.grid.clusterAxis,
                       why);
  plan.cluster *= blocks;
  plan.grid.across = blocks;
  plan.grid.acrossAxis = plan.grid.axes[*axis].name;
  nameShares(placement, plan.grid.acrossAxis);
  placement.note(
      plan::Note::Cluster, {},
      fmt::format("{} of these side by side along `{}`, as the schedule says, where another operand is the same",
                  blocks, plan.grid.acrossAxis));
  return whyNotBoth(placement, plan.grid);
}

/// What stands against the sizes that the keys say, for the GPU.
std::string whyNotOfSize(int blocks, int across, int most) {
  const auto isPower = [](int count) { return (count & (count - 1)) == 0; };
  if (blocks > most || !isPower(blocks))
    return "`cluster` must be 1, 2 or 4";
  if (!isPower(across) || (across > 1 && blocks == 1))
    return "`cluster_across` must be 1, 2 or 4, and is for clusters of 2 or 4";
  if (blocks * across > most)
    return fmt::format("a cluster has at most {} blocks, and `cluster` and `cluster_across` ask for {}", most,
                       blocks * across);
  return {};
}

} // namespace

std::string formClusters(const ir::Function &function, const TileScheduler &tiles, Placement &placement,
                         plan::Plan &plan) {
  const Schedule &schedule = tiles.schedule;
  const auto blocks = static_cast<int>(schedule.cluster.value_or(1));
  const auto across = static_cast<int>(schedule.clusterAcross.value_or(1));
  std::string error;
  if (schedule.twoCta.value_or(pairsByDefault(tiles)) && formPairs(function, tiles, placement, plan, error))
    return error;
  error = whyNotOfSize(blocks, across, tiles.arch.maxClusterSize);
  if (!error.empty())
    return error;
  if (blocks == 1) {
    placement.note(plan::Note::Cluster, {}, schedule.cluster ? "none, as the schedule says" : "none, the default");
    return {};
  }
  std::string why;
  // Its operands become multicast, in their rings and tensor maps.
  const std::optional<size_t> axis = form(function, tiles.nest, blocks, false, placement, why);
  if (!axis)
    return fmt::format("clusters of {} blocks: {}", blocks, why);
  plan.cluster = blocks;
  plan.grid.clusterAxis = plan.grid.axes[*axis].name;
  placement.note(plan::Note::Cluster, {},
                 fmt::format("{} blocks, as the schedule says, with neighbouring tiles along `{}`: of the axes it is "
                             "the one that shares most",
                             blocks, plan.grid.clusterAxis));
  if (across > 1)
    error = formAcross(function, tiles, *axis, across, placement, plan);
  for (const RingPlacement &ring : placement.rings)
    for (const RingMember &member : ring.members)
      if (member.multicast != plan::Division::Whole)
        placement.note(plan::Note::Cluster, {},
                       fmt::format("`{}` is the same for all of them{}: each loads a share of its {} for all",
                                   member.buffer,
                                   member.along.empty() ? "" : fmt::format(" that stand along `{}`", member.along),
                                   plan::spelling(member.multicast)));
  return error;
}

} // namespace tkc::planner
