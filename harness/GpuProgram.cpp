// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/GpuProgram.h"

#include "backends/cpp/Cpp.h"
#include "backends/emit/Emit.h"
#include "backends/emit/Standalone.h"
#include "backends/emit/kernel/Types.h"
#include "harness/CaseData.h"
#include "harness/Expected.h"
#include "harness/Operations.h"
#include "harness/Predict.h"
#include "harness/Profile.h"
#include "harness/Programs.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <llvm/Support/JSON.h>
#include <set>

namespace tkc::harness {
namespace {

std::string quoted(std::string_view text) { return cpp::print(cpp::string(text)); }

/// Which of a kernel's schedules a case is checked with.
struct Turn {
  size_t schedule; ///< its number
  bool isServed;   ///< the case meets its conditions, so that the launcher might choose it, too
  friend bool operator==(const Turn &, const Turn &) = default;
};

struct NeededKernel {
  const KernelInfo *kernel;
  const Specialization *specialization;
};

/// A specialisation that the GPU cannot have.
struct Refused {
  const KernelInfo *kernel;
  Specialization specialization;
  std::string why;
};

/// The cases that set the same tunes, and are checked with the same schedule. Their kernels are compiled together: with
/// others the same kernel is another function, in another namespace.
struct Group {
  std::map<std::string, int64_t> tunes;
  std::optional<Turn> turn; ///< of the schedule that serves every call; not set: as the launcher chooses
  bool isTraced;            ///< its kernels record what their roles do when
  std::string scope;        ///< empty for the first
  std::vector<planner::PlannedKernel> kernels;
  std::vector<Refused> refused;
  std::vector<std::unique_ptr<ProgramPlan>> programs;
};

/// A case on its way into the program.
struct Entry {
  Subject subject;
  PreparedCase prepared;
  size_t number;         ///< in GpuProgram::cases
  bool isTraced = false; ///< the instrumented call of the same case
  Group *group = nullptr;
  ProgramPlan *program = nullptr; ///< of a program's case, in the group
};

/// Words that instrumented kernels store at once: each in a namespace of its own, to be compared.
constexpr int recordWidths[] = {2, 4};

class Maker {
public:
  Maker(const Module &module, const planner::PlanOptions &plans, const RunOptions &options, GpuPurpose purpose,
        const SourceManager &sources, DiagnosticEngine &diagnostics)
      : module(module), plans(plans), options(options), purpose(purpose), sources(sources), diagnostics(diagnostics) {}

  GpuProgram run() {
    for (const Subject &subject : chosenSubjects())
      if (!isProfile(purpose) || program.cases.empty())
        addCases(subject);
    for (Entry &entry : entries)
      attempt(entry, [&] { return planProgramOf(entry); });
    for (Entry &entry : entries)
      if (program.cases[entry.number].message.empty())
        attempt(entry, [&] { return finish(entry); });
    for (const auto &group : groups)
      dropUnplanned(*group);
    if (purpose == GpuPurpose::Test)
      planOthers();
    program.runs = !rows.empty();
    program.source = cuda::inlineRuntime(source(), cuda::dialectOf(plans.arch->name));
    return std::move(program);
  }

private:
  // ---- cases -------------------------------------------------------------------------------------------------------

  /// What is profiled may be named in full.
  std::vector<Subject> chosenSubjects() const {
    std::vector<Subject> chosen, exact;
    for (const Subject &subject : subjectsOf(module)) {
      if (subject.signature->name.find(options.filter) != std::string::npos)
        chosen.push_back(subject);
      if (subject.signature->name == options.filter)
        exact.push_back(subject);
    }
    return isProfile(purpose) && !exact.empty() ? exact : chosen;
  }

  /// To be timed are the file's benches, or the cases of what has none. Sizes from outside can make two of them one.
  void addCases(const Subject &subject) {
    const CaseOptions how{options.seed, options.sizes, /*deviceMakesInputs=*/isBench(purpose)};
    const auto &decls = isBench(purpose) && !subject.benches->empty() ? *subject.benches : *subject.cases;
    std::set<std::string> seen;
    for (size_t i = 0; i < decls.size(); ++i) {
      if (!options.takesCase(i, decls.size()))
        continue;
      const size_t errorsBefore = diagnostics.numErrors();
      std::optional<PreparedCase> prepared = prepareCase(module, subject, *decls[i], i, how, diagnostics);
      if (prepared && !options.sizes.empty() && !seen.insert(prepared->description).second)
        continue;
      CaseResult result;
      result.kernel = subject.signature->name;
      result.how = "gpu";
      if (prepared)
        result.description = prepared->description;
      else
        result.message =
            diagnostics.numErrors() > errorsBefore ? diagnostics.all().back().message : "the case cannot be prepared";
      const size_t number = program.cases.size();
      if (prepared && isProfile(purpose)) {
        entries.push_back({subject, *prepared, number});
        entries.push_back({subject, std::move(*prepared), number, /*isTraced=*/true});
      } else if (prepared) {
        entries.push_back({subject, std::move(*prepared), number});
      }
      program.cases.push_back(std::move(result));
      program.bytes.push_back(0);
      program.operations.push_back(0);
      if (isProfile(purpose))
        return;
    }
  }

  /// A step towards a case in the program. What it says, or an error that was reported, is why the case failed.
  template <class Step> void attempt(const Entry &entry, Step step) {
    const size_t errorsBefore = diagnostics.numErrors();
    std::string &message = program.cases[entry.number].message;
    message = step();
    if (diagnostics.numErrors() > errorsBefore)
      message = diagnostics.all().back().message;
  }

  /// Where several schedules may serve calls of a kernel, any has to be right for any call: its cases take turns, as
  /// small as they are.
  std::optional<Turn> turnOf(const Entry &entry, const std::map<std::string, int64_t> &tunes) const {
    if (purpose != GpuPurpose::Test || !entry.subject.kernel || !tunes.empty())
      return std::nullopt;
    const Specialization &specialization = entry.prepared.specialization;
    const std::vector<ChosenSchedule> schedules =
        findSchedules(entry.subject.kernel->schedules, plans.arch->scheduleNames(), specialization);
    const size_t number = entry.number % schedules.size();
    if (schedules.size() == 1)
      return std::nullopt;
    return Turn{number, serves(schedules[number], specialization, entry.prepared.arguments)};
  }

  Group &groupOf(const Entry &entry) {
    std::map<std::string, int64_t> tunes = options.tunes;
    for (const auto &[name, value] : entry.prepared.tunes)
      tunes.try_emplace(name, value);
    const std::optional<Turn> turn = turnOf(entry, tunes);
    for (const auto &group : groups)
      if (group->tunes == tunes && group->turn == turn && group->isTraced == entry.isTraced)
        return *group;
    const bool isFirst = tunes == options.tunes && !turn && !entry.isTraced;
    groups.push_back(std::make_unique<Group>());
    groups.back()->isTraced = entry.isTraced;
    groups.back()->tunes = std::move(tunes);
    groups.back()->turn = turn;
    if (!isFirst)
      groups.back()->scope = entry.isTraced ? "instrumented" : fmt::format("tuned_{}", groups.size());
    return *groups.back();
  }

  /// Programs are planned before any kernel: what they launch is compiled to be launched early.
  std::string planProgramOf(Entry &entry) {
    entry.group = &groupOf(entry);
    if (!entry.subject.program)
      return {};
    std::vector<std::unique_ptr<ProgramPlan>> &known = entry.group->programs;
    for (const auto &plan : known)
      if (plan->program == entry.subject.program && plan->specialization == entry.prepared.specialization)
        entry.program = plan.get();
    if (entry.program)
      return {};
    std::unique_ptr<ProgramPlan> plan =
        planProgram(module, *entry.subject.program, entry.prepared.specialization, diagnostics);
    if (!plan)
      return "the program cannot be planned";
    entry.program = plan.get();
    for (const LaunchStep *launch : launchesOf(*plan))
      launched.push_back(launch->kernel->signature.name);
    known.push_back(std::move(plan));
    return {};
  }

  // ---- kernels -----------------------------------------------------------------------------------------------------

  static std::vector<NeededKernel> kernelsOf(const Entry &entry) {
    if (!entry.program)
      return {{entry.subject.kernel, &entry.prepared.specialization}};
    std::vector<NeededKernel> needed;
    for (const LaunchStep *launch : launchesOf(*entry.program))
      needed.push_back({launch->kernel, &launch->specialization});
    return needed;
  }

  planner::PlanOptions optionsFor(const KernelInfo &kernel, const Group &group) const {
    planner::PlanOptions result = plans;
    result.launchedKernels = launched;
    if (!group.isTraced)
      result.instrument = planner::Instrumentation::None;
    result.forEveryCall = group.turn && !group.turn->isServed;
    result.inOrder = group.turn.has_value();
    return harness::optionsFor(kernel, result, group.tunes);
  }

  static bool isPlanned(const NeededKernel &needed, const Group &group) {
    return std::any_of(group.kernels.begin(), group.kernels.end(), [&](const planner::PlannedKernel &known) {
      return known.kernel == needed.kernel && known.specialization == *needed.specialization;
    });
  }

  /// Empty, or why there is no plan, which is told of once however many cases ask for it. `elaborated` is what the
  /// schedules make of it.
  std::string plan(const NeededKernel &needed, Group &group, const std::vector<planner::ElaboratedKernel> &elaborated) {
    for (const Refused &refused : group.refused)
      if (refused.kernel == needed.kernel && refused.specialization == *needed.specialization)
        return refused.why;
    if (isPlanned(needed, group))
      return {};
    DiagnosticEngine said(sources);
    std::vector<planner::PlannedKernel> planned = planner::planSpecialization(
        module, *needed.kernel, *needed.specialization, optionsFor(*needed.kernel, group), said);
    for (const Diagnostic &diagnostic : said.all())
      diagnostics.append(diagnostic);
    if (keep(planned, group, elaborated))
      return {};
    const auto error = std::find_if(said.all().begin(), said.all().end(),
                                    [](const Diagnostic &it) { return it.severity == Severity::Error; });
    std::string why = error == said.all().end() ? "there is no plan for a kernel of it" : error->message;
    group.refused.push_back({needed.kernel, *needed.specialization, why});
    return why;
  }

  /// What the cases of the group run. False where one of these was refused.
  static bool keep(std::vector<planner::PlannedKernel> &planned, Group &group,
                   const std::vector<planner::ElaboratedKernel> &elaborated) {
    const auto find = [&](const planner::ElaboratedKernel &of) {
      return std::find_if(planned.begin(), planned.end(),
                          [&](const planner::PlannedKernel &it) { return it.variant == of.variant; });
    };
    std::vector<std::vector<planner::PlannedKernel>::iterator> wanted;
    for (size_t i = 0; i < elaborated.size(); ++i)
      if (!group.turn || group.turn->schedule == i)
        wanted.push_back(find(elaborated[i]));
    // What is not aligned goes to the last, which serves every call.
    if (group.turn && wanted.front() != planned.end() && wanted.front()->plan->aligned)
      wanted.push_back(find(elaborated.back()));
    if (std::find(wanted.begin(), wanted.end(), planned.end()) != wanted.end())
      return false;
    for (const auto each : wanted)
      group.kernels.push_back(std::move(*each));
    return true;
  }

  /// What no case asks for, and a file would have: whether there is a plan for it.
  void planOthers() {
    DiagnosticEngine said(sources);
    for (const Subject &subject : chosenSubjects())
      if (subject.kernel) {
        planner::PlanOptions others = harness::optionsFor(*subject.kernel, plans, options.tunes);
        others.launchedKernels = launched;
        others.onlyKernels = {subject.signature->name};
        others.leavesOut = [&](const KernelInfo &kernel, const Specialization &of) { return wasPlanned(kernel, of); };
        planner::planModule(module, others, said);
      }
    for (const Diagnostic &diagnostic : said.all())
      diagnostics.append(diagnostic);
  }

  /// For a case, or refused.
  bool wasPlanned(const KernelInfo &kernel, const Specialization &specialization) const {
    return std::any_of(groups.begin(), groups.end(), [&](const auto &group) {
      const auto isThis = [&](const auto &it) { return it.kernel == &kernel && it.specialization == specialization; };
      return group->tunes == options.tunes && (std::any_of(group->kernels.begin(), group->kernels.end(), isThis) ||
                                               std::any_of(group->refused.begin(), group->refused.end(), isThis));
    });
  }

  /// Programs that launch a kernel that this GPU cannot have: their cases have failed, those of others go on.
  static void dropUnplanned(Group &group) {
    std::erase_if(group.programs, [&](const std::unique_ptr<ProgramPlan> &program) {
      const std::vector<const LaunchStep *> launches = launchesOf(*program);
      return !std::all_of(launches.begin(), launches.end(), [&](const LaunchStep *launch) {
        return isPlanned({launch->kernel, &launch->specialization}, group);
      });
    });
  }

  /// The arguments of the `index`th kernel that a case launches.
  static CallArguments callOf(const Entry &entry, size_t index) {
    const CallArguments &arguments = entry.prepared.arguments;
    return entry.program ? harness::callOf(*launchesOf(*entry.program)[index], arguments) : arguments;
  }

  static planner::ElaboratedKernel &servingOf(std::vector<planner::ElaboratedKernel> &elaborated, const Entry &entry,
                                              size_t index) {
    if (entry.group->turn)
      return elaborated[entry.group->turn->schedule];
    std::vector<ScheduleTerms> schedules;
    for (const planner::ElaboratedKernel &kernel : elaborated)
      schedules.push_back(kernel.schedule);
    const auto suits = [](size_t) { return true; };
    return elaborated[*takenOf(schedules, elaborated.front().specialization, callOf(entry, index), suits)];
  }

  // ---- the program -------------------------------------------------------------------------------------------------

  std::string finish(Entry &entry) {
    std::vector<std::unique_ptr<ir::Function>> functions;
    for (const NeededKernel &needed : kernelsOf(entry)) {
      std::vector<planner::ElaboratedKernel> elaborated = planner::elaborateSpecialization(
          module, *needed.kernel, *needed.specialization, optionsFor(*needed.kernel, *entry.group), diagnostics);
      if (elaborated.empty())
        return "there is no plan for a kernel of it";
      if (std::string why = plan(needed, *entry.group, elaborated); !why.empty())
        return why;
      functions.push_back(std::move(servingOf(elaborated, entry, functions.size()).function));
    }
    if (entry.isTraced) {
      for (const int words : recordWidths)
        calls += call(entry, words);
      program.files[fmt::format("{}.events", entry.number)] =
          describeEvents(entry.prepared.signature->name + ", " + entry.prepared.description + ", " + plans.arch->name,
                         entry.group->kernels, sources, module.files.front().buffer);
      rows.back().traced = fmt::format("{{traced_{0}_by_2, traced_{0}_by_4}}", entry.number);
      return {};
    }
    std::optional<Expected> expected = Expected();
    if (!isBench(purpose))
      expected = expect(entry, functions);
    count(entry, functions);
    if (!expected)
      return "the reference cannot be evaluated";
    const std::string file = fmt::format("{}.case", entry.number);
    program.files[file] = encodeCase(entry.prepared, *expected);
    calls += call(entry);
    rows.push_back({fmt::format("{}, {}, {}, {}, call_{}", entry.number, quoted(entry.prepared.signature->name),
                                quoted(entry.prepared.description), quoted(file), entry.number),
                    ""});
    return {};
  }

  std::optional<Expected> expect(const Entry &entry, const std::vector<std::unique_ptr<ir::Function>> &functions) {
    std::vector<const ir::Function *> all;
    for (const auto &function : functions)
      all.push_back(function.get());
    const std::vector<ElemType> between = entry.program ? workspaceTypes(*entry.program) : std::vector<ElemType>();
    std::optional<Expected> expected =
        computeExpected(entry.prepared, module,
                        errorModelOf(all, Arithmetic::Nvidia, between, plans.arch->flushesSubnormals), diagnostics);
    if (expected && !options.weak && !showsSomething(entry.prepared, *expected, diagnostics))
      return std::nullopt;
    return expected;
  }

  /// Counts what the passes leave: tiles that are masked throughout are not computed.
  void count(const Entry &entry, const std::vector<std::unique_ptr<ir::Function>> &functions) {
    program.bytes[entry.number] = countBytes(*entry.prepared.signature, entry.prepared.arguments);
    for (size_t i = 0; i < functions.size(); ++i) {
      plans.transform(*functions[i]);
      program.operations[entry.number] +=
          countProductOperations(*functions[i], callOf(entry, i), isBench(purpose) ? nullptr : plans.arch);
    }
  }

  /// The namespace of a group's code.
  static std::string scopeOf(const Group &group, int recordWords) {
    return group.isTraced ? fmt::format("{}_by_{}", group.scope, recordWords) : group.scope;
  }

  /// Where it is instrumented, of the kernels that store as many words at once.
  std::string call(const Entry &entry, int recordWords = 0) const {
    const PreparedCase &prepared = entry.prepared;
    const std::string scope = scopeOf(*entry.group, recordWords);
    const std::string name = (scope.empty() ? "" : scope + "::") + cuda::entryName(prepared.signature->name);
    std::vector<std::string> arguments;
    for (const std::string &param : prepared.signature->order)
      arguments.push_back(argument(param, prepared));
    std::string body;
    if (entry.program) {
      body = fmt::format("  const int64_t bytes = {}_workspace_bytes({});\n", name, fmt::join(arguments, ", "));
      arguments.insert(arguments.end(), {"data.workspace(bytes)", "bytes"});
    }
    arguments.emplace_back("stream");
    const std::string function = recordWords == 0 ? fmt::format("call_{}", entry.number)
                                                  : fmt::format("traced_{}_by_{}", entry.number, recordWords);
    return fmt::format("static tk_status {}(const tk::test::case_data &data, {} *stream) {{\n"
                       "{}  return {}({});\n}}\n",
                       function, cuda::dialectOf(plans.arch->name).stream, body, name, fmt::join(arguments, ", "));
  }

  static std::string argument(const std::string &name, const PreparedCase &prepared) {
    for (const auto &[constant, value] : prepared.specialization.constants)
      if (constant == name)
        return std::to_string(value);
    for (const ir::Param &param : prepared.signature->params)
      if (param.name == name)
        return fmt::format("data.{}({})", param.isTensor ? "tensor" : "scalar", quoted(name));
    return "0";
  }

  std::string source() const {
    std::string code;
    const auto emit = [&](const Group &group, int recordWords) {
      code += cuda::emitCuda(module, group.kernels, group.programs, sources,
                             {.scope = scopeOf(group, recordWords), .recordWords = recordWords}) +
              "\n";
    };
    for (const auto &group : groups)
      if (group->isTraced && !group->kernels.empty())
        for (const int words : recordWidths)
          emit(*group, words);
      else if (!group->kernels.empty())
        emit(*group, 0);
    std::string table;
    for (const Row &row : rows)
      if (!isProfile(purpose))
        table += fmt::format("    {{{}}},\n", row.entry);
      else if (!row.traced.empty())
        table += fmt::format("    {{{}, {}}},\n", row.entry, row.traced);
    const char *verb = isProfile(purpose) ? "profile" : "run";
    const char *header = isProfile(purpose) ? "#include \"tk/host/profile.h\"\n"
                                            : "#ifdef TKC_EMULATOR_RUNS_CASES\n"
                                              "#include \"tk/host/emulated_cases.h\"\n"
                                              "#else\n"
                                              "#include \"tk/host/test.h\"\n"
                                              "#endif\n";
    // Device code is compiled without what only the host runs, which takes compilers as long as a small kernel.
    return fmt::format("{}#include \"tk/host/random.h\"\n\n"
                       "#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)\n"
                       "#include \"tk/host/case_entry.h\"\n"
                       "{}\n{}\nint main(int argc, char **argv) {{\n"
                       "  static const tk::test::entry entries[] = {{\n{}  }};\n"
                       "  return tk::test::{}(entries, argc, argv);\n}}\n"
                       "#endif\n",
                       code, header, calls, table, verb);
  }

  const Module &module;
  const planner::PlanOptions &plans;
  const RunOptions &options;
  const GpuPurpose purpose;
  const SourceManager &sources;
  DiagnosticEngine &diagnostics;
  GpuProgram program;
  std::vector<Entry> entries;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<std::string> launched;
  std::string calls;
  struct Row {
    std::string entry;  ///< of tk::test::entry, up to `call`
    std::string traced; ///< the functions that call the instrumented kernels
  };
  std::vector<Row> rows;
};

} // namespace

GpuProgram makeGpuProgram(const Module &module, const planner::PlanOptions &plans, const RunOptions &options,
                          GpuPurpose purpose, const SourceManager &sources, DiagnosticEngine &diagnostics) {
  return Maker(module, plans, options, purpose, sources, diagnostics).run();
}

bool readResults(std::string_view output, const std::string &otherwise, std::vector<CaseResult> &cases) {
  bool began = false;
  while (!output.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(line.size() + 1, output.size()));
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(llvm::StringRef(line.data(), line.size()));
    const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
    if (!value)
      llvm::consumeError(value.takeError());
    const std::optional<int64_t> index = object ? object->getInteger("index") : std::nullopt;
    if (!index || *index < 0 || *index >= static_cast<int64_t>(cases.size()))
      continue;
    began = true;
    CaseResult &result = cases[static_cast<size_t>(*index)];
    if (object->getBoolean("begins").value_or(false)) {
      result.message = otherwise;
      continue;
    }
    result.passed = object->getBoolean("passed").value_or(false);
    result.maxError = object->getNumber("maxError").value_or(0);
    result.tolerance = object->getNumber("tolerance").value_or(0);
    result.seconds = object->getNumber("seconds").value_or(0);
    result.message = object->getString("message").value_or("").str();
  }
  return began;
}

} // namespace tkc::harness
