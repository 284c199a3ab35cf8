// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's MFMA layouts, which have the instruction's operands exchanged, against tables that do not come from us
// (test/golden-data/mfma.json): every element of every instruction that the runtime uses.
#include "tk/mfma_layout.h"

#include <gtest/gtest.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>

#include <array>
#include <string>

namespace {

int number(const llvm::json::Object &row, const char *key) { return static_cast<int>(*row.getInteger(key)); }

using Held = std::array<int, 3>; // lane, register, bit

void add(Held &held, const llvm::json::Object &bases, const char *coordinate, int index) {
  const llvm::json::Array *basis = bases.getArray(coordinate);
  for (unsigned bit = 0; index >> bit; ++bit)
    if (index >> bit & 1)
      for (size_t part = 0; part < 3; ++part)
        held[part] ^= static_cast<int>(*(*(*basis)[bit].getAsArray())[part].getAsInteger());
}

template <int Tile, int Elements>
int checkOperand(const llvm::json::Object &row, const char *operand, const char *outer, int depth, int bits) {
  using place = tk::mfma_operand<Tile, Elements>;
  for (int i = 0; i < Tile; ++i)
    for (int k = 0; k < depth; ++k) {
      Held held{};
      add(held, *row.getObject(operand), outer, i);
      add(held, *row.getObject(operand), "k", k);
      const int element = (held[1] * 32 + held[2]) / bits;
      EXPECT_EQ(place::outer(held[0]), i) << row.getString("name")->str() << " " << operand << " " << i << " " << k;
      EXPECT_EQ(place::k(held[0], element), k)
          << row.getString("name")->str() << " " << operand << " " << i << " " << k;
    }
  return Tile * depth;
}

/// The instruction's rows are the result's columns.
template <int Tile, int Run> int checkResult(const llvm::json::Object &row, int registersEach) {
  using layout = tk::mfma_layout<1, Tile, Run>;
  for (int i = 0; i < Tile; ++i)
    for (int j = 0; j < Tile; ++j) {
      Held held{};
      add(held, *row.getObject("CD"), "i", i);
      add(held, *row.getObject("CD"), "j", j);
      const int slot = held[1] / registersEach;
      EXPECT_EQ(layout::row(held[0], 0), j) << row.getString("name")->str() << " " << i << " " << j;
      EXPECT_EQ(layout::col(held[0], slot), i) << row.getString("name")->str() << " " << i << " " << j;
      const int index = layout::template index<Tile, Tile>(0, slot);
      EXPECT_EQ(index, slot);
    }
  return Tile * Tile;
}

template <int Tile, int Elements> int check(const llvm::json::Object &row, int bits) {
  const int depth = number(row, "K");
  const int elements = checkOperand<Tile, Elements>(row, "A", "i", depth, bits) +
                       checkOperand<Tile, Elements>(row, "B", "j", depth, bits);
  return elements + (bits == 64 ? checkResult<Tile, 1>(row, 2) : checkResult<Tile, 4>(row, 1));
}

TEST(MfmaRuntime, LayoutsAreTheTables) {
  auto text = llvm::MemoryBuffer::getFile(TKC_SOURCE_DIR "/test/golden-data/mfma.json");
  ASSERT_TRUE(text);
  const llvm::json::Value value = llvm::cantFail(llvm::json::parse((*text)->getBuffer()));
  int checked = 0;
  for (const llvm::json::Value &each : *value.getAsObject()->getArray("instructions")) {
    const llvm::json::Object &row = *each.getAsObject();
    const int side = number(row, "M"), bits = number(row, "bits");
    if (number(row, "blocks") != 1 || (side != 16 && side != 32) || row.getString("name")->ends_with("f8f6f4"))
      continue;
    const int elements = side * number(row, "K") / 64;
    const auto with = [&]<int Elements>() {
      if (elements == Elements)
        checked += (side == 32 ? check<32, Elements>(row, bits) : check<16, Elements>(row, bits)) > 0;
    };
    with.operator()<1>();
    with.operator()<2>();
    with.operator()<4>();
    with.operator()<8>();
    with.operator()<16>();
  }
  EXPECT_EQ(checked, 36);
}

} // namespace
