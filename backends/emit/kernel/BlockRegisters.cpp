// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/kernel/BlockRegisters.h"

#include "backends/targets/Description.h"

#include <algorithm>

namespace tkc::cuda {

static constexpr int registersOfAll = 65536; // of a multiprocessor with registers that change hands

int launchRegisters(int threads, int blocks) { return std::min(255, registersOfAll / threads / blocks / 8 * 8); }

int sharedOut(const plan::Plan &plan) {
  const int each = plan.roles.front().registers;
  const bool same =
      std::all_of(plan.roles.begin(), plan.roles.end(), [&](const plan::Role &role) { return role.registers == each; });
  return same && each * plan.threads * 2 <= registersOfAll ? each : 0;
}

int blocksAtOnce(const plan::Plan &plan) {
  if (sharedOut(plan) > 0)
    return registersOfAll / (sharedOut(plan) * plan.threads);
  const arch::Description *gpu = arch::find(plan.arch);
  if (std::any_of(plan.roles.begin(), plan.roles.end(), [](const plan::Role &role) { return role.registers > 0; }))
    return gpu ? plan.blocksAtOnce(gpu->registersPerMultiprocessor, gpu->sharedBytesPerMultiprocessor) : 1;
  const int64_t byShared = gpu ? gpu->sharedBytesPerMultiprocessor / std::max<int64_t>(plan.sharedBytes, 1) : 0;
  if (gpu && plan.tensorColumns > 0 && byShared <= 1)
    return 1;
  int64_t warps = 0; // that multiply
  const auto multiplies = [](const plan::Stmt &stmt) { return stmt.kind == plan::StmtKind::Product && stmt.byWarps; };
  for (const plan::Role &role : plan.roles)
    warps += plan::any(role.body, multiplies) ? role.totalWarps() : 0;
  if (!gpu || warps == 0)
    return 0;
  const bool loadsAlone = plan.threads == (warps + 1) * gpu->warpSize;
  const int64_t threads = loadsAlone ? warps * gpu->warpSize : plan.threads;
  const int64_t byRegisters = gpu->registersPerMultiprocessor / (gpu->maxRegistersPerThread * threads);
  return static_cast<int>(std::max<int64_t>(std::min(byRegisters, byShared), 1));
}

} // namespace tkc::cuda
