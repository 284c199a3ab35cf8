// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of a tile live: which thread of a group holds element (row, column), and in which register.
//
// Every layout here is a product: a thread holds `row_slots` × `col_slots` elements, slot a gives the row and slot b
// the column. Some bits of the thread's rank run along the columns (`threads_per_row` threads), the others along the
// rows, which is all that reductions and scans need to know:
//   row(rank, a)          local row of row slot a
//   col(rank, b)          local column of column slot b
//   index<Rows, Cols>(a, b)  register of element (a, b)
//   run                   consecutive column slots that are consecutive columns
//   lane_step             how far apart the numbers of two lanes are that hold neighbours in a row
//   row_run               consecutive row slots whose rows all lie before those of the next warp
#pragma once

#include "tk/config.h"

namespace tk {

/// The accumulator of mma.sync by `Warps` warps, 16 rows each, and its A operand of 16-bit types in registers: slabs of
/// 16 · Warps rows.
/// Source: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"; tested against public tables.
template <int Warps> struct warp_mma_layout {
  static constexpr int threads = 32 * Warps;
  static constexpr int slab = 16 * Warps;
  static constexpr int threads_per_row = 4, lane_step = 1;
  static constexpr int run = 2;
  static constexpr int row_run = 2;

  template <int Rows> static constexpr int row_slots = Rows / (8 * Warps);
  template <int Cols> static constexpr int col_slots = Cols / 4;

  template <int Rows, int Cols> static constexpr bool fits = Rows % slab == 0 && Cols % 8 == 0;

  __host__ __device__ static constexpr int row(int rank, int a) {
    return (a / 2) * slab + (rank / 32) * 16 + (a % 2) * 8 + rank % 32 / 4;
  }
  __host__ __device__ static constexpr int col(int rank, int b) { return (b / 2) * 8 + rank % 4 * 2 + b % 2; }

  template <int Rows, int Cols> __host__ __device__ static constexpr int index(int a, int b) {
    return (a / 2) * (Cols / 2) + (b / 2) * 4 + (a % 2) * 2 + b % 2;
  }
};

/// The accumulator of wgmma, and its A operand of 16-bit types in registers: 128 threads, 64 rows a slab, spread as
/// four warps of mma.sync would.
/// Source: PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16"; tested against public tables.
struct mma_layout : warp_mma_layout<4> {};

/// Accumulators of tcgen05 with 128 rows, as a warpgroup takes them from tensor memory by 16×256 bits: each warp the 32
/// rows of its lanes, as two accumulators of mma.sync. With 64 rows it is mma_layout.
/// Source: PTX ISA, "Matrix fragments for shape .16x256b"; tested against public tables.
struct tensor_layout {
  static constexpr int threads = 128;
  static constexpr int slab = 128;
  static constexpr int threads_per_row = 4, lane_step = 1;
  static constexpr int run = 2;
  static constexpr int row_run = 4;

  template <int Rows> static constexpr int row_slots = Rows / 32;
  template <int Cols> static constexpr int col_slots = Cols / 4;

  template <int Rows, int Cols> static constexpr bool fits = Rows % slab == 0 && Cols % 8 == 0;

  __host__ __device__ static constexpr int row(int rank, int a) {
    return a / 4 * slab + rank / 32 * 32 + a % 4 * 8 + rank % 32 / 4;
  }
  __host__ __device__ static constexpr int col(int rank, int b) { return mma_layout::col(rank, b); }

  template <int Rows, int Cols> __host__ __device__ static constexpr int index(int a, int b) {
    return mma_layout::index<Rows, Cols>(a, b);
  }
};

/// The A operand of wgmma in registers, of elements of `Bytes` bytes: 1 or 4. With 2 it is mma_layout.
/// Source: PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk32" and "…m64nNk8"; tested against public tables.
template <int Bytes> struct operand_layout {
  static_assert(Bytes == 1 || Bytes == 4, "operands of 16 bits lie as an accumulator does");
  static constexpr int threads = 128;
  static constexpr int threads_per_row = 4, lane_step = 1;
  static constexpr int run = 4 / Bytes;
  static constexpr int row_run = 2;

  template <int Rows> static constexpr int row_slots = Rows / 32;
  template <int Cols> static constexpr int col_slots = Cols / 4;

  template <int Rows, int Cols> static constexpr bool fits = Rows % 64 == 0 && Cols % (4 * run) == 0;

  __host__ __device__ static constexpr int row(int rank, int a) { return mma_layout::row(rank, a); }
  __host__ __device__ static constexpr int col(int rank, int b) { return (b / run * 4 + rank % 4) * run + b % run; }

  template <int Rows, int Cols> __host__ __device__ static constexpr int index(int a, int b) {
    return (a / 2) * (Cols / 2) + (b / run * 2 + a % 2) * run + b % run;
  }
};

/// Which row and which 16-byte chunk of a block (16 rows of 32 bytes, as stored) a lane supplies the address of.
/// `RowsFirst`: matrices 0 and 1 lie below each other, else side by side.
template <bool RowsFirst> struct matrix_lane {
  __host__ __device__ static constexpr int row(int lane) {
    return lane % 8 + (RowsFirst ? lane / 8 % 2 : lane / 16) * 8;
  }
  __host__ __device__ static constexpr int chunk(int lane) { return RowsFirst ? lane / 16 : lane / 8 % 2; }
};

/// Rows spread over `ThreadsPerRow` neighbouring threads, which read `Vec` elements at a time: for kernels that wait
/// for memory. Both are powers of two; `Threads` is a multiple of 32 and of ThreadsPerRow.
template <int Threads, int ThreadsPerRow, int Vec> struct row_layout {
  static constexpr int threads = Threads;
  static constexpr int threads_per_row = ThreadsPerRow, lane_step = 1;
  static constexpr int run = Vec;
  static constexpr int row_run = 1;
  static constexpr int rows_at_once = Threads / ThreadsPerRow;

  template <int Rows> static constexpr int row_slots = Rows / rows_at_once;
  template <int Cols> static constexpr int col_slots = Cols / ThreadsPerRow;

  template <int Rows, int Cols>
  static constexpr bool fits = Rows % rows_at_once == 0 && Cols % (ThreadsPerRow * Vec) == 0;

  __host__ __device__ static constexpr int row(int rank, int a) { return a * rows_at_once + rank / ThreadsPerRow; }
  __host__ __device__ static constexpr int col(int rank, int b) {
    return (b / Vec * ThreadsPerRow + rank % ThreadsPerRow) * Vec + b % Vec;
  }

  template <int Rows, int Cols> __host__ __device__ static constexpr int index(int a, int b) {
    return a * col_slots<Cols> + b;
  }
};

/// A row a thread, of a warpgroup: what it takes from tensor memory and puts there. A row lies in one thread, so that
/// its reductions need no exchange, and its 16-byte pieces meet no bank conflict in a swizzled tile. Source: PTX ISA,
/// "Matrix fragments for shape .32x32b"; tested against public tables.
using lane_rows = row_layout<128, 1, 16>;

} // namespace tk
