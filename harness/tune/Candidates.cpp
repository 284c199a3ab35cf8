// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/tune/Candidates.h"

#include "backends/cost/Cost.h"
#include "backends/emit/Emit.h"
#include "backends/emit/Standalone.h"
#include "backends/emit/kernel/Types.h"
#include "backends/targets/Dialect.h"
#include "frontend/Program.h"
#include "harness/Predict.h"
#include "ir/plan/PlanIR.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/MD5.h>

namespace tkc::tune {
namespace {

/// Lines that are comments say where in the source something stands, and what a schedule was called.
std::string withoutComments(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t start = line.find_first_not_of(' ');
    if (start != std::string_view::npos && line.substr(start, 2) != "//")
      (result += line) += '\n';
  }
  return result;
}

/// The plan without the values of its tunes, which stand in its first line.
std::string identityOf(const plan::Plan &plan) {
  const std::string text = plan::print(plan);
  const size_t from = text.find('{'), to = text.find('}');
  return text.substr(0, from) + text.substr(std::min(to, text.size()));
}

} // namespace

std::string contentHash(std::string_view text) {
  return llvm::MD5::hash({reinterpret_cast<const uint8_t *>(text.data()), text.size()}).digest().substr(0, 16).str();
}

Candidates::Candidates(const Module &module, const Work &work, planner::PlanOptions options,
                       const SourceManager &sources)
    : module(module), work(work), plans(std::move(options)), sources(sources) {}

std::vector<planner::PlannedKernel> Candidates::planWith(const Settings &settings, DiagnosticEngine &diagnostics) {
  planner::PlanOptions options = plans;
  options.fit = false; // the candidate is these settings and no others
  for (const auto &[name, value] : settings)
    options.overrides[name].number = static_cast<double>(value);
  return planner::planSpecialization(module, work.bare, work.specialization, options, diagnostics);
}

const Candidate &Candidates::plan(const Settings &settings) {
  const auto [found, isNew] = known.try_emplace(settings);
  Candidate &candidate = found->second;
  if (!isNew)
    return candidate;
  candidate.settings = settings;
  DiagnosticEngine diagnostics(sources);
  const std::vector<planner::PlannedKernel> planned = planWith(settings, diagnostics);
  if (planned.empty() || diagnostics.hasErrors()) {
    candidate.refusal = diagnostics.hasErrors() ? diagnostics.all().front().message : "there is no plan";
    return candidate;
  }
  const plan::Plan &plan = *planned.front().plan;
  const auto [first, isFirst] = byPlan.try_emplace(contentHash(identityOf(plan)), &candidate);
  if (!isFirst)
    candidate.sameAs = first->second;
  else
    for (const Shape &shape : work.shapes)
      candidate.predictedSeconds.push_back(
          cost::estimate(plan, *plans.arch, harness::shapeOf(shape.prepared.arguments)).seconds);
  return candidate;
}

std::string Candidates::emit(const Settings &settings) {
  DiagnosticEngine diagnostics(sources);
  return emit(planWith(settings, diagnostics));
}

std::string Candidates::emitDefault() {
  DiagnosticEngine diagnostics(sources);
  return emit(planner::planSpecialization(module, *work.kernel, work.specialization, plans, diagnostics));
}

std::string Candidates::emit(const std::vector<planner::PlannedKernel> &kernels) const {
  if (kernels.empty())
    return {};
  const Signature &signature = work.kernel->signature;
  std::vector<std::string> arguments;
  for (const std::string &name : signature.order) {
    const auto &constants = work.specialization.constants;
    const auto constant =
        std::find_if(constants.begin(), constants.end(), [&](const auto &known) { return known.first == name; });
    const auto param = std::find_if(signature.params.begin(), signature.params.end(),
                                    [&](const ir::Param &known) { return known.name == name; });
    if (constant != constants.end())
      arguments.push_back(std::to_string(constant->second));
    else if (param != signature.params.end())
      arguments.push_back(fmt::format("data.{}(\"{}\")", param->isTensor ? "tensor" : "scalar", name));
    else
      arguments.push_back("0");
  }
  arguments.emplace_back("stream");
  return cuda::emitCuda(module, kernels, {}, sources, {}) +
         fmt::format("\n#include \"tk/host/candidate.h\"\n\n"
                     "tk_status tk_candidate(const tk::tune::arguments &data, {} *stream) {{\n  return {}({});\n}}\n",
                     cuda::dialectOf(plans.arch->name).stream, cuda::entryName(signature.name),
                     fmt::join(arguments, ", "));
}

std::string Candidates::codeOf(const std::string &emitted, const arch::Description &target) {
  return contentHash(withoutComments(cuda::inlineRuntime(emitted, cuda::dialectOf(target.name))));
}

} // namespace tkc::tune
