// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of a file to machine code of the host, each by itself, all in parallel.
#pragma once

#include "emulator/GlobalMemory.h"
#include "emulator/Lower.h"

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace llvm {
class MemoryBuffer;
class Module;
} // namespace llvm

namespace tkc::emulator {

struct CompiledKernel {
  std::string name; ///< mangled
  KernelTraits traits;
  std::unique_ptr<LoweredData> data;
  std::unique_ptr<llvm::MemoryBuffer> object;
  std::string error; ///< empty if it compiled
};

/// Names of the kernels that a device module defines.
std::vector<std::string> kernelNames(const llvm::Module &device);

/// `bitcode` is the whole device module's.
/// For the GPU `gpu`, as in "sm_90a"; an instruction that it lacks is an error.
/// Variables of the device are placed in `memory`.
CompiledKernel compileKernel(const llvm::MemoryBuffer &bitcode, const std::string &kernel, const std::string &gpu,
                             GlobalMemory &memory, Sites &sites);

} // namespace tkc::emulator
