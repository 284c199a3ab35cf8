// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host side of an emitted file: one extern "C" function a kernel, which checks every argument, binds the symbols,
// picks the specialisation, encodes tensor maps and launches.
#pragma once

#include "backends/plan/PlanModule.h"
#include "frontend/Program.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tkc {
class SourceManager;
}

namespace tkc::cuda {

/// Launchers of all kernels that have plans, to stand after the kernels.
std::string printLaunchers(const std::vector<planner::PlannedKernel> &kernels, const SourceManager &sources);

/// Entries of programs, to stand after those of the kernels that they launch: `NAME_workspace_bytes`, and `NAME`, which
/// takes the workspace and launches in order on one stream.
std::string printProgramLaunchers(const std::vector<std::unique_ptr<ProgramPlan>> &programs,
                                  const SourceManager &sources);

/// A fill that entries cannot do: of anything but a whole workspace tensor, or with anything but 0.
std::optional<SourceLoc> findUnsupportedFill(const ProgramPlan &plan);

/// A header that declares the launchers, for C and C++.
std::string printHeader(const std::vector<planner::PlannedKernel> &kernels,
                        const std::vector<std::unique_ptr<ProgramPlan>> &programs, const SourceManager &sources);

} // namespace tkc::cuda
