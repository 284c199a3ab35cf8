// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc FILE -o OUT`: its options. What the file is, its name says: .tk source, .tkir tile IR, .tkplan plan IR.
#include "tkc/Compile.h"

#include "ir/passes/Pipeline.h"
#include "tkc/CommandLine.h"

#include <cstdio>
#include <map>
#include <memory>

namespace tkc::driver {
namespace {

int compile(const CompileOptions &options) {
  if (options.printPipeline) {
    say(ir::printTilePipeline());
    return Success;
  }
  if (options.input.empty()) {
    complain("no input file; `tkc --help` says more");
    return Usage;
  }
  if (options.writeDependencies && options.output == "-" && options.dependencyFile.empty()) {
    complain("-MD wants an output file, -o OUT, or -MF FILE");
    return Usage;
  }
  if (options.input.ends_with(".tkplan"))
    return compilePlan(options);
  return options.input.ends_with(".tkir") ? compileTileIR(options) : compileSource(options);
}

/// An option that may stand several times, each time with one value.
Option *addList(Command &app, const char *flags, std::vector<std::string> &list, const char *help) {
  return app.add_option(flags, list, help)->one_each_time();
}

void addPassOptions(Command &app, CompileOptions &options) {
  constexpr const char *group = "Looking inside";
  addList(app, "--print-after", options.printAfter, "print the IR after this pass; `elaborate` is before the first")
      ->type_name("PASS")
      ->group(group);
  app.add_flag("--print-after-all", options.printAfterAll, "print the IR after each pass")->group(group);
  app.add_option("--stop-after", options.stopAfter, "run no pass after this one, and write tile IR")
      ->type_name("PASS")
      ->group(group);
  app.add_option("--passes", options.passes, "of a .tkir file: run these passes instead of the pipeline")
      ->type_name("PASS,…")
      ->delimiter(',')
      ->group(group);
  app.add_flag_callback(
         "--explain-plan", [&options] { options.emit = Emit::Explanation; },
         "write what the planner decided for each kernel, and why")
      ->excludes("--emit")
      ->group(group);
  app.add_flag("--time-passes", options.timePasses, "print how long each pass took")->group(group);
  app.add_flag("--verify-each", options.verifyEach, "check the IR after each pass")->group(group);
  app.add_flag("--print-pipeline", options.printPipeline, "print the passes in order, with the reason of each")
      ->group(group);
  app.add_flag("--verify-diagnostics", options.verifyDiagnostics,
               "succeed if the messages are those that `// expected-error {{…}}` comments say")
      ->group(group);
}

} // namespace

void addCompile(Command &app, Action &action) {
  auto options = std::make_shared<CompileOptions>();
  app.add_option("FILE", options->input, "a .tk file, tile IR to run passes on (.tkir) or plan IR to verify (.tkplan)")
      ->type_name("");
  app.add_option("-o,--output", options->output, "where the result goes; - is standard output, the default")
      ->type_name("OUT");
  static const std::map<std::string, Emit> emits{
      {"ast", Emit::Ast},   {"tile", Emit::Tile},     {"program", Emit::Program}, {"plan", Emit::Plan},
      {"cuda", Emit::Cuda}, {"header", Emit::Header}, {"ffi", Emit::Ffi},         {"signatures", Emit::Signatures}};
  app.add_choice("--emit", options->emit, emits,
                 "what to write: ast, tile, program, plan, cuda (the default), header, ffi, signatures")
      ->type_name("KIND");
  app.add_option("--arch", options->arch, "the GPUs to compile for: names or families, `all` or `native`")
      ->type_name("ARCH,…")
      ->capture_default_str();
  addList(app, "--set", options->settings,
          "override a schedule's key or a tune; of a type parameter, dim or const, compile this value only")
      ->type_name("KEY=VALUE");
  addList(app, "--kernel", options->kernels, "compile this kernel only")->type_name("NAME");
  addList(app, "--schedules", options->scheduleFiles, "more schedules, tried before those of the file")
      ->type_name("FILE.tks");
  app.add_flag("--standalone", options->standalone, "inline the runtime's headers, so that the result needs no -I");
  app.add_flag("--instrument", options->instrument,
               "kernels that record what each role does when, for `tkc profile`; slower by a few percent");
  app.add_option("--header", options->header, "of --emit=cuda: also write the declarations of the entry points here")
      ->type_name("OUT.h");
  app.add_flag("--MD", options->writeDependencies,
               "-MD: also write OUT.d, which names every file that was read, for make and ninja");
  app.add_option("--MF", options->dependencyFile, "-MF: where -MD writes")->type_name("FILE");
  static const std::map<std::string, DebugBug> bugs{
      {"pass", DebugBug::Pass}, {"plan", DebugBug::Plan}, {"attempt", DebugBug::Attempt}, {"crash", DebugBug::Crash}};
  app.add_choice("--debug-bug", options->debugBug, bugs, "acts as if this part of tkc had a bug, for tests")->group("");
  addPassOptions(app, *options);
  app.final_callback([&app, &action, options] {
    if (!app.has_subcommand())
      action = [options] { return compile(*options); };
  });
}

} // namespace tkc::driver
