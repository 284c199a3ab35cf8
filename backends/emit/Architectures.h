// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file for several GPUs: the kernels of each stand in a namespace of its name and have a body only where nvcc
// compiles for that GPU; the launchers choose at run time.
#pragma once

#include "backends/plan/PlanModule.h"
#include "backends/targets/Description.h"
#include "frontend/Program.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tkc::cuda {

using Architectures = std::vector<const arch::Description *>;

/// Those that the plans are for, the least capable first: of two that a device runs, launchers take the later.
Architectures architecturesOf(const std::vector<planner::PlannedKernel> &kernels);

/// The namespace of a GPU's kernels in a file for several; `entries` are names of the file's functions.
std::string namespaceOf(const arch::Description &gpu, const std::set<std::string> &entries);
/// Names of the functions that launch these.
std::set<std::string> entriesOf(const std::vector<planner::PlannedKernel> &kernels,
                                const std::vector<std::unique_ptr<ProgramPlan>> &programs);

/// "#if" condition under which `gpu` is what a device would take of `all`.
std::string compilesFor(const arch::Description &gpu, const Architectures &all);

/// Comment lines: what the file is for and the command that compiles it.
std::string describe(const Architectures &all);

/// What nvcc's `-gencode` takes to compile for one GPU, "arch=compute_90a,code=sm_90a". Code that runs on later GPUs,
/// too, is left to their drivers.
std::string gencodeOf(const arch::Description &gpu);

/// "#error" lines for compilations of a GPU's features without the letter that allows them.
std::string refusals(const Architectures &all);

} // namespace tkc::cuda
