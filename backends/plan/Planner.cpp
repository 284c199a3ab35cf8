// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/Planner.h"

#include "backends/plan/analysis/Nest.h"
#include "backends/plan/analysis/Quotients.h"
#include "backends/plan/grid/Clusters.h"
#include "backends/plan/grid/DynamicTiles.h"
#include "backends/plan/grid/EarlyLaunch.h"
#include "backends/plan/grid/GridBounds.h"
#include "backends/plan/grid/LaunchColumns.h"
#include "backends/plan/grid/PingPong.h"
#include "backends/plan/grid/SplitInBlock.h"
#include "backends/plan/grid/SplitK.h"
#include "backends/plan/grid/TileOrder.h"
#include "backends/plan/grid/TileScheduler.h"
#include "backends/plan/pipeline/AlternateStaging.h"
#include "backends/plan/pipeline/DeferredArrivals.h"
#include "backends/plan/pipeline/FenceReads.h"
#include "backends/plan/pipeline/HeadStart.h"
#include "backends/plan/pipeline/JoinPipelines.h"
#include "backends/plan/pipeline/RingBarriers.h"
#include "backends/plan/pipeline/StageEarly.h"
#include "backends/plan/pipeline/SynchronizeBlock.h"
#include "backends/plan/pipeline/SynchronizeWarpgroups.h"
#include "backends/plan/pipeline/WarpgroupBounds.h"
#include "backends/plan/placement/PlaceOperands.h"
#include "backends/plan/placement/WaveSchedule.h"
#include "backends/plan/resources/AssignWarps.h"
#include "backends/plan/resources/MergeTensorMaps.h"
#include "backends/plan/resources/OwnMemory.h"
#include "backends/plan/resources/RingDepth.h"
#include "backends/plan/resources/ScratchMemory.h"
#include "backends/plan/resources/ShareMemory.h"
#include "backends/plan/resources/SharedGrain.h"
#include "backends/plan/resources/SharedMemory.h"
#include "backends/plan/resources/WarpRegisters.h"
#include "backends/plan/roles/BulkReduceRole.h"
#include "backends/plan/roles/ComputeRole.h"
#include "backends/plan/roles/Exp2Polynomials.h"
#include "backends/plan/roles/LoadRole.h"
#include "backends/plan/roles/LookUpTables.h"
#include "backends/plan/rowwise/AlignRows.h"
#include "backends/plan/rowwise/EvictLast.h"
#include "backends/plan/rowwise/HoistLoads.h"
#include "backends/plan/rowwise/KeepInShared.h"
#include "backends/plan/tensor/CorrectionRole.h"
#include "backends/plan/tensor/MatrixRole.h"
#include "ir/Products.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tkc::planner {
namespace {

class Planner {
public:
  Planner(const ir::Function &function, const arch::Description &arch, const Schedule &schedule,
          DiagnosticEngine &diagnostics)
      : function(function), arch(arch), schedule(schedule), diagnostics(diagnostics), nest(findNest(function)),
        tiles{arch, schedule, nest, placement, lengths, *plan} {}

  bool sharesScratch = false; ///< asked for: all transpositions go through the memory of the largest
  bool pairsFailed = false;   ///< there is no plan, as products of pairs did not suit
  int64_t scratchBytes = 0;   ///< of shared memory, which reductions and transpositions go through
  size_t transpositions = 0;  ///< that have scratch memory of their own, or would have it

  std::unique_ptr<plan::Plan> run() { return fill() ? std::move(plan) : nullptr; }

private:
  /// False, with an error: there is no plan.
  bool fill() {
    if (!hasTypes())
      return false;
    describe();
    shared = lowerGrid(function, nest, *plan);
    std::string error;
    placement = place(function, nest, arch, schedule, error);
    if (error.empty())
      error = formClusters(function, tiles, placement, *plan);
    if (!error.empty())
      return refuse(error);
    if (placement.copiesLate && schedule.stages.value_or(1) > 1)
      return refuse(fmt::format("`late_copies`: no tile is copied ahead, and `stages` asks for {}", *schedule.stages));
    lengths = orderTiles(nest, placement, plan->grid, schedule.claimTiles.value_or(false));
    std::string why;
    takesTurns = choosePingPong(tiles, placement, why);
    if (!why.empty())
      return refusePingPong(why);
    sharing = chooseSplitInBlock(tiles, placement, why);
    if (!why.empty())
      return refuseSplitInBlock(why);
    answers = chooseDynamicTiles(tiles, placement, plan->grid, why);
    if (!why.empty())
      return refuse(why);
    factors = chooseCorrection(schedule, placement, why);
    if (!why.empty())
      return refuseCorrection(why);
    fillRings(placement, arch, schedule, tiles.takesTilesInTurn(), !answers.empty());
    adds = chooseBulkReduce(schedule, !takesTurns && sharing == 1 && plan->cluster == 1,
                            warpsPerWarpgroup - 1 - (answers.empty() ? 0 : 1), placement, why);
    if (!why.empty())
      return refuse(why);
    chooseWaveSchedule(arch, schedule, placement, error);
    placement.quotients = quotientsOf(function, nest, placement.loadsAlways);
    if (!error.empty())
      return refuse(error);
    if (!lowerRoles())
      return false;
    if (const std::string whyNot = splitK(tiles, takesTurns || adds, placement, *plan); !whyNot.empty())
      return refuse("`split`: " + whyNot);
    finish();
    return chooseColumns();
  }

  bool chooseColumns() {
    if (!schedule.columnStep)
      return true;
    decide("columns", fmt::format("chosen at launch, in steps of {}", *schedule.columnStep));
    const std::optional<plan::Obstacle> obstacle = chooseColumnsAtLaunch(*plan, *schedule.columnStep);
    if (obstacle)
      diagnostics.report(Diag::schedule_impossible, at(obstacle->loc.isValid() ? obstacle->loc : function.loc),
                         "`column_step`, columns that the launcher chooses: " + obstacle->why);
    return !obstacle;
  }

  static SourceRange at(SourceLoc loc) { return {loc, loc}; }

  /// Of a schedule that cannot be: says why.
  bool refuse(const std::string &why) const {
    diagnostics.report(Diag::schedule_impossible, at(function.loc), why);
    return false;
  }

  /// float8 takes conversions that older GPUs lack. Products of types without an instruction are never refused here:
  /// threads multiply.
  bool hasTypes() const {
    if (arch.convertsFloat8() || schedule.allowUpcast.value_or(false))
      return true;
    const auto found = std::find_if(function.params.begin(), function.params.end(),
                                    [](const ir::Param &param) { return isFloat8(param.elem); });
    if (found == function.params.end())
      return true;
    std::vector<std::string> others;
    for (const arch::Description *other : arch::all())
      if (other->hasBackend && other->convertsFloat8())
        others.push_back(fmt::format("`{}`", other->name));
    diagnostics.report(Diag::type_not_on_target, at(found->loc.isValid() ? found->loc : function.loc), arch.name,
                       spelling(found->elem), fmt::join(others, " or "));
    return false;
  }

  void describe() {
    plan->kernel = function.kernel;
    plan->arch = arch.name;
    plan->sharedSpan = arch.sharedSpan;
    plan->doc = function.doc;
    plan->loc = function.loc;
    plan->constants = function.constants;
    plan->typeArgs = function.typeArgs;
    plan->params = function.params;
    plan->multiples = function.multiples;
  }

  // ---- roles
  bool lowerRoles() {
    ComputeRoleResult consumer = lowerComputeRole(function, nest, placement, schedule, shared);
    for (const Unsupported &what : consumer.unsupported)
      diagnostics.report(Diag::not_on_this_target, at(what.loc), what.what, arch.name);
    if (!consumer.unsupported.empty())
      return false;
    overlapped = consumer.overlapped;
    placement.notes.insert(placement.notes.end(), consumer.notes.begin(), consumer.notes.end());
    polynomials = chooseExp2Polynomials(consumer.role, arch, schedule);
    std::optional<MatrixRoleResult> products;
    const auto share = [&] {
      return sharesMemory() ? shareMemory(consumer.role, consumer.transposed, consumer.scratch, placement) : MemoryOf();
    };
    if (placement.copiesItself)
      synchronizeBlock(consumer.role, placement, share());
    else if (placement.usesTensorMemory())
      products = splitMatrixRole(consumer.role, placement, arch.tensorMemoryColumns, accumulatorStages, factors);
    else {
      stageEarly(consumer.role);
      alternateStaging(consumer.role, placement);
      joinPipelines(consumer.role);
      synchronizeWarpgroups(consumer.role, placement, share());
    }
    if (schedule.ownBounds.value_or(false))
      if (const std::string why = boundByWarpgroup(consumer.role, placement, plan->grid, consumer.byMasks);
          !why.empty())
        return refuse("`own_bounds`: " + why);
    if (!takesTurns && sharing == 1 && placement.turns == 0 && !schedule.alignRows.value_or(false))
      for (const std::string &tensor :
           placeLookUpTables(consumer.role, consumer.scratch, *plan, placement, tiles.takesTilesInTurn()))
        note(plan::Note::Copies,
             fmt::format("`{}` is copied to shared memory, where its elements are looked up", tensor));
    std::string whyNotAhead =
        schedule.keepAhead.value_or(false) ? "blocks take several tiles, or there are products" : "";
    if (!placement.hasProducts && placement.rings.empty() && !tiles.takesTilesInTurn())
      whyNotAhead = keepInShared(consumer.role, consumer.scratch, *plan, arch, schedule);
    if (!whyNotAhead.empty())
      return refuse("`keep_ahead`: " + whyNotAhead);
    if (!placement.hasProducts)
      for (const std::string &tensor : evictLast(consumer.role, *plan, arch))
        note(plan::Note::Copies,
             fmt::format("L2 is to evict `{}` last: other blocks read it again when all of `{}` was "
                         "walked",
                         tensor, plan->grid.axes.back().name));
    if (schedule.alignRows.value_or(false)) {
      const std::string why =
          placement.hasProducts ? "there are products" : alignRows(consumer.role, consumer.scratch, *plan, arch);
      if (!why.empty())
        return refuse("`align_rows`: " + why);
    }
    if (takesTurns)
      if (const std::string why = takeTurns(consumer.role, consumer.scratch, plan->barriers); !why.empty())
        return refusePingPong(why);
    if (sharing > 1)
      if (const std::string why = splitInBlock(consumer.role, sharing, placement); !why.empty())
        return refuseSplitInBlock(why);
    if (products && products->failsForPairs) {
      if (schedule.twoCta)
        refuse("`two_cta`, pairs of blocks: a product is not in a loop of products alone that begins with zero");
      pairsFailed = true;
      return false;
    }
    if (products && !products->whyNoCorrection.empty())
      return refuseCorrection(products->whyNoCorrection);
    if (products) {
      for (const Unsupported &what : products->unsupported)
        diagnostics.report(Diag::not_on_this_target, at(what.loc), what.what, arch.name);
      if (!products->unsupported.empty())
        return false;
      takeTensors(*products, placement, *plan);
    }
    plan->buffers = placement.buffers;
    transpositions = consumer.transposed.size();
    if (sharesScratch && !(placement.copiesItself && sharesMemory()))
      shareScratch(consumer.scratch, consumer.transposed, placement);
    plan->buffers.insert(plan->buffers.end(), consumer.scratch.begin(), consumer.scratch.end());
    scratchBytes = scratchBytesOf(consumer.scratch, placement.alignment);
    plan->maps = placement.maps;
    const bool hasProducer = !placement.rings.empty() && !placement.copiesItself;
    // What loads, what issues products and what asks for tiles share a warpgroup.
    const int besideLoads =
        (products ? products->matrix.instances : 0) + (answers.empty() ? 0 : 1) + (adds ? placement.instances : 0);
    const WarpRegisters registers{arch, schedule, placement, takesTurns, !factors.empty()};
    BlockRoles block;
    block.besideLoads = besideLoads;
    block.loadingWarps = registers.loadingWarps(consumer.role, besideLoads);
    if (hasProducer) {
      block.load = lowerLoadRole(nest, placement, shared,
                                 {firstFreeBarrier(consumer.role, products), block.loadingWarps * arch.warpSize});
      const std::set<std::string> toldLate = deferArrivals(*block.load, readersOf(consumer.role, products), placement);
      addRingBarriers(placement, block.loadingWarps, toldLate, products ? &products->emptyArrivals : nullptr, *plan);
    }
    if (plan->cluster > 1) // the others still arrive here
      plan::append(consumer.role.finish, plan::ClusterSync(), {});
    plan->threads = consumer.role.warps * consumer.role.instances * arch.warpSize;
    if (!placement.hasProducts && !hasProducer)
      for (const std::string &tensor : hoistLoads(consumer.role, *plan, arch))
        note(plan::Note::Copies,
             fmt::format("`{}` is loaded first: it is needed at the end only, but all blocks find it in L2", tensor));
    block.compute = std::move(consumer.role);
    if (products) {
      block.matrix = std::move(products->matrix);
      block.correction = std::move(products->correction);
    }
    if (adds)
      block.bulkReduce = lowerBulkReduceRole(nest, placement, shared, plan->barriers);
    std::vector<plan::Role> roles = assignWarps(std::move(block), registers, plan->threads);
    if (!answers.empty()) {
      plan::Role asking = lowerDynamicTiles(answers, roles.front().firstWarp - 1, plan->cluster, whenToAsk(tiles),
                                            roles, plan->barriers);
      asking.registers = roles.front().registers;
      roles.insert(roles.begin() + 1, std::move(asking));
    }
    for (plan::Role &role : roles)
      role.lanes = arch.warpSize;
    plan->roles = std::move(roles);
    fenceReads(*plan);
    return true;
  }

  /// The roles that wait for rings.
  static Readers readersOf(const plan::Role &consumer, const std::optional<MatrixRoleResult> &products) {
    Readers readers{&consumer};
    if (products)
      readers.push_back(&products->matrix);
    if (products && products->correction)
      readers.push_back(&*products->correction);
    return readers;
  }

  bool sharesMemory() const {
    return schedule.share.value_or(false) && placement.hasProducts && !placement.usesTensorMemory() && !takesTurns &&
           sharing == 1;
  }

  bool refuseSplitInBlock(const std::string &why) const { return refuse("`split_in_block`: " + why); }

  bool refusePingPong(const std::string &why) {
    return refuse("`pingpong`, warpgroups that take tiles in turns: " + why);
  }

  /// The first number that no named barrier of the roles beside the producer has.
  static int firstFreeBarrier(const plan::Role &consumer, const std::optional<MatrixRoleResult> &products) {
    int free = 1;
    const auto look = [&](const plan::Role &role) {
      for (const plan::Body *body : {&role.body, &role.finish})
        plan::walk(*body, [&](const plan::Stmt &stmt) {
          if (const std::optional<plan::NamedBarrier> barrier = plan::namedBarrier(stmt))
            free = std::max(free, barrier->id + role.instances);
        });
    };
    look(consumer);
    if (products) {
      look(products->matrix);
      if (products->correction)
        look(*products->correction);
    }
    return free;
  }

  bool refuseCorrection(const std::string &why) {
    return refuse("`correction`, a role that rescales accumulators: " + why);
  }

  // ---- the rest
  void finish() {
    beginEarly(arch, schedule, *plan);
    mergeTensorMaps(*plan);
    addOwnMemory(*plan);
    chooseSharedGrains(*plan, arch.sharedGrain);
    allocateShared(*plan, arch.language == arch::Language::Hip, placement.packs);
    plan->grid.dynamic = !answers.empty();
    tiles.settle(*plan, placement, overlapped);
    giveHeadStart(*plan);
    plan->notes = std::move(placement.notes);
    decide("stages", ringStages());
    if (placement.layout.kind == plan::Layout::WarpMma || placement.layout.kind == plan::Layout::Mfma)
      decide(arch.language == arch::Language::Hip ? "waves" : "warps",
             fmt::format("{} × {}", placement.layout.threads / arch.warpSize, placement.instances));
    else
      decide("warpgroups", takesTurns    ? "2 in turns"
                           : sharing > 1 ? fmt::format("{}, iterations in turns", sharing)
                                         : std::to_string(placement.instances));
    if (placement.layout.kind == plan::Layout::Mfma)
      decide("loads", placement.directLoads ? "direct" : "through registers");
    if (placement.turns > 0)
      decide("alternate", fmt::format("{} turns", placement.turns));
    if (placement.interleaves)
      decide("interleave", "true");
    plan->aligned = schedule.aligned;
    if (plan->aligned)
      decide("aligned", "true");
    if (sharesMemory())
      decide("share", "1");
    if (placement.copiesLate)
      decide("late_copies", std::to_string(*schedule.lateCopies));
    decide("overlap", overlapped ? "1" : "0");
    decide("persistent", plan->grid.counted      ? "counted"
                         : plan->grid.dynamic    ? "claimed"
                         : plan->grid.persistent ? "true"
                                                 : "false");
    if (!factors.empty())
      decide("correction", "1");
    if (polynomials > 0)
      decide("exp2_fma", std::to_string(polynomials));
    if (placement.byPairs)
      decide("two_cta", "1");
    else if (plan->cluster > 1)
      decide("cluster",
             fmt::format("{} along {}", plan->blocksAlong(plan->grid.clusterAxis), plan->grid.clusterAxis) +
                 (plan->grid.across > 1 ? fmt::format(", {} along {}", plan->grid.across, plan->grid.acrossAxis) : ""));
  }

  std::string ringStages() const {
    std::string text;
    for (const RingPlacement &ring : placement.rings)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", ring.name, ring.stages);
    return text.empty() ? "none" : text;
  }

  void note(plan::Note::Topic topic, std::string text) { placement.note(topic, {}, std::move(text)); }
  void decide(const std::string &what, const std::string &value) { plan->decisions.emplace_back(what, value); }

  /// Of accumulators that one loop fills: the next tile's products run under the end of this one.
  static constexpr int accumulatorStages = 2;

  const ir::Function &function;
  const arch::Description &arch;
  const Schedule &schedule;
  DiagnosticEngine &diagnostics;
  Nest nest;
  Placement placement;
  SharedNames shared;
  std::unique_ptr<plan::Plan> plan = std::make_unique<plan::Plan>();
  bool overlapped = false;
  TileLengths lengths;
  TileScheduler tiles;
  std::string factors;     ///< the buffer for columns to the role that rescales; empty: there is none
  std::string answers;     ///< the buffer for those about dynamic tiles; empty: tiles are shared out when blocks begin
  bool adds = false;       ///< a role of its own hands what loops add to the copy engine
  bool takesTurns = false; ///< computing warpgroups take whole tiles in turns
  int sharing = 1;         ///< computing warpgroups that take the iterations of a loop in turns
  int polynomials = 0;     ///< of 16 exponentials those that multiply-adds compute
};

} // namespace

namespace {

struct ScratchUse {
  int64_t bytes = 0;
  size_t transpositions = 0;
};

/// With pairs of blocks where they can be had. `use`: what of shared memory the plan needs besides what is placed.
std::unique_ptr<plan::Plan> planInPairs(const ir::Function &function, const arch::Description &arch,
                                        const Schedule &schedule, bool sharesScratch, DiagnosticEngine &diagnostics,
                                        ScratchUse &use) {
  Planner planner(function, arch, schedule, diagnostics);
  planner.sharesScratch = sharesScratch;
  std::unique_ptr<plan::Plan> plan = planner.run();
  use = {planner.scratchBytes, planner.transpositions};
  if (!planner.pairsFailed || schedule.twoCta)
    return plan;
  Schedule alone = schedule;
  alone.twoCta = false;
  Planner single(function, arch, alone, diagnostics);
  single.sharesScratch = sharesScratch;
  plan = single.run();
  use = {single.scratchBytes, single.transpositions};
  return plan;
}

/// What reductions and transpositions go through is known only at the end: where the plan is too large with it, once
/// more, with so much less for rings.
std::unique_ptr<plan::Plan> planBesideScratch(const ir::Function &function, const arch::Description &arch,
                                              const Schedule &schedule, bool sharesScratch,
                                              DiagnosticEngine &diagnostics, ScratchUse &use) {
  std::unique_ptr<plan::Plan> plan = planInPairs(function, arch, schedule, sharesScratch, diagnostics, use);
  if (!plan || plan->sharedBytes <= arch.sharedBytesPerBlock)
    return plan;
  arch::Description smaller = arch;
  smaller.sharedBytesPerBlock -= std::max(use.bytes, plan->sharedBytes - arch.sharedBytesPerBlock);
  std::unique_ptr<plan::Plan> second = planInPairs(function, smaller, schedule, sharesScratch, diagnostics, use);
  return second && second->sharedBytes <= arch.sharedBytesPerBlock ? std::move(second) : std::move(plan);
}

} // namespace

std::unique_ptr<plan::Plan> planKernel(const ir::Function &function, const arch::Description &arch,
                                       const Schedule &schedule, DiagnosticEngine &diagnostics) {
  ScratchUse use;
  std::unique_ptr<plan::Plan> plan = planBesideScratch(function, arch, schedule, false, diagnostics, use);
  if (!plan || plan->sharedBytes <= arch.sharedBytesPerBlock || use.transpositions < 2)
    return plan;
  return planBesideScratch(function, arch, schedule, true, diagnostics, use);
}

} // namespace tkc::planner
