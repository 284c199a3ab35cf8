// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What CUDA and HIP spell differently.
#pragma once

#include "ir/plan/PlanIR.h"

#include <string>
#include <string_view>

namespace tkc::cuda {

struct Dialect {
  std::string_view numbers;      ///< before `threadIdx`, `blockIdx` and `gridDim`
  std::string_view stream;       ///< the type of a stream's pointee
  std::string_view argument;     ///< before the type of a kernel's parameter
  std::string_view anyDevice;    ///< what a launcher asks of a device, where it asks nothing
  std::string_view deviceType;   ///< the type of what it asks
  std::string_view trap;         ///< ends a kernel that cannot run
  std::string_view overlay;      ///< where the runtime's headers are looked for first; empty: there is one place
  bool rereadsArguments = false; ///< loops over tiles ask for a kernel's arguments again, so that they are not kept in
                                 ///< registers from one to the next
  bool masksInTurns = false;     ///< a condition of a tile's elements takes scalar registers, of which there are few
  bool hasStaticShared = false;  ///< shared memory is a variable of the kernel; else placed in what the launch asks for

  /// "int(threadIdx.x)"
  std::string thread() const;
  /// "__global__ void __launch_bounds__(384, 1)"; `blocks` that a multiprocessor is to hold at once, 0: as many as the
  /// compiler likes.
  std::string kernelHead(int threads, int blocks) const;
};

/// Of the language that code for `arch` is written in; CUDA's where the name is unknown.
const Dialect &dialectOf(std::string_view arch);

} // namespace tkc::cuda
