// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc profile FILE`: what the roles of a kernel do when, in one case.
#include "tkc/Cases.h"
#include "tkc/CommandLine.h"
#include "tkc/Driver.h"
#include "tkc/Files.h"
#include "tkc/TestGpu.h"

#include "harness/Profile.h"
#include "support/Files.h"

#include <algorithm>
#include <map>
#include <memory>

#include <llvm/ADT/StringRef.h>

namespace tkc::driver {
namespace {

constexpr const char *footer = R"(Examples:
  tkc profile gemm.tk --kernel gemm --size M=4096,N=4096,K=4096 --html gemm.html
  tkc profile attention.tk --kernel attn_fwd --blocks 0,66,1000 --perfetto trace.json
  tkc profile gemm.tk --target=emulator --html gemm.html      without a GPU: the order of things, no times
  tkc profile gemm.tk --build-only -o out                     then, elsewhere: out/run
  tkc profile gemm.tk --from out --html gemm.html             what out/run left there
  tkc profile gemm.tk --predicted gemm.timeline.json --html gemm.html    side by side with `tkc explain --gantt`)";

struct ProfileOptions {
  std::string input;
  GpuTestOptions gpu;
  harness::RunOptions run;
  std::vector<std::string> sizes, settings, scheduleFiles;
  size_t number = 1; ///< of the case
  std::string from;  ///< a folder in which a program ran
  std::string html, perfetto, json, svg, predicted;
  std::string range = "0:10000"; ///< of the picture, ns
};

std::optional<std::string> readOrComplain(const std::string &path) {
  std::string error;
  std::optional<std::string> text = readFile(path, error);
  if (!text)
    complain(fmt::format("cannot read `{}`: {}", path, error));
  return text;
}

std::string micro(double seconds) { return fmt::format("{:.2f} µs", seconds * 1e6); }

std::string ratioText(const std::array<double, 3> &ratio) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio[0], ratio[1], ratio[2]);
}

void addFacts(harness::Profile &profile) {
  auto &facts = profile.timeline.facts;
  if (!profile.isTimed)
    return void(facts.emplace_back("time", "none: it counts how often the kernel asked for it"));
  facts.emplace_back("time", micro(profile.plainSeconds));
  facts.emplace_back("instrumented", micro(profile.instrumentedSeconds));
  facts.emplace_back("ratio", ratioText(profile.ratio));
  facts.emplace_back("ratio where all blocks record", ratioText(profile.ratioOfAll));
}

/// Adds the sides of another timeline that are called `predicted`.
bool addPrediction(timeline::Timeline &timeline, const std::string &path) {
  const std::optional<std::string> text = readOrComplain(path);
  if (!text)
    return false;
  std::string error;
  std::optional<timeline::Timeline> other = timeline::parseTimeline(*text, error);
  if (!other) {
    complain(fmt::format("`{}` is no timeline: {}", path, error));
    return false;
  }
  bool found = false;
  for (timeline::Side &side : other->sides)
    if (side.name == "predicted") {
      timeline.sides.push_back(std::move(side));
      found = true;
    }
  if (!found)
    complain(fmt::format("`{}` has no side called `predicted`", path));
  return found;
}

bool readRange(const std::string &text, double &from, double &to) {
  const auto [first, second] = llvm::StringRef(text).split(':');
  return !first.getAsDouble(from) && !second.getAsDouble(to) && from < to;
}

int show(const ProfileOptions &options, const std::string &events, const std::string &trace) {
  std::string error;
  std::optional<harness::Profile> profile = harness::readProfile(events, trace, error);
  if (!profile) {
    complain("these records cannot be read: " + error);
    return InputErrors;
  }
  addFacts(*profile);
  timeline::Timeline &timeline = profile->timeline;
  if (!options.predicted.empty() && !addPrediction(timeline, options.predicted))
    return CannotReadInput;
  std::string head = timeline.title + "\n";
  for (const auto &[what, value] : timeline.facts)
    head += fmt::format("{}: {}\n", what, value);
  say(fmt::format("{}{}", head, timeline::formatShares(timeline)));
  double from = 0, to = 0;
  if (!readRange(options.range, from, to)) {
    complain(fmt::format("`--range {}` is not of the form FROM:TO, in ns", options.range));
    return Usage;
  }
  int code = Success;
  const auto write = [&](const std::string &path, const auto &make) {
    if (!path.empty() && code == Success)
      code = writeOutput(path, make());
  };
  write(options.html, [&] { return timeline::toHtml(timeline); });
  write(options.perfetto, [&] { return timeline::toPerfetto(timeline); });
  write(options.json, [&] { return timeline::toJson(timeline); });
  write(options.svg, [&] { return timeline::toSvg(timeline, from, to); });
  return code;
}

int showFrom(const ProfileOptions &options) {
  const std::optional<std::string> events = readOrComplain(inFolder(options.from, "0.events"));
  const std::optional<std::string> trace = events ? readOrComplain(inFolder(options.from, "0.trace")) : std::nullopt;
  return trace ? show(options, *events, *trace) : CannotReadInput;
}

int runProfile(ProfileOptions &options) {
  if (!options.from.empty())
    return showFrom(options);
  if (!takeNumbers(options.sizes, options.settings, options.run))
    return Usage;
  options.run.onlyCase = options.number - 1;
  Session session(false);
  const auto [module, inputCode] = readInput(options.input, options.scheduleFiles, session);
  if (!module)
    return inputCode;
  if (!sizesAreKnown(*module, options.run.sizes))
    return Usage;
  int shown = Success;
  bool passed = true;
  const int code = runOnGpus(*module, options.gpu, options.run, session, [&](const GpuResults &results) {
    for (const harness::CaseResult &result : results.cases) {
      passed &= result.passed;
      if (!options.gpu.buildOnly && !result.message.empty())
        complain(fmt::format("{}, {}: {}", result.kernel, result.description, result.message));
    }
    if (passed && !options.gpu.buildOnly)
      shown = show(options, results.events, results.trace);
  });
  const int reported = session.finish(passed || options.gpu.buildOnly ? shown : InputErrors);
  return code != Success ? code : reported;
}

} // namespace

void addProfile(Command &app, Action &action) {
  auto options = std::make_shared<ProfileOptions>();
  Command *command = app.add_subcommand("profile", "show what the roles of a kernel do when");
  command->footer(footer);
  command->add_option("FILE", options->input, "a .tk file")->required()->type_name("");
  command
      ->add_option("--kernel", options->run.filter,
                   "the first kernel or program of this name, or whose name contains TEXT")
      ->type_name("TEXT");
  command->add_option("--case", options->number, "its Nth case; on a GPU its Nth `bench`, if it has any")
      ->type_name("N")
      ->range(1, 1 << 20, false)
      ->capture_default_str();
  addSizeOption(*command, options->sizes);
  command->add_option("--set", options->settings, "sets a tune or a schedule's key, as in BM=64; may be repeated")
      ->type_name("KEY=N");
  command->add_option("--schedules", options->scheduleFiles, "more schedules, tried before those of the file")
      ->type_name("FILE.tks");
  static const std::map<std::string, bool> targets{{"gpu", false}, {"emulator", true}};
  command
      ->add_choice("--target", options->gpu.emulate, targets,
                   "where it runs: gpu (the default), or emulator, without times")
      ->type_name("TARGET");
  command->add_option("--arch", options->gpu.arch, "what to compile for")->type_name("ARCH")->capture_default_str();
  command
      ->add_option("--blocks", options->gpu.blocks,
                   "blocks to record, at most 12; else the first two, one from the middle, the last one")
      ->type_name("N,…")
      ->delimiter(',');
  command
      ->add_option("--records", options->gpu.records, "records that each warp keeps, its first ones; 8192 if not said")
      ->type_name("N")
      ->range(64, 1 << 23);
  command->add_flag("--every-wait", options->gpu.everyWait,
                    "record vector work and waits for products too where a loop does both at once, which keeps the "
                    "compiler from mixing them: slower");
  command->add_option("--html", options->html, "write a chart that any browser shows")->type_name("OUT");
  command->add_option("--perfetto", options->perfetto, "write a trace for ui.perfetto.dev")->type_name("OUT");
  command->add_option("--json", options->json, "write the timeline itself")->type_name("OUT");
  command->add_option("--svg", options->svg, "write a picture of the first block")->type_name("OUT");
  command->add_option("--range", options->range, "of the picture, in ns from the block's start")
      ->type_name("FROM:TO")
      ->capture_default_str();
  command->add_option("--predicted", options->predicted, "a timeline to show below, as `tkc explain --gantt` writes it")
      ->type_name("FILE.json");
  command->add_option("-o,--output", options->gpu.folder, "keep the program, its data and its records in this folder")
      ->type_name("DIR");
  command->add_flag("--build-only", options->gpu.buildOnly, "build it; DIR/run then records")->needs("--output");
  command->add_option("--from", options->from, "run nothing: show what DIR/run has recorded")->type_name("DIR");
  command->callback([&action, options] {
    options->gpu.purpose = options->gpu.emulate ? harness::GpuPurpose::ProfileCase : harness::GpuPurpose::ProfileBench;
    action = [options] { return runProfile(*options); };
  });
}

} // namespace tkc::driver
