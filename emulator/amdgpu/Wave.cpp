// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/amdgpu/Wave.h"

#include "emulator/amdgpu/WaveModels.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

namespace tkc::emulator {

Thread &WaveLanes::first() const { return *threads[static_cast<size_t>(std::countr_zero(arrived))]; }

WaveBlock::WaveBlock(Block &block) : block(block), running(static_cast<uint32_t>(block.cluster.launch.block.count())) {
  lanes.resize(running);
  waves.resize((running + waveSize - 1) / waveSize);
  for (uint32_t i = 0; i < waves.size(); ++i) {
    const uint32_t count = std::min(waveSize, running - waveSize * i);
    waves[i].existing = waves[i].live = count == waveSize ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
    waves[i].component = block.cluster.newComponent();
  }
}

void WaveBlock::run(Wave &wave) {
  const std::shared_ptr<WaveLanes> lanesHere = std::move(wave.open);
  wave.open.reset();
  lanesHere->instruction->model->wave(*lanesHere->instruction, *lanesHere);
  lanesHere->done = true;
  block.cluster.wake(lanesHere->waiting);
}

void WaveBlock::meet(const WaveInstruction &instruction, std::byte *slots) {
  Thread &thread = current();
  Wave &wave = waveOf(thread);
  if (!wave.open) {
    wave.open = std::make_shared<WaveLanes>();
    wave.open->instruction = &instruction;
  }
  const std::shared_ptr<WaveLanes> together = wave.open;
  if (!together->instruction->isSameAs(instruction))
    reportError(instruction.site,
                fmt::format("divergent wave: this lane comes to `{}`, lanes {:#x} of its wave to `{}` at {}",
                            instruction.name, together->arrived, together->instruction->name,
                            block.cluster.launch.sites->describe(together->instruction->site)));
  const uint32_t lane = laneOf(thread);
  together->arrived |= uint64_t(1) << lane;
  together->slots[lane] = slots;
  together->threads[lane] = &thread;
  if (together->arrived == wave.live)
    return run(wave);
  while (!together->done)
    block.cluster.wait(together->waiting, [together, &wave] {
      return fmt::format("lanes {:#x} of its wave", wave.live & ~together->arrived);
    });
}

void WaveBlock::end(Thread &thread) {
  Wave &wave = waveOf(thread);
  const uint64_t bit = uint64_t(1) << laneOf(thread);
  for (size_t i = wave.loadsComplete; i < wave.loads.size(); ++i)
    if (wave.loads[i].lanes & bit)
      reportError(thread.site, "the lane ends without having waited for its loads to LDS");
  wave.live &= ~bit;
  --running;
  if (wave.open && wave.live != 0 && wave.open->arrived == wave.live)
    run(wave);
  completeBarrierIfDue();
}

void WaveBlock::barrier() {
  Thread &thread = current();
  LaneState &state = stateOf(thread);
  blockBarrier.gathering.join(state.published);
  ++blockBarrier.arrived;
  const std::shared_ptr<NamedBarrier::Generation> generation = blockBarrier.generation;
  completeBarrierIfDue();
  while (!generation->complete)
    block.cluster.wait(generation->waiting, [this] {
      return fmt::format("the block's barrier, at which {} of {} lanes arrived", blockBarrier.arrived, running);
    });
  acquire(thread, generation->knowledge);
  state.published.join(generation->knowledge);
}

void WaveBlock::completeBarrierIfDue() {
  if (blockBarrier.arrived == 0 || blockBarrier.arrived != running)
    return;
  const std::shared_ptr<NamedBarrier::Generation> generation = blockBarrier.generation;
  generation->complete = true;
  generation->knowledge = std::move(blockBarrier.gathering);
  blockBarrier.gathering = Knowledge();
  blockBarrier.arrived = 0;
  blockBarrier.generation = std::make_shared<NamedBarrier::Generation>();
  block.cluster.wake(generation->waiting);
}

void WaveBlock::publish(Thread &thread) { release(thread, stateOf(thread).published); }

void WaveBlock::waitForLoads(WaveLanes &together, uint32_t left) {
  Wave &wave = waveOf(together.first());
  const auto issued = static_cast<uint32_t>(wave.loads.size());
  const uint32_t complete = issued > left ? issued - left : 0;
  for (uint32_t i = wave.loadsComplete; i < complete; ++i) {
    for (const std::shared_ptr<Effect> &effect : wave.loads[i].effects)
      effect->finish();
    wave.loads[i].effects.clear();
  }
  wave.loadsComplete = std::max(wave.loadsComplete, complete);
  for (Thread *thread : together.threads)
    if (thread) {
      thread->knows.happened.raise(wave.component, wave.loadsComplete);
      stateOf(*thread).published.happened.raise(wave.component, wave.loadsComplete);
    }
}

WaveLoad &WaveBlock::load(SiteId site, uint32_t base, uint32_t &number) {
  Thread &thread = current();
  Wave &wave = waveOf(thread);
  LaneState &state = stateOf(thread);
  uint32_t i = state.loadsSeen;
  while (i < wave.loads.size() && wave.loads[i].site != site)
    ++i;
  if (i == wave.loads.size())
    wave.loads.push_back({site, base, 0, {}});
  WaveLoad &load = wave.loads[i];
  if (load.base != base)
    reportError(site, fmt::format("a load to LDS whose lanes name different places: byte {} and byte {}",
                                  load.base - block.shared.begin(), base - block.shared.begin()));
  load.lanes |= uint64_t(1) << laneOf(thread);
  state.loadsSeen = i + 1;
  number = i + 1;
  return load;
}

} // namespace tkc::emulator
