// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many columns the launcher chooses: no more rounds than tiles of the most columns take, and no fewer columns than
// are needed then.
#include "tk/tile_columns.h"

#include <gtest/gtest.h>

#include <random>

namespace {

constexpr long long per(long long x, long long y) { return (x + y - 1) / y; }

TEST(TileColumns, FillARound) {
  const tk::tile_columns six = tk::columns_of(520, {128, 16}, 20, 132); // 20 × 6 tiles where 20 × 5 of 128 would do
  EXPECT_EQ(six.width, 96);
  EXPECT_EQ(six.count, 6);
  const tk::tile_columns nine = tk::columns_of(1280, {256, 16}, 14, 132); // 14 × 9
  EXPECT_EQ(nine.width, 144);
  EXPECT_EQ(nine.count, 9);
}

TEST(TileColumns, TakeNoMoreRoundsAndKeepTheirRange) {
  std::mt19937 random(20261128);
  for (int i = 0; i < 200'000; ++i) {
    const int step = 8 << random() % 3, most = step * int(2 + random() % 8), blocks = 1 << random() % 3;
    const tk::column_range range{most, step, blocks};
    const long long extent = random() % 20000, others = random() % 300, at_once = 1 + random() % 132;
    const tk::tile_columns chosen = tk::columns_of(extent, range, others, at_once);
    ASSERT_EQ(chosen.width % step, 0);
    ASSERT_GT(chosen.width, most / 2);
    ASSERT_LE(chosen.width, most);
    ASSERT_EQ(chosen.count, per(extent, chosen.width));
    const auto rounds = [&](long long width) { return per(others * per(extent, width * blocks), at_once); };
    ASSERT_LE(rounds(chosen.width), rounds(most)) << extent << ' ' << most << ' ' << step << ' ' << others;
  }
}

TEST(TileColumns, SharesAreWholeAtomsThatCoverTheTile) {
  for (int width = 8; width <= 256; width += 8)
    for (const int blocks : {1, 2, 4}) {
      const int share = tk::tile_columns{width, 1}.share(blocks);
      EXPECT_EQ(share % 8, 0);
      EXPECT_GE(share * blocks, width);
      EXPECT_LT((share - 8) * blocks, width);
    }
}

TEST(TileColumns, TilesEndWithTheRange) {
  const tk::tiles_of_columns tiles{520, {96, 6}};
  EXPECT_EQ(tiles[0].end, 96);
  EXPECT_EQ(tiles[5].begin, 480);
  EXPECT_EQ(tiles[5].end, 520);
  EXPECT_EQ(tiles[6].end, 520); // of a cluster, beyond the end
}

} // namespace
