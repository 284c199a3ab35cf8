// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Swizzled tiles in LDS have no bank conflicts: lanes that are served together ask for different words of each bank, on
// each GPU, in each of the ways in which operands are read and copies written.
#include "emulator/amdgpu/LdsBanks.h"
#include "tk/lds_permutation.h"
#include "tk/mfma_layout.h"

#include <gtest/gtest.h>

#include <map>

namespace {

using namespace tkc::emulator;

/// `place(lane)`: row and byte in the row.
template <int Gpu, int Swizzle, int Grain = 16, class Place>
void expectNoConflict(Cdna gpu, uint32_t bytes, bool writes, const Place &place, const char *what) {
  const LdsPhases phases = ldsPhases(gpu, bytes, writes);
  for (const uint64_t lanes : phases.lanes) {
    std::map<uint32_t, uint32_t> words; // by bank
    for (int lane = 0; lane < 64; ++lane)
      if (lanes >> lane & 1) {
        const auto [row, byte] = place(lane);
        const auto address = static_cast<uint32_t>(tk::permute_for<Gpu, Swizzle, Grain>(row * Swizzle + byte));
        for (uint32_t word = address / 4; word < (address + bytes + 3) / 4; ++word)
          EXPECT_EQ(words.emplace(word % phases.banks, word).first->second, word)
              << what << ", swizzle " << Swizzle << ", gpu " << Gpu << ": lane " << lane << " and another";
      }
  }
}

/// Rows of 32 or 16 lanes, a chunk each: how operands are read along k.
template <int Gpu, int Swizzle> void checkAlongK(Cdna gpu) {
  for (const int tile : {32, 16})
    if (64 / tile * 16 <= Swizzle)
      for (int first = 0; first < Swizzle; first += 64 / tile * 16)
        expectNoConflict<Gpu, Swizzle>(
            gpu, 16, false, [&](int lane) { return std::pair(lane % tile, first + lane / tile * 16); }, "along k");
}

/// Whole rows by neighbours, and eight rows below each other: how copies are written.
template <int Gpu, int Swizzle> void checkWrites(Cdna gpu) {
  const int across = Swizzle / 16;
  expectNoConflict<Gpu, Swizzle>(
      gpu, 16, true, [&](int lane) { return std::pair(lane / across, lane % across * 16); }, "rows");
  expectNoConflict<Gpu, Swizzle>(gpu, 16, true, [](int lane) { return std::pair(lane, 0); }, "columns");
}

TEST(LdsPermutation, HasNoBankConflicts) {
  checkAlongK<90, 128>(Cdna::Cdna2);
  checkAlongK<942, 128>(Cdna::Cdna3);
  checkAlongK<942, 64>(Cdna::Cdna3);
  checkAlongK<950, 128>(Cdna::Cdna4);
  checkAlongK<950, 64>(Cdna::Cdna4);
  checkAlongK<950, 32>(Cdna::Cdna4);
  checkWrites<90, 128>(Cdna::Cdna2);
  checkWrites<942, 64>(Cdna::Cdna3);
  checkWrites<950, 128>(Cdna::Cdna4);
  checkWrites<950, 64>(Cdna::Cdna4);
  checkWrites<950, 32>(Cdna::Cdna4);
}

/// 16-bit elements of one row by each tile's lanes, a step's rows apart: how operands that lie the other way are read
/// where no instruction transposes. Two lanes share a word.
template <int Gpu, int Swizzle> void checkByElements(Cdna gpu) {
  for (const int tile : {32, 16})
    for (const int elements : {8, 4})
      for (int block = 0; block < Swizzle / (tile * 2); ++block)
        for (int i = 0; i < elements; ++i)
          expectNoConflict<Gpu, Swizzle>(
              gpu, 2, false,
              [&](int lane) { return std::pair(lane / tile * elements + i, (block * tile + lane % tile) * 2); },
              "by elements");
}

TEST(LdsPermutation, HasNoBankConflictsInReadsByElements) {
  checkByElements<90, 128>(Cdna::Cdna2);
  checkByElements<942, 128>(Cdna::Cdna3);
  checkByElements<942, 64>(Cdna::Cdna3);
}

/// Accumulators are stored by 8 bytes to tiles of grain 8, and read by 8 along k.
template <int Gpu, int Swizzle> void checkRuns(Cdna gpu) {
  for (const bool writes : {true, false})
    for (const int tile : {32, 16})
      for (int first = 0; first + 64 / tile * 8 <= Swizzle; first += 64 / tile * 8)
        expectNoConflict<Gpu, Swizzle, 8>(
            gpu, 8, writes, [&](int lane) { return std::pair(lane % tile, first + lane / tile * 8); }, "staged");
}

TEST(LdsPermutation, HasNoBankConflictsInTilesOfRuns) {
  checkRuns<90, 128>(Cdna::Cdna2);
  checkRuns<942, 128>(Cdna::Cdna3);
  checkRuns<942, 64>(Cdna::Cdna3);
  checkRuns<942, 32>(Cdna::Cdna3);
}

/// Elements of 8 bits that are widened in registers: 4 bytes of each row, an accumulator's run, in tiles of grain 4;
/// and one byte of each, as products by threads read them.
template <int Gpu, int Swizzle> void checkBytes(Cdna gpu) {
  for (const int tile : {32, 16})
    for (int first = 0; first + 64 / tile * 4 <= Swizzle; first += 64 / tile * 4) {
      const auto place = [&](int lane) { return std::pair(lane % tile, first + lane / tile * 4); };
      expectNoConflict<Gpu, Swizzle, 4>(gpu, 4, false, place, "widened");
      expectNoConflict<Gpu, Swizzle, 4>(gpu, 1, false, place, "a byte each");
    }
}

TEST(LdsPermutation, HasNoBankConflictsInTilesOfBytes) {
  checkBytes<90, 128>(Cdna::Cdna2);
  checkBytes<90, 64>(Cdna::Cdna2);
  checkBytes<942, 128>(Cdna::Cdna3);
  checkBytes<942, 64>(Cdna::Cdna3);
  checkBytes<942, 32>(Cdna::Cdna3);
}

/// Four 16-bit rows a read (two reads bring the eight that a lane contracts), or eight of 8 bits.
template <int Bytes, int Swizzle> void checkDownTheColumns(int tile, int elements) {
  using read = tk::transposing_read<Bytes>;
  const int rows = 8 / Bytes;
  for (int step = 0; step < 2; ++step)
    for (int part = 0; part < elements / rows; ++part)
      for (int block = 0; block < Swizzle / (tile * Bytes); ++block)
        expectNoConflict<950, Swizzle>(
            Cdna::Cdna4, 8, false,
            [&](int lane) {
              const int row = (step * (64 / tile) + lane / tile) * elements + part * rows + read::row(lane);
              return std::pair(row, block * tile * Bytes + lane % tile / 16 * 16 * Bytes + read::byte(lane));
            },
            "down the columns");
}

TEST(LdsPermutation, HasNoBankConflictsInTransposingReads) {
  for (const int tile : {32, 16}) {
    checkDownTheColumns<2, 128>(tile, 8);
    checkDownTheColumns<2, 128>(tile, 4);
    checkDownTheColumns<2, 64>(tile, 8);
    checkDownTheColumns<2, 64>(tile, 4);
    checkDownTheColumns<1, 128>(tile, tile / 2);
  }
}

} // namespace
