// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Division by numbers that the launcher prepares: quotients, coordinates on the grid, and positions in a raster are those of plain
// division.
#include "tk/raster.h"
#include "tk/tiles.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace {

constexpr int largest = INT32_MAX;

void expectQuotient(int x, int value) {
  const tk::divisor divisor(value);
  ASSERT_EQ(divisor.value, value);
  ASSERT_EQ(divisor.quotient(x), x / value) << x << " / " << value;
}

TEST(Divisor, DividesSmallNumbersAndTheEndsOfTheRange) {
  for (int value = 1; value <= 300; ++value)
    for (int x = 0; x <= 1000; ++x)
      expectQuotient(x, value);
  for (const int value : {1, 2, 3, 7, 1 << 30, (1 << 30) + 1, largest - 1, largest})
    for (const int x : {0, 1, (1 << 30) - 1, 1 << 30, largest - 1, largest})
      expectQuotient(x, value);
}

TEST(Divisor, DividesNumbersOfAnySizeAndTheirNeighboursOfMultiples) {
  std::mt19937 random(20261128);
  for (int i = 0; i < 1'000'000; ++i) {
    const int value = 1 + int((random() >> 1) >> (1 + random() % 30));
    const int x = int((random() >> 1) >> (random() % 31)), multiple = x / value * value;
    expectQuotient(x, value);
    expectQuotient(multiple, value);
    if (multiple > 0)
      expectQuotient(multiple - 1, value);
  }
}

TEST(Divisor, CountsNoStepsAsOneAndEndsWithI32) {
  EXPECT_EQ(tk::divisor(0).value, 1);
  EXPECT_EQ(tk::divisor(-5).value, 1);
  EXPECT_EQ(tk::divisor(1ll << 40).value, largest);
  EXPECT_EQ(tk::divisor(1ll << 40).quotient(largest - 1), 0);
}

TEST(Divisor, TakesTheSameCoordinates) {
  for (const int extent : {1, 2, 3, 8, 130})
    for (int number = 0; number < 3000; ++number) {
      tk::grid_walk plain{number}, prepared{number};
      ASSERT_EQ(plain.take(extent), prepared.take(tk::divisor(extent)));
      ASSERT_EQ(plain.position, prepared.position);
    }
}

template <int Group> void expectSameRaster(int rows, int cols) {
  const tk::raster_grid<Group> grid(rows, cols);
  for (int tile = 0; tile < rows * cols; ++tile) {
    const tk::grid_position plain = tk::raster(tile, rows, cols, Group), prepared = tk::raster(tile, grid);
    ASSERT_EQ(plain.row, prepared.row) << tile << " of " << rows << " x " << cols << " by " << Group;
    ASSERT_EQ(plain.col, prepared.col) << tile << " of " << rows << " x " << cols << " by " << Group;
  }
}

TEST(Divisor, FindsTheSamePlacesInARaster) {
  for (int rows = 1; rows < 40; ++rows)
    for (const int cols : {1, 2, 5, 16, 33}) {
      expectSameRaster<1>(rows, cols);
      expectSameRaster<8>(rows, cols);
      expectSameRaster<32>(rows, cols);
    }
}

/// A group of so many columns has more tiles than i32 has numbers.
TEST(Divisor, FindsPlacesInVeryWideRasters) {
  const tk::raster_grid<32> grid(3, 500'000'000);
  for (const int tile : {0, 1, 2, 3, 1'499'999'999}) {
    EXPECT_EQ(tk::raster(tile, grid).row, tile % 3);
    EXPECT_EQ(tk::raster(tile, grid).col, tile / 3);
  }
}

} // namespace
