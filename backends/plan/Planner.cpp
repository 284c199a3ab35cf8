// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/Planner.h"

#include "backends/plan/analysis/Nest.h"
#include "backends/plan/analysis/Quotients.h"
#include "backends/plan/grid/Clusters.h"
#include "backends/plan/grid/DynamicTiles.h"
#include "backends/plan/grid/GridBounds.h"
#include "backends/plan/grid/PingPong.h"
#include "backends/plan/grid/SplitK.h"
#include "backends/plan/grid/TileOrder.h"
#include "backends/plan/grid/TileScheduler.h"
#include "backends/plan/pipeline/AlternateStaging.h"
#include "backends/plan/pipeline/DeferredArrivals.h"
#include "backends/plan/pipeline/JoinPipelines.h"
#include "backends/plan/pipeline/RingBarriers.h"
#include "backends/plan/pipeline/SynchronizeBlock.h"
#include "backends/plan/pipeline/SynchronizeWarpgroups.h"
#include "backends/plan/pipeline/WarpgroupBounds.h"
#include "backends/plan/placement/Placement.h"
#include "backends/plan/placement/WaveSchedule.h"
#include "backends/plan/resources/MergeTensorMaps.h"
#include "backends/plan/resources/RingDepth.h"
#include "backends/plan/resources/ScratchMemory.h"
#include "backends/plan/resources/SharedMemory.h"
#include "backends/plan/roles/BulkReduceRole.h"
#include "backends/plan/roles/ComputeRole.h"
#include "backends/plan/roles/Exp2Polynomials.h"
#include "backends/plan/roles/LoadRole.h"
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

/// Bytes of which a warpgroup copies four rows at once, 16 a thread.
constexpr int64_t longestCopiedRow = 512;
/// setmaxnreg moves registers between groups of so many warps (PTX ISA).
constexpr int warpsPerWarpgroup = 4;

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

  std::unique_ptr<plan::Plan> run() {
    if (!hasTypes())
      return nullptr;
    describe();
    shared = lowerGrid(function, nest, arch, schedule, *plan);
    std::string error;
    placement = place(function, nest, arch, schedule, error);
    if (error.empty())
      error = formClusters(function, tiles, placement, *plan);
    if (!error.empty())
      return refuse(error);
    lengths = orderGrid(nest, placement, plan->grid, schedule.claimTiles.value_or(false));
    std::string why;
    takesTurns = choosePingPong(tiles, placement, why);
    if (!why.empty()) {
      refusePingPong(why);
      return nullptr;
    }
    answers = chooseDynamicTiles(tiles, placement, plan->grid, why);
    if (!why.empty())
      return refuse(why);
    factors = chooseCorrection(schedule, placement, why);
    if (!why.empty()) {
      refuseCorrection(why);
      return nullptr;
    }
    fillRings(placement, arch, schedule, tiles.takesTilesInTurn(), !answers.empty());
    adds = chooseBulkReduce(schedule, !takesTurns && plan->cluster == 1,
                            warpsPerWarpgroup - 1 - (answers.empty() ? 0 : 1), placement, why);
    if (!why.empty())
      return refuse(why);
    chooseWaveSchedule(arch, schedule, placement, error);
    placement.quotients = quotientsOf(function, nest, placement.loadsAlways);
    if (!error.empty())
      return refuse(error);
    if (!lowerRoles())
      return nullptr;
    if (const std::string whyNot = splitSum(tiles, takesTurns || adds, placement, *plan); !whyNot.empty())
      return refuse("`split`: " + whyNot);
    finish();
    return std::move(plan);
  }

private:
  static SourceRange at(SourceLoc loc) { return {loc, loc}; }

  /// Of a schedule that cannot be: says why. Returns what says that there is no plan.
  struct NoPlan {
    operator bool() const { return false; }
    operator std::unique_ptr<plan::Plan>() const { return nullptr; }
  };
  NoPlan refuse(const std::string &why) const {
    diagnostics.report(Diag::schedule_impossible, at(function.loc), why);
    return {};
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
    ConsumerResult consumer = lowerConsumer(function, nest, placement, schedule, shared);
    for (const Unsupported &what : consumer.unsupported)
      diagnostics.report(Diag::not_on_this_target, at(what.loc), what.what, arch.name);
    if (!consumer.unsupported.empty())
      return false;
    overlapped = consumer.overlapped;
    placement.notes.insert(placement.notes.end(), consumer.notes.begin(), consumer.notes.end());
    polynomials = shareExponentials(consumer.role, arch, schedule);
    std::optional<MatrixRoleResult> products;
    if (placement.copiesItself)
      synchronizeBlock(consumer.role, placement);
    else if (placement.usesTensorMemory())
      products = splitMatrixRole(consumer.role, placement, arch.tensorMemoryColumns, accumulatorStages, factors);
    else {
      fillInTurns(consumer.role, placement);
      joinPipelines(consumer.role);
      synchronize(consumer.role, placement);
    }
    if (schedule.ownBounds.value_or(false))
      if (const std::string why = boundByOwnRows(consumer.role, placement, plan->grid, consumer.byMasks); !why.empty())
        return refuse("`own_bounds`: " + why);
    std::string whyNotAhead =
        schedule.keepAhead.value_or(false) ? "blocks take several tiles, or there are products" : "";
    if (!placement.hasProducts && placement.rings.empty() && !tiles.takesTilesInTurn())
      whyNotAhead = keepRows(consumer.role, consumer.scratch, *plan, arch, schedule);
    if (!whyNotAhead.empty()) {
      diagnostics.report(Diag::schedule_impossible, at(function.loc), "`keep_ahead`: " + whyNotAhead);
      return false;
    }
    if (!placement.hasProducts)
      for (const std::string &tensor : keepLastInCache(consumer.role, *plan, arch))
        note(plan::Note::Copies,
             fmt::format("L2 is to evict `{}` last: other blocks read it again when all of `{}` was "
                         "walked",
                         tensor, plan->grid.axes.back().name));
    if (schedule.alignRows.value_or(false)) {
      const std::string why =
          placement.hasProducts ? "there are products" : leadRows(consumer.role, consumer.scratch, *plan, arch);
      if (!why.empty()) {
        diagnostics.report(Diag::schedule_impossible, at(function.loc), "`align_rows`: " + why);
        return false;
      }
    }
    if (takesTurns)
      if (const std::string why = takeTurns(consumer.role, consumer.scratch, plan->barriers); !why.empty())
        return refusePingPong(why);
    if (products && products->failsForPairs) {
      if (schedule.twoCta)
        diagnostics.report(
            Diag::schedule_impossible, at(function.loc),
            "`two_cta`, pairs of blocks: a product is not in a loop of products alone that begins with zero");
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
    const bool corrects = products && products->correction;
    plan->buffers = placement.buffers;
    transpositions = consumer.transposed.size();
    if (sharesScratch)
      shareScratch(consumer.scratch, consumer.transposed, placement);
    plan->buffers.insert(plan->buffers.end(), consumer.scratch.begin(), consumer.scratch.end());
    scratchBytes = scratchBytesOf(consumer.scratch, placement.alignment);
    plan->maps = placement.maps;
    const bool hasProducer = !placement.rings.empty() && !placement.copiesItself;
    // What loads, what issues products and what asks for tiles share a warpgroup.
    const int besideLoads =
        (products ? products->matrix.instances : 0) + (answers.empty() ? 0 : 1) + (adds ? placement.instances : 0);
    const int loadingWarps = std::max(producerWarps(consumer.role, besideLoads) - besideLoads, 1);
    plan::Role producer;
    std::set<std::string> toldLate;
    if (hasProducer) {
      producer = lowerProducer(nest, placement, shared);
      toldLate = arriveLate(producer, placement);
    }
    if (hasProducer)
      addRingBarriers(placement, loadingWarps, toldLate, products ? &products->emptyArrivals : nullptr, *plan);
    if (plan->cluster > 1) // the others still arrive here
      plan::append(consumer.role.finish, plan::ClusterSync(), {});
    plan->threads = consumer.role.warps * consumer.role.instances * arch.warpSize;
    if (!placement.hasProducts && !hasProducer)
      for (const std::string &tensor : loadEarly(consumer.role, *plan, arch))
        note(plan::Note::Copies, fmt::format("`{}` is loaded first: it is needed behind a barrier only, but all blocks "
                                             "find it in L2",
                                             tensor));
    std::vector<plan::Role> roles{std::move(consumer.role)};
    if (corrects) {
      products->correction->firstWarp = plan->threads / arch.warpSize;
      plan->threads += warpsOf(*products->correction) * arch.warpSize;
    }
    if (products)
      products->matrix.firstWarp = plan->threads / arch.warpSize;
    plan->threads += besideLoads * arch.warpSize;
    if (hasProducer) {
      // Last in the block: the computing warpgroups count from 0 (runtime/README.md).
      producer.firstWarp = plan->threads / arch.warpSize;
      producer.warps = loadingWarps;
      plan->threads += producer.warps * arch.warpSize;
      setRegisters(producer, roles.front(), besideLoads);
      if (products)
        products->matrix.registers = producer.registers;
      if (corrects)
        products->correction->registers = registersLeft(roles.front(), producer);
      roles.insert(roles.begin(), std::move(producer));
    }
    if (products)
      roles.insert(roles.end() - 1, std::move(products->matrix));
    if (corrects)
      roles.insert(roles.end() - 1, std::move(*products->correction));
    if (adds) {
      plan::Role adder = lowerAdder(nest, placement, shared, plan->barriers);
      adder.firstWarp = warpsOf(roles.back());
      adder.registers = roles.front().registers;
      roles.insert(roles.end() - 1, std::move(adder));
    }
    if (!answers.empty()) {
      plan::Role asking =
          claimTiles(answers, roles.front().firstWarp - 1, plan->cluster, whenToClaim(tiles), roles, plan->barriers);
      asking.registers = roles.front().registers;
      roles.insert(roles.begin() + 1, std::move(asking));
    }
    for (plan::Role &role : roles)
      role.lanes = arch.warpSize;
    plan->roles = std::move(roles);
    return true;
  }

  bool refusePingPong(const std::string &why) {
    diagnostics.report(Diag::schedule_impossible, at(function.loc),
                       "`pingpong`, warpgroups that take tiles in turns: " + why);
    return false;
  }

  bool refuseCorrection(const std::string &why) {
    diagnostics.report(Diag::schedule_impossible, at(function.loc),
                       "`correction`, a role that rescales accumulators: " + why);
    return false;
  }

  /// One thread starts the copy engine's copies. It is in a warpgroup of its own where products take one, where threads
  /// always copy something, and where the computing warps need the registers that only a warpgroup can give up.
  int producerWarps(const plan::Role &consumer, int besideLoads) const {
    const bool alone = placement.multipliesByWarps() && !placement.copiesByThreads() &&
                       hasAllRegisters(warpsOf(consumer) + 1 + besideLoads);
    return alone ? 1 : warpsPerWarpgroup;
  }

  static int warpsOf(const plan::Role &role) { return role.totalWarps(); }

  /// Whether a thread may have as many registers as there are, in a block of so many warps. They are spread over the
  /// multiprocessor's four parts, which share its registers.
  bool hasAllRegisters(int warps) const {
    const int spread = (warps + warpsPerWarpgroup - 1) / warpsPerWarpgroup * warpsPerWarpgroup;
    return spread * arch.warpSize * arch.maxRegistersPerThread <= arch.registersPerMultiprocessor;
  }

  /// The loading warpgroup gives up what the computing ones need (FlashAttention-3's splits: 24/240/240,
  /// 32/160/160/160).
  /// `besideProducer`: warps that issue products.
  void setRegisters(plan::Role &producer, plan::Role &consumer, int besideProducer) {
    const int n = warpsOf(consumer) / warpsPerWarpgroup;
    const bool byWarpgroups =
        producer.warps + besideProducer == warpsPerWarpgroup && warpsOf(consumer) == n * warpsPerWarpgroup;
    if (!arch.hasRegisterReallocation || !byWarpgroups || n > 3)
      return;
    const bool asked = schedule.producerRegisters || schedule.consumerRegisters;
    if (placement.multipliesByWarps() && hasAllRegisters(warpsOf(producer) + warpsOf(consumer)))
      return;
    // What issues products into tensor memory keeps descriptors in more than 56 registers, if it may.
    if (placement.usesTensorMemory() && !asked && hasAllRegisters(plan->threads / arch.warpSize))
      return;
    // What issues products into tensor memory takes more than 40. Where warps multiply, no multiple of 64 is asked of
    // tiles, and the addresses of copies by threads take more, too; so do those of what threads multiply. Warpgroups
    // that take turns have large tiles, for which copies by threads need more than 40 as well; so do copies of bytes,
    // and of rows so long that the threads copy fewer than four at once, whose swizzles differ from one to the next.
    const bool byThreads = std::any_of(placement.products.begin(), placement.products.end(),
                                       [](const auto &it) { return it.second.byThreads; });
    // Copies by its threads, of tensors that the engine cannot take, need about 40.
    const bool copiesLittle = schedule.aligned && !placement.copiesByThreads();
    const bool copiesBytes = std::any_of(placement.buffers.begin(), placement.buffers.end(),
                                         [](const plan::Buffer &buffer) { return plan::sharedBits(buffer.elem) == 8; });
    const bool amply = placement.usesTensorMemory() || placement.multipliesByWarps() || byThreads ||
                       ((takesTurns || copiesBytes || copiesLongRows()) && !copiesLittle);
    // Beside one computing warpgroup there are enough for copies by threads that keep many loads on their way.
    const int alone = placement.usesTensorMemory() ? 56 : 160;
    const int producerDefault = n == 1 ? alone : amply ? 56 : n == 2 ? (copiesLittle ? 24 : 40) : 32;
    // A warpgroup that rescales takes 88 then, which suffice for parts of 32 columns.
    const bool corrects = !factors.empty();
    const int ofTwo = corrects ? 184 : amply ? 224 : copiesLittle ? 240 : 232;
    const int consumerDefault = n >= 3 ? (amply ? 152 : 160) : n == 2 ? ofTwo : 240;
    producer.registers = static_cast<int>(schedule.producerRegisters.value_or(producerDefault));
    consumer.registers = static_cast<int>(schedule.consumerRegisters.value_or(consumerDefault));
    note(plan::Note::Roles,
         schedule.producerRegisters || schedule.consumerRegisters
             ? "registers as the schedule says"
             : fmt::format("registers: what suits {} computing warpgroup{}; the loading one gives up "
                           "what it does not need",
                           n, n == 1 ? "" : "s"));
  }

  /// Of operands in rings.
  bool copiesLongRows() const {
    const auto isLong = [&](const Operand *operand) {
      const plan::Buffer *buffer = operand->kind == Operand::Ring ? placement.findBuffer(operand->buffer) : nullptr;
      return buffer && plan::sharedBytes(buffer->elem, buffer->cols) > longestCopiedRow;
    };
    return std::any_of(placement.products.begin(), placement.products.end(),
                       [&](const auto &it) { return isLong(&it.second.a) || isLong(&it.second.b); });
  }

  /// For the warpgroup that rescales: what the others leave of those that the block is launched with.
  int registersLeft(const plan::Role &computing, const plan::Role &producer) const {
    if (computing.registers == 0)
      return 0;
    const int warpgroups = plan->threads / (warpsPerWarpgroup * arch.warpSize);
    const int atLaunch = arch.registersPerMultiprocessor / plan->threads / 8 * 8 * warpgroups;
    const int left = atLaunch - producer.registers - computing.registers * warpsOf(computing) / warpsPerWarpgroup;
    return std::clamp(left, fewestRegisters, correctionRegisters);
  }

  // ---- the rest
  void finish() {
    uniteMaps(*plan);
    allocate(*plan, arch.language == arch::Language::Hip, placement.packs);
    plan->grid.claimed = !answers.empty();
    tiles.settle(*plan, placement, overlapped);
    plan->notes = std::move(placement.notes);
    decide("stages", ringStages());
    if (placement.layout.kind == plan::Layout::WarpMma || placement.layout.kind == plan::Layout::Mfma)
      decide(arch.language == arch::Language::Hip ? "waves" : "warps",
             fmt::format("{} × {}", placement.layout.threads / arch.warpSize, placement.instances));
    else
      decide("warpgroups", takesTurns ? "2 in turns" : std::to_string(placement.instances));
    if (placement.layout.kind == plan::Layout::Mfma)
      decide("loads", placement.directLoads ? "direct" : "through registers");
    if (placement.turns > 0)
      decide("alternate", fmt::format("{} turns", placement.turns));
    if (placement.interleaves)
      decide("interleave", "true");
    plan->aligned = schedule.aligned;
    if (plan->aligned)
      decide("aligned", "true");
    decide("overlap", overlapped ? "1" : "0");
    decide("persistent", plan->grid.counted      ? "counted"
                         : plan->grid.claimed    ? "claimed"
                         : plan->grid.persistent ? "true"
                                                 : "false");
    if (!factors.empty())
      decide("correction", "1");
    if (polynomials > 0)
      decide("exp2_fma", std::to_string(polynomials));
    if (placement.byPairs)
      decide("two_cta", "1");
    else if (plan->cluster > 1)
      decide("cluster", fmt::format("{} along {}", plan->cluster, plan->grid.clusterAxis));
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
  /// Of what is taken out of tensor memory: a tile, and that in 16 bits.
  static constexpr int correctionRegisters = 200;
  static constexpr int fewestRegisters = 24; ///< that setmaxnreg takes
  std::string factors;                       ///< the buffer for columns to the role that rescales; empty: there is none
  std::string answers;     ///< the buffer for those to claims of tiles; empty: tiles are shared out when blocks begin
  bool adds = false;       ///< a role of its own hands what loops add to the copy engine
  bool takesTurns = false; ///< computing warpgroups take whole tiles in turns
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
