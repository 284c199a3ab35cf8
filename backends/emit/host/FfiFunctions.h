// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A second file beside an emitted one: for each entry a function of apache-tvm-ffi's C ABI, `__tvm_ffi_NAME`, so that
// Python and every framework with DLPack tensors can call a shared object of the two.
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

/// Parameters are those of the entry without the stream, which the caller's framework knows; the workspace of a program,
/// or of a kernel that can use one, may follow them. A program also has `__tvm_ffi_NAME_workspace_bytes`.
std::string printFfiFunctions(const Module &module, const std::vector<planner::PlannedKernel> &kernels,
                              const std::vector<std::unique_ptr<ProgramPlan>> &programs, const SourceManager &sources);

} // namespace tkc::cuda
