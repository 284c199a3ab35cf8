// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor memory: 128 lanes of 512 columns of 32 bits a multiprocessor, where tcgen05's products accumulate and which
// may hold their left operand. A warp reaches a quarter of the lanes: its number modulo four.
//
// Loads and stores are asynchronous: `tensor_wait_load`, `tensor_wait_store`. Who hands tensor memory on to other
// threads calls `tensor_fence_before_sync` before the barrier; who takes it over `tensor_fence_after_sync` after it.
// PTX ISA, "Tensor Memory", "Memory Consistency Model for 5th generation of TensorCore operations".
#pragma once

#include "tk/fragment.h"
#include "tk/pin.h"
#include "tk/shared.h"
#include "tk/text.h"

namespace tk {

/// Rows × Cols elements in tensor memory, a lane a row. Accumulators have 32 bits, left operands any; narrow ones are
/// packed, element 0 in the low bits.
template <class T, int Rows, int Cols> struct tensor_tile {
  static_assert(Rows == 128, "a tile has all lanes");
  static_assert(Cols * sizeof(T) % 4 == 0, "whole columns of 32 bits");
  using element = T;
  static constexpr int rows = Rows, cols = Cols;
  /// Columns of tensor memory.
  static constexpr int width = Cols * int(sizeof(T)) / 4;
  u32 address;

  /// The i-th group of Count columns.
  template <int Count> __device__ __forceinline__ tensor_tile<T, Rows, Count> cols_of(int i) const {
    return {address + u32(i * tensor_tile<T, Rows, Count>::width)};
  }
};

/// `Columns` columns for this block, until `tensor_release`; their address goes to `to` in shared memory. By one whole
/// warp, once a block. A power of two from 32 to 512.
template <int Columns, int Blocks = 1> __device__ __forceinline__ void tensor_allocate(u32 &to) {
  static_assert(Columns >= 32 && Columns <= 512 && (Columns & (Columns - 1)) == 0, "32, 64, 128, 256 or 512 columns");
  asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;\n"
               "tcgen05.relinquish_alloc_permit.cta_group::%2.sync.aligned;" ::"r"(shared_address(&to)),
               "n"(Columns), "n"(Blocks)
               : "memory");
}
/// By the warp that allocated them, when nobody uses them any more.
template <int Columns, int Blocks = 1> __device__ __forceinline__ void tensor_release(u32 address) {
  asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address), "n"(Columns), "n"(Blocks)
               : "memory");
}
/// The same for both blocks of a pair, by one warp of each.
template <int Columns> __device__ __forceinline__ void pair_allocate(u32 &to) { tensor_allocate<Columns, 2>(to); }
template <int Columns> __device__ __forceinline__ void pair_release(u32 address) {
  tensor_release<Columns, 2>(address);
}

/// Before the barrier by which this thread hands tensor memory on.
__device__ __forceinline__ void tensor_fence_before_sync() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
/// After the barrier by which this thread takes it over, be it one that `tensor_commit` completed.
__device__ __forceinline__ void tensor_fence_after_sync() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

/// Count columns of this warp's lanes, one lane a thread, from the column of `address` on.
template <int Count> __device__ __forceinline__ void load_lanes(u32 address, u32 *w) {
  if constexpr (Count == 32)
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
                 "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7]),
                   "=r"(w[8]), "=r"(w[9]), "=r"(w[10]), "=r"(w[11]), "=r"(w[12]), "=r"(w[13]), "=r"(w[14]), "=r"(w[15]),
                   "=r"(w[16]), "=r"(w[17]), "=r"(w[18]), "=r"(w[19]), "=r"(w[20]), "=r"(w[21]), "=r"(w[22]),
                   "=r"(w[23]), "=r"(w[24]), "=r"(w[25]), "=r"(w[26]), "=r"(w[27]), "=r"(w[28]), "=r"(w[29]),
                   "=r"(w[30]), "=r"(w[31])
                 : "r"(address)
                 : "memory");
  else if constexpr (Count == 16)
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
                 "%14, %15}, [%16];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7]),
                   "=r"(w[8]), "=r"(w[9]), "=r"(w[10]), "=r"(w[11]), "=r"(w[12]), "=r"(w[13]), "=r"(w[14]), "=r"(w[15])
                 : "r"(address)
                 : "memory");
  else if constexpr (Count == 8)
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(address)
                 : "memory");
}
template <int Count> __device__ __forceinline__ void store_lanes(u32 address, const u32 *w) {
  if constexpr (Count == 32)
    asm volatile(
        "tcgen05.st.sync.aligned.32x32b.x32.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
        "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32};" ::"r"(
            address),
        "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7]), "r"(w[8]), "r"(w[9]),
        "r"(w[10]), "r"(w[11]), "r"(w[12]), "r"(w[13]), "r"(w[14]), "r"(w[15]), "r"(w[16]), "r"(w[17]), "r"(w[18]),
        "r"(w[19]), "r"(w[20]), "r"(w[21]), "r"(w[22]), "r"(w[23]), "r"(w[24]), "r"(w[25]), "r"(w[26]), "r"(w[27]),
        "r"(w[28]), "r"(w[29]), "r"(w[30]), "r"(w[31])
        : "memory");
  else if constexpr (Count == 16)
    asm volatile("tcgen05.st.sync.aligned.32x32b.x16.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
                 "%13, %14, %15, %16};" ::"r"(address),
                 "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7]), "r"(w[8]),
                 "r"(w[9]), "r"(w[10]), "r"(w[11]), "r"(w[12]), "r"(w[13]), "r"(w[14]), "r"(w[15])
                 : "memory");
  else if constexpr (Count == 8)
    asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"r"(address),
                 "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
                 : "memory");
  else
    asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(w[0]), "r"(w[1]),
                 "r"(w[2]), "r"(w[3])
                 : "memory");
}

/// Calls f.operator()<Count>(first) for pieces of at most 32 columns.
template <int Width, int First = 0, class F> __device__ __forceinline__ void for_each_lane_piece(F f) {
  if constexpr (First < Width) {
    constexpr int left = Width - First;
    constexpr int count = left >= 32 ? 32 : left >= 16 ? 16 : left >= 8 ? 8 : 4;
    f.template operator()<count>(First);
    for_each_lane_piece<Width, First + count>(f);
  }
}

/// The address of the calling warp's lanes.
__device__ __forceinline__ u32 own_lanes(u32 address) { return address + ((threadIdx.x / 32 % 4) << 21); }

/// X ← the tile's columns. Asynchronous: X may not be touched before `tensor_wait_load`. By whole warpgroups.
template <tile X, class T, int Rows, int Cols>
__device__ __forceinline__ X tensor_load(const tensor_tile<T, Rows, Cols> &from) {
  using from_tile = tensor_tile<T, Rows, Cols>;
  static_assert(same<X, fragment<T, Rows, Cols, lane_rows>>, "a row a thread");
  static_assert(from_tile::width % 4 == 0, "columns in steps of four words");
  u32 words[from_tile::width];
  const u32 address = own_lanes(from.address);
  for_each_lane_piece<from_tile::width>(
      [&]<int Count>(int first) { load_lanes<Count>(address + first, words + first); });
  X result;
#pragma unroll
  for (int i = 0; i < from_tile::width; ++i)
    if constexpr (decltype(result.data)::packed)
      result.data.words[i] = words[i];
    else
      result.data.values[i] = __builtin_bit_cast(T, words[i]);
  return result;
}

/// All loads of this warp have arrived. Name the tiles that may be touched from here on.
template <tile... X> __device__ __forceinline__ void tensor_wait_load(X &...x) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  (pin(x), ...);
}

/// The tile's columns ← x, asynchronous; `tensor_wait_store` before anybody is told. By whole warpgroups.
template <class T, int Rows, int Cols>
__device__ __forceinline__ void tensor_store(const tensor_tile<T, Rows, Cols> &to,
                                             const fragment<T, Rows, Cols, lane_rows> &x) {
  using to_tile = tensor_tile<T, Rows, Cols>;
  static_assert(to_tile::width % 4 == 0, "columns in steps of four words");
  u32 words[to_tile::width];
#pragma unroll
  for (int i = 0; i < to_tile::width; ++i)
    if constexpr (decltype(x.data)::packed)
      words[i] = x.data.words[i];
    else
      words[i] = __builtin_bit_cast(u32, x.data.values[i]);
  const u32 address = own_lanes(to.address);
  for_each_lane_piece<to_tile::width>(
      [&]<int Count>(int first) { store_lanes<Count>(address + first, words + first); });
}
/// All stores of this warp are done.
__device__ __forceinline__ void tensor_wait_store() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

} // namespace tk
