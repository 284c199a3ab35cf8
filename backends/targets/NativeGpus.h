// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GPUs of this machine, asked of their drivers without linking to one.
#pragma once

#include "backends/targets/Description.h"

#include <string>
#include <vector>

namespace tkc::arch {

struct NativeGpu {
  Language language;
  int major = 0, minor = 0; ///< NVIDIA: compute capability
  std::string name = {};    ///< AMD: "gfx942"

  std::string describe() const;
};

struct NvidiaGpu {
  std::string name; ///< "NVIDIA H200"
  int major = 0, minor = 0;
};

/// NVIDIA's, as the driver's library says; a program that is wholly static cannot load that, and asks nvidia-smi.
std::vector<NvidiaGpu> nvidiaGpus();

/// What `nvidia-smi --query-gpu=compute_cap,name --format=csv,noheader` says: lines such as "9.0, NVIDIA H200".
std::vector<NvidiaGpu> listedNvidiaGpus(const std::string &lines);

/// NVIDIA's, then AMD's, each kind once.
std::vector<NativeGpu> nativeGpus();

/// The name of the first NVIDIA GPU, "NVIDIA H200"; empty where there is none.
std::string nativeGpuName();

/// AMD's, as the kernel driver's folder of nodes says, each of which has a file `properties`.
std::vector<NativeGpu> amdGpus(const std::string &nodes);

/// "gfx90a" of 90010, which says 9.0.10.
std::string gfxName(unsigned version);

/// The most capable that tkc compiles for and the GPU runs; null where there is none.
const Description *bestTarget(const NativeGpu &gpu);

} // namespace tkc::arch
