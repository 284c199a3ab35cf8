// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the emulator finds the operands of matrix instructions, against tables of the vendor's public headers
// (test/golden-data).
#include "emulator/models/MatrixOperands.h"

#include <gtest/gtest.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>

#include <map>
#include <string>

namespace {

using namespace tkc::emulator;

const llvm::json::Object &golden(const std::string &file) {
  static std::map<std::string, llvm::json::Value> read;
  auto found = read.find(file);
  if (found == read.end()) {
    auto text = llvm::MemoryBuffer::getFile(TKC_SOURCE_DIR "/test/golden-data/" + file);
    if (!text)
      llvm::report_fatal_error("cannot read golden data");
    found = read.emplace(file, llvm::cantFail(llvm::json::parse((*text)->getBuffer()))).first;
  }
  return *found->second.getAsObject();
}

uint32_t number(const llvm::json::Object &row, const char *key) { return static_cast<uint32_t>(*row.getInteger(key)); }

/// XOR of the basis offsets of the set bits.
uint32_t combine(const llvm::json::Array &basis, uint32_t index) {
  uint32_t offset = 0;
  for (unsigned bit = 0; index >> bit; ++bit)
    if (index >> bit & 1)
      offset ^= static_cast<uint32_t>(*basis[bit].getAsInteger());
  return offset;
}

/// The tile that a descriptor is of: the row of "tiles" with the same keys.
const llvm::json::Object *tileOf(const llvm::json::Object &descriptor) {
  for (const auto &value : *golden("wgmma.json").getArray("tiles")) {
    const auto &tile = *value.getAsObject();
    bool same = true;
    for (const char *key : {"type", "major", "swizzle", "MN", "K"})
      same = same && *tile.get(key) == *descriptor.get(key);
    if (same)
      return &tile;
  }
  return nullptr;
}

TEST(EmulatorLayout, DescriptorsLeadToTheElements) {
  const auto &descriptors = *golden("wgmma.json").getArray("descriptors");
  ASSERT_GT(descriptors.size(), 30u);
  for (const auto &value : descriptors) {
    const auto &row = *value.getAsObject();
    const auto *tile = tileOf(row);
    ASSERT_TRUE(tile);
    const bool mnMajor = *row.getString("major") != "K";
    const std::string type = row.getString("type")->str();
    const uint32_t size = type == "bf16" ? 2 : type == "tf32" ? 4 : 1;
    uint64_t first = 0;
    ASSERT_FALSE(row.getString("desc_at_smem_0")->getAsInteger(0, first));
    const auto &steps = *row.getArray("steps");
    const uint32_t instMn = number(row, "inst_mn"), instK = number(row, "inst_k");
    for (uint32_t i = 0; i < steps.size(); ++i)
      for (uint32_t j = 0; j < steps[i].getAsArray()->size(); ++j) {
        const auto step = static_cast<uint64_t>(*(*steps[i].getAsArray())[j].getAsInteger());
        const MatrixDescriptor descriptor = MatrixDescriptor::decode(first + step);
        for (uint32_t mn = 0; mn < instMn; ++mn)
          for (uint32_t k = 0; k < instK; ++k)
            ASSERT_EQ(descriptor.offset(mn, k, size, mnMajor), combine(*tile->getArray("basis_mn"), i * instMn + mn) ^
                                                                   combine(*tile->getArray("basis_k"), j * instK + k))
                << type << " mn " << mn << " k " << k << " of tile " << i << ", " << j;
      }
  }
}

/// Every element of a [row][column] → (thread, value) table.
void expectTable(const char *name, Place (*placeOf)(uint32_t thread, uint32_t value)) {
  const auto &rows = *golden("wgmma.json").getObject(name)->getArray("table");
  ASSERT_EQ(rows.size(), 64u);
  for (uint32_t row = 0; row < rows.size(); ++row)
    for (uint32_t col = 0; col < rows[row].getAsArray()->size(); ++col) {
      const auto &held = *(*rows[row].getAsArray())[col].getAsArray();
      const Place place =
          placeOf(static_cast<uint32_t>(*held[0].getAsInteger()), static_cast<uint32_t>(*held[1].getAsInteger()));
      EXPECT_EQ(place.row, row);
      EXPECT_EQ(place.col, col);
    }
}
TEST(EmulatorLayout, WarpgroupsHoldAccumulators) { expectTable("accumulator", accumulatorPlace); }
TEST(EmulatorLayout, WarpgroupsHoldLeftOperands) {
  expectTable("a_registers_8_bit", [](uint32_t thread, uint32_t i) { return operandPlace(thread, i, 1); });
  expectTable("a_registers_16_bit", [](uint32_t thread, uint32_t i) { return operandPlace(thread, i, 2); });
  expectTable("a_registers_tf32", [](uint32_t thread, uint32_t i) { return operandPlace(thread, i, 4); });
}

/// Place (row, column) of value v of thread t by the table's bases of the bits of both.
void expectPlace(const llvm::json::Object &operand, uint32_t thread, uint32_t i, Place place) {
  const auto &bases = *operand.getObject("tv_bases");
  uint32_t expected[2] = {0, 0};
  const auto add = [&](const char *key, uint32_t index) {
    const auto &basis = *bases.getArray(key);
    for (unsigned bit = 0; index >> bit; ++bit)
      if (index >> bit & 1)
        for (int d = 0; d < 2; ++d)
          expected[d] ^= static_cast<uint32_t>(*(*basis[bit].getAsArray())[static_cast<size_t>(d)].getAsInteger());
  };
  add("t", thread);
  add("v", i);
  ASSERT_EQ(place.row, expected[0]);
  ASSERT_EQ(place.col, expected[1]);
}

TEST(EmulatorLayout, WarpsHoldOperandsOfMma) {
  uint32_t seen = 0;
  for (const auto &[name, value] : *golden("mma_sync.json").getObject("mma_sync")) {
    if (!name.str().starts_with("m16n8")) // block scales are other instructions
      continue;
    ++seen;
    const auto &operands = *value.getAsObject()->getObject("operands");
    for (const char *which : {"A", "B", "C"}) {
      const auto &operand = *operands.getObject(which);
      const uint32_t size = number(operand, "elem_bits") / 8;
      for (uint32_t thread = 0; thread < 32; ++thread)
        for (uint32_t i = 0; i < number(operand, "values_per_thread"); ++i)
          expectPlace(operand, thread, i,
                      *which == 'A'   ? operandPlace(thread, i, size)
                      : *which == 'B' ? rightOperandPlace(thread, i, size)
                                      : accumulatorPlace(thread, i));
    }
  }
  EXPECT_EQ(seen, 10u);
}

/// Packed elements lie as bytes do, two in each.
Place halfOf(Place place, uint32_t i) { return {place.row, place.col * 2 + i % 2}; }

TEST(EmulatorLayout, WarpsHoldOperandsOfBlockScaledMma) {
  const auto &instructions = *golden("mma_sync.json").getObject("mma_sync");
  for (const char *name : {"sm120_m16n8k32_mxf8f6f4", "sm120_m16n8k64_mxf4"}) {
    const auto &operands = *instructions.getObject(name)->getObject("operands");
    for (const char *which : {"A", "B"}) {
      const auto &operand = *operands.getObject(which);
      const bool isPacked = number(operand, "elem_bits") == 4;
      const auto place = *which == 'A' ? operandPlace : rightOperandPlace;
      for (uint32_t thread = 0; thread < 32; ++thread)
        for (uint32_t i = 0; i < number(operand, "values_per_thread"); ++i)
          expectPlace(operand, thread, i, isPacked ? halfOf(place(thread, i / 2, 1), i) : place(thread, i, 1));
    }
    // The table has the lanes that the selectors 0 name, and the others of a quad bring the same.
    for (uint32_t row = 0; row < 16; ++row)
      expectPlace(*operands.getObject("SFA"), rowScaleLane(row, 0), 0, {row, 0});
    for (uint32_t col = 0; col < 8; ++col)
      expectPlace(*operands.getObject("SFB"), columnScaleLane(col, 0), 0, {col, 0});
  }
}

} // namespace
