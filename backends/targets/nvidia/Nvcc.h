// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a file for several GPUs says to compilers: the kernels of each have a body only where nvcc, or hipcc, compiles
// for that GPU.
#pragma once

#include "backends/targets/Description.h"

#include <string>
#include <vector>

namespace tkc::cuda {

/// The least capable first: of two that a device runs, launchers take the later.
using Architectures = std::vector<const arch::Description *>;

bool isLessCapable(const arch::Description &gpu, const arch::Description &other);

/// "#if" condition under which `gpu` is what a device would take of `all`.
std::string compilesFor(const arch::Description &gpu, const Architectures &all);

/// Comment lines: what the file is for and the command that compiles it.
std::string describe(const Architectures &all);

/// What nvcc's `-gencode` takes to compile for one GPU, "arch=compute_90a,code=sm_90a". Code that runs on later GPUs,
/// too, is left to their drivers.
std::string gencodeOf(const arch::Description &gpu);

/// "#error" lines for compilations of a GPU's features without the letter that allows them.
std::string refusals(const Architectures &all);

} // namespace tkc::cuda
