// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is called how in an emitted file, where users' names, the compiler's and C++'s meet: the kernels of a file, and
// the members of a kernel's two structs. Names of users stay as they are as far as C++ lets them; what the compiler
// adds gets out of their way.
#pragma once

#include "backends/targets/nvidia/Nvcc.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tkc::planner {
struct PlannedKernel;
}

namespace tkc::cuda {

/// By plan, "gemm_bf16": the kernel's name with what the specialisation fixed. No two of one GPU are the same, nor are
/// the structs that are named after them.
using KernelNames = std::map<const plan::Plan *, std::string>;
KernelNames kernelNames(const std::vector<planner::PlannedKernel> &kernels);

/// What stands outside of all functions of a file.
struct FileNames {
  KernelNames kernels;
  std::set<std::string> entries; ///< functions that callers have: of kernels and programs
};

/// The struct of what a kernel is called with, and of its shared memory.
std::string argumentsOf(const std::string &kernel);
std::string sharedOf(const std::string &kernel);

class MemberNames {
public:
  MemberNames(const plan::Plan &plan, const std::string &kernel);

  // Of the arguments: a parameter or a symbol; a tensor map, and whether the tensor suits it; what else the launcher
  // found out, one of fitFlags().
  const std::string &argument(const std::string &name) const { return arguments.at(name); }
  const std::string &map(const std::string &name) const { return maps.at(name); }
  const std::string &fits(const std::string &map) const { return fitting.at(map); }
  const std::string &flag(const std::string &name) const { return flags.at(name); }
  const std::string &divisor(const std::string &key) const { return divisors.at(key); } ///< GridDivisor::key
  const std::string &columns() const { return columnsName; } ///< of tiles, where the launcher chooses them

  // Of shared memory.
  const std::string &buffer(const std::string &name) const { return buffers.at(name); }
  const std::string &barrier(const std::string &name) const { return barriers.at(name); }

private:
  using Names = std::map<std::string, std::string>;
  Names arguments, maps, fitting, flags, divisors, buffers, barriers;
  std::string columnsName;
};

/// Those that the plans are for.
Architectures architecturesOf(const std::vector<planner::PlannedKernel> &kernels);

/// The namespace of a GPU's kernels in a file for several, of which launchers choose at run time; `entries` are names
/// of the file's functions.
std::string namespaceOf(const arch::Description &gpu, const std::set<std::string> &entries);

} // namespace tkc::cuda
