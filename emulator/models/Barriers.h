// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers, as other models use them.
#pragma once

#include "emulator/Models.h"

namespace tkc::emulator {

/// The initialised mbarrier at an address of some block of the cluster; else an error.
Mbarrier &mbarrierAt(Thread &thread, uint32_t address, SiteId site);
/// What works on an mbarrier from outside of its block's threads sees its initialisation after a fence: PTX ISA,
/// "membar / fence", `fence.mbarrier_init`, and CUDA C++ Programming Guide, "Using TMA", for that of the proxy.
void checkPublished(const Mbarrier &barrier, SiteId site);
/// A fence for all mbarriers that a block has initialised.
void publishMbarriers(Block &block);
/// To be called whenever arrivals or bytes came.
void completePhaseIfDue(Cluster &cluster, Mbarrier &barrier);

/// To be called when a thread has ended: others of its cluster do not wait for it.
void endAtClusterBarrier(Thread &thread);

void warpBarrier(Thread &thread, uint32_t mask);
/// 0 threads: the whole block.
void blockBarrier(uint32_t id, uint32_t threads);

} // namespace tkc::emulator
