// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA runtime that host code calls. One program runs in a process, so its device is a single object.
#pragma once

#include "runtime/emulator/Machine.h"
#include "runtime/emulator/Models.h"

#include <functional>
#include <map>
#include <span>
#include <string>

namespace tkc::emulator {

/// A kernel, ready to be launched.
struct LoadedKernel {
  std::string name;
  void (*entry)(void **) = nullptr;
  KernelTraits traits;
  std::string error; ///< why it cannot be
};

/// The device as the host code sees it.
struct Device {
  int computeMajor = 9, computeMinor = 0;
  int multiprocessors = 4; ///< few, so that persistent kernels go round their loops
  const Options *options = nullptr;
  const Sites *sites = nullptr;
  GlobalMemory memory;
  std::function<const LoadedKernel &(const void *)> findKernel;          ///< by the address of its stub
  std::function<void(const void *, const std::string &)> registerKernel; ///< HIP's host code names them itself
  std::string lastReport;                                                ///< of what went wrong in a kernel
};

/// The device of the program that runs.
Device *&device();

/// What all launches of a kernel have in common.
void prepareLaunch(Launch &launch, const LoadedKernel &kernel, void **arguments);

/// Functions of the runtime, by name.
std::span<const Support> runtimeFunctions();

} // namespace tkc::emulator
