// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the emulator finds the operands of AMD's matrix instructions, against tables that do not come from us
// (test/golden-data): every element of every operand of every instruction.
#include "emulator/amdgpu/MfmaLayout.h"

#include <gtest/gtest.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>

#include <array>
#include <bit>
#include <string>

namespace {

using namespace tkc::emulator;

uint32_t number(const llvm::json::Object &row, const char *key) { return static_cast<uint32_t>(*row.getInteger(key)); }

using Held = std::array<uint32_t, 3>; // lane, register, bit

/// What the set bits of one coordinate contribute.
void add(Held &held, const llvm::json::Object &bases, const char *coordinate, uint32_t index) {
  const llvm::json::Array *basis = bases.getArray(coordinate);
  for (unsigned bit = 0; index >> bit; ++bit)
    if (index >> bit & 1)
      for (size_t part = 0; part < 3; ++part)
        held[part] ^= static_cast<uint32_t>(*(*(*basis)[bit].getAsArray())[part].getAsInteger());
}

class Instruction {
public:
  explicit Instruction(const llvm::json::Object &row)
      : row(row), bits(number(row, "bits")), name(row.getString("name")->str()),
        shape{number(row, "M"), number(row, "N"), number(row, "K"), number(row, "blocks")} {
    shape.isF64 = bits == 64;
    shape.inPieces = bits == 8 && name.ends_with("f8f6f4");
  }

  uint64_t checkOperand(const char *operand, const char *coordinate) const {
    const llvm::json::Object &bases = *row.getObject(operand);
    for (uint32_t b = 0; b < shape.blocks; ++b)
      for (uint32_t r = 0; r < shape.rows; ++r)
        for (uint32_t k = 0; k < shape.depth; ++k) {
          Held held{};
          add(held, bases, "b", b);
          add(held, bases, coordinate, r);
          add(held, bases, "k", k);
          const MfmaOperandPlace place = mfmaOperandPlace(shape, shape.rows, held[0], firstBit(held, k) / bits);
          EXPECT_TRUE(place.row == r && place.k == k && place.block == b)
              << name << " " << operand << " " << r << " " << k << " " << b;
        }
    return uint64_t(shape.blocks) * shape.rows * shape.depth;
  }

  uint64_t checkResult() const {
    const llvm::json::Object &bases = *row.getObject("CD");
    const uint32_t registers = shape.isF64 ? 2 : 1;
    for (uint32_t b = 0; b < shape.blocks; ++b)
      for (uint32_t i = 0; i < shape.rows; ++i)
        for (uint32_t j = 0; j < shape.cols; ++j) {
          Held held{};
          add(held, bases, "b", b);
          add(held, bases, "i", i);
          add(held, bases, "j", j);
          const MfmaResultPlace place = mfmaResultPlace(shape, held[0], held[1] / registers);
          EXPECT_TRUE(place.row == i && place.col == j && place.block == b) << name << " " << i << " " << j << " " << b;
        }
    return uint64_t(shape.blocks) * shape.rows * shape.cols;
  }

private:
  uint32_t firstBit(const Held &held, uint32_t k) const {
    if (const llvm::json::Array *bitsOfDepth = row.getArray("first_bits"))
      return static_cast<uint32_t>(*(*bitsOfDepth)[k % 32].getAsInteger());
    return held[1] * 32 + held[2];
  }

  const llvm::json::Object &row;
  uint32_t bits;
  std::string name;
  MfmaShape shape;
};

TEST(MfmaLayout, LanesHoldTheElementsOfTheTables) {
  auto text = llvm::MemoryBuffer::getFile(TKC_SOURCE_DIR "/test/golden-data/mfma.json");
  ASSERT_TRUE(text);
  const llvm::json::Value file = llvm::cantFail(llvm::json::parse((*text)->getBuffer()));
  const llvm::json::Array &rows = *file.getAsObject()->getArray("instructions");
  EXPECT_EQ(rows.size(), 71u);
  uint64_t checked = 0;
  for (const llvm::json::Value &value : rows) {
    const Instruction instruction(*value.getAsObject());
    checked += instruction.checkOperand("A", "i") + instruction.checkOperand("B", "j") + instruction.checkResult();
  }
  EXPECT_GT(checked, 100000u);
}

} // namespace
