// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of what a plan declares: how elements lie in shared memory and in the registers of a role's threads.
#pragma once

#include "ir/TileIR.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tkc::plan {

/// Bytes of a row of the shared-memory swizzle atom (PTX ISA, "Shared memory matrix layout"); None is plain row-major.
/// A buffer whose rows are longer than the atom's is stored in panels of that width, each of all rows, one after
/// another.
enum class Swizzle : uint8_t { None, B32, B64, B128 };
std::string_view spelling(Swizzle swizzle);
int64_t bytes(Swizzle swizzle); ///< 0, 32, 64, 128

/// How the elements of a register tile are spread over the threads of a role.
struct Layout {
  enum Kind : uint8_t {
    Mma,     ///< the wgmma accumulator: an instruction makes 64 rows, by a warpgroup
    Operand, ///< a left operand of wgmma, of a type that is not 16 bits wide: Mma but for the order within a row
    Rows,    ///< vectors of `vec` elements, a row over `threadsPerRow` consecutive ones of the role's `threads` threads
    WarpMma, ///< the mma.sync accumulator, 16 rows a warp: all make `threads` / 2 rows at once
    Tensor,  ///< the accumulator of a product of 128 rows in tensor memory, as quads of threads read it: 128 rows
             ///< by a warpgroup at once, 32 neighbouring ones by a warp
    Mfma,    ///< the MFMA accumulator, transposed, by waves below each other: blocks of 64 / `threadsPerRow` rows and
             ///< columns, of whose rows a lane has runs of `vec` neighbours
  } kind = Mma;
  int threads = 128;
  int threadsPerRow = 4;
  int vec = 2;
  /// Rows, a row at a time: vectors begin as many columns before the tile as the role's `alignedBy` says, and the first
  /// ones hold the tile's last columns in place of those before it (tk/led_rows.h). `led` in plans.
  bool aligned = false;
  friend bool operator==(const Layout &, const Layout &) = default;
};
std::string print(const Layout &layout);
/// Elements of a chunk of 16 bytes: by so many more than a tile in an aligned layout has, a copy of it in shared memory
/// has both chunks of memory that its turned one is made of.
inline int64_t alignedChunk(ElemType elem) { return 128 / bitWidth(elem); }
/// Bits of an element in shared memory: those of six bits lie there as matrix instructions read them, 16 in 16 bytes
/// (tk/padded.h), which copies fill but for four.
inline int sharedBits(ElemType elem) { return isFloat6(elem) ? 8 : bitWidth(elem); }
inline int64_t sharedBytes(ElemType elem, int64_t count) { return count * sharedBits(elem) / 8; }
/// Columns of a copy engine's box of such elements, and what it begins at a multiple of. CUDA Driver API,
/// cuTensorMapEncodeTiled, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B.
constexpr int64_t float6BoxCols = 128;
/// Elements of which a box's innermost coordinate is a multiple, for a copy engine that takes those of so many bytes.
inline int64_t boxStep(ElemType elem, int alignment) {
  return isFloat6(elem) ? float6BoxCols : int64_t{alignment} * 8 / bitWidth(elem);
}
/// Rows of an accumulator that one instruction of each of its warps makes. An accumulator has whole multiples of them.
constexpr int instructionRows(const Layout &layout) {
  return layout.kind == Layout::Tensor ? layout.threads
         : layout.kind == Layout::Mfma ? layout.threads / layout.threadsPerRow
                                       : layout.threads / 2;
}
/// Rows and columns of a block of an accumulator in Layout::Mfma.
constexpr int blockSide(const Layout &layout) { return 64 / layout.threadsPerRow; }

/// Neighbours in a row that a thread holds.
constexpr int runOf(const Layout &layout) {
  return layout.kind == Layout::Rows || layout.kind == Layout::Mfma ? layout.vec : 2;
}

/// Which part of a tile each instance (warpgroup) of a role owns.
enum class Division : uint8_t {
  Whole, ///< every instance holds a copy of everything; the only one for Layout::Rows
  Rows,  ///< instance w of n holds rows [w·R/n, (w + 1)·R/n)
  Cols,  ///< and likewise for columns
};
std::string_view spelling(Division division);

/// Type of a variable of a role. Shapes are the whole tile's, padded to what the layout needs.
struct VarType {
  enum Kind : uint8_t {
    Scalar,
    TileIndex,
    Fragment,
    Column,
    Row,
    Cursor,
    Share, ///< what each thread copies of a stage, `rows` × `cols` as stored, in Layout::Rows
  } kind = Scalar;
  ElemType elem = ElemType::F32;
  int64_t rows = 1; ///< Fragment, Column; TileIndex: the tile's size; Cursor: stages of its ring
  int64_t cols = 1; ///< Fragment, Row
  Layout layout;
  Division division = Division::Whole;
  friend bool operator==(const VarType &, const VarType &) = default;
};
std::string print(const VarType &type);
/// Which part of the variable's own rows or columns an instance holds: a row that is divided by rows is whole.
Division heldPart(const VarType &type);

} // namespace tkc::plan
