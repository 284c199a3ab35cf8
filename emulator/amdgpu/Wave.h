// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waves of 64 lanes. A wave operation waits for all lanes that have not ended, and they must all come to the same one:
// on the hardware lanes of a wave go in step, so in flow that is the same for all of them this is how they meet. An
// operation that some lanes reach while others reach another is an error.
//
// Loads to LDS of a wave complete in order, and are waited for by their count. What they write comes to be known by the
// wait. A barrier hands on what a fence or a wait has completed before it, and no more: the barrier itself waits for
// nothing.
#pragma once

#include "emulator/Machine.h"

#include <array>
#include <cstddef>

namespace tkc::emulator {

struct WaveInstruction;

constexpr uint32_t waveSize = 64;

/// The lanes that came to an operation: null where there is none, or it has ended.
struct WaveLanes {
  const WaveInstruction *instruction = nullptr;
  std::array<std::byte *, waveSize> slots{};
  std::array<Thread *, waveSize> threads{};
  uint64_t arrived = 0;
  bool done = false;
  WaitList waiting;

  Thread &first() const;
};

/// One load to LDS, of all lanes that took part.
struct WaveLoad {
  SiteId site;
  uint32_t base; ///< address in LDS, which is the same for all lanes
  uint64_t lanes = 0;
  std::vector<std::shared_ptr<Effect>> effects;
};

struct Wave {
  uint64_t existing = 0, live = 0; ///< lanes that the block has, and those that have not ended
  std::shared_ptr<WaveLanes> open;
  std::vector<WaveLoad> loads;
  uint32_t loadsComplete = 0; ///< that the wave has waited for
  uint32_t component = 0;     ///< of the loads
};

struct LaneState {
  Knowledge published;    ///< what the next barrier hands on
  uint32_t loadsSeen = 0; ///< of the wave's loads, those that this lane has come to
};

/// What a block has on GPUs with waves.
class WaveBlock {
public:
  explicit WaveBlock(Block &block);

  Wave &waveOf(const Thread &thread) { return waves[thread.index / waveSize]; }
  LaneState &stateOf(const Thread &thread) { return lanes[thread.index]; }
  static uint32_t laneOf(const Thread &thread) { return thread.index % waveSize; }

  /// The running lane comes to a wave operation; the last one runs it.
  void meet(const WaveInstruction &instruction, std::byte *slots);
  void barrier();
  /// A lane ends: nobody waits for it any longer.
  void end(Thread &thread);

  /// Everything the lane has done so far is complete: the next barrier hands it on.
  void publish(Thread &thread);
  /// All loads to LDS but the wave's last `left` are complete.
  void waitForLoads(WaveLanes &wave, uint32_t left);
  /// The load to LDS at `site` that the running lane comes to.
  WaveLoad &load(SiteId site, uint32_t base, uint32_t &number);

private:
  void run(Wave &wave);
  void completeBarrierIfDue();

  Block &block;
  std::vector<Wave> waves;
  std::vector<LaneState> lanes;
  uint32_t running;
  NamedBarrier blockBarrier;
};

} // namespace tkc::emulator
