// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of items and groups, what the launch tells a kernel, barriers, waits, fences, and what has no effect here.
// Source: LLVM's "User Guide for AMDGPU Backend": "Code Object V5 Kernel Argument Metadata", "Memory Model GFX90A",
// "Memory Model GFX942"; "AMD Instinct MI300 ISA", "S_WAITCNT".
#include "emulator/amdgpu/WaveModels.h"

#include <algorithm>

namespace tkc::emulator {

WaitCounts WaitCounts::decode(uint32_t bits) {
  WaitCounts counts;
  const uint32_t vm = (bits & 15) | (bits >> 14 & 3) << 4, lgkm = bits >> 8 & 15;
  counts.loads = vm == 63 ? none : vm;
  counts.lds = lgkm == 15 ? none : lgkm;
  return counts;
}

uint32_t WaitCounts::encode() const {
  const uint32_t vm = std::min(loads, 63u), lgkm = std::min(lds, 15u);
  return (vm & 15) | vm >> 4 << 14 | 7u << 4 | lgkm << 8;
}

namespace {

uint32_t component(const Dim3 &dims, int i) { return i == 0 ? dims.x : i == 1 ? dims.y : dims.z; }

bool decodeAxis(WaveInstruction &instruction) {
  const char axis = instruction.name.back();
  instruction.settings[0] = axis - 'x';
  return axis >= 'x' && axis <= 'z';
}

void workItem(const WaveInstruction &instruction, Thread &thread, std::byte *slots) {
  instruction.set(slots, component(thread.position, instruction.settings[0]));
}

void workGroup(const WaveInstruction &instruction, Thread &thread, std::byte *slots) {
  instruction.set(slots, component(thread.block->position, instruction.settings[0]));
}

void implicitArguments(const WaveInstruction &instruction, Thread &thread, std::byte *slots) {
  instruction.set(slots, thread.block->cluster.launch.hiddenArguments.data());
}

/// The kernels that ask for it have one parameter.
void kernelArguments(const WaveInstruction &instruction, Thread &thread, std::byte *slots) {
  instruction.set(slots, thread.block->cluster.launch.arguments[0]);
}

// ---- waits and barriers

WaveBlock &wavesOf(const Thread &thread) { return *thread.block->waves; }

/// What any lane has done, all lanes know.
void join(const WaveLanes &lanes) {
  Knowledge all;
  for (Thread *thread : lanes.threads)
    if (thread)
      release(*thread, all);
  for (Thread *thread : lanes.threads)
    if (thread)
      acquire(*thread, all);
}

void waveBarrier(const WaveInstruction & /*instruction*/, WaveLanes &lanes) { join(lanes); }

void waitCount(const WaveInstruction &instruction, WaveLanes &lanes) {
  const WaitCounts counts = WaitCounts::decode(static_cast<uint32_t>(instruction.constant(0)));
  if (counts.loads != WaitCounts::none)
    wavesOf(lanes.first()).waitForLoads(lanes, counts.loads);
  if (counts.lds != 0)
    return;
  join(lanes);
  for (Thread *thread : lanes.threads)
    if (thread)
      wavesOf(*thread).publish(*thread);
}

void blockBarrier(const WaveInstruction & /*instruction*/, Thread &thread, std::byte * /*slots*/) {
  wavesOf(thread).barrier();
}

/// Of a fence that releases to other waves.
void fence(const WaveInstruction & /*instruction*/, Thread &thread, std::byte * /*slots*/) {
  wavesOf(thread).publish(thread);
}

/// There is no time: how often the block has asked for it.
void clock(const WaveInstruction &instruction, Thread &thread, std::byte *slots) {
  instruction.set(slots, ++thread.block->cluster.clockReads);
}

void nothing(const WaveInstruction & /*instruction*/, Thread & /*thread*/, std::byte * /*slots*/) {}

constexpr WaveModel table[] = {
    {"workitem.id.*", workItem, nullptr, decodeAxis},
    {"workgroup.id.*", workGroup, nullptr, decodeAxis},
    {"implicitarg.ptr", implicitArguments},
    {"kernarg.segment.ptr", kernelArguments},
    {"s.barrier", blockBarrier},
    {"wave.barrier", nullptr, waveBarrier},
    {"s.waitcnt", nullptr, waitCount},
    {"fence", fence},
    {"s.memtime", clock},
    {"s.memrealtime", clock},
    {"s.setprio", nothing},
    {"s.sleep", nothing},
    {"s.nop", nothing},
    {"sched.barrier", nothing},
    {"sched.group.barrier", nothing},
    {"iglp.opt", nothing},
};

} // namespace

std::span<const WaveModel> controlWaveModels() { return table; }

} // namespace tkc::emulator
