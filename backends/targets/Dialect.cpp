// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/targets/Dialect.h"

#include "backends/targets/Description.h"

#include <fmt/core.h>

namespace tkc::cuda {
namespace {

constexpr Dialect inCuda{.numbers = "",
                         .stream = "CUstream_st",
                         .argument = "const __grid_constant__",
                         .anyDevice = "{0, 0, false}",
                         .deviceType = "tk::host::capability",
                         .trap = "__trap",
                         .overlay = "",
                         .rereadsArguments = false,
                         .masksInTurns = false,
                         .hasStaticShared = false};
constexpr Dialect inHip{.numbers = "tk::",
                        .stream = "ihipStream_t",
                        .argument = "const",
                        .anyDevice = "\"\"",
                        .deviceType = "const char *const",
                        .trap = "__builtin_trap",
                        .overlay = "hip/",
                        .rereadsArguments = true,
                        .masksInTurns = true,
                        .hasStaticShared = true};

} // namespace

std::string Dialect::thread() const { return fmt::format("int({}threadIdx.x)", numbers); }

std::string Dialect::kernelHead(int threads, int blocks) const {
  if (hasStaticShared) // the group's size is known, so the compiler may use all registers that it leaves
    return fmt::format("__global__ void __attribute__((amdgpu_flat_work_group_size({0}, {0})))", threads);
  return fmt::format("__global__ void __launch_bounds__({}{})", threads, blocks > 0 ? fmt::format(", {}", blocks) : "");
}

const Dialect &dialectOf(std::string_view arch) {
  const arch::Description *gpu = arch::find(arch);
  return gpu && gpu->language == arch::Language::Hip ? inHip : inCuda;
}

} // namespace tkc::cuda
