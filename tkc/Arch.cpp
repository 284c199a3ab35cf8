// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc arch`: the GPUs, as the planner sees them.
#include "backends/arch/Description.h"
#include "tkc/Driver.h"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

namespace tkc::driver {
namespace {

std::string describe(const arch::Description &gpu) {
  std::string text = fmt::format("{} ({})\n", gpu.name, fmt::join(gpu.families, ", "));
  text += fmt::format("  multiprocessors          {}\n", gpu.multiprocessors);
  text += fmt::format("  shared memory            {} bytes a block\n", gpu.sharedBytesPerBlock);
  text += fmt::format("  registers                {} a multiprocessor, {} a thread\n", gpu.registersPerMultiprocessor,
                      gpu.maxRegistersPerThread);
  text += fmt::format("  threads                  {} a block, {} a warp\n", gpu.maxThreadsPerBlock, gpu.warpSize);
  text += fmt::format("  named barriers           {}\n", gpu.namedBarriers);
  text += fmt::format("  bulk tensor copies       {}\n", gpu.hasBulkTensorCopy ? "yes" : "no");
  text += fmt::format("  register reallocation    {}\n", gpu.hasRegisterReallocation ? "yes" : "no");
  for (const arch::MatrixInstruction &product : gpu.matrixInstructions)
    text += fmt::format("  {:<24} {} × {}, {} deep\n", "product into " + std::string(spelling(product.accumulator)),
                        spelling(product.a), spelling(product.b), product.k);
  return text;
}

int list() {
  std::string text;
  for (const arch::Description *gpu : arch::all())
    text += describe(*gpu);
  return writeOutput("-", text);
}

} // namespace

void addArch(CLI::App &app, Action &action) {
  app.add_subcommand("arch", "List the GPUs and what they have")->callback([&action] { action = list; });
}

} // namespace tkc::driver
