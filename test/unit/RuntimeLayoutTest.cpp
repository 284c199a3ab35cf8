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
  expectBijection<tk::warp_mma_layout<1>, 32, 40>();
  expectBijection<tk::warp_mma_layout<8>, 256, 64>();
  expectBijection<tk::operand_layout<1>, 128, 96>();
  expectBijection<tk::operand_layout<4>, 128, 24>();
  expectBijection<tk::row_layout<128, 4, 4>, 64, 32>();
  expectBijection<tk::row_layout<256, 128, 8>, 4, 2048>();
  expectBijection<tk::row_layout<256, 256, 4>, 3, 1024>();
}

/// Element (row, column) of value v of thread t: the XOR of what the bits of both contribute.
std::pair<int64_t, int64_t> elementOf(const llvm::json::Object &operand, unsigned t, unsigned v) {
  std::pair<int64_t, int64_t> at{0, 0};
  const auto add = [&](const char *key, unsigned index) {
    const llvm::json::Array &bases = *operand.getObject("tv_bases")->getArray(key);
    for (size_t bit = 0; bit < bases.size(); ++bit)
      if (index >> bit & 1) {
        at.first ^= *(*bases[bit].getAsArray())[0].getAsInteger();
        at.second ^= *(*bases[bit].getAsArray())[1].getAsInteger();
      }
  };
  add("t", t);
  add("v", v);
  return at;
}

template <class Visit> void forEachOperand(const char *which, Visit visit) {
  auto text = llvm::MemoryBuffer::getFile(TKC_SOURCE_DIR "/test/golden-data/mma_sync.json");
  ASSERT_TRUE(text);
  const llvm::json::Value value = llvm::cantFail(llvm::json::parse((*text)->getBuffer()));
  const auto &all = *value.getAsObject()->getObject("mma_sync");
  for (const char *name : {"m16n8k16_bf16", "m16n8k16_f16", "m16n8k8_tf32", "m16n8k32_s8", "m16n8k32_e4m3"})
    visit(*all.getObject(name)->getObject("operands")->getObject(which));
}

TEST(RuntimeLayout, AccumulatorsOfWarpsAreTheInstructions) {
  forEachOperand("C", [](const llvm::json::Object &operand) {
    using L = tk::warp_mma_layout<2>;
    for (int rank = 0; rank < L::threads; ++rank)
      for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b) {
          const int value = L::index<32, 8>(a, b);
          const auto [row, col] = elementOf(operand, rank % 32, value);
          EXPECT_EQ(L::row(rank, a), rank / 32 * 16 + row);
          EXPECT_EQ(L::col(rank, b), col);
        }
  });
}

/// Register `word` of a thread after ldmatrix holds four bytes of the row that lane 8 · word + thread / 4 supplied.
template <bool RowsFirst> std::pair<int, int> loadedByte(int thread, int word, int byte) {
  const int lane = 8 * word + thread / 4;
  using place = tk::matrix_lane<RowsFirst>;
  return {place::row(lane), place::chunk(lane) * 16 + thread % 4 * 4 + byte};
}

TEST(RuntimeLayout, LoadedMatricesAreLeftOperands) {
  forEachOperand("A", [](const llvm::json::Object &operand) {
    const int bytes = number(operand, "elem_bits") / 8;
    for (int thread = 0; thread < 32; ++thread)
      for (int word = 0; word < 4; ++word)
        for (int part = 0; part < 4 / bytes; ++part) {
          const auto [row, col] = elementOf(operand, thread, word * (4 / bytes) + part);
          EXPECT_EQ(loadedByte<true>(thread, word, part * bytes), std::pair(int(row), int(col) * bytes));
        }
  });
}

TEST(RuntimeLayout, LoadedMatricesAreTwoRightOperands) {
  forEachOperand("B", [](const llvm::json::Object &operand) {
    const int bytes = number(operand, "elem_bits") / 8;
    for (int thread = 0; thread < 32; ++thread)
      for (int word = 0; word < 4; ++word)
        for (int part = 0; part < 4 / bytes; ++part) {
          const auto [n, k] = elementOf(operand, thread, word % 2 * (4 / bytes) + part);
          EXPECT_EQ(loadedByte<false>(thread, word, part * bytes), std::pair(int(n) + word / 2 * 8, int(k) * bytes));
        }
  });
}

/// With `.trans` a register holds two elements of a column: rows 2 · (thread % 4) and the next, column thread / 4.
template <bool RowsFirst> std::pair<int, int> transposedElement(int thread, int word, int part) {
  const int lane = 8 * word + thread % 4 * 2 + part;
  using place = tk::matrix_lane<RowsFirst>;
  return {place::chunk(lane) * 8 + thread / 4, place::row(lane)};
}

TEST(RuntimeLayout, TransposedMatricesAreOperandsOf16Bits) {
  const auto check = [](const llvm::json::Object &operand, auto found) {
    if (number(operand, "elem_bits") != 16)
      return;
    for (int thread = 0; thread < 32; ++thread)
      for (int word = 0; word < 4; ++word)
        for (int part = 0; part < 2; ++part)
          found(thread, word, part);
  };
  forEachOperand("A", [&](const llvm::json::Object &operand) {
    check(operand, [&](int thread, int word, int part) {
      const auto [m, k] = elementOf(operand, thread, word * 2 + part);
      EXPECT_EQ(transposedElement<false>(thread, word, part), std::pair(int(m), int(k)));
    });
  });
  forEachOperand("B", [&](const llvm::json::Object &operand) {
    check(operand, [&](int thread, int word, int part) {
      const auto [n, k] = elementOf(operand, thread, word % 2 * 2 + part);
      EXPECT_EQ(transposedElement<true>(thread, word, part), std::pair(int(n) + word / 2 * 8, int(k)));
    });
  });
}

/// The eight rows of 16 bytes that one matrix is read from lie in distinct banks, whichever swizzle.
template <int Swizzle> void expectNoConflicts() {
  using Tile = tk::tile_layout<Element<2>, 64, 128, Swizzle>;
  for (int row = 0; row < 64; row += 8)
    for (int col = 0; col < 128; col += 8) {
      std::set<int> banks;
      for (int r = 0; r < 8; ++r)
        banks.insert(Tile::offset(row + r, col) % 128);
      EXPECT_EQ(banks.size(), 8u) << Swizzle << " at " << row << ", " << col;
    }
}
TEST(RuntimeLayout, MatrixLoadsMeetNoBankConflict) {
  expectNoConflicts<32>();
  expectNoConflicts<64>();
  expectNoConflicts<128>();
}

} // namespace
