// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's layouts against tables of the vendor's public headers (test/golden-data/wgmma.json).
#include "tk/descriptor.h"
#include "tk/layout.h"
#include "tk/swizzle.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <cstdint>
#include <set>
#include <string>

namespace {

const llvm::json::Object &golden() {
  static const llvm::json::Value value = [] {
    const char *path = TKC_SOURCE_DIR "/test/golden-data/wgmma.json";
    auto text = llvm::MemoryBuffer::getFile(path);
    if (!text)
      llvm::report_fatal_error("cannot read test/golden-data/wgmma.json");
    return llvm::cantFail(llvm::json::parse((*text)->getBuffer()));
  }();
  return *value.getAsObject();
}

int64_t number(const llvm::json::Object &row, const char *key) { return *row.getInteger(key); }

/// Shape and type of a golden row, for the visitor's dispatch to a layout type.
struct Shape {
  int elemBytes, swizzle, rows, cols;
  bool operator==(const Shape &) const = default;
};

/// The stored tile of a golden operand: [MN, K] if it is K-major, else [K, MN].
Shape shapeOf(const llvm::json::Object &row) {
  const bool kMajor = *row.getString("major") == "K";
  const int mn = number(row, "MN"), k = number(row, "K");
  const llvm::StringRef type = *row.getString("type"), swizzle = *row.getString("swizzle");
  return {type == "bf16"   ? 2
          : type == "tf32" ? 4
                           : 1,
          swizzle == "128B"  ? 128
          : swizzle == "64B" ? 64
                             : 32,
          kMajor ? mn : k, kMajor ? k : mn};
}

template <int Bytes> struct Element {
  unsigned char bytes[Bytes];
};

/// Calls f with a value of the layout type of that shape; the shapes are those of the golden data.
template <class F> bool withLayout(const Shape &wanted, F f) {
  bool found = false;
  const auto tryOne = [&]<int Bytes, int Swizzle, int Rows, int Cols>() {
    if (wanted == Shape{Bytes, Swizzle, Rows, Cols}) {
      f(tk::tile_layout<Element<Bytes>, Rows, Cols, Swizzle>{});
      found = true;
    }
  };
  const auto shapes = [&]<int Bytes, int Swizzle>() {
    tryOne.template operator()<Bytes, Swizzle, 64, 64>();
    tryOne.template operator()<Bytes, Swizzle, 64, 128>();
    tryOne.template operator()<Bytes, Swizzle, 128, 64>();
    tryOne.template operator()<Bytes, Swizzle, 128, 256>();
    tryOne.template operator()<Bytes, Swizzle, 256, 128>();
  };
  const auto swizzles = [&]<int Bytes>() {
    shapes.template operator()<Bytes, 32>();
    shapes.template operator()<Bytes, 64>();
    shapes.template operator()<Bytes, 128>();
  };
  swizzles.template operator()<1>();
  swizzles.template operator()<2>();
  swizzles.template operator()<4>();
  return found;
}

tk::major majorOf(const llvm::json::Object &row) {
  return *row.getString("major") == "K" ? tk::major::k : tk::major::mn;
}

/// XOR of the basis offsets of the set bits.
int64_t combine(const llvm::json::Array &basis, unsigned index) {
  int64_t offset = 0;
  for (unsigned bit = 0; index >> bit; ++bit)
    if (index >> bit & 1)
      offset ^= *basis[bit].getAsInteger();
  return offset;
}

TEST(RuntimeLayout, TilesLieWhereTheMatrixEngineLooks) {
  const auto &tiles = *golden().getArray("tiles");
  ASSERT_GT(tiles.size(), 30u);
  for (const auto &value : tiles) {
    const auto &row = *value.getAsObject();
    const bool kMajor = majorOf(row) == tk::major::k;
    const bool found = withLayout(shapeOf(row), [&](auto layout) {
      for (int mn = 0; mn < number(row, "MN"); ++mn)
        for (int k = 0; k < number(row, "K"); ++k) {
          const int64_t expected = combine(*row.getArray("basis_mn"), mn) ^ combine(*row.getArray("basis_k"), k);
          ASSERT_EQ(kMajor ? layout.offset(mn, k) : layout.offset(k, mn), expected)
              << row.getString("type")->str() << " mn " << mn << " k " << k;
        }
    });
    EXPECT_TRUE(found);
  }
}

TEST(RuntimeLayout, DescriptorsAreTheVendors) {
  const auto &descriptors = *golden().getArray("descriptors");
  ASSERT_GT(descriptors.size(), 30u);
  for (const auto &value : descriptors) {
    const auto &row = *value.getAsObject();
    const tk::major order = majorOf(row);
    uint64_t ignored = 0;
    if (!number(row, "lbo_used"))
      ignored |= 0x3fffull << 16;
    if (!number(row, "sbo_used"))
      ignored |= 0x3fffull << 32;
    uint64_t expected = 0;
    ASSERT_FALSE(row.getString("desc_at_smem_0")->getAsInteger(0, expected));
    const bool found = withLayout(shapeOf(row), [&](auto layout) {
      using Layout = decltype(layout);
      EXPECT_EQ(tk::matrix_descriptor<Layout>(0, order) & ~ignored, expected & ~ignored);
      EXPECT_EQ(tk::matrix_descriptor<Layout>(0x12400, order) & 0x3fff, 0x1240u);
      const auto &steps = *row.getArray("steps");
      for (size_t i = 0; i < steps.size(); ++i)
        for (size_t j = 0; j < steps[i].getAsArray()->size(); ++j)
          EXPECT_EQ(tk::descriptor_step<Layout>(order, i * number(row, "inst_mn"), j * number(row, "inst_k")),
                    16 * *(*steps[i].getAsArray())[j].getAsInteger());
    });
    EXPECT_TRUE(found);
  }
}

/// Every (row, column) of a 64 × Cols tile is where the table says.
template <class L = tk::mma_layout, int Cols = 16> void expectFragment(const char *table) {
  const auto &rows = *golden().getObject(table)->getArray("table");
  ASSERT_EQ(rows.size(), 64u);
  for (int thread = 0; thread < L::threads; ++thread)
    for (int a = 0; a < L::template row_slots<64>; ++a)
      for (int b = 0; b < L::template col_slots<Cols>; ++b) {
        const auto &place = *(*rows[L::row(thread, a)].getAsArray())[L::col(thread, b)].getAsArray();
        EXPECT_EQ(*place[0].getAsInteger(), thread);
        const int index = L::template index<64, Cols>(a, b);
        EXPECT_EQ(*place[1].getAsInteger(), index);
      }
}
TEST(RuntimeLayout, AccumulatorIsTheInstructions) { expectFragment("accumulator"); }
TEST(RuntimeLayout, AccumulatorIsTheLeftOperandOf16BitTypes) { expectFragment("a_registers_16_bit"); }
TEST(RuntimeLayout, ExchangedIsTheLeftOperandOfOtherTypes) {
  expectFragment<tk::operand_layout<1>, 32>("a_registers_8_bit");
  expectFragment<tk::operand_layout<4>, 8>("a_registers_tf32");
}

/// Every element of a tile belongs to exactly one register of one thread, and runs are consecutive columns.
template <class L, int Rows, int Cols> void expectBijection() {
  std::set<std::pair<int, int>> seen;
  for (int thread = 0; thread < L::threads; ++thread) {
    std::set<int> registers;
    for (int a = 0; a < L::template row_slots<Rows>; ++a)
      for (int b = 0; b < L::template col_slots<Cols>; ++b) {
        EXPECT_TRUE(seen.insert({L::row(thread, a), L::col(thread, b)}).second);
        EXPECT_TRUE(registers.insert(L::template index<Rows, Cols>(a, b)).second);
        EXPECT_EQ(L::col(thread, b), L::col(thread, b / L::run * L::run) + b % L::run);
      }
    EXPECT_EQ(*registers.rbegin() + 1, int(registers.size()));
  }
  EXPECT_EQ(seen.size(), size_t(Rows) * Cols);
  EXPECT_EQ(seen.rbegin()->first, Rows - 1);
}
TEST(RuntimeLayout, EveryElementHasOnePlace) {
  expectBijection<tk::mma_layout, 128, 176>();
  expectBijection<tk::operand_layout<1>, 128, 96>();
  expectBijection<tk::operand_layout<4>, 128, 24>();
  expectBijection<tk::row_layout<128, 4, 4>, 64, 32>();
  expectBijection<tk::row_layout<256, 128, 8>, 4, 2048>();
  expectBijection<tk::row_layout<256, 256, 4>, 3, 1024>();
}

} // namespace
