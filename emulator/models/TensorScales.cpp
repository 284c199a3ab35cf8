// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scale factors, and the copies by which they come to tensor memory. Source: PTX ISA, "tcgen05.cp", "Block Scaling for
// tcgen05.mma", "Scale factor layouts".
#include "emulator/models/TensorScales.h"
#include "emulator/Formats.h"
#include "emulator/models/TensorOperands.h"

#include <fmt/core.h>

#include <cmath>

namespace tkc::emulator {

void applyScales(Block &block, const TensorScales &scales, uint32_t rows, uint32_t depth,
                 const TensorOperation &operation, std::vector<Factor> &elements) {
  constexpr uint32_t quarters = 4, quarterLanes = 32;
  for (uint32_t group = 0; group < TensorMemory::groups; ++group)
    checkTensorAccess(block, group, scales.address.column, (rows + quarterLanes - 1) / quarterLanes, 0xffff,
                      AccessKind::Read, operation.tensorAgent());
  const uint32_t each = depth / scales.perRow;
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t s = 0; s < scales.perRow; ++s) {
      const TensorPlace place = scalePlace(row, s);
      const auto byteOf = [&](uint32_t quarter) {
        return block.tensor.word(quarter * quarterLanes + place.lane, scales.address.column + place.column) >>
                   (8 * scales.firstByte + place.bit) &
               0xff;
      };
      const uint32_t code = byteOf(0);
      for (uint32_t quarter = 1; quarter < quarters; ++quarter)
        if (byteOf(quarter) != code)
          reportError(operation.site,
                      fmt::format("scale factors in column {} of tensor memory that are not the same in "
                                  "all four quarters of the lanes",
                                  scales.address.column + place.column));
      const Factor scale = scales.isPowerOfTwo ? Factor{1, static_cast<int32_t>(code) - 127, code == 0xff ? NAN : 1.0f}
                                               : decodeFactor(MatrixType::F8E4M3, code & 0x7f);
      for (uint32_t k = s * each; k < (s + 1) * each; ++k) {
        Factor &element = elements[row * depth + k];
        element.mantissa *= scale.mantissa;
        element.exponent += scale.exponent;
        if (!std::isfinite(scale.value))
          element.value = scale.value; // otherwise it says no more than whether the element is finite
      }
    }
}

namespace {

enum Setting { Blocks, Rows, Chunks, Spread };
enum Spreads { Whole, Four, ZeroTwo, ZeroOne };

/// `tcgen05.cp.cta_group::1.32x128b.warpx4`
bool decodeCopy(BoundInstruction &instruction) {
  const std::vector<std::string_view> parts = instruction.parts();
  instruction.settings[Blocks] = readBlocksTogether(instruction);
  if (parts.size() < 4 || instruction.settings[Blocks] == 0)
    return false;
  const std::string_view shape = parts[3];
  instruction.settings[Rows] = shape.starts_with("128x") ? 128 : shape.starts_with("64x") ? 64 : 32;
  instruction.settings[Chunks] = shape.ends_with("256b") ? 2 : 1;
  const std::string_view spread = parts.size() > 4 ? parts[4] : "";
  instruction.settings[Spread] = spread == "warpx4"          ? Four
                                 : spread == "warpx2::02_13" ? ZeroTwo
                                 : spread == "warpx2::01_23" ? ZeroOne
                                                             : Whole;
  switch (instruction.settings[Rows]) {
  case 128:
    return parts.size() == 4;
  case 64:
    return shape == "64x128b" && parts.size() == 5 && instruction.settings[Spread] >= ZeroTwo;
  default:
    return shape == "32x128b" && parts.size() == 5 && spread == "warpx4";
  }
}

/// The lanes that a row goes to.
std::vector<uint32_t> lanesOfRow(int spread, uint32_t row) {
  switch (spread) {
  case Four:
    return {row, row + 32, row + 64, row + 96};
  case ZeroTwo:
    return {row, row + 64};
  case ZeroOne:
    return {row % 32 + row / 32 * 64, row % 32 + row / 32 * 64 + 32};
  default:
    return {row};
  }
}

/// `[address], descriptor`
void copy(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  const auto rows = static_cast<uint32_t>(instruction.settings[Rows]);
  const auto chunks = static_cast<uint32_t>(instruction.settings[Chunks]);
  const int spread = instruction.settings[Spread];
  checkBlocksTogether(thread, instruction.settings[Blocks], instruction.site);
  const uint64_t bits = slots[1];
  if (const std::string fault = TensorDescriptor::fault(bits, false); !fault.empty())
    reportError(instruction.site, fault);
  const TensorAddress to(slots[0] + static_cast<uint64_t>(instruction.operands[0].offset));
  if (to.lane != 0)
    reportError(instruction.site, fmt::format("misaligned: a copy to lane {} of tensor memory", to.lane));
  const auto operation = std::make_shared<TensorOperation>(nextOperation(thread, instruction.site));
  const std::vector<Block *> blocks = blocksTogether(thread, instruction.settings[Blocks], instruction.site);
  enqueue(thread, *operation, [=] {
    const TensorDescriptor descriptor = TensorDescriptor::decode(bits);
    for (Block *block : blocks) {
      for (uint32_t group = 0; group < TensorMemory::groups; ++group)
        checkTensorAccess(*block, group, to.column, 4 * chunks, 0xffff, AccessKind::Write, operation->tensorAgent());
      const uint32_t base = block->shared.begin() - SharedMemory::reserved;
      for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
          const uint32_t address = base + descriptor.offset(row, 16 * chunk, 1, false);
          checkedAsyncAccess(block->cluster, address, 16, AccessKind::Read, operation->sharedAgent(), *operation->by);
          uint32_t words[4];
          std::memcpy(words, reinterpret_cast<const void *>(static_cast<uint64_t>(address)), sizeof words);
          for (const uint32_t lane : lanesOfRow(spread, row))
            for (uint32_t i = 0; i < 4; ++i)
              block->tensor.word(lane, to.column + 4 * chunk + i) = words[i];
        }
    }
  });
}

constexpr Model table[] = {
    {"tcgen05.cp.*", copy, decodeCopy},
};

} // namespace

std::span<const Model> tensorScaleModels() { return table; }

} // namespace tkc::emulator
