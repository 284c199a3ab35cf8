// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc explain FILE`: how long the cases of a file will take on a GPU, and why.
#include "backends/cost/Report.h"
#include "harness/Advice.h"
#include "harness/Call.h"
#include "harness/PredictedTimeline.h"
#include "tkc/Cases.h"
#include "tkc/CommandLine.h"
#include "tkc/Driver.h"
#include "tkc/Targets.h"

#include <algorithm>
#include <memory>
#include <set>

namespace tkc::driver {
namespace {

struct ExplainOptions {
  std::string input, arch = "sm_90a", filter, call, gantt;
  std::vector<std::string> scheduleFiles, sizes, settings;
  int64_t number = 0;
  bool asJson = false, advises = true, cleanCache = false;
};

class Explainer {
public:
  Explainer(const ExplainOptions &options, const arch::Description &target, const Module &module, Session &session)
      : plans(plansFor(target)), options(options), target(target), module(module), session(session) {}

  planner::PlanOptions plans;
  std::map<std::string, double> sizes;

  int run() {
    if (!options.call.empty()) {
      if (const int code = explainCall(); code != Success)
        return code;
    } else {
      for (const harness::Subject &subject : harness::subjectsOf(module))
        if (subject.signature->name.find(options.filter) != std::string::npos)
          explainSubject(subject);
    }
    if (count == 0 && !session.diagnostics.hasErrors()) {
      complain(options.number > 0 ? fmt::format("no kernel or program has a case number {}", options.number)
                                  : "this file has no case to explain");
      return InputErrors;
    }
    if (chart)
      if (const int code = writeOutput(options.gantt, options.gantt.ends_with(".json") ? timeline::toJson(*chart)
                                                                                       : timeline::toHtml(*chart));
          code != Success)
        return code;
    if (options.asJson)
      text = cost::formatJson(reports, target);
    return session.finishWith("-", text);
  }

private:
  /// Its benches, or the cases of what has none.
  void explainSubject(const harness::Subject &subject) {
    const auto &decls = subject.benches->empty() ? *subject.cases : *subject.benches;
    std::set<std::string> seen;
    for (size_t i = 0; i < decls.size(); ++i) {
      if (options.number > 0 && static_cast<size_t>(options.number) != i + 1)
        continue;
      const std::optional<harness::PreparedCase> prepared = harness::prepareCase(
          module, subject, *decls[i], i, {.sizes = sizes, .deviceMakesInputs = true}, session.diagnostics);
      if (prepared && seen.insert(prepared->description).second)
        explainCase(subject, *prepared);
    }
  }

  /// A call that no case describes.
  int explainCall() {
    std::optional<harness::NamedCall> named = harness::parseCall(options.call);
    if (!named) {
      complain(fmt::format("`--call {}` is not of the form NAME(TENSOR = TYPE[DIM, …], NUMBER = N, …)", options.call));
      return Usage;
    }
    const std::vector<harness::Subject> subjects = harness::subjectsOf(module);
    const auto subject = std::find_if(subjects.begin(), subjects.end(),
                                      [&](const auto &each) { return each.signature->name == named->name; });
    if (subject == subjects.end()) {
      complain(fmt::format("`{}` has no kernel or program `{}`", options.input, named->name));
      return Usage;
    }
    named->call.makesOutputs = true;
    harness::BoundCall bound = harness::bindCall(*subject->signature, std::move(named->call), session.sources);
    if (!bound.refusal.empty()) {
      complain(bound.refusal);
      return InputErrors;
    }
    bound.prepared.description = describe(bound.prepared);
    explainCase(*subject, bound.prepared);
    return Success;
  }

  /// As of a case.
  static std::string describe(const harness::PreparedCase &prepared) {
    std::string text;
    const auto add = [&](const std::string &name, const auto &value) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
    };
    for (const auto &[name, type] : prepared.specialization.typeArgs)
      add(name, spelling(type));
    for (const auto &[name, value] : prepared.arguments.symbols)
      add(name, value);
    for (const auto &[name, value] : prepared.specialization.constants)
      if (!prepared.arguments.symbols.count(name))
        add(name, value);
    for (const auto &[name, value] : prepared.arguments.scalars)
      add(name, value.str());
    return text;
  }

  void explainCase(const harness::Subject &subject, const harness::PreparedCase &prepared) {
    std::optional<harness::Prediction> prediction =
        harness::predict(module, subject, prepared, plans,
                         {.timeline = !options.gantt.empty(), .dirtyCache = !options.cleanCache}, session.diagnostics);
    if (!prediction)
      return;
    if (!options.gantt.empty() && count == 0)
      chart = harness::timelineOf(*prediction,
                                  fmt::format("{}, {}, {}", subject.signature->name, prepared.description, target.name),
                                  session.sources, module.files.front().buffer);
    cost::Report report{subject.signature->name, prepared.description, prediction->seconds,
                        prediction->operations,  prediction->bytes,    {}};
    for (const harness::PredictedStep &step : prediction->steps)
      report.steps.push_back({step.name, step.estimate, adviceOn(step, prepared)});
    if (count++ == 0)
      text += cost::heading(target);
    text += cost::format(report, target);
    reports.push_back(std::move(report));
  }

  std::optional<std::vector<std::pair<std::string, double>>> adviceOn(const harness::PredictedStep &step,
                                                                      const harness::PreparedCase &prepared) {
    if (!options.advises || !step.plan)
      return std::nullopt;
    std::vector<std::pair<std::string, double>> result;
    for (const harness::Advice &each : harness::adviseOn(module, step, plans, prepared.tunes, session.sources))
      result.emplace_back(fmt::format("{} = {}", each.key, each.value), each.seconds);
    return result;
  }

  const ExplainOptions &options;
  const arch::Description &target;
  const Module &module;
  Session &session;
  size_t count = 0;
  std::string text;
  std::optional<timeline::Timeline> chart; ///< of the first case
  std::vector<cost::Report> reports;
};

int runExplain(const ExplainOptions &options) {
  const arch::Description *target = findTarget(options.arch);
  const auto sizes = readNumbers("--size", options.sizes), settings = readNumbers("--set", options.settings);
  if (!target || !sizes || !settings)
    return Usage;
  Session session(false);
  const auto [module, inputCode] = readInput(options.input, options.scheduleFiles, session);
  if (!module)
    return inputCode;
  if (!sizesAreKnown(*module, *sizes))
    return Usage;
  Explainer explainer(options, *target, *module, session);
  explainer.sizes = *sizes;
  for (const auto &[name, value] : *settings)
    explainer.plans.overrides[name].number = value;
  return explainer.run();
}

constexpr const char *footer = R"x(Examples:
  tkc explain gemm.tk --filter gemm_nt              every bench of the kernel, on Hopper
  tkc explain gemm.tk --case 1 --size M=8192,N=8192,K=8192
  tkc explain gemm.tk --call "gemm(a = bf16[8192, 8192], b = bf16[8192, 8192])"
  tkc explain attention.tk --arch sm_100a --set BM=256   another GPU, another tile
  tkc explain attention.tk --case 2 --gantt block.html   what the roles of a block will do when
  tkc explain attention.tk --case 2 --json          for programs)x";

} // namespace

void addExplain(Command &app, Action &action) {
  auto options = std::make_shared<ExplainOptions>();
  Command *command = app.add_subcommand("explain", "say how long the cases of a file will take on a GPU, and why");
  command->footer(footer);
  command->add_option("FILE", options->input, "a .tk file")->required()->type_name("");
  command->add_option("--arch", options->arch, "the GPU, or its family")->type_name("ARCH")->capture_default_str();
  command->add_option("--filter", options->filter, "only kernels and programs whose name contains TEXT")
      ->type_name("TEXT");
  command->add_option("--case", options->number, "only the Nth bench of each, or the Nth case of what has no bench")
      ->type_name("N")
      ->range(1, 1 << 20, false);
  command
      ->add_option("--call", options->call,
                   "this call instead of benches, as in `gemm(a = bf16[128, 64], b = bf16[64, 256])`; outputs follow")
      ->type_name("CALL")
      ->excludes("--filter")
      ->excludes("--case");
  addSizeOption(*command, options->sizes);
  command->add_option("--set", options->settings, "sets a tune or a schedule's key, as in BM=64; may be repeated")
      ->type_name("KEY=N");
  command->add_option("--schedules", options->scheduleFiles, "a .tks file with more schedules; may be repeated")
      ->type_name("FILE");
  command
      ->add_option("--gantt", options->gantt,
                   "draw what a block of the first case will do when, for a browser, or as JSON, which "
                   "`tkc profile --predicted` shows below what it measures")
      ->type_name("OUT.html|OUT.json");
  command->add_flag(
      "--clean-cache", options->cleanCache,
      "L2 holds nothing that is yet to be written when a kernel starts; else others' writes, as between the "
      "calls of `tkc bench`");
  command->add_flag("--json", options->asJson, "for programs");
  command->add_flag_callback(
      "--no-advice", [options] { options->advises = false; }, "do not look for better schedules");
  command->callback([&action, options] { action = [options] { return runExplain(*options); }; });
}

} // namespace tkc::driver
