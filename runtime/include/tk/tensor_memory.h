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

/// Rows × Cols elements in tensor memory, in slabs of `Slab` rows, the M of an instruction, side by side. Row r of a
/// slab of 128 is lane r, of one of 64 lane r / 16 · 32 + r % 16. Accumulators have 32 bits, left operands any; narrow
/// ones are packed, element 0 in the low bits.
template <class T, int Rows, int Cols, int Slab = Rows % 128 == 0 ? 128 : 64> struct tensor_tile {
  static_assert((Slab == 64 || Slab == 128) && Rows % Slab == 0, "instructions have 64 or 128 rows");
  static_assert(Cols * sizeof(T) % 4 == 0, "whole columns of 32 bits");
  using element = T;
  static constexpr int rows = Rows, cols = Cols, slab = Slab;
  /// Columns of tensor memory, of a slab and of all.
  static constexpr int slab_width = Cols * int(sizeof(T)) / 4;
  static constexpr int width = slab_width * (Rows / Slab);
  u32 address;

  /// The i-th group of Count columns, of a tile of one slab.
  template <int Count> __device__ __forceinline__ tensor_tile<T, Rows, Count, Slab> cols_of(int i) const {
    static_assert(Rows == Slab, "columns of several slabs are not together");
    return {address + u32(i * tensor_tile<T, Rows, Count, Slab>::width)};
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

// The shapes of loads and stores: how 32 bits of tensor memory go to registers, by what a layout wants. PTX ISA, "Data
// movement shape".

/// The text after the shape's name: how often it is repeated along the columns.
template <int Times> struct repeat {
  static constexpr char text[] = {'x', char('0' + Times), 0};
};
template <> struct repeat<16> {
  static constexpr char text[] = "x16";
};
template <> struct repeat<32> {
  static constexpr char text[] = "x32";
};
/// A lane a thread, a column a register.
struct shape_32x32b {
  static constexpr char text[] = "32x32b";
  static constexpr int registers = 1, columns = 1;
};
/// 16 lanes; four threads a lane, each with two neighbouring columns.
struct shape_16x256b {
  static constexpr char text[] = "16x256b";
  static constexpr int registers = 4, columns = 8;
};
/// 16 lanes; four threads a lane, each with one column.
struct shape_16x128b {
  static constexpr char text[] = "16x128b";
  static constexpr int registers = 2, columns = 4;
};

/// Count registers of each thread ← the columns from `address` on.
template <class Shape, int Count> __device__ __forceinline__ void load_lanes(u32 address, u32 *w) {
  using times = repeat<Count / Shape::registers>;
  if constexpr (Count == 32)
    asm volatile("tcgen05.ld.sync.aligned.%33.%34.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
                 "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7]),
                   "=r"(w[8]), "=r"(w[9]), "=r"(w[10]), "=r"(w[11]), "=r"(w[12]), "=r"(w[13]), "=r"(w[14]), "=r"(w[15]),
                   "=r"(w[16]), "=r"(w[17]), "=r"(w[18]), "=r"(w[19]), "=r"(w[20]), "=r"(w[21]), "=r"(w[22]),
                   "=r"(w[23]), "=r"(w[24]), "=r"(w[25]), "=r"(w[26]), "=r"(w[27]), "=r"(w[28]), "=r"(w[29]),
                   "=r"(w[30]), "=r"(w[31])
                 : "r"(address), "C"(Shape::text), "C"(times::text)
                 : "memory");
  else if constexpr (Count == 16)
    asm volatile("tcgen05.ld.sync.aligned.%17.%18.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
                 "%14, %15}, [%16];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7]),
                   "=r"(w[8]), "=r"(w[9]), "=r"(w[10]), "=r"(w[11]), "=r"(w[12]), "=r"(w[13]), "=r"(w[14]), "=r"(w[15])
                 : "r"(address), "C"(Shape::text), "C"(times::text)
                 : "memory");
  else if constexpr (Count == 8)
    asm volatile("tcgen05.ld.sync.aligned.%9.%10.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7])
                 : "r"(address), "C"(Shape::text), "C"(times::text)
                 : "memory");
  else
    asm volatile("tcgen05.ld.sync.aligned.%5.%6.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(address), "C"(Shape::text), "C"(times::text)
                 : "memory");
}
template <class Shape, int Count> __device__ __forceinline__ void store_lanes(u32 address, const u32 *w) {
  using times = repeat<Count / Shape::registers>;
  if constexpr (Count == 32)
    asm volatile(
        "tcgen05.st.sync.aligned.%33.%34.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
        "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32};" ::"r"(
            address),
        "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7]), "r"(w[8]), "r"(w[9]),
        "r"(w[10]), "r"(w[11]), "r"(w[12]), "r"(w[13]), "r"(w[14]), "r"(w[15]), "r"(w[16]), "r"(w[17]), "r"(w[18]),
        "r"(w[19]), "r"(w[20]), "r"(w[21]), "r"(w[22]), "r"(w[23]), "r"(w[24]), "r"(w[25]), "r"(w[26]), "r"(w[27]),
        "r"(w[28]), "r"(w[29]), "r"(w[30]), "r"(w[31]), "C"(Shape::text), "C"(times::text)
        : "memory");
  else if constexpr (Count == 16)
    asm volatile("tcgen05.st.sync.aligned.%17.%18.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
                 "%13, %14, %15, %16};" ::"r"(address),
                 "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7]), "r"(w[8]),
                 "r"(w[9]), "r"(w[10]), "r"(w[11]), "r"(w[12]), "r"(w[13]), "r"(w[14]), "r"(w[15]), "C"(Shape::text),
                 "C"(times::text)
                 : "memory");
  else if constexpr (Count == 8)
    asm volatile("tcgen05.st.sync.aligned.%9.%10.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"r"(address), "r"(w[0]),
                 "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7]), "C"(Shape::text),
                 "C"(times::text)
                 : "memory");
  else
    asm volatile("tcgen05.st.sync.aligned.%5.%6.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(w[0]), "r"(w[1]),
                 "r"(w[2]), "r"(w[3]), "C"(Shape::text), "C"(times::text)
                 : "memory");
}

/// Calls f.operator()<Count>(first) for pieces of at most 32 of `Registers` registers.
template <int Registers, int First = 0, class F> __device__ __forceinline__ void for_each_piece(F f) {
  if constexpr (First < Registers) {
    constexpr int left = Registers - First;
    constexpr int count = left >= 32 ? 32 : left >= 16 ? 16 : left >= 8 ? 8 : 4;
    f.template operator()<count>(First);
    for_each_piece<Registers, First + count>(f);
  }
}

/// How a fragment of this layout and width of element moves: its registers are `groups` runs of one instruction's each,
/// the i-th from lane `lane(i)` of the warp's on, in slab `slab(i)`.
template <class Layout, int Bytes> struct lane_movement {
  static_assert(same<Layout, mma_layout> || same<Layout, tensor_layout>, "no instruction moves this layout");
  static_assert(Bytes == 4 || Bytes == 2, "pairs of columns are one word or two");
  using shape = shape_16x256b;
  static constexpr int slab_rows = Layout::slab, groups_each = Layout::slab / 64;
  __device__ __forceinline__ static constexpr int lane(int group) { return group % groups_each * 16; }
};
template <class Layout>
  requires(!same<Layout, lane_rows>)
struct lane_movement<Layout, 2> : lane_movement<Layout, 4> {
  using shape = shape_16x128b;
};
template <int Bytes> struct lane_movement<lane_rows, Bytes> {
  using shape = shape_32x32b;
  static constexpr int slab_rows = 128, groups_each = 1;
  __device__ __forceinline__ static constexpr int lane(int) { return 0; }
};

/// The i-th 32-bit word of a fragment's registers.
template <tile X> __device__ __forceinline__ u32 register_word(const X &x, int i) {
  if constexpr (decltype(x.data)::packed)
    return x.data.words[i];
  else
    return __builtin_bit_cast(u32, x.data.values[i]);
}
template <tile X> __device__ __forceinline__ void set_register_word(X &x, int i, u32 word) {
  if constexpr (decltype(x.data)::packed)
    x.data.words[i] = word;
  else
    x.data.values[i] = __builtin_bit_cast(typename X::element, word);
}

/// Calls f.operator()<Shape, Count>(register, address) for every instruction that moves a fragment X between registers
/// and a tile of tensor memory.
template <class X, class Tile, class F> __device__ __forceinline__ void for_each_movement(const Tile &t, F f) {
  using movement = lane_movement<typename X::layout, int(sizeof(typename X::element))>;
  using shape = typename movement::shape;
  static_assert(same<typename X::element, typename Tile::element> && X::rows == Tile::rows && X::cols == Tile::cols);
  static_assert(Tile::slab == movement::slab_rows, "the layout is for other instructions");
  static_assert(Tile::slab_width * shape::registers % (4 * shape::columns) == 0, "registers in steps of four");
  constexpr int registers = Tile::slab_width / shape::columns * shape::registers;
  const u32 own = t.address + ((threadIdx.x / 32 % 4) << 21); // the warp's lanes
#pragma unroll
  for (int group = 0; group < Tile::rows / Tile::slab * movement::groups_each; ++group) {
    const u32 address = own + (u32(movement::lane(group)) << 16) + group / movement::groups_each * Tile::slab_width;
    for_each_piece<registers>([&]<int Count>(int first) {
      f.template operator()<shape, Count>(group * registers + first,
                                          address + first / shape::registers * shape::columns);
    });
  }
}

/// X ← the tile. Asynchronous: X may not be touched before `tensor_wait_load`. By whole warpgroups. X is in lane_rows
/// or tensor_layout, for slabs of 64 rows in mma_layout.
template <tile X, class T, int Rows, int Cols, int Slab>
__device__ __forceinline__ X tensor_load(const tensor_tile<T, Rows, Cols, Slab> &from) {
  X result;
  for_each_movement<X>(from, [&]<class Shape, int Count>(int first, u32 address) {
    u32 words[Count];
    load_lanes<Shape, Count>(address, words);
#pragma unroll
    for (int i = 0; i < Count; ++i)
      set_register_word(result, first + i, words[i]);
  });
  return result;
}

/// All loads of this warp have arrived. Name the tiles that may be touched from here on.
template <tile... X> __device__ __forceinline__ void tensor_wait_load(X &...x) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  (pin(x), ...);
}

/// The tile ← x, asynchronous; `tensor_wait_store` before anybody is told. By whole warpgroups.
template <class T, int Rows, int Cols, int Slab, class L>
__device__ __forceinline__ void tensor_store(const tensor_tile<T, Rows, Cols, Slab> &to,
                                             const fragment<T, Rows, Cols, L> &x) {
  for_each_movement<fragment<T, Rows, Cols, L>>(to, [&]<class Shape, int Count>(int first, u32 address) {
    u32 words[Count];
#pragma unroll
    for (int i = 0; i < Count; ++i)
      words[i] = register_word(x, first + i);
    store_lanes<Shape, Count>(address, words);
  });
}
/// All stores of this warp are done.
__device__ __forceinline__ void tensor_wait_store() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

/// The tile ← tile · by, row by row (a column, in the layout in which its rows are loaded), some columns at a time. The
/// tile has one slab. When the call returns it is done. Warps whose factors are all 1 leave their rows alone.
template <int Rows, int Cols, int Slab, class L>
__device__ __forceinline__ void tensor_scale(const tensor_tile<float, Rows, Cols, Slab> &t,
                                             const column<float, Rows, L> &by) {
  bool changes = false;
#pragma unroll
  for (int a = 0; a < by.row_slots; ++a)
    changes |= by.at(a, 0) != 1.0f;
  if (!__any_sync(~0u, changes))
    return;
  constexpr int count = Cols % 32 == 0 ? 32 : 16;
  static_assert(Cols % count == 0, "columns in steps of 16");
#pragma unroll
  for (int i = 0; i < Cols / count; ++i) {
    const auto part = t.template cols_of<count>(i);
    auto x = tensor_load<fragment<float, Rows, count, L>>(part);
    tensor_wait_load(x);
#pragma unroll
    for (int a = 0; a < x.row_slots; ++a)
#pragma unroll
      for (int b = 0; b < x.col_slots; ++b)
        x.set(a, b, x.at(a, b) * by.at(a, 0));
    tensor_store(part, x);
  }
  tensor_wait_store();
}

} // namespace tk
