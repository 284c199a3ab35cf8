// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which lanes of a wave the LDS serves together, and over how many banks of 4 bytes. Sources: of 16 bytes on gfx90a and
// gfx942 AMD's "Avoiding LDS Bank Conflicts on AMD GPUs Using CK-Tile Framework" (2025); of gfx950 what W. Hu et al.
// measured ("HipKittens", 2025). Of 8 bytes on the older ones it is taken to be 128 bytes of neighbours.
#pragma once

#include "emulator/Machine.h"

#include <cstdint>
#include <vector>

namespace tkc::emulator {

struct LdsPhases {
  uint32_t banks;
  std::vector<uint64_t> lanes; ///< masks
};

/// `count` neighbours at a time.
inline std::vector<uint64_t> neighbours(uint32_t count) {
  std::vector<uint64_t> masks;
  for (uint32_t lane = 0; lane < 64; lane += count)
    masks.push_back(((uint64_t(1) << count) - 1) << lane);
  return masks;
}

/// The same for both halves of the wave.
inline std::vector<uint64_t> inHalves(std::initializer_list<uint64_t> lower) {
  std::vector<uint64_t> masks(lower);
  for (const uint64_t mask : lower)
    masks.push_back(mask << 32);
  return masks;
}

/// Of an access of `bytes` a lane.
inline LdsPhases ldsPhases(Cdna gpu, uint32_t bytes, bool writes) {
  const bool isWide = gpu == Cdna::Cdna4 && !writes;
  if (bytes <= 4)
    return {isWide ? 64u : 32u, neighbours(32)};
  if (bytes <= 8)
    return {isWide ? 64u : 32u, neighbours(isWide ? 32 : 16)};
  if (writes)
    return {32, neighbours(8)};
  if (isWide) // lanes 0–3, 12–15, 20–27, and 4–11, 16–19, 28–31
    return {64, inHalves({0x0ff0f00f, 0xf00f0ff0})};
  // lanes 0–3 and 20–23, 4–7 and 16–19, 8–11 and 28–31, 12–15 and 24–27
  return {32, inHalves({0x00f0000f, 0x000f00f0, 0xf0000f00, 0x0f00f000})};
}

} // namespace tkc::emulator
