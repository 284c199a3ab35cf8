// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc tune FILE`: searches the schedules of a file's kernels for the calls of its `bench` declarations.
#include "tkc/Cases.h"
#include "tkc/CommandLine.h"
#include "tkc/Driver.h"
#include "tkc/Files.h"
#include "tkc/Targets.h"
#include "tkc/TuneRun.h"

#include "backends/schedule/Schedule.h"
#include "backends/targets/NativeGpus.h"
#include "harness/Reports.h"
#include "harness/tune/Clauses.h"
#include "harness/tune/Report.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Threading.h>

namespace tkc::driver {
namespace {

constexpr const char *footer = R"(Examples:
  tkc tune gemm.tk -o gemm.tks                    the calls of the file's `bench` declarations, on this GPU
  tkc tune gemm.tk -o gemm.tks --kernel gemm_nt --size T=bf16,M=16,N=8192,K=8192 --size T=bf16,M=4000,N=4000,K=4000
  tkc tune gemm.tk -o gemm.tks --budget 120       the same command again goes on where it was
  tkc tune gemm.tk --dry-run --arch sm_90a        what would be built, and what not, and why
  tkc tune gemm.tk --build-only -o DIR            for another machine: run DIR/run.sh there, bring DIR/tune.jsonl back,
  tkc tune gemm.tk --results DIR/tune.jsonl -o gemm.tks      and take its figures; or --build-only again, to go on
  tkc gemm.tk --schedules gemm.tks -o gemm.cu     compiles with what was found)";

struct TuneOptions {
  std::string input, output, arch, results;
  std::vector<std::string> scheduleFiles, sizes, settings;
  tune::WorkOptions work;
  double budget = 0;
  size_t most = 200;
  unsigned atATime = 0;
  bool dryRun = false, buildOnly = false;

  bool measures() const { return !dryRun && !buildOnly && results.empty(); }
};

/// Each `--size` is a call: "M=16,T=bf16". False after complaining.
bool readSizes(TuneOptions &options) {
  for (const std::string &text : options.sizes) {
    auto &sizes = options.work.sizes.emplace_back();
    auto &types = options.work.types.emplace_back();
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(text).split(parts, ',');
    for (const llvm::StringRef part : parts) {
      const auto [name, word] = part.split('=');
      double value = word == "true";
      if (name.empty() || word.empty()) {
        complain(fmt::format("`--size {}` is not of the form NAME=NUMBER,…", text));
        return false;
      }
      if (word == "true" || word == "false" || !word.getAsDouble(value))
        sizes[name.str()] = value;
      else
        types[name.str()] = word.str();
    }
  }
  const auto settings = readNumbers("--set", options.settings);
  if (!settings)
    return false;
  for (const auto &[name, value] : *settings)
    options.work.fixed[name] = static_cast<int64_t>(value);
  return true;
}

/// The GPU of this machine, or the one that `--arch` names where nothing runs here. Complains and returns null where
/// there is none.
const arch::Description *chooseTarget(const TuneOptions &options) {
  if (!options.arch.empty()) {
    const arch::Description *target = findTarget(options.arch);
    if (target && target->language != arch::Language::Cuda && !options.dryRun) {
      complain(
          fmt::format("`{}`: tkc tune builds with nvcc, for NVIDIA's GPUs; `--dry-run` works for all", target->name));
      return nullptr;
    }
    return target;
  }
  for (const arch::NativeGpu &gpu : arch::nativeGpus())
    if (const arch::Description *target = arch::bestTarget(gpu); target && target->language == arch::Language::Cuda)
      return target;
  if (options.measures()) {
    complain("there is no GPU here that tkc can tune for; `--dry-run` shows what would be tried, `--build-only` writes "
             "all that it takes to tune on another machine");
    return nullptr;
  }
  return findTarget("sm_90a");
}

class Tuner {
public:
  Tuner(const TuneOptions &options, const Module &module, const arch::Description &target, Session &session)
      : options(options), module(module), target(target), session(session), began(std::chrono::steady_clock::now()),
        plans(plansFor(target)) {
    plans.onUnsound = nullptr; // a search goes on without the candidate
  }

  int run() {
    const std::string logPath = pathOfLog();
    log.read(readIfThere(logPath));
    gpu = options.measures() ? arch::nativeGpuName() : log.lastGpu();
    if (const int code = prepare(); code != Success)
      return code;
    if (options.dryRun)
      return showCandidates();
    if (options.buildOnly)
      return writeFolder();
    if (!options.results.empty() && log.all().empty()) {
      complain(fmt::format("`{}` has no figures", options.results));
      return CannotReadInput;
    }
    const int code = options.measures() ? measure(logPath) : static_cast<int>(Success);
    if (code != Success)
      return code;
    return standardsAreRight() ? finish() : static_cast<int>(InputErrors);
  }

private:
  std::string pathOfLog() const {
    if (!options.results.empty())
      return options.results;
    return options.buildOnly ? inFolder(options.output, tune::logFile) : options.output + ".jsonl";
  }

  int prepare() {
    tune::WorkOptions how = options.work;
    how.encode = options.measures() || options.buildOnly;
    work = tune::findWork(module, plans, how, session.diagnostics);
    if (session.diagnostics.hasErrors())
      return session.finish();
    for (const auto &one : work) {
      if (!one->trouble.empty()) {
        complain(fmt::format("`{}` is not tuned: {}", one->name(), one->trouble));
        continue;
      }
      auto search = std::make_unique<tune::Search>(module, *one, plans, session.sources, log);
      if (search->standard().source.empty()) {
        complain(fmt::format("`{}` is not tuned: its own schedule has no plan for `{}`", one->name(), target.name));
        continue;
      }
      search->adopt();
      searches.push_back(std::move(search));
    }
    if (!searches.empty())
      return Success;
    if (work.empty())
      complain(fmt::format("`{}` has no kernel with a `bench` to tune for{}", options.input,
                           module.numMainPrograms > 0 ? "; of a program, tune the kernels" : ""));
    return InputErrors;
  }

  bool isOver() const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
    return InterruptNote::isInterrupted() || (options.budget > 0 && passed.count() > options.budget);
  }

  /// What to measure next, at most `most` of each specialisation, and of all rounds together what the options allow.
  std::vector<tune::Batch> nextBatches(size_t most) {
    std::vector<tune::Batch> batches;
    for (const auto &search : searches) {
      const size_t known = std::min(options.most, numMeasured(*search));
      batches.push_back(
          {search.get(), search->next(std::min(most, options.most - known), gpu, [&] { return isOver(); })});
    }
    return batches;
  }

  size_t numMeasured(const tune::Search &search) const {
    std::set<const tune::Built *> known;
    for (size_t shape = 0; shape < search.subject().shapes.size(); ++shape)
      for (const tune::Timed &timed : search.timed(shape, gpu))
        known.insert(timed.candidate);
    for (const tune::Timed &failed : search.failed(gpu))
      known.insert(failed.candidate);
    return known.size();
  }

  int showCandidates() {
    for (const auto &search : searches) {
      const std::vector<const tune::Built *> first = search->next(options.most, gpu, [] { return false; });
      say(tune::formatCandidates(*search, first));
    }
    return session.finish();
  }

  int writeFolder() {
    const tune::Job job = tune::makeJob(nextBatches(options.most), target);
    if (job.codes.empty()) {
      say(fmt::format("nothing is left to measure; `--results {}` takes the figures\n", pathOfLog()));
      return Success;
    }
    if (const int code = writeJob(job, options.output); code != Success)
      return code;
    say(fmt::format("{} schedules to measure; run `{}` where the GPU is\n", job.codes.size(),
                    inFolder(options.output, tune::scriptFile)));
    return session.finish();
  }

  // ---- on this machine ---------------------------------------------------------------------------------------------

  int measure(const std::string &logPath) {
    const InterruptNote note;
    llvm::SmallString<256> folder;
    if (const std::error_code error = llvm::sys::fs::createUniqueDirectory("tkc-tune", folder)) {
      complain(fmt::format("cannot make a folder for what is built: {}", error.message()));
      return CannotWriteOutput;
    }
    const int code = measureIn(folder.str().str(), logPath);
    llvm::sys::fs::remove_directories(folder);
    if (!InterruptNote::isInterrupted())
      return code;
    for (const auto &search : searches)
      say(tune::formatBest(*search, gpu));
    say(fmt::format("interrupted; the figures are in {}, and the same command goes on\n", logPath));
    std::fflush(stdout);
    InterruptNote::obey();
  }

  int measureIn(const std::string &folder, const std::string &logPath) {
    const unsigned atATime = llvm::hardware_concurrency(options.atATime).compute_thread_count();
    harness::ProgressBar bar;
    while (!isOver()) {
      bar.show(0, 1, "planning " + best());
      const tune::Job job = tune::makeJob(nextBatches(std::max(16u, 2 * atATime)), target);
      if (job.codes.empty() || isOver())
        break;
      if (const int code = writeJob(job, folder); code != Success)
        return code;
      const std::string sourceFolder = llvm::sys::path::parent_path(options.input).str();
      const size_t before = log.all().size();
      int code = buildJob(job, target, folder, sourceFolder.empty() ? "." : sourceFolder, atATime,
                          [&](size_t done, size_t all, const std::string &what) {
                            bar.show(done, all, what + ", best so far " + best());
                          });
      if (code == Success && !InterruptNote::isInterrupted())
        code = runJob(folder, logPath, [&](size_t lines) {
          log.read(readIfThere(logPath));
          bar.show(std::min(lines, job.numLines), job.numLines, "measuring, best so far " + best());
        });
      log.read(readIfThere(logPath));
      if (code != Success)
        return code;
      if (!standardsAreRight())
        return InputErrors;
      if (log.all().size() == before && !InterruptNote::isInterrupted()) {
        complain(fmt::format("the runner added nothing to `{}`", logPath));
        return InputErrors;
      }
    }
    return Success;
  }

  /// What the file's own schedules compute is right, as far as it was measured; complains where it is not.
  bool standardsAreRight() const {
    for (const auto &search : searches)
      for (size_t shape = 0; shape < search->subject().shapes.size(); ++shape)
        if (const tune::Measurement *measured = search->find(search->standard(), shape, gpu);
            measured && !measured->passed) {
          complain(fmt::format("`{}` fails as the file has it: {}", search->subject().name(), measured->message));
          return false;
        }
    return true;
  }

  std::string best() const {
    std::pair<double, std::string> most{0, "none"};
    for (const auto &search : searches)
      if (std::pair<double, std::string> one = tune::shortBest(*search, gpu); one.first > most.first)
        most = std::move(one);
    return most.second;
  }

  int finish() {
    for (const auto &search : searches)
      say(tune::formatBest(*search, gpu));
    const std::string name = llvm::sys::path::filename(options.input).str();
    const std::string text = tune::printSchedules(searches, gpu, target.name, name);
    if (text.empty()) {
      say(fmt::format("nothing is faster than the schedules of {}: {} is not written\n", name, options.output));
      return session.finish();
    }
    const int code = writeOutput(options.output, text);
    return code == Success ? session.finish() : code;
  }

  const TuneOptions &options;
  const Module &module;
  const arch::Description &target;
  Session &session;
  const std::chrono::steady_clock::time_point began;
  planner::PlanOptions plans;
  tune::Log log;
  std::string gpu;
  std::vector<std::unique_ptr<tune::Work>> work;
  std::vector<std::unique_ptr<tune::Search>> searches;
};

int runTune(TuneOptions &options) {
  if (options.output.empty() && !options.dryRun) {
    complain("`-o` says where the schedules go, FILE.tks, or with --build-only the folder");
    return Usage;
  }
  if (!readSizes(options))
    return Usage;
  const arch::Description *target = chooseTarget(options);
  if (!target)
    return Usage;
  Session session(false);
  const auto [module, inputCode] = readInput(options.input, options.scheduleFiles, session);
  if (!module)
    return inputCode;
  const auto areKnown = [&](const tune::WorkOptions &work) {
    return std::all_of(work.sizes.begin(), work.sizes.end(),
                       [&](const auto &each) { return sizesAreKnown(*module, each); }) &&
           std::all_of(work.types.begin(), work.types.end(),
                       [&](const auto &each) { return typesAreKnown(*module, each); });
  };
  if (!areKnown(options.work))
    return Usage;
  return Tuner(options, *module, *target, session).run();
}

} // namespace

void addTune(Command &app, Action &action) {
  auto options = std::make_shared<TuneOptions>();
  Command *command = app.add_subcommand("tune", "search for faster schedules, on a GPU");
  command->footer(footer);
  command->add_option("FILE", options->input, "a .tk file")->required()->type_name("");
  command
      ->add_option("-o,--output", options->output,
                   "the schedules that were found; figures go to OUT.jsonl, from which the same command goes on. With "
                   "--build-only: a folder")
      ->type_name("OUT");
  command->add_option("--filter", options->work.filter, "only kernels whose name contains TEXT")->type_name("TEXT");
  command->add_option("--kernel", options->work.kernels, "this kernel only; may be repeated")->type_name("NAME");
  command
      ->add_option("--size", options->sizes,
                   "a call to tune for instead of what the benches say, as in M=4096,N=4096,T=bf16; may be repeated")
      ->type_name("NAME=N,…");
  command
      ->add_option("--set", options->settings,
                   "sets a tune or a schedule's key, which is not searched; may be repeated")
      ->type_name("KEY=N");
  command
      ->add_option("--schedules", options->scheduleFiles,
                   "more schedules, tried before those of the file: what is found is compared with these")
      ->type_name("FILE.tks");
  command->add_option("--budget", options->budget, "begin nothing new after so many seconds")->type_name("SECONDS");
  command->add_option("--candidates", options->most, "measure at most so many schedules of a kernel")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("-j,--jobs", options->atATime, "compilers that run at a time; as many as there are cores")
      ->type_name("N");
  command->add_option("--seed", options->work.seed, "another seed gives other inputs")->type_name("N");
  command->add_option("--arch", options->arch, "what to compile for; this machine's GPU")->type_name("ARCH");
  Option *dry = command->add_flag("--dry-run", options->dryRun, "show what would be built, and what not, and why");
  Option *build = command->add_flag("--build-only", options->buildOnly,
                                    "write a folder whose run.sh builds and measures, on any machine with the GPU");
  command->add_option("--results", options->results, "take the figures of a run elsewhere, and write the schedules")
      ->type_name("FILE.jsonl")
      ->excludes(dry)
      ->excludes(build);
  dry->excludes(build);
  command->callback([&action, options] { action = [options] { return runTune(*options); }; });
}

} // namespace tkc::driver
