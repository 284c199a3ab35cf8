// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line. Each subcommand declares its own options (addCompile, …); without one, tkc compiles.
#include "tkc/CommandLine.h"
#include "tkc/Driver.h"
#include "tkc/Reproducer.h"
#include "tkc/Version.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <vector>

namespace tkc::driver {
namespace {

constexpr const char *description = "tkc makes GPU kernels from .tk files.";
constexpr const char *footer = R"(Examples:
  tkc gemm.tk -o gemm.cu                 compile every kernel and program of the file to CUDA
  tkc gemm.tk --arch=sm_80,sm_90a -o gemm.cu   one file for several GPUs
  tkc gemm.tk --emit=header -o gemm.h    the declarations of their entry points
  tkc gemm.tk --emit=tile                the tile IR, on standard output
  tkc gemm.tk --emit=tile --stop-after=elaborate   the same, before any pass
  tkc test gemm.tk                       check every case against its reference, without a GPU
  tkc profile gemm.tk --html gemm.html   what each role of the first kernel does when, on a GPU
  tkc tune gemm.tk -o gemm.tks           find faster schedules on this machine's GPU
  tkc fmt -i kernels/*.tk                format in place
  tkc schedule --list                    what a schedule may set

Exit codes: 0 done, 1 errors in the input, 2 wrong usage, 66 an input cannot be read, 70 a bug in tkc,
73 an output cannot be written.)";

int run(int argc, char **argv) {
  CommandLine app(description, version());
  app.footer(footer);
  setCommandLine(argc, argv);
  app.add_option_function("--reproduce", setReproducerPath,
                          "where a bug in tkc is written down, with all that shows it again")
      ->type_name("FILE")
      ->group("Looking inside");
  Action action;
  addCompile(app, action);
  addTest(app, action);
  addBench(app, action);
  addExplain(app, action);
  addProfile(app, action);
  addTune(app, action);
  addFmt(app, action);
  addSchedule(app, action);
  addServe(app, action);
  addArch(app, action);
  addCompletion(app, action);
  addMan(app, action);
  // -MD and -MF are spelled as compilers spell them; to CLI11 a single dash means a single letter.
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::string &argument : arguments)
    if (argument == "-MD" || argument == "-MF")
      argument.insert(0, "-");
  if (const std::optional<int> code = app.parse(std::move(arguments)))
    return endOutput(*code == 0 ? Success : Usage);
  return endOutput(catchingBugs(action));
}

} // namespace
} // namespace tkc::driver

int main(int argc, char **argv) {
  std::signal(SIGPIPE, SIG_IGN); // a reader that goes away is an output that cannot be written
  return tkc::driver::run(argc, argv);
}
