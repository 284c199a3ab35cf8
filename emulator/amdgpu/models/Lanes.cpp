// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lanes of a wave do together: DPP, permutes, broadcasts, votes, transposing reads. Source: "AMD Instinct
// MI300 ISA": "Data Parallel Primitives", "DS_PERMUTE_B32", "DS_SWIZZLE_B32"; for gfx950 LLVM's "User Guide for AMDGPU
// Backend" and "AMD Instinct CDNA4 ISA", "V_PERMLANE32_SWAP_B32".
#include "emulator/amdgpu/WaveModels.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

namespace tkc::emulator {
namespace {

constexpr int lanesInAll = static_cast<int>(waveSize);

template <class F> void forEachLane(const WaveLanes &lanes, F function) {
  for (int lane = 0; lane < lanesInAll; ++lane)
    if (lanes.slots[static_cast<size_t>(lane)])
      function(lane, lanes.slots[static_cast<size_t>(lane)]);
}

bool isLive(const WaveLanes &lanes, int lane) { return lanes.arrived >> lane & 1; }

/// Operand `operand` of every lane, taken before any result is written.
struct Values {
  std::byte bytes[waveSize][8] = {};
  Values(const WaveInstruction &instruction, const WaveLanes &lanes, size_t operand) {
    const WaveInstruction::Operand &value = instruction.operands[operand];
    forEachLane(lanes, [&](int lane, const std::byte *slots) {
      std::memcpy(bytes[lane], slots + value.offset, std::min<size_t>(value.bytes, 8));
    });
  }
};

void setResult(const WaveInstruction &instruction, std::byte *slots, const std::byte *bytes) {
  std::memcpy(slots + instruction.result.offset, bytes, instruction.result.bytes);
}

bool isOfAtMost8Bytes(WaveInstruction &instruction) { return instruction.result.bytes <= 8; }

// ---- DPP

constexpr int noLane = -1;

/// The lane whose value `lane` gets, `noLane` where it is beyond the row or wave.
int dppSource(int control, int lane) {
  const int row = lane / 16 * 16, in = lane % 16, by = control & 15;
  const auto within = [&](int place) { return place < 0 || place > 15 ? noLane : row + place; };
  if (control <= 0xff)
    return lane / 4 * 4 + (control >> (2 * (lane % 4)) & 3);
  switch (control & ~15) {
  case 0x100:
    return within(in + by);
  case 0x110:
    return within(in - by);
  case 0x120:
    return row + (in - by + 16) % 16;
  case 0x150:
    return row + by; // gfx90a and later: one lane of the row for all
  default:
    break;
  }
  switch (control) {
  case 0x130:
    return lane + 1 < lanesInAll ? lane + 1 : noLane;
  case 0x134:
    return (lane + 1) % lanesInAll;
  case 0x138:
    return lane - 1;
  case 0x13c:
    return (lane + lanesInAll - 1) % lanesInAll;
  case 0x140:
    return row + 15 - in;
  case 0x141:
    return lane / 8 * 8 + 7 - lane % 8;
  case 0x142:
    return row - 1;
  case 0x143:
    return lane < 32 ? noLane : 31;
  default:
    return noLane;
  }
}

enum DppSetting { Control, Rows, Banks, ZeroBeyond, Source };

bool decodeDpp(WaveInstruction &instruction) {
  const size_t first = instruction.name == "update.dpp" ? 2 : 1;
  for (size_t i = 0; i < 4; ++i)
    instruction.settings[i] = static_cast<int>(instruction.constant(first + i));
  instruction.settings[ZeroBeyond] &= 1;
  instruction.settings[Source] = static_cast<int>(first) - 1;
  const int control = instruction.settings[Control], kind = control & ~15;
  constexpr int others[] = {0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143};
  const bool isShift = (kind == 0x100 || kind == 0x110 || kind == 0x120) && (control & 15) != 0;
  return isOfAtMost8Bytes(instruction) &&
         (control <= 0xff || isShift || kind == 0x150 ||
          std::find(std::begin(others), std::end(others), control) != std::end(others));
}

void dpp(const WaveInstruction &instruction, WaveLanes &lanes) {
  const int *settings = instruction.settings;
  const Values values(instruction, lanes, static_cast<size_t>(settings[Source])), old(instruction, lanes, 0);
  constexpr std::byte zero[8] = {};
  const bool hasOld = settings[Source] != 0;
  forEachLane(lanes, [&](int lane, std::byte *slots) {
    const int from = dppSource(settings[Control], lane);
    const bool enabled = settings[Rows] >> (lane / 16) & 1 && settings[Banks] >> (lane / 4 % 4) & 1;
    const bool valid = from >= 0 && isLive(lanes, from);
    const std::byte *kept = hasOld ? old.bytes[lane] : zero;
    setResult(instruction, slots, !enabled ? kept : valid ? values.bytes[from] : settings[ZeroBeyond] ? zero : kept);
  });
}

// ---- permutes and broadcasts

void bpermute(const WaveInstruction &instruction, WaveLanes &lanes) {
  const Values values(instruction, lanes, 1);
  forEachLane(lanes, [&](int, std::byte *slots) {
    setResult(instruction, slots, values.bytes[instruction.get<uint32_t>(slots, 0) / 4 % waveSize]);
  });
}

/// Where several lanes name the same one, the highest wins.
void permute(const WaveInstruction &instruction, WaveLanes &lanes) {
  uint32_t results[waveSize] = {};
  forEachLane(lanes, [&](int, const std::byte *slots) {
    results[instruction.get<uint32_t>(slots, 0) / 4 % waveSize] = instruction.get<uint32_t>(slots, 1);
  });
  forEachLane(lanes, [&](int lane, std::byte *slots) { instruction.set(slots, results[lane]); });
}

void swizzle(const WaveInstruction &instruction, WaveLanes &lanes) {
  const Values values(instruction, lanes, 0);
  const auto mode = static_cast<int>(instruction.constant(1));
  forEachLane(lanes, [&](int lane, std::byte *slots) {
    int from = 0;
    if (mode & 0x8000) { // four lanes
      from = lane / 4 * 4 + (mode >> (2 * (lane % 4)) & 3);
    } else {
      const int in = lane % 32;
      from = lane / 32 * 32 + ((((in & mode) | mode >> 5) & 31) ^ (mode >> 10 & 31));
    }
    setResult(instruction, slots, values.bytes[from]);
  });
}

bool decodeSwizzle(WaveInstruction &instruction) { return (instruction.constant(1) & 0xc000) != 0xc000; }

void readFirstLane(const WaveInstruction &instruction, WaveLanes &lanes) {
  const Values values(instruction, lanes, 0);
  const int first = std::countr_zero(lanes.arrived);
  forEachLane(lanes, [&](int, std::byte *slots) { setResult(instruction, slots, values.bytes[first]); });
}

void readLane(const WaveInstruction &instruction, WaveLanes &lanes) {
  const Values values(instruction, lanes, 0);
  forEachLane(lanes, [&](int, std::byte *slots) {
    setResult(instruction, slots, values.bytes[instruction.get<uint32_t>(slots, 1) % waveSize]);
  });
}

/// `value, lane, old`
void writeLane(const WaveInstruction &instruction, WaveLanes &lanes) {
  const Values values(instruction, lanes, 0), old(instruction, lanes, 2);
  forEachLane(lanes, [&](int lane, std::byte *slots) {
    const bool isIt = static_cast<uint32_t>(lane) == instruction.get<uint32_t>(slots, 1) % waveSize;
    setResult(instruction, slots, isIt ? values.bytes[lane] : old.bytes[lane]);
  });
}

void ballot(const WaveInstruction &instruction, WaveLanes &lanes) {
  uint64_t votes = 0;
  forEachLane(lanes, [&](int lane, const std::byte *slots) {
    votes |= uint64_t(instruction.get<uint8_t>(slots, 0) & 1) << lane;
  });
  forEachLane(lanes, [&](int, std::byte *slots) { instruction.set(slots, votes); });
}

bool decodeBallot(WaveInstruction &instruction) { return instruction.result.bytes == 8; }

/// Of the mask's bits for lanes below this one, plus a number: `mbcnt.lo` counts the lower 32.
template <bool High> void countBelow(const WaveInstruction &instruction, Thread &thread, std::byte *slots) {
  const uint64_t below = (uint64_t(1) << WaveBlock::laneOf(thread)) - 1;
  const auto lanes = static_cast<uint32_t>(High ? below >> 32 : below);
  instruction.set(slots, static_cast<uint32_t>(std::popcount(instruction.get<uint32_t>(slots, 0) & lanes)) +
                             instruction.get<uint32_t>(slots, 1));
}

/// The odd halves of the first register change places with the even halves of the second, halves of `Half` lanes.
template <int Half> void swapHalves(const WaveInstruction &instruction, WaveLanes &lanes) {
  const Values x(instruction, lanes, 0), y(instruction, lanes, 1);
  forEachLane(lanes, [&](int lane, std::byte *slots) {
    const bool isOdd = lane / Half % 2 != 0;
    const std::byte *first = isOdd ? y.bytes[lane - Half] : x.bytes[lane];
    const std::byte *second = isOdd ? y.bytes[lane] : x.bytes[lane + Half];
    std::memcpy(slots + instruction.result.offset, first, 4);
    std::memcpy(slots + instruction.result.offset + 4, second, 4);
  });
}

/// `ds_read_b64_tr_b16`: 16 lanes point to 8 bytes each, which are rows of 16 elements one after another; lane l gets
/// column l.
template <uint32_t Bits> void readTransposed(const WaveInstruction &instruction, WaveLanes &lanes) {
  if (lanes.arrived != ~uint64_t(0))
    reportError(instruction.site, "a transposing read in a wave of fewer than 64 lanes");
  constexpr uint32_t perLane = 64 / Bits, lanesInRow = 16 / perLane;
  uint64_t read[waveSize];
  for (uint32_t lane = 0; lane < waveSize; ++lane)
    std::memcpy(&read[lane],
                checkedAccess(*lanes.threads[lane], instruction.get<uint32_t>(lanes.slots[lane], 0), 8, 8,
                              AccessKind::Read, instruction.site),
                8);
  for (uint32_t lane = 0; lane < waveSize; ++lane) {
    uint64_t column = 0;
    for (uint32_t i = 0; i < perLane; ++i) {
      const uint64_t from = read[lane / 16 * 16 + lane % 16 / perLane + lanesInRow * i];
      column |= (from >> (lane % perLane * Bits) & ((uint64_t(1) << Bits) - 1)) << (i * Bits);
    }
    instruction.set(lanes.slots[lane], column);
  }
}

constexpr WaveModel table[] = {
    {"update.dpp", nullptr, dpp, decodeDpp},
    {"mov.dpp", nullptr, dpp, decodeDpp},
    {"ds.bpermute", nullptr, bpermute},
    {"ds.permute", nullptr, permute},
    {"ds.swizzle", nullptr, swizzle, decodeSwizzle},
    {"readfirstlane", nullptr, readFirstLane, isOfAtMost8Bytes},
    {"readlane", nullptr, readLane, isOfAtMost8Bytes},
    {"writelane", nullptr, writeLane, isOfAtMost8Bytes},
    {"ballot", nullptr, ballot, decodeBallot},
    {"mbcnt.lo", countBelow<false>},
    {"mbcnt.hi", countBelow<true>},
    {"ds.read.tr16.b64", nullptr, readTransposed<16>},
    {"ds.read.tr8.b64", nullptr, readTransposed<8>},
    {"permlane16.swap", nullptr, swapHalves<16>},
    {"permlane32.swap", nullptr, swapHalves<32>},
};

} // namespace

std::span<const WaveModel> laneWaveModels() { return table; }

} // namespace tkc::emulator
