// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc-emulate FILE.cu [ARGUMENT…]`: compiles a CUDA or HIP program and runs it on the CPU.
#include "emulator/Program.h"
#include "emulator/amdgpu/Amdgpu.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>

using namespace tkc::emulator;

namespace {

constexpr std::array gpus{"sm_80",  "sm_86",   "sm_89",  "sm_90",   "sm_90a", "sm_100", "sm_100a",
                          "sm_103", "sm_103a", "sm_120", "sm_120a", "gfx90a", "gfx942", "gfx950"};

/// Empty, or why it cannot be.
std::string write(const std::string &path, const std::string &text) {
  std::FILE *file = std::fopen(path.c_str(), "w");
  if (!file)
    return fmt::format("cannot write `{}`", path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written ? "" : fmt::format("cannot write `{}`", path);
}

/// Where the headers are that compiling takes: of an installation, in `emulator` beside the program's folder, or of
/// this build.
void findHeaders(FrontendOptions &frontend) {
  using namespace llvm::sys;
  const std::string program = fs::getMainExecutable(nullptr, nullptr);
  const std::string installed = (path::parent_path(path::parent_path(program)) + "/emulator").str();
  frontend.shim = installed + "/shim";
  frontend.clang = installed + "/bin/clang++"; // is not there: Clang looks for its own headers from it
  if (fs::is_directory(frontend.shim))
    return;
  frontend.shim = TKC_EMULATOR_SHIM;
  frontend.clang = TKC_CLANG;
}

/// Where precompiled headers are kept: the folder that Python's cache is in as well. Empty if there is no home.
std::string cacheFolder() {
  llvm::SmallString<128> folder;
  if (const char *named = std::getenv("TKC_CACHE_DIR"); named && *named)
    folder = named;
  else if (llvm::sys::path::cache_directory(folder))
    llvm::sys::path::append(folder, "tkc");
  if (!folder.empty())
    llvm::sys::path::append(folder, "emulator");
  return folder.str().str();
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Runs a CUDA or HIP program on the CPU, instruction by instruction, and checks it");
  std::string file;
  std::vector<std::string> arguments;
  Options options;
  FrontendOptions frontend;
  findHeaders(frontend);
  frontend.cache = cacheFolder();
  options.workers = std::max(1u, std::thread::hardware_concurrency());
  app.add_option("FILE", file, "a .cu or .hip file with a main function")->required()->type_name("");
  app.add_option("ARGUMENT", arguments, "for the program")->type_name("");
  app.add_option("--seed", options.seed, "another order of threads and asynchronous effects for each N but 0")
      ->type_name("N");
  app.add_option("--workers", options.workers, "threads of the host; each runs a block")->type_name("N");
  app.add_option("--arch", frontend.arch, "the architecture to compile for")->type_name("ARCH");
  app.add_flag("--captured", options.captures,
               "streams say that they are being captured: launches do as they do in graphs, at once");
  app.add_flag("--at-launch", frontend.compileAtLaunch,
               "compile a kernel when it is first launched: less work where few of a file's are");
  std::string countsFile;
  Counters counters;
  app.add_option("--counts", countsFile, "write bank conflicts and multiply-adds to this file, as JSON")
      ->type_name("OUT");
  app.add_option("-I", frontend.includePaths, "a folder of headers")->type_name("DIR")->allow_extra_args(false);
  CLI11_PARSE(app, argc, argv);

  if (!countsFile.empty())
    options.counters = &counters;
  options.cdna = cdnaOf(frontend.arch);
  options.architecture = std::atoi(frontend.arch.c_str() + frontend.arch.find('_') + 1);

  Program program;
  std::string error =
      std::find(gpus.begin(), gpus.end(), frontend.arch) == gpus.end()
          ? fmt::format("`{}` is none of the GPUs that are modelled: {}", frontend.arch, fmt::join(gpus, ", "))
          : program.load(file, frontend);
  if (error.empty()) {
    arguments.insert(arguments.begin(), file);
    const int result = program.run(arguments, options, error);
    if (error.empty() && !countsFile.empty())
      error = write(countsFile, counters.print(program.sites()));
    if (error.empty())
      return result;
  }
  fmt::print(stderr, "tkc-emulate: {}\n", error);
  return 2;
}
