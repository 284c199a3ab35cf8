// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lanes of a warp do together: shuffles, votes, sums, elections, matrices to and from shared memory. Source: PTX
// ISA, "shfl.sync", "vote.sync", "redux.sync", "elect.sync", "ldmatrix", "stmatrix".
#include "emulator/models/Warp.h"

#include <fmt/core.h>

namespace tkc::emulator {
namespace {

// ---- shuffles: slots are the result, its predicate, the value, and the operands b and c.

constexpr size_t result = 0, isValid = 1, value = 2, operandB = 3, operandC = 4;

/// The lane that `lane` reads, by PTX's definition, or -1 where it is out of range.
int sourceLane(Shuffle mode, int lane, uint32_t b, uint32_t c) {
  const int by = static_cast<int>(b & 31), clamp = static_cast<int>(c & 31), segment = static_cast<int>(c >> 8 & 31);
  const int highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
  switch (mode) {
  case Shuffle::Up:
    return lane - by >= highest ? lane - by : -1;
  case Shuffle::Down:
    return lane + by <= highest ? lane + by : -1;
  case Shuffle::Butterfly:
    return (lane ^ by) <= highest ? lane ^ by : -1;
  case Shuffle::Index: {
    const int from = lowest | (by & ~segment);
    return from <= highest ? from : -1;
  }
  }
  return -1;
}

void shuffleAll(Collective &lanes, Shuffle mode) {
  for (int lane = 0; lane < 32; ++lane) {
    uint64_t *slots = lanes.slots[lane];
    if (!slots)
      continue;
    const int from =
        sourceLane(mode, lane, static_cast<uint32_t>(slots[operandB]), static_cast<uint32_t>(slots[operandC]));
    if (from >= 0 && !lanes.slots[from])
      reportError(lanes.threads[lane]->site,
                  fmt::format("lane {} reads lane {}, which the mask {:#x} leaves out", lane, from, lanes.mask));
    slots[result] = from < 0 ? slots[value] : lanes.slots[from][value];
    slots[isValid] = from >= 0;
  }
}

constexpr char shuffleOperations[4] = {};
constexpr char voteOperations[4] = {};

/// `shfl.sync.mode.b32 d|p, a, b, c, mask`
template <Shuffle Mode> void shuffleInstruction(const BoundInstruction &instruction, uint64_t *slots) {
  const size_t at = instruction.operands[1].first; // 1 or 2, as a predicate is asked for or not
  const ShuffleResult got = shuffle(Mode, static_cast<uint32_t>(slots[at + 3]), static_cast<uint32_t>(slots[at]),
                                    static_cast<uint32_t>(slots[at + 1]), static_cast<uint32_t>(slots[at + 2]));
  slots[0] = got.value;
  if (at == 2)
    slots[1] = got.isValid;
}

// ---- votes, sums and elections

template <Vote Kind> void voteInstruction(const BoundInstruction &instruction, uint64_t *slots) {
  slots[0] = vote(Kind, static_cast<uint32_t>(slots[2]), slots[1] != 0);
}

/// `redux.sync.add.s32 d, a, mask`: sums wrap.
void addUp(const BoundInstruction &, uint64_t *slots) {
  static const char operation = 0;
  uint64_t local[] = {slots[1]};
  meet(current(), &operation, static_cast<uint32_t>(slots[2]), local, "redux.sync", [](Collective &lanes) {
    uint32_t sum = 0;
    for (const uint64_t *lane : lanes.slots)
      sum += lane ? static_cast<uint32_t>(*lane) : 0;
    for (uint64_t *lane : lanes.slots)
      if (lane)
        *lane = sum;
  });
  slots[0] = local[0];
}

/// `elect.sync d|p, mask`
void elect(const BoundInstruction &, uint64_t *slots) {
  static const char operation = 0;
  Thread &thread = current();
  uint64_t local[1];
  meet(thread, &operation, static_cast<uint32_t>(slots[2]), local, "elect.sync", [](Collective &) {});
  const int leader = std::countr_zero(static_cast<uint32_t>(slots[2]));
  slots[0] = static_cast<uint64_t>(leader);
  slots[1] = static_cast<int>(thread.lane()) == leader;
}

// ---- 8 × 8 matrices of 16-bit elements; 8 × 16 of 6-bit ones, of which a row is 12 bytes, to bytes

enum Setting { Matrices, Transposed, Unpacks };

bool decodeMatrices(BoundInstruction &instruction) {
  instruction.settings[Matrices] = instruction.has("x4")   ? 4
                                   : instruction.has("x2") ? 2
                                   : instruction.has("x1") ? 1
                                                           : 0;
  instruction.settings[Transposed] = instruction.has("trans");
  return instruction.settings[Matrices] != 0 && instruction.has("m8n8") && instruction.has("b16");
}
bool decodeLoads(BoundInstruction &instruction) {
  const bool isMatrix = decodeMatrices(instruction);
  instruction.settings[Unpacks] = instruction.has("m8n16") && instruction.has("b8x16") && instruction.has("b6x16_p32");
  return isMatrix ||
         (instruction.settings[Unpacks] && instruction.settings[Matrices] != 0 && !instruction.settings[Transposed]);
}

struct Matrix {
  uint16_t elements[8][8];
};

/// Lanes 8·i to 8·i + 7 have the addresses of the rows of matrix i, of which `bytes` are accessed.
uint16_t *rowOf(const BoundInstruction &instruction, Collective &lanes, int matrix, int row, size_t addressSlot,
                AccessKind kind, uint32_t bytes = 16) {
  const int lane = 8 * matrix + row;
  const auto address = static_cast<uint32_t>(lanes.slots[lane][addressSlot] +
                                             static_cast<uint64_t>(instruction.operands[addressSlot ? 1 : 0].offset));
  return static_cast<uint16_t *>(checkedAccess(*lanes.threads[lane], address, bytes, 16, kind, instruction.site));
}

/// Lane t holds elements (t / 4, 2 · (t % 4)) and the next of the row; of the transpose if `transposed`.
uint32_t fragment(const Matrix &matrix, int lane, bool transposed) {
  const int row = lane / 4, col = lane % 4 * 2;
  const uint16_t low = transposed ? matrix.elements[col][row] : matrix.elements[row][col];
  const uint16_t high = transposed ? matrix.elements[col + 1][row] : matrix.elements[row][col + 1];
  return low | static_cast<uint32_t>(high) << 16;
}

void setFragment(Matrix &matrix, int lane, bool transposed, uint32_t word) {
  const int row = lane / 4, col = lane % 4 * 2;
  (transposed ? matrix.elements[col][row] : matrix.elements[row][col]) = static_cast<uint16_t>(word);
  (transposed ? matrix.elements[col + 1][row] : matrix.elements[row][col + 1]) = static_cast<uint16_t>(word >> 16);
}

/// 16 elements of 6 bits as bytes.
void unpackRow(void *to, const void *packed) {
  uint8_t bytes[12], elements[16];
  std::memcpy(bytes, packed, sizeof bytes);
  for (size_t i = 0; i < 16; ++i) {
    const size_t bit = 6 * i, at = bit / 8;
    const unsigned pair = bytes[at] | (at + 1 < sizeof bytes ? unsigned(bytes[at + 1]) << 8 : 0);
    elements[i] = static_cast<uint8_t>(pair >> bit % 8 & 0x3f);
  }
  std::memcpy(to, elements, sizeof elements);
}

void loadMatrices(const BoundInstruction &instruction, uint64_t *slots) {
  const bool transposed = instruction.settings[Transposed] != 0;
  const size_t addressSlot = instruction.operands[1].first;
  meet(current(), &instruction, ~0u, slots, "ldmatrix", [&](Collective &lanes) {
    Matrix matrices[4];
    for (int i = 0; i < instruction.settings[Matrices]; ++i)
      for (int row = 0; row < 8; ++row)
        if (instruction.settings[Unpacks])
          unpackRow(matrices[i].elements[row], rowOf(instruction, lanes, i, row, addressSlot, AccessKind::Read, 12));
        else
          std::memcpy(matrices[i].elements[row], rowOf(instruction, lanes, i, row, addressSlot, AccessKind::Read), 16);
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < instruction.settings[Matrices]; ++i)
        lanes.slots[lane][i] = fragment(matrices[i], lane, transposed);
  });
}

void storeMatrices(const BoundInstruction &instruction, uint64_t *slots) {
  const bool transposed = instruction.settings[Transposed] != 0;
  const size_t first = instruction.operands[1].first;
  meet(current(), &instruction, ~0u, slots, "stmatrix", [&](Collective &lanes) {
    for (int i = 0; i < instruction.settings[Matrices]; ++i) {
      Matrix matrix;
      for (int lane = 0; lane < 32; ++lane)
        setFragment(matrix, lane, transposed, static_cast<uint32_t>(lanes.slots[lane][first + static_cast<size_t>(i)]));
      for (int row = 0; row < 8; ++row)
        std::memcpy(rowOf(instruction, lanes, i, row, 0, AccessKind::Write), matrix.elements[row], 16);
    }
  });
}

constexpr Model table[] = {
    {"shfl.sync.idx.b32", shuffleInstruction<Shuffle::Index>},
    {"shfl.sync.up.b32", shuffleInstruction<Shuffle::Up>},
    {"shfl.sync.down.b32", shuffleInstruction<Shuffle::Down>},
    {"shfl.sync.bfly.b32", shuffleInstruction<Shuffle::Butterfly>},
    {"vote.sync.all.pred", voteInstruction<Vote::All>},
    {"vote.sync.any.pred", voteInstruction<Vote::Any>},
    {"vote.sync.ballot.b32", voteInstruction<Vote::Ballot>},
    {"redux.sync.add.s32", addUp},
    {"elect.sync", elect},
    {"ldmatrix.sync.aligned.*", loadMatrices, decodeLoads},
    {"stmatrix.sync.aligned.*", storeMatrices, decodeMatrices},
};

} // namespace

std::span<const Model> warpModels() { return table; }

ShuffleResult shuffle(Shuffle mode, uint32_t mask, uint32_t x, uint32_t b, uint32_t c) {
  uint64_t slots[] = {0, 0, x, b, c};
  meet(current(), shuffleOperations + static_cast<int>(mode), mask, slots, "shfl.sync",
       [mode](Collective &lanes) { shuffleAll(lanes, mode); });
  return {static_cast<uint32_t>(slots[result]), slots[isValid] != 0};
}

uint32_t vote(Vote kind, uint32_t mask, bool predicate) {
  uint64_t slots[] = {predicate};
  meet(current(), voteOperations + static_cast<int>(kind), mask, slots, "vote.sync", [&](Collective &lanes) {
    uint32_t ballot = 0;
    for (int lane = 0; lane < 32; ++lane)
      if (lanes.slots[lane] && *lanes.slots[lane])
        ballot |= 1u << lane;
    const uint64_t all = kind == Vote::All ? ballot == lanes.arrived : kind == Vote::Any ? ballot != 0 : ballot;
    for (uint64_t *lane : lanes.slots)
      if (lane)
        *lane = all;
  });
  return static_cast<uint32_t>(slots[0]);
}

} // namespace tkc::emulator
