// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/plan/PlanModule.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tkc {
class SourceManager;
}

namespace tkc::cuda {

/// "gemm_bf16": the kernel's name with what the specialisation fixed.
std::string kernelName(const planner::PlannedKernel &planned);

/// The arguments' struct, the shared-memory struct and the `__global__` function, not yet formatted.
std::string printKernel(const plan::Plan &plan, const std::string &name, const SourceManager &sources);

/// Names of the extern functions that the plan calls.
std::set<std::string> externFunctionsOf(const plan::Plan &plan);
/// Whether the kernel may begin before the one before it on the stream has ended.
bool waitsForPrevious(const plan::Plan &plan);
/// Whether a role of the plan copies in by the copy engine.
bool loadsByEngine(const plan::Plan &plan);
/// Maps through which the plan loads and stores: (name, loads).
std::vector<std::pair<std::string, bool>> mapDirections(const plan::Plan &plan);
/// Dim symbols that are not numbers in this specialisation, in order of first use.
std::vector<std::string> runtimeSymbols(const plan::Plan &plan);

} // namespace tkc::cuda
