// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The IR of a kernel, made for nvptx64 or amdgcn, as IR for the host: asm and intrinsics become calls of models, shared
// variables become places in the block's slot, accesses are checked before they are made. Generic, shared and global
// addresses are host addresses, so that NVIDIA's address spaces need no change; AMD's are amdgpu/Retarget.cpp's.
#pragma once

#include "emulator/Machine.h"
#include "emulator/Models.h"

#include <deque>
#include <memory>
#include <string>

namespace llvm {
class CallBase;
class Function;
class Instruction;
class Module;
class TargetMachine;
class Value;
} // namespace llvm

namespace tkc::emulator {

struct WaveInstruction;

/// What lowered code refers to by address; lives as long as it.
struct LoweredData {
  std::deque<BoundInstruction> instructions;
  std::vector<std::shared_ptr<WaveInstruction>> waveInstructions;
};

struct LoweringContext {
  llvm::Module &module;
  LoweredData &data;
  Sites &sites;
  std::string gpu;   ///< "sm_90a"
  std::string error; ///< the first thing that has no model; empty if all has

  void fail(const std::string &what) {
    if (error.empty())
      error = what;
  }
};

/// Name of the function that takes the kernel's arguments as `cudaLaunchKernel` does.
std::string entryName(const std::string &kernel);

/// All of it, for a module that holds one kernel and what it calls, already optimised.
KernelTraits lowerKernel(LoweringContext &context, const std::string &kernel);

// The parts.
void lowerAsm(LoweringContext &context, llvm::Function &function);
void guardPendingValues(LoweringContext &context, llvm::Function &function);
void checkAccesses(LoweringContext &context, llvm::Function &function);
SiteId siteOf(LoweringContext &context, const llvm::Instruction &instruction, const std::string &what);

} // namespace tkc::emulator
