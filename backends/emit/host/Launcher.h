// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host side of an emitted file: functions of C and C++ for each kernel and program, which check every argument,
// bind the symbols, pick the specialisation, encode tensor maps and launch.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tkc {
struct ProgramPlan;
class SourceManager;
} // namespace tkc
namespace tkc::planner {
struct PlannedKernel;
}

namespace tkc::cuda {

/// Entries of all kernels that have plans, and of programs, to stand after the kernels. Of a program: the query
/// `NAME_workspace_bytes`, and `NAME`, which takes the workspace and launches in order on one stream.
/// In a namespace `scope` there are no C functions.
std::string printLaunchers(const std::vector<planner::PlannedKernel> &kernels,
                           const std::vector<std::unique_ptr<ProgramPlan>> &programs, const SourceManager &sources,
                           const std::string &scope = {});

/// A header that declares the entries, for C and C++.
std::string printHeader(const std::vector<planner::PlannedKernel> &kernels,
                        const std::vector<std::unique_ptr<ProgramPlan>> &programs, const SourceManager &sources);

} // namespace tkc::cuda
