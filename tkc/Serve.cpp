// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc serve FILE`: answers calls of another program on the interpreter. For the Python package, which keeps it
// running.
#include "tkc/Cases.h"
#include "tkc/CommandLine.h"
#include "tkc/Driver.h"

#include "harness/Service.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include <sys/mman.h>
#include <sys/stat.h>

namespace tkc::driver {
namespace {

struct ServeOptions {
  std::string input;
  int memory = -1;
};

/// The file that both programs have open. It grows, and is then mapped again.
class SharedMemory {
public:
  explicit SharedMemory(int file) : file(file) {}
  ~SharedMemory() { unmap(); }
  SharedMemory(const SharedMemory &) = delete;

  char *bytes(uint64_t needed) {
    if (needed > size || !start)
      map();
    return needed > size ? nullptr : start;
  }

private:
  void unmap() {
    if (start)
      munmap(start, size);
    start = nullptr, size = 0;
  }
  void map() {
    unmap();
    struct stat status{};
    if (fstat(file, &status) != 0 || status.st_size <= 0)
      return;
    void *mapped = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED)
      start = static_cast<char *>(mapped), size = static_cast<uint64_t>(status.st_size);
  }

  const int file;
  char *start = nullptr;
  uint64_t size = 0;
};

int serve(const ServeOptions &options) {
  Session session(false);
  const auto [module, code] = readInput(options.input, {}, session);
  if (!module)
    return code;
  SharedMemory memory(options.memory);
  harness::Service service(*module, session.sources, [&](uint64_t bytes) { return memory.bytes(bytes); });
  for (std::string line; std::getline(std::cin, line);)
    if (std::printf("%s\n", service.answer(line).c_str()) < 0 || std::fflush(stdout) != 0)
      return CannotWriteOutput;
  return Success;
}

} // namespace

void addServe(Command &app, Action &action) {
  auto options = std::make_shared<ServeOptions>();
  Command *command = app.add_subcommand("serve", "answer calls on the interpreter: a JSON object a line in, one out");
  command->add_option("FILE", options->input, "a .tk file")->required()->type_name("");
  command->add_option("--memory", options->memory, "a file descriptor: of the memory that holds the tensors")
      ->required()
      ->type_name("FD");
  command->group(""); // for the Python package
  command->callback([&action, options] { action = [options] { return serve(*options); }; });
}

} // namespace tkc::driver
