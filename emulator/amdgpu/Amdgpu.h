// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of lowering that only IR for amdgcn needs.
#pragma once

#include "emulator/Lower.h"

namespace tkc::emulator {

/// The GPU of that name; None for others.
Cdna cdnaOf(std::string_view arch);

/// Intrinsics, fences and asm statements of a function become calls of models.
void lowerWaveInstructions(LoweringContext &context, llvm::Function &function);

/// The module as one for the host: pointers to LDS become 32-bit pointers of the host, all others its ordinary ones,
/// and nothing is left whose size depends on the target. Kernels keep their names. `layout` is the host's data layout.
void retarget(LoweringContext &context, const std::string &layout);

} // namespace tkc::emulator
