// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tkc {
struct Module;
struct ProgramPlan;
class SourceManager;
} // namespace tkc
namespace tkc::planner {
struct PlannedKernel;
}

namespace tkc::cuda {

struct EmitOptions {
  bool host = true;        ///< with launchers
  bool standalone = false; ///< the runtime's headers are inlined
  std::string scope = {};  ///< a namespace for everything, whose launchers are no C functions then
  int recordWords = 2;     ///< that instrumented kernels store at once (tk/trace.h): 2 or 4
};

/// The .cu file of a module: every plan's kernel, and the functions that launch them. Same input, same bytes.
std::string emitCuda(const Module &module, const std::vector<planner::PlannedKernel> &kernels,
                     const std::vector<std::unique_ptr<ProgramPlan>> &programs, const SourceManager &sources,
                     const EmitOptions &options);

} // namespace tkc::cuda
