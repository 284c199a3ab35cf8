// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What host code calls of CUDA's runtime and of HIP's alike. One program runs in a process, so its device is a single
// object.
#pragma once

#include "emulator/Machine.h"
#include "emulator/Models.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

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

/// What a call returns; both runtimes number these alike.
enum Error { Success = 0, InvalidValue = 1, OutOfMemory = 2, LaunchFailure = 719 };

/// Keeps what went wrong in a kernel, which every later call of a kernel and every wait says again.
Error fail(const std::string &what);

/// The text of the errors above; null: of another.
const char *commonErrorString(int error);

/// The argument of `kernel<<<…>>>`, which its host code pushes, and the stub that it calls pops.
struct PushedLaunch {
  Dim3 grid, block;
  size_t shared;
  void *stream;
};

/// What the programs of cases call by these names (cases/tk/host/api.h).
Error mallocDevice(void **memory, size_t bytes);
Error freeDevice(void *memory);
Error copy(void *to, const void *from, size_t bytes, int kind);
Error set(void *to, int value, size_t bytes);
Error synchronize();

/// Functions of either runtime, by what follows `cuda` or `hip` in their name.
std::span<const Support> hostFunctions();
/// And what follows `__cuda` or `__hip`.
std::span<const Support> hiddenHostFunctions();

template <class Function> void *address(Function *function) { return reinterpret_cast<void *>(function); }

} // namespace tkc::emulator
