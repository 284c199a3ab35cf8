// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc arch [NAME]`: the GPUs, as the planner sees them.
#include "tkc/CommandLine.h"
#include "tkc/Driver.h"
#include "tkc/Targets.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <memory>

namespace tkc::driver {
namespace {

class Sheet {
public:
  explicit Sheet(const arch::Description &gpu) : gpu(gpu) {}

  std::string print() {
    text = fmt::format("{} ({}){}\n", gpu.name, fmt::join(gpu.families, ", "),
                       gpu.hasBackend ? "" : ": described, not compiled for yet");
    multiprocessor();
    part();
    copies();
    for (const arch::MatrixInstruction &product : gpu.matrixInstructions)
      instruction(product);
    return std::move(text);
  }

private:
  void line(std::string_view name, const std::string &value) { text += fmt::format("  {:<24} {}\n", name, value); }
  void have(std::string_view name, bool has) {
    if (has)
      line(name, "yes");
  }

  void multiprocessor() {
    line("shared memory", fmt::format("{} bytes a block, {} a multiprocessor", gpu.sharedBytesPerBlock,
                                      gpu.sharedBytesPerMultiprocessor));
    line("registers",
         fmt::format("{} a multiprocessor, {} a thread", gpu.registersPerMultiprocessor, gpu.maxRegistersPerThread));
    line("threads", fmt::format("{} a block, {} a multiprocessor, {} a warp", gpu.maxThreadsPerBlock,
                                gpu.maxThreadsPerMultiprocessor, gpu.warpSize));
    if (gpu.tensorMemoryColumns > 0)
      line("tensor memory", fmt::format("{} columns of 128 × 32 bits", gpu.tensorMemoryColumns));
    line("barriers of a block", std::to_string(gpu.namedBarriers));
    have("transaction barriers", gpu.hasTransactionBarriers);
    if (gpu.maxClusterSize > 1)
      line("clusters", fmt::format("of up to {} blocks", gpu.maxClusterSize));
    have("cluster launch control", gpu.hasClusterLaunchControl);
    have("register reallocation", gpu.hasRegisterReallocation);
  }

  void copies() {
    have("eviction priorities", gpu.hasEvictionPriority);
    have("asynchronous copies", gpu.hasAsyncCopy);
    if (gpu.hasBulkTensorCopy)
      line("bulk tensor copies",
           fmt::format("boxes of up to {} a dim, at multiples of {} bytes", gpu.maxBoxDim, gpu.boxAlignment));
    if (gpu.directLoadBytes > 0)
      line("loads to shared memory", fmt::format("{} bytes a lane", gpu.directLoadBytes));
    have("matrix loads", gpu.hasMatrixLoad);
    have("matrix stores", gpu.hasMatrixStore);
    have("transposing reads", gpu.hasTransposingRead);
    if (gpu.hasFloat8Conversion)
      line("float8 conversions", gpu.float8IsFnuz ? "FNUZ" : "yes");
  }

  void part() {
    line("largest part", gpu.part);
    line("  multiprocessors", gpu.chiplets > 1 ? fmt::format("{} on {} dies", gpu.multiprocessors, gpu.chiplets)
                                               : std::to_string(gpu.multiprocessors));
    line("  clock", fmt::format("{} MHz", gpu.clockMHz));
    line("  memory",
         fmt::format("{} GB/s, L2 {} MiB{}", gpu.bandwidthGBs, gpu.l2Bytes >> 20, gpu.chiplets > 1 ? " a die" : ""));
  }

  static std::string spaces(uint8_t set) {
    std::vector<std::string_view> names;
    if (set & arch::Registers)
      names.push_back("registers");
    if (set & arch::SharedMemory)
      names.push_back("shared");
    if (set & arch::TensorMemory)
      names.push_back("tensor memory");
    return fmt::format("{}", fmt::join(names, " or "));
  }

  void instruction(const arch::MatrixInstruction &it) {
    const std::string types = fmt::format("{} × {} → {}", spelling(it.a), spelling(it.b), spelling(it.accumulator));
    const std::string columns = it.n == it.nMax ? std::to_string(it.n) : fmt::format("{}..{}", it.n, it.nMax);
    line(it.scaling == arch::Scaling::Block ? "scaled product" : "product",
         fmt::format("{}: {}x{}x{} by {}, {} a clock; a from {}, b from {}, into {}", types, it.m, columns, it.k,
                     spelling(it.issuer), it.macsPerClock, spaces(it.aSpaces), spaces(it.bSpaces),
                     spaces(it.resultSpaces)));
  }

  const arch::Description &gpu;
  std::string text;
};

/// Who issues the fastest matrix instruction, which decides how kernels of products are built.
std::string issuerOfProducts(const arch::Description &gpu) {
  const auto fastest = std::max_element(gpu.matrixInstructions.begin(), gpu.matrixInstructions.end(),
                                        [](const auto &a, const auto &b) { return a.macsPerClock < b.macsPerClock; });
  return std::string(fastest == gpu.matrixInstructions.end() ? "" : spelling(fastest->issuer));
}

/// What scripts ask for: names and sizes.
llvm::json::Value json(const arch::Description &gpu) {
  return llvm::json::Object{{"name", gpu.name},
                            {"families", llvm::json::Array(gpu.families)},
                            {"part", gpu.part},
                            {"compiles", gpu.hasBackend},
                            {"amd", gpu.capability.major == 0},
                            {"products_by", issuerOfProducts(gpu)},
                            {"shared_bytes_per_block", gpu.sharedBytesPerBlock},
                            {"shared_bytes_per_multiprocessor", gpu.sharedBytesPerMultiprocessor},
                            {"registers_per_multiprocessor", gpu.registersPerMultiprocessor},
                            {"registers_per_thread", gpu.maxRegistersPerThread},
                            {"threads_per_block", gpu.maxThreadsPerBlock},
                            {"threads_per_multiprocessor", gpu.maxThreadsPerMultiprocessor},
                            {"threads_per_warp", gpu.warpSize},
                            {"multiprocessors", gpu.multiprocessors},
                            {"clock_mhz", gpu.clockMHz},
                            {"bandwidth_gbs", gpu.bandwidthGBs}};
}

int list(const std::string &name, bool asJson) {
  std::vector<const arch::Description *> chosen = arch::all();
  if (!name.empty()) {
    if (!findArch(name))
      return Usage;
    std::erase_if(chosen, [&](const arch::Description *gpu) {
      const std::vector<std::string> names = gpu->scheduleNames();
      return std::find(names.begin(), names.end(), name) == names.end();
    });
  }
  std::string text;
  llvm::json::Array all;
  for (const arch::Description *gpu : chosen) {
    text += Sheet(*gpu).print();
    all.push_back(json(*gpu));
  }
  return writeOutput("-", asJson ? llvm::formatv("{0:2}\n", llvm::json::Value(std::move(all))).str() : text);
}

} // namespace

void addArch(Command &app, Action &action) {
  auto name = std::make_shared<std::string>();
  Command *command = app.add_subcommand("arch", "List the GPUs and what they have");
  command->add_option("NAME", *name, "this GPU, or the GPUs of this family, only");
  auto asJson = std::make_shared<bool>(false);
  command->add_flag("--json", *asJson, "for scripts: names and sizes, as a JSON array");
  command->callback([&action, name, asJson] { action = [name, asJson] { return list(*name, *asJson); }; });
}

} // namespace tkc::driver
