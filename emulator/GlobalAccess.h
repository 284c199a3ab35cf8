// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses to global memory, checked before they are made: bounds, and races within and between blocks.
#pragma once

#include "emulator/GlobalShadow.h"
#include "emulator/Machine.h"

#include <cstddef>
#include <string>

namespace tkc::emulator {

/// "reads", "writes" or "updates", for reports of any memory.
const char *verb(AccessKind kind);

/// To be called by each thread of the host that runs clusters of a launch.
void beginGlobalAccesses();

/// By a thread. What it says of a write over another's that nothing orders, which is harmless if it writes what stands
/// there; else nothing. Other errors are reported.
std::string checkGlobal(Thread &thread, uint64_t address, uint64_t size, AccessKind kind, SiteId site);

/// By an asynchronous agent of the cluster. `data`: what is going to be written; null for reads and atomic updates.
void checkAsyncGlobal(Cluster &cluster, uint64_t address, uint64_t size, AccessKind kind, const Agent &agent,
                      const void *data);

/// Hands on to other clusters what the thread knows, by the atomic variable at this address, and the reverse: after
/// what it read there. Whether the thread has fenced before is `Thread::fencedForAll`'s to say.
void releaseToOthers(Thread &thread, uint64_t address);
void acquireFromOthers(Thread &thread, uint64_t address);

} // namespace tkc::emulator
