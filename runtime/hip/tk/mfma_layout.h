// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of an MFMA accumulator live. The right operand is handed to the instruction as its A and the left
// one as its B, so that it makes the transpose: a lane then holds parts of one row of the result, runs of neighbours in
// it.
#pragma once

#include "tk/config.h"

namespace tk {

/// The accumulator by `Waves` waves below each other, each with Tile × Tile blocks (16 or 32), and the left operand of
/// 16-bit types in registers. Run: 4, for f64 1.
/// Source: "AMD Instinct MI300 Instruction Set Architecture", "Matrix Arithmetic Instructions"; tested against public
/// tables.
template <int Waves, int Tile, int Run = 4> struct mfma_layout {
  static constexpr int tile = Tile;
  static constexpr int threads = 64 * Waves;
  static constexpr int slab = Tile * Waves;
  static constexpr int threads_per_row = 64 / Tile, lane_step = Tile;
  static constexpr int run = Run;
  static constexpr int row_run = 1;

  template <int Rows> static constexpr int row_slots = Rows / slab;
  template <int Cols> static constexpr int col_slots = Cols / threads_per_row;

  template <int Rows, int Cols> static constexpr bool fits = Rows % slab == 0 && Cols % Tile == 0;

  __host__ __device__ static constexpr int row(int rank, int a) { return a * slab + rank / 64 * Tile + rank % Tile; }
  __host__ __device__ static constexpr int col(int rank, int b) {
    return (b / Run * threads_per_row + rank % 64 / Tile) * Run + b % Run;
  }

  template <int Rows, int Cols> __host__ __device__ static constexpr int index(int a, int b) {
    return a * col_slots<Cols> + b;
  }
};

/// Which element of an operand a lane feeds to an instruction that takes `Bytes` bytes a lane: number `i` along k of
/// row (left operand) or column (right) number `lane % Tile`.
template <int Tile, int Elements> struct mfma_operand {
  __host__ __device__ static constexpr int outer(int lane) { return lane % Tile; }
  __host__ __device__ static constexpr int k(int lane, int i) { return lane / Tile * Elements + i; }
};

/// A transposing read by 16 lanes (transposing_read.h): which of the rows a lane points to, and to which byte of its 16
/// elements of `Bytes` bytes.
template <int Bytes> struct transposing_read {
  static constexpr int lanes = 2 * Bytes; ///< of a row
  __host__ __device__ static constexpr int row(int lane) { return lane % 16 / lanes; }
  __host__ __device__ static constexpr int byte(int lane) { return lane % lanes * 8; }
};

} // namespace tk
