// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fixed order of tiles in launches without a counter: every tile once, and all blocks end at about the same time.
#include "tk/tile_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <random>
#include <set>
#include <vector>

namespace {

/// Numbers of the tiles that a block takes.
std::vector<int> tilesOf(const tk::tile_order &order, int block, int blocks) {
  std::vector<int> tiles;
  for (int turn = 0; order.tile(block, blocks, turn) >= 0; ++turn)
    tiles.push_back(order.tile(block, blocks, turn));
  return tiles;
}

/// How often each tile is taken.
std::vector<int> timesTaken(const tk::tile_order &order, int blocks) {
  std::vector<int> times(static_cast<size_t>(order.rows * order.cols));
  for (int block = 0; block < blocks; ++block)
    for (const int tile : tilesOf(order, block, blocks))
      ++times.at(static_cast<size_t>(tile));
  return times;
}

std::string text(const tk::tile_order &order, int blocks) {
  return std::to_string(order.rows) + " rows of " + std::to_string(order.cols) + " in groups of " +
         std::to_string(order.group) + ", " + std::to_string(blocks) + " blocks";
}

void expectEachOnce(const tk::tile_order &order, int blocks) {
  const std::vector<int> times = timesTaken(order, blocks);
  EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](int count) { return count == 1; })) << text(order, blocks);
  for (int block = 0; block < blocks; ++block)
    EXPECT_FALSE(tilesOf(order, block, blocks).empty()) << text(order, blocks);
}

TEST(TileOrder, NumbersOfPlacesAreWhatRasterTakes) {
  for (const int rows : {1, 3, 16, 17, 40})
    for (const int cols : {1, 2, 7})
      for (const int group : {1, 4, 16})
        for (int tile = 0; tile < rows * cols; ++tile)
          EXPECT_EQ(tk::raster_number(tk::raster(tile, rows, cols, group), rows, cols, group), tile);
}

TEST(TileOrder, TakesEachTileOnceFewTiles) {
  for (int cols = 1; cols <= 9; ++cols)
    for (int rows = 1; rows <= 9; ++rows)
      for (const int group : {1, 2, 3, 16})
        for (int blocks = 1; blocks <= std::min(rows * cols, 9); ++blocks)
          expectEachOnce({cols, rows, group}, blocks);
}

TEST(TileOrder, TakesEachTileOnceManyTiles) {
  std::mt19937 random(1);
  const auto upTo = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int i = 0; i < 2000; ++i) {
    const tk::tile_order order{upTo(i % 3 == 0 ? 130 : 12), upTo(i % 2 == 0 ? 300 : 40), i % 4 == 0 ? upTo(64) : 16};
    expectEachOnce(order, std::min(upTo(150), order.rows * order.cols));
  }
}

TEST(TileOrder, OneRowIsTurnsToAndFro) {
  const tk::tile_order order{10};
  EXPECT_EQ(tilesOf(order, 0, 4), (std::vector<int>{0, 7, 8}));
  EXPECT_EQ(tilesOf(order, 1, 4), (std::vector<int>{1, 6, 9}));
  EXPECT_EQ(tilesOf(order, 3, 4), (std::vector<int>{3, 4}));
}

TEST(TileOrder, PairsAreOfTwoRows) {
  // Groups of four rows, three tiles each: tile 0 is of row 0, and tile 9, the last of row 1, is as short as tile 0 is
  // long. The last four rows have two tiles for each block.
  const tk::tile_order order{3, 16, 4};
  EXPECT_EQ(tilesOf(order, 0, 6), (std::vector<int>{0, 9, 12, 21, 24, 33, 36, 47}));
  EXPECT_EQ(tilesOf(order, 5, 6), (std::vector<int>{10, 3, 22, 15, 34, 27, 41, 42}));
}

TEST(TileOrder, TilesOfOneTimeAreOfFewRows) {
  // Of rows a block or two at the ends of a turn have the rest.
  constexpr int blocks = 132;
  for (const int cols : {4, 8, 11, 32, 128}) {
    const tk::tile_order order{cols, 2048 / cols, 16};
    for (int turn = 0; turn < 8; ++turn) {
      std::set<int> rows;
      for (int block = 0; block < blocks; ++block)
        rows.insert(tk::raster(order.tile(block, blocks, turn), order.rows, order.cols, order.group).row);
      EXPECT_LE(rows.size(), blocks / cols + 2) << text(order, blocks) << ", turn " << turn;
    }
  }
}

/// How long tiles of causal attention take: a fixed part, and a step for each tile of keys up to the diagonal.
constexpr double fixedSteps = 1.5;
double stepsOf(int tile, int rows, int cols, int group) {
  return cols - tk::raster(tile, rows, cols, group).col + fixedSteps;
}

double longestBlock(const tk::tile_order &order, int blocks) {
  double longest = 0;
  for (int block = 0; block < blocks; ++block) {
    double steps = 0;
    for (const int tile : tilesOf(order, block, blocks))
      steps += stepsOf(tile, order.rows, order.cols, order.group);
    longest = std::max(longest, steps);
  }
  return longest;
}

/// Whoever is done first takes the next tile, as by a counter.
double longestByCounter(const tk::tile_order &order, int blocks) {
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  for (int block = 0; block < blocks; ++block)
    ends.push(0);
  double longest = 0;
  for (int tile = 0; tile < order.rows * order.cols; ++tile) {
    const double end = ends.top() + stepsOf(tile, order.rows, order.cols, order.group);
    ends.pop();
    ends.push(end);
    longest = std::max(longest, end);
  }
  return longest;
}

TEST(TileOrder, BlocksEndAboutAsTheyDoByACounter) {
  for (const int blocks : {114, 132, 144})
    for (const int heads : {16, 32})
      for (int cols = 4; cols <= 128; cols *= 2) {
        const tk::tile_order order{cols, heads * 128 / cols, 16};
        EXPECT_LE(longestBlock(order, blocks), 1.03 * longestByCounter(order, blocks)) << text(order, blocks);
      }
}

} // namespace
