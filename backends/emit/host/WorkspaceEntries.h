// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries of kernels whose operands the copy engine loads: `NAME_with_workspace` copies those whose rows it cannot take
// to workspace first, and `NAME_workspace_bytes` says how much of it that takes.
#pragma once

#include "backends/emit/host/HostFunction.h"

#include <string>
#include <vector>

namespace tkc::cuda {

/// Tensors that some plan has the copy engine load tiles of, in the signature's order.
std::vector<std::string> paddedTensors(const Signature &signature,
                                       const std::vector<const planner::PlannedKernel *> &planned);

/// Whether the kernel has these functions, and some plan of it may begin while the copies run.
bool followsCopies(const Signature &signature, const std::vector<const planner::PlannedKernel *> &planned);

/// Both functions, in C, and their overloads in C++. Empty where no operand is loaded by the copy engine.
std::string printWorkspaceEntries(const Signature &signature,
                                  const std::vector<const planner::PlannedKernel *> &planned, const Architectures &gpus,
                                  const FileNames &names, const SourceManager &sources, const Dialect &dialect,
                                  Conditions &conditions);

} // namespace tkc::cuda
