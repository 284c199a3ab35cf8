// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/TuneRun.h"

#include "tkc/Driver.h"
#include "tkc/Files.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>

#include <fmt/ranges.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/ThreadPool.h>

namespace tkc::driver {
namespace {

std::atomic<int> received{0};

void note(int signal) { received = signal; }

/// One nvcc: `further`, then the output beside its place, then the source.
struct Compilation {
  std::string source, output;
  std::vector<std::string> further;
};

/// The runner and the candidates that the folder does not have yet.
std::vector<Compilation> whatIsMissing(const tune::Job &job, const std::string &folder) {
  std::vector<Compilation> all{{tune::runnerSource, tune::runnerProgram, tune::runnerFlags()}};
  for (const std::string &code : job.codes)
    all.push_back({code + ".cu", code + ".so", tune::candidateFlags()});
  std::erase_if(all, [&](const Compilation &one) { return llvm::sys::fs::exists(inFolder(folder, one.output)); });
  return all;
}

/// Whether there is an output then; what nvcc said is in a log beside it.
bool compile(const std::string &nvcc, const std::vector<std::string> &flags, const Compilation &one,
             const std::string &folder) {
  const std::string output = inFolder(folder, one.output), log = output + ".log", part = output + ".part";
  std::vector<std::string> arguments{nvcc};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.insert(arguments.end(), one.further.begin(), one.further.end());
  arguments.insert(arguments.end(), {"-o", part, inFolder(folder, one.source)});
  const std::vector<llvm::StringRef> words(arguments.begin(), arguments.end());
  const std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(log), llvm::StringRef(log)};
  return llvm::sys::ExecuteAndWait(nvcc, words, std::nullopt, redirects) == 0 && !llvm::sys::fs::rename(part, output);
}

} // namespace

InterruptNote::InterruptNote() {
  received = 0;
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action{};
    action.sa_handler = note;
    sigaction(signal, &action, nullptr);
  }
}

InterruptNote::~InterruptNote() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptNote::isInterrupted() { return received != 0; }

void InterruptNote::obey() {
  std::signal(received, SIG_DFL);
  std::raise(received);
  std::_Exit(128 + received);
}

int writeJob(const tune::Job &job, const std::string &folder) {
  for (const auto &[name, text] : job.files) {
    const std::string path = inFolder(folder, name);
    if (const std::error_code error = llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path))) {
      complain(fmt::format("cannot make the folder of `{}`: {}", path, error.message()));
      return CannotWriteOutput;
    }
    uint64_t size = 0;
    const bool isThere = !llvm::sys::fs::file_size(path, size) && size == text.size() && readIfThere(path) == text;
    if (const int code = isThere ? Success : writeOutput(path, text); code != Success)
      return code;
  }
  llvm::sys::fs::setPermissions(inFolder(folder, tune::scriptFile), llvm::sys::fs::perms(0755));
  return Success;
}

int buildJob(const tune::Job &job, const arch::Description &target, const std::string &folder,
             const std::string &sourceFolder, unsigned atATime, const OnProgress &onProgress) {
  const std::string nvcc = findNvcc();
  if (nvcc.empty()) {
    complain(
        "tuning needs nvcc, of the CUDA toolkit, in PATH or in /usr/local/cuda/bin; `--build-only` writes all that "
        "it takes to tune on another machine");
    return Usage;
  }
  std::vector<std::string> flags = tune::compilerFlags(target);
  for (std::string &flag : flags)
    if (flag == "include") // the runtime's, of the job
      flag = inFolder(folder, flag);
  flags.insert(flags.end(), {"-I", sourceFolder});
  const std::vector<Compilation> todo = whatIsMissing(job, folder);
  std::mutex mutex;
  size_t done = 0;
  bool runnerFailed = false;
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(atATime));
  for (const Compilation &one : todo)
    pool.async([&] {
      if (InterruptNote::isInterrupted())
        return;
      const bool isBuilt = compile(nvcc, flags, one, folder);
      const std::scoped_lock lock(mutex);
      runnerFailed |= !isBuilt && one.output == tune::runnerProgram;
      onProgress(++done, todo.size(), "building");
    });
  pool.wait();
  if (!runnerFailed || InterruptNote::isInterrupted())
    return Success;
  complain(fmt::format("nvcc refused the runner:\n{}", readIfThere(inFolder(folder, "runner.log"))));
  return InternalError;
}

int runJob(const std::string &folder, const std::string &log, const std::function<void(size_t)> &onLines) {
  const std::string program = inFolder(folder, tune::runnerProgram), errors = inFolder(folder, "errors"),
                    job = inFolder(folder, tune::jobFile);
  const auto countLines = [&] {
    const std::string text = readIfThere(log);
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  const size_t before = countLines();
  size_t seen = before;
  const llvm::StringRef arguments[] = {program, job, log};
  const std::optional<llvm::StringRef> redirects[] = {std::nullopt, std::nullopt, llvm::StringRef(errors)};
  std::string message;
  const llvm::sys::ProcessInfo child =
      llvm::sys::ExecuteNoWait(program, arguments, std::nullopt, redirects, 0, &message);
  if (child.Pid == llvm::sys::ProcessInfo::InvalidPid) {
    complain(fmt::format("cannot run `{}`: {}", program, message));
    return InternalError;
  }
  for (;;) {
    const llvm::sys::ProcessInfo ended = llvm::sys::Wait(child, 0, &message, nullptr, /*Polling=*/true);
    if (InterruptNote::isInterrupted()) {
      kill(child.Pid, SIGTERM);
      llvm::sys::Wait(child, std::nullopt);
      return Success;
    }
    if (const size_t now = countLines(); now != seen) {
      seen = now;
      onLines(now - before);
    }
    if (ended.Pid != child.Pid) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    if (ended.ReturnCode == 0)
      return Success;
    complain(fmt::format("the runner could not run: {}", readIfThere(errors)));
    return InputErrors;
  }
}

} // namespace tkc::driver
