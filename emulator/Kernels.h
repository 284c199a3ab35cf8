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
template <class T> class Expected;
namespace orc {
class JITTargetMachineBuilder;
}
} // namespace llvm

namespace tkc::emulator {

struct CompiledKernel {
  std::string name; ///< mangled
  KernelTraits traits;
  std::unique_ptr<LoweredData> data;
  std::unique_ptr<llvm::MemoryBuffer> object;
  std::string error; ///< empty if it compiled
};

/// What makes code for this machine, of kernels and of the host's side, without optimising it: small cases run shorter
/// than better code takes to make.
llvm::Expected<llvm::orc::JITTargetMachineBuilder> hostMachine();

/// Names of the kernels that a device module defines.
std::vector<std::string> kernelNames(const llvm::Module &device);

/// `bitcode` is the whole device module's.
/// For the GPU `gpu`, as in "sm_90a"; an instruction that it lacks is an error.
/// Variables of the device are placed in `memory`.
CompiledKernel compileKernel(const llvm::MemoryBuffer &bitcode, const std::string &kernel, const std::string &gpu,
                             GlobalMemory &memory, Sites &sites);

} // namespace tkc::emulator
