// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host side of programs: workspace, fills and launches in order.
#pragma once

#include "backends/emit/Names.h"
#include "backends/targets/Dialect.h"

#include <string>
#include <vector>

namespace tkc {
struct ProgramPlan;
struct Signature;
class SourceManager;
} // namespace tkc

namespace tkc::cuda {

/// The functions of one program, over all its plans. The entries of the kernels that it launches stand before them, in
/// the same namespace `scope`; empty: the global one.
std::string printProgramEntries(const Signature &signature, const std::vector<const ProgramPlan *> &plans,
                                const FileNames &names, const SourceManager &sources, const Dialect &dialect,
                                const std::string &scope);

} // namespace tkc::cuda
