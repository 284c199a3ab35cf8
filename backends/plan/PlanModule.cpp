// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/PlanModule.h"

#include "backends/plan/FitPlan.h"
#include "backends/plan/LegalizeRescaling.h"
#include "backends/plan/Planner.h"
#include "backends/plan/Scales.h"
#include "backends/plan/analysis/LoadAnalysis.h"
#include "backends/plan/placement/PlaceDirectLoads.h"
#include "frontend/AST.h"
#include "ir/Products.h"
#include "ir/passes/Passes.h"
#include "ir/passes/SeparateLoads.h"
#include "ir/plan/Excess.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace tkc::planner {
namespace {

/// Keys that the GPU has nothing for, as in a schedule that was meant for another.
void refuseKeys(const ScheduleSettings &settings, const arch::Description &arch, DiagnosticEngine &diagnostics) {
  const auto refuse = [&](const std::string &key, bool has, double harmless, std::string_view lacks) {
    const auto found = settings.find(key);
    if (found != settings.end() && !has && found->second.number != harmless)
      diagnostics.report(Diag::key_means_nothing, found->second.range, key, arch.name, lacks);
  };
  refuse("cluster", arch.maxClusterSize > 1, 1, "clusters");
  refuse("cluster_across", arch.maxClusterSize > 1, 1, "clusters");
  refuse("split", arch.maxClusterSize > 1, 1, "clusters");
  refuse("split_in_block", arch.warpsPerGroup > 1, 1, "products of warpgroups");
  refuse("warpgroups", arch.warpsPerGroup > 1, 0, "products of warpgroups; `warps` says how many multiply");
  refuse("correction", arch.tensorMemoryColumns > 0, 0, "accumulators in tensor memory");
  refuse("claim_tiles", arch.hasTransactionBarriers, 0, "warps that load for others");
  refuse("two_cta", arch.hasPairedProducts, 0, "products of pairs of blocks");
  refuse("rescale_threshold", arch.tensorMemoryColumns > 0, 0,
         "accumulators in tensor memory that rescaling could skip");
  refuse("alternate", arch.directLoadBytes >= leastDirectBytes, 0,
         "loads of 16 bytes a thread straight to shared memory");
  refuse("late_copies", !arch.hasTransactionBarriers, 0, "warps that copy for themselves");
  refuse("load_ahead", arch.hasBulkTensorCopy, 0, "copy engine");
  refuse("bulk_stores", arch.hasBulkTensorCopy, 0, "copy engine");
  refuse("interleave",
         std::any_of(arch.matrixInstructions.begin(), arch.matrixInstructions.end(),
                     [](const auto &row) { return row.issuer == arch::Issuer::Wave; }),
         0, "products of waves");
  for (const char *key : {"producer_registers", "consumer_registers"})
    refuse(key, arch.hasRegisterReallocation, 0, "registers that change hands");
}

/// "; its schedules are for `hopper`" where a kernel has schedules, but none for this GPU.
std::string schedulesOfOthers(const KernelInfo &kernel, const arch::Description &arch) {
  const std::vector<std::string> names = arch.scheduleNames();
  std::vector<std::string> others;
  for (const ast::ScheduleDecl *schedule : kernel.schedules) {
    if (schedule->arch.text == "all" || std::find(names.begin(), names.end(), schedule->arch.text) != names.end())
      return "";
    if (const std::string quoted = "`" + schedule->arch.text + "`";
        std::find(others.begin(), others.end(), quoted) == others.end())
      others.push_back(quoted);
  }
  return others.empty() ? "" : fmt::format("; its schedules are for {} only", fmt::join(others, ", "));
}

/// Products of a warpgroup have 64 rows, however few of them exist. A right operand that is widened on its way would be
/// staged in shared memory; as a left one it stays in registers.
void turnProducts(ir::Function &function, const arch::Description &arch) {
  ir::turnProducts(function, [&](const ir::Op &product) {
    const arch::MatrixInstruction *instruction =
        arch.findMatrixInstruction(ir::factorOf(product, 0)->type.elem, ir::factorOf(product, 1)->type.elem);
    if (!instruction)
      return false;
    const ir::Op *right = throughTransposes(ir::factorOf(product, 1)).first->definingOp;
    if (right && right->kind == ir::OpKind::Load)
      return instruction->issuer == arch::Issuer::Warpgroup;
    return instruction->registerA && (instruction->aSpaces & arch::Registers) != 0 &&
           product.result()->type.cols % instruction->m == 0;
  });
}

/// Where products cannot be given the tiles that they share, with a tile for each.
std::unique_ptr<plan::Plan> planOrSeparate(ir::Function &function, const arch::Description &arch,
                                           const Schedule &schedule, DiagnosticEngine &diagnostics) {
  DiagnosticEngine first(diagnostics.sourceManager()), second(diagnostics.sourceManager());
  std::unique_ptr<plan::Plan> plan = planKernel(function, arch, schedule, first);
  if (!plan && !first.all().empty() && first.all().front().id == Diag::schedule_impossible && separateLoads(function))
    plan = planKernel(function, arch, schedule, second);
  if (!plan)
    for (const Diagnostic &diagnostic : first.all())
      diagnostics.append(diagnostic);
  return plan;
}

std::unique_ptr<plan::Plan> planOne(ElaboratedKernel &kernel, const PlanOptions &options, DiagnosticEngine &diagnostics,
                                    std::optional<double> &lacks) {
  const size_t errorsBefore = diagnostics.numErrors();
  Schedule schedule = readSchedule(kernel.schedule.settings, diagnostics);
  schedule.aligned = kernel.schedule.aligned != nullptr;
  refuseKeys(kernel.schedule.settings, *options.arch, diagnostics);
  const std::vector<std::string> &launched = options.launchedKernels;
  if (!schedule.earlyLaunch &&
      std::find(launched.begin(), launched.end(), kernel.kernel->signature.name) != launched.end())
    schedule.earlyLaunch = true;
  if (diagnostics.numErrors() > errorsBefore || !settleScales(*kernel.function, *options.arch, schedule, diagnostics) ||
      !settleRescaling(*kernel.function, *options.arch, schedule, diagnostics) ||
      (options.transform && !options.transform(*kernel.function)) ||
      // Twice: the passes are to see what becomes of a product that the GPU lacks, its masks among that; and whether
      // packed elements are masked where a loop ends, so that no copy brings them, is known after the passes alone.
      !settleScales(*kernel.function, *options.arch, schedule, diagnostics))
    return nullptr;
  turnProducts(*kernel.function, *options.arch);
  ir::loopBranches(*kernel.function);
  std::unique_ptr<plan::Plan> plan = planOrSeparate(*kernel.function, *options.arch, schedule, diagnostics);
  if (plan && schedule.aligned && plan->maps.empty()) {
    diagnostics.report(Diag::nothing_to_align, kernel.schedule.aligned->range, options.arch->name);
    return nullptr;
  }
  if (plan)
    instrument(*plan, options.instrument);
  if (plan && options.onPlanned)
    options.onPlanned(*plan);
  if (!plan || !options.verify)
    return plan;
  const std::vector<plan::Violation> violations = plan::verify(*plan, options.arch->budget());
  const auto bug = std::find_if(violations.begin(), violations.end(),
                                [](const plan::Violation &violation) { return !violation.overBudget; });
  if (bug != violations.end() && options.onUnsound)
    return options.onUnsound(*plan, *bug), nullptr;
  if (bug == violations.end() && !violations.empty())
    lacks = plan::excess(*plan, options.arch->budget());
  for (const plan::Violation &violation : violations)
    diagnostics.report(Diag::plan_refused, SourceRange{violation.loc, violation.loc},
                       violation.message + schedulesOfOthers(*kernel.kernel, *options.arch));
  return violations.empty() ? std::move(plan) : nullptr;
}

std::vector<PlannedKernel> planAll(const Module &module, std::vector<ElaboratedKernel> kernels,
                                   const PlanOptions &options, DiagnosticEngine &diagnostics) {
  std::vector<PlannedKernel> planned;
  Refusals refusals;
  for (ElaboratedKernel &kernel : kernels)
    if (std::unique_ptr<plan::Plan> plan =
            planToFit(module, kernel, options, planOne, diagnostics.sourceManager(), refusals))
      planned.push_back({kernel.kernel, std::move(kernel.specialization), std::move(kernel.schedule),
                         std::move(kernel.variant), std::move(plan)});
  refusals.report(diagnostics);
  return planned;
}

} // namespace

std::vector<PlannedKernel> planSpecialization(const Module &module, const KernelInfo &kernel,
                                              const Specialization &specialization, const PlanOptions &options,
                                              DiagnosticEngine &diagnostics) {
  return planAll(module, elaborateSpecialization(module, kernel, specialization, options, diagnostics), options,
                 diagnostics);
}

std::vector<PlannedKernel> planModule(const Module &module, const PlanOptions &options, DiagnosticEngine &diagnostics) {
  return planAll(module, elaborateModule(module, options, diagnostics), options, diagnostics);
}

} // namespace tkc::planner
