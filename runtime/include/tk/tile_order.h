// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tiles each block takes where no counter hands them out: a fixed order, in which all blocks end at about the
// same time.
#pragma once

#include "tk/raster.h"

namespace tk {

/// Of rows × cols tiles in raster groups of `group` rows (tk::raster). Columns are walked from the longest tiles to the
/// shortest, and what tile i and tile cols - 1 - i take together is the same for every i.
///
/// Most tiles go in pairs: tile i of one row, then tile cols - 1 - i of the next. Blocks take pairs in turns, and both
/// tiles of a pair one after the other. A turn takes all blocks equally long. All tiles of a row run at one time, some
/// blocks beginning with long ones and others with short ones: so what they read stays in L2, and blocks do not begin
/// tiles at one time throughout.
///
/// As many pairs as there are blocks, or some more, would leave blocks with one pair less. So the tiles of the last
/// rows, three for two blocks or more, go by themselves, from the longest of all these rows to the shortest, in turns
/// to and fro.
///
/// With one row there are no pairs: blocks take turns, to and fro. That suits tiles of one length.
struct tile_order {
  int cols = 0; ///< 0: no order; a counter hands out the tiles
  int rows = 1, group = 1;

  /// The number of the tile that block `block` of `blocks` takes in turn `turn`; -1: it has had all of its tiles.
  __host__ __device__ constexpr int tile(int block, int blocks, int turn) const {
    const int tiles = rows * cols, alone = blocks + blocks / 2; // at least
    const int pairs = tiles < alone ? 0 : (tiles - alone) / (2 * blocks) * blocks / cols * cols;
    const int turns = (pairs + blocks - 1) / blocks, rest = tiles - 2 * pairs;
    const int filling = turns * blocks - pairs; // pairs of the rest, which make the last turn of pairs whole
    const int pair = turn / 2 * blocks + block;
    const bool second = turn % 2 == 1;
    if (pair < pairs) {
      const int row = 2 * (pair / cols), col = pair % cols;
      return raster_number({second ? row + 1 : row, second ? cols - 1 - col : col}, rows, cols, group);
    }
    if (turn / 2 < turns)
      return of_rest(2 * pairs, second ? rest - 1 - (pair - pairs) : pair - pairs);
    const unsigned later = unsigned(turn - 2 * turns);
    const unsigned at = later * unsigned(blocks) + unsigned(later % 2 == 0 ? block : blocks - 1 - block);
    return at < unsigned(rest - 2 * filling) ? of_rest(2 * pairs, filling + int(at)) : -1;
  }

private:
  /// The number of the tile that comes after `at` others, the longest first, of all rows after the first `before`
  /// tiles.
  __host__ __device__ constexpr int of_rest(int before, int at) const {
    const int first = before / cols, height = rows - first;
    return raster_number({first + at % height, at / height}, rows, cols, group);
  }
};

} // namespace tk
