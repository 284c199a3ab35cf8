// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The register layout of kernels without products: whole rows over neighbouring threads, 16 bytes at a time.
#pragma once

#include "backends/plan/analysis/Nest.h"
#include "backends/schedule/Schedule.h"
#include "backends/targets/Description.h"

#include <string>

namespace tkc::planner {

/// Chooses threads a block, threads a row and elements an access so that every tile of the kernel fits. False, with
/// `error` set, where a schedule asks for what cannot be.
bool chooseRowLayout(const Nest &nest, const arch::Description &arch, const Schedule &schedule, plan::Layout &layout,
                     std::string &error);

} // namespace tkc::planner
