// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --print-after, --stop-after, --time-passes, --verify-each. "elaborate" is the name of what comes before the first
// pass.
#include "ir/Verifier.h"
#include "ir/passes/Pipeline.h"
#include "tkc/Compile.h"

#include <cstdio>

namespace tkc::driver {
namespace {

constexpr std::string_view elaborate = "elaborate";

ir::PassOptions passOptions(const CompileOptions &options) {
  ir::PassOptions result{{options.printAfter.begin(), options.printAfter.end()}, options.stopAfter, options.verifyEach};
  if (options.printAfterAll)
    result.printAfter.insert("all");
  return result;
}

/// --debug-bug=pass: loses an operand of the last op.
constexpr ir::PassInfo brokenPass{
    "debug-bug", [](ir::Function &function) { function.body.ops.back()->eraseOperand(0); }, "breaks the IR"};

} // namespace

bool passNamesAreKnown(const CompileOptions &options) {
  std::vector<std::string> names = options.printAfter;
  names.insert(names.end(), options.passes.begin(), options.passes.end());
  if (!options.stopAfter.empty())
    names.push_back(options.stopAfter);
  for (const std::string &name : names)
    if (name != elaborate && !ir::findPass(name)) {
      complain(fmt::format("no pass is called `{}`; `tkc --print-pipeline` lists them", name));
      return false;
    }
  return true;
}

PassRunner::PassRunner(const CompileOptions &options, const SourceManager &sources)
    : options(options), sources(sources) {
  if (options.stopAfter == elaborate)
    return;
  if (options.passes.empty())
    passes = ir::tilePipeline();
  for (const std::string &name : options.passes)
    if (name != elaborate) // `--passes=elaborate` runs none
      passes.push_back(ir::findPass(name));
  if (options.debugBug == DebugBug::Pass)
    passes.push_back(&brokenPass);
}

void PassRunner::reportBroken(const ir::Function &function, SourceLoc loc, const std::string &what, std::string ir,
                              const std::string &pass) const {
  const std::string place = loc.isValid() ? sources.fileLine(loc) + ": " : "";
  reportBug({fmt::format("{}tile IR of `{}` {}", place, function.kernel, what), "tkir",
             pass.empty() ? "" : fmt::format("--passes={} --verify-each", pass), std::move(ir)});
}

/// The function as it is, if it breaks a rule.
bool PassRunner::isSound(const ir::Function &function, const std::string &after) {
  std::vector<ir::VerifyError> errors = ir::verify(function);
  if (errors.empty())
    return true;
  reportBroken(function, errors.front().loc, fmt::format("after {}: {}", after, errors.front().message),
               ir::print(function), "");
  return false;
}

bool PassRunner::run(ir::Function &function) {
  ir::PassOptions runOptions = passOptions(options);
  if (options.verifyEach && !isSound(function, std::string(elaborate)))
    return false;
  if (options.printAfterAll || runOptions.printAfter.count(std::string(elaborate)))
    sayOnError(fmt::format("// ---- after elaborate of @{}\n{}", function.kernel, ir::print(function)));
  ir::PassReport report = ir::runPasses(function, passes, runOptions);
  sayOnError(report.printed);
  times.insert(times.end(), report.times.begin(), report.times.end());
  if (report.internalError)
    reportBroken(function, function.loc, *report.internalError, std::move(report.before), report.brokenBy);
  // What a pass broke unseen is the planner's input.
  return !report.internalError && (options.verifyEach || isSound(function, "the passes"));
}

void PassRunner::finish() const {
  if (options.timePasses)
    sayOnError(ir::formatTimes(times));
}

} // namespace tkc::driver
