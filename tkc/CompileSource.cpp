// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A .tk file, as far down as --emit asks.
#include "backends/emit/Emit.h"
#include "backends/emit/host/FfiFunctions.h"
#include "backends/emit/host/Launcher.h"
#include "backends/plan/ElaborateModule.h"
#include "backends/plan/Explain.h"
#include "backends/plan/PlanModule.h"
#include "frontend/ASTPrinter.h"
#include "frontend/HeaderReader.h"
#include "frontend/Parser.h"
#include "frontend/Program.h"
#include "support/NearestName.h"
#include "tkc/Compile.h"
#include "tkc/Signatures.h"
#include "tkc/TargetDiagnostics.h"
#include "tkc/Targets.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/ranges.h>
#include <set>
#include <utility>

#include <llvm/ADT/StringRef.h>

namespace tkc::driver {
namespace {

/// The values of --set. Complains and returns nothing where one is not KEY=VALUE.
std::optional<ScheduleSettings> parseSettings(const std::vector<std::string> &texts) {
  ScheduleSettings settings;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      complain(fmt::format("--set wants KEY=VALUE, not `{}`", text));
      return std::nullopt;
    }
    std::string word = text.substr(equals + 1);
    ScheduleValue &value = settings[text.substr(0, equals)] = {};
    if (word == "true" || word == "false")
      value.number = word == "true";
    else if (llvm::StringRef(word).getAsDouble(value.number))
      value.name = word;
  }
  return settings;
}

int emitAst(const CompileOptions &options, Session &session) {
  std::optional<uint32_t> buffer = session.addFile(options.input);
  if (!buffer)
    return CannotReadInput;
  ast::File file = parse(*buffer, session.diagnostics);
  return session.finishWith(options.output, dump(file));
}

/// GPUs to compile for, as `--arch` says.
using Targets = std::vector<const arch::Description *>;

std::vector<std::string> namesOf(const Targets &targets) {
  std::vector<std::string> names;
  for (const arch::Description *target : targets)
    names.push_back(target->name);
  return names;
}

/// `isSound` becomes false where a pass broke the IR, which was reported.
std::string tileText(const Module &module, const Targets &targets, planner::PlanOptions options, PassRunner &runner,
                     Session &session, bool &isSound) {
  TargetDiagnostics diagnostics(session.diagnostics, targets);
  std::string text;
  for (const arch::Description *target : targets) {
    if (targets.size() > 1)
      text += fmt::format("// {}\n", target->name);
    options.arch = target;
    for (const planner::ElaboratedKernel &kernel : planner::elaborateModule(module, options, diagnostics.of(*target))) {
      isSound = isSound && runner.run(*kernel.function);
      text += ir::print(*kernel.function);
    }
  }
  diagnostics.finish();
  return text;
}

/// Every specialisation of the programs that the main file declares, or of those that `names` has if it has any. With
/// `choices`, which specialisations are left is taken out of them.
std::vector<std::unique_ptr<ProgramPlan>> planPrograms(const Module &module, const std::vector<std::string> &names,
                                                       DiagnosticEngine &diagnostics,
                                                       ScheduleSettings *choices = nullptr) {
  ScheduleSettings left = choices ? *choices : ScheduleSettings();
  std::vector<std::unique_ptr<ProgramPlan>> plans;
  for (size_t i = 0; i < module.numMainPrograms; ++i) {
    const ProgramInfo &program = *module.programs[i];
    if (!names.empty() && std::find(names.begin(), names.end(), program.signature.name) == names.end())
      continue;
    for (const Specialization &specialization : specializations(program.signature, program.cases)) {
      ScheduleSettings settings = choices ? *choices : ScheduleSettings();
      const bool isChosen = planner::takeChoice(specialization, settings);
      std::erase_if(left, [&](const auto &setting) { return settings.count(setting.first) == 0; });
      if (!isChosen)
        continue;
      if (std::unique_ptr<ProgramPlan> plan = planProgram(module, program, specialization, diagnostics))
        plans.push_back(std::move(plan));
    }
  }
  if (choices)
    *choices = std::move(left);
  return plans;
}

/// Whether each of `names` is a program of the main file.
bool arePrograms(const std::vector<std::string> &names, const Module &module) {
  return std::all_of(names.begin(), names.end(), [&](const std::string &name) { return module.findProgram(name); });
}

bool isLaunched(const std::vector<std::unique_ptr<ProgramPlan>> &plans, const KernelInfo &kernel,
                const Specialization &specialization) {
  for (const std::unique_ptr<ProgramPlan> &plan : plans)
    for (const ProgramStep &step : plan->steps)
      if (const auto *launch = std::get_if<LaunchStep>(&step);
          launch && launch->kernel == &kernel && launch->specialization == specialization)
        return true;
  return false;
}

std::vector<std::string> launchedKernels(const std::vector<std::unique_ptr<ProgramPlan>> &plans) {
  std::vector<std::string> names;
  for (const std::unique_ptr<ProgramPlan> &plan : plans)
    for (const ProgramStep &step : plan->steps)
      if (const auto *launch = std::get_if<LaunchStep>(&step))
        names.push_back(launch->kernel->signature.name);
  return names;
}

/// `header` is what --header writes.
std::string plannedText(const CompileOptions &compile, const Module &module, const Targets &targets,
                        planner::PlanOptions options, PassRunner &runner, Session &session, bool &isSound,
                        std::string &header) {
  options.transform = [&](ir::Function &function) { return isSound = isSound && runner.run(function); };
  options.onUnsound = [&](const plan::Plan &plan, const plan::Violation &violation) {
    if (isSound) // the first tells enough
      reportUnsound(plan, violation);
    isSound = false;
  };
  if (compile.debugBug == DebugBug::Plan || compile.debugBug == DebugBug::Attempt)
    options.onPlanned = [isNext = compile.debugBug == DebugBug::Plan](plan::Plan &plan) mutable {
      if (!std::exchange(isNext, true))
        return;
      plan::append(plan.roles.front().body, plan::Arrive{.at = {"nothing", ""}}, {});
    };
  // Types, dims and consts of a program have names of their own: kernels are compiled for what it launches.
  const bool onlyPrograms = !compile.kernels.empty() && arePrograms(compile.kernels, module);
  const std::vector<std::unique_ptr<ProgramPlan>> programs =
      planPrograms(module, compile.kernels, session.diagnostics, onlyPrograms ? &options.overrides : nullptr);
  if (onlyPrograms)
    options.leavesOut = [&](const KernelInfo &kernel, const Specialization &specialization) {
      return !isLaunched(programs, kernel, specialization);
    };
  options.launchedKernels = launchedKernels(programs);
  if (!compile.kernels.empty()) // with a program, what it launches
    options.onlyKernels.insert(options.onlyKernels.end(), options.launchedKernels.begin(),
                               options.launchedKernels.end());
  std::vector<planner::PlannedKernel> kernels;
  TargetDiagnostics diagnostics(session.diagnostics, targets);
  for (const arch::Description *target : targets) {
    options.arch = target;
    for (planner::PlannedKernel &kernel : planner::planModule(module, options, diagnostics.of(*target)))
      kernels.push_back(std::move(kernel));
  }
  diagnostics.finish();
  if (session.diagnostics.hasErrors())
    return {};
  if (!compile.header.empty())
    header = cuda::printHeader(kernels, programs, session.sources);
  if (compile.emit == Emit::Header)
    return cuda::printHeader(kernels, programs, session.sources);
  if (compile.emit == Emit::Ffi)
    return cuda::printFfiFunctions(module, kernels, programs, session.sources);
  if (compile.emit == Emit::Cuda)
    return cuda::emitCuda(module, kernels, programs, session.sources, {.standalone = compile.standalone});
  std::string text;
  if (compile.emit == Emit::Explanation) {
    for (const planner::PlannedKernel &kernel : kernels)
      text += planner::explain(*kernel.plan, *arch::find(kernel.plan->arch), session.sources);
    return text;
  }
  for (const planner::PlannedKernel &kernel : kernels)
    text += plan::print(*kernel.plan, &session.sources);
  return text;
}

/// What each specialisation of the file's own programs does, which also checks them.
std::string programText(const Module &module, DiagnosticEngine &diagnostics) {
  std::string text;
  for (const std::unique_ptr<ProgramPlan> &plan : planPrograms(module, {}, diagnostics))
    text += print(*plan);
  return text;
}

/// A rule for make: the output depends on every file that was read.
int writeDependencies(const CompileOptions &options, const SourceManager &sources) {
  auto escaped = [](std::string_view path) {
    std::string result;
    for (char c : path)
      result += c == ' ' || c == '#' ? std::string("\\") + c : c == '$' ? "$$" : std::string(1, c);
    return result;
  };
  std::string text = escaped(options.output) + ":";
  for (uint32_t buffer = 1; buffer <= sources.numBuffers(); ++buffer)
    text += " \\\n  " + escaped(sources.name(buffer));
  return writeOutput(options.dependencyFile.empty() ? options.output + ".d" : options.dependencyFile, text + "\n");
}

/// Whether the file has what each `--kernel` names.
bool kernelsExist(const CompileOptions &options, const Module &module) {
  std::vector<std::string> known;
  for (const auto &kernel : module.kernels)
    known.push_back(kernel->signature.name);
  for (const auto &program : module.programs)
    known.push_back(program->signature.name);
  for (const std::string &name : options.kernels) {
    if (std::find(known.begin(), known.end(), name) != known.end())
      continue;
    const std::optional<std::string> near = nearestName(name, known);
    complain(fmt::format("`{}` has no kernel `{}`{}", options.input, name,
                         near ? fmt::format("; did you mean `{}`?", *near) : ""));
    return false;
  }
  return true;
}

/// Whether somebody can be given each type, dim or const that `--set` chooses; nothing would be compiled else.
bool choicesExist(const CompileOptions &options, const Module &module, const ScheduleSettings &settings) {
  std::map<std::string, std::set<std::string>> choices;
  const auto add = [&](const auto &info) {
    for (const Specialization &specialization : specializations(info.signature, info.cases)) {
      for (const auto &[name, type] : specialization.typeArgs)
        choices[name].insert(std::string(spelling(type)));
      for (const auto &[name, value] : specialization.constants)
        choices[name].insert(std::to_string(value));
    }
  };
  for (const auto &kernel : module.kernels)
    add(*kernel);
  for (const auto &program : module.programs)
    add(*program);
  for (const auto &[name, value] : settings) {
    const auto found = choices.find(name);
    const std::string chosen = value.name.empty() ? fmt::format("{}", value.number) : value.name;
    if (found == choices.end() || found->second.count(chosen))
      continue;
    complain(fmt::format("no kernel of `{}` is for {} = {}: they are for {}", options.input, name, chosen,
                         fmt::join(found->second, ", ")));
    return false;
  }
  return true;
}

/// Whether each file of `--schedules` has a schedule for one of the targets, unless it has none at all.
bool schedulesFit(const CompileOptions &options, const Module &module, const Targets &targets,
                  const SourceManager &sources) {
  for (const std::string &file : options.scheduleFiles) {
    std::set<std::string> others;
    bool fits = false;
    for (const auto &kernel : module.kernels)
      for (const ast::ScheduleDecl *schedule : kernel->schedules) {
        if (sources.name(schedule->arch.range.begin.buffer) != file)
          continue;
        others.insert("`" + schedule->arch.text + "`");
        for (const arch::Description *target : targets) {
          const std::vector<std::string> names = target->scheduleNames();
          fits |=
              schedule->arch.text == "all" || std::find(names.begin(), names.end(), schedule->arch.text) != names.end();
        }
      }
    if (fits || others.empty())
      continue;
    complain(fmt::format("no schedule of `{}` is for `{}`: they are for {}", file, fmt::join(namesOf(targets), "`, `"),
                         fmt::join(others, ", ")));
    return false;
  }
  return true;
}

} // namespace

int compileSource(const CompileOptions &options) {
  Session session(options.verifyDiagnostics);
  if (options.emit == Emit::Ast)
    return emitAst(options, session);

  planner::PlanOptions planOptions;
  const bool isHip = options.output.ends_with(".hip");
  const Targets targets = findTargets(options.arch, isHip ? arch::Language::Hip : arch::Language::Cuda);
  if (targets.empty() || (options.emit == Emit::Cuda && !goIntoOneFile(targets)))
    return Usage;
  std::optional<ScheduleSettings> settings = parseSettings(options.settings);
  if (!settings || !passNamesAreKnown(options))
    return Usage;
  planOptions.overrides = std::move(*settings);
  planOptions.onlyKernels = options.kernels;
  planOptions.instrument = options.instrument ? planner::Instrumentation::Light : planner::Instrumentation::None;

  std::unique_ptr<Module> module =
      loadModule(options.input, options.scheduleFiles, session.sources, session.diagnostics);
  if (!module->externs.empty())
    checkExternFunctions(*module, {"/usr/local/cuda/include"}, session.diagnostics);
  if (!session.diagnostics.hasErrors() &&
      (!kernelsExist(options, *module) || !choicesExist(options, *module, planOptions.overrides) ||
       !schedulesFit(options, *module, targets, session.sources)))
    return Usage;
  if (options.debugBug == DebugBug::Crash)
    std::abort();
  PassRunner runner(options, session.sources);
  const bool stopsEarly = options.emit == Emit::Tile || !options.stopAfter.empty();
  bool isSound = true;
  std::string text = programText(*module, session.diagnostics), header;
  if (options.emit == Emit::Signatures)
    text = printSignatures(*module, session.sources);
  else if (options.emit != Emit::Program)
    text = stopsEarly ? tileText(*module, targets, planOptions, runner, session, isSound)
                      : plannedText(options, *module, targets, planOptions, runner, session, isSound, header);
  if (!isSound) {
    session.finish();
    return InternalError;
  }
  runner.finish();
  int code = session.finishWith(options.output, text);
  if (code == Success && !header.empty())
    code = writeOutput(options.header, header);
  return code == Success && options.writeDependencies ? writeDependencies(options, session.sources) : code;
}

} // namespace tkc::driver
