// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix instructions that several GPUs have alike.
#include "backends/targets/Description.h"

#include <utility>

namespace tkc::arch {
namespace {

using enum ElemType;

constexpr ElemType float8s[] = {F8E4M3, F8E5M2};

/// A row for every pair of types that mma.sync and wgmma multiply, where the hardware has float8 or not. `row` takes
/// the types, k and the rate.
template <class Row> std::vector<MatrixInstruction> typesOf(Row row, int rate, bool float8) {
  std::vector<MatrixInstruction> rows;
  for (ElemType type : {BF16, F16}) {
    rows.push_back(row(type, type, F32, 16, rate));
    rows.back().anyMajor = rows.back().registerA = true;
  }
  rows.push_back(row(TF32, TF32, F32, 8, rate / 2));
  rows.push_back(row(I8, I8, I32, 32, 2 * rate));
  rows.push_back(row(U8, U8, I32, 32, 2 * rate));
  if (float8)
    for (ElemType a : float8s)
      for (ElemType b : float8s)
        rows.push_back(row(a, b, F32, 32, 2 * rate));
  return rows;
}

} // namespace

void addScaledFloats(std::vector<MatrixInstruction> &rows, MatrixInstruction row) {
  row.anyMajor = false;
  row.scaling = Scaling::Block;
  for (ElemType a : scaledFloats)
    for (ElemType b : scaledFloats) {
      row.a = a, row.b = b;
      rows.push_back(row);
    }
}

void addFloat4(std::vector<MatrixInstruction> &rows, MatrixInstruction row) {
  row.anyMajor = false;
  row.scaling = Scaling::Block;
  for (auto [scale, block] : {std::pair(F8E8M0, 32), std::pair(F8E4M3, 16)}) {
    row.scale = scale, row.block = block;
    rows.push_back(row);
  }
}

/// PTX ISA 9.0, "Matrix Fragments for mma.m16n8k16 with floating point type", "… mma.m16n8k8", "… mma.m16n8k32"; types
/// by target: table "mma" there. ldmatrix.trans (16-bit elements) makes either axis contiguous. The accumulator of two
/// neighbouring n8 is the A operand of k16.
std::vector<MatrixInstruction> mmaInstructions(int rate, bool float8) {
  auto row = [](ElemType type, ElemType b, ElemType accumulator, int k, int macs) {
    return MatrixInstruction{Issuer::Warp, type, b, accumulator, 16, 8, 8, 8, k, Registers, Registers, Registers, macs};
  };
  return typesOf(row, rate, float8);
}

/// PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions": shapes m64nNk{8, 16, 32}, N in steps of 8 up to 256
/// (integers: the same set, with gaps that nobody meets below 24); majorness: "Matrix Multiplication … tnspA, tnspB".
std::vector<MatrixInstruction> wgmmaInstructions(int rate) {
  auto row = [](ElemType a, ElemType b, ElemType accumulator, int k, int macs) {
    return MatrixInstruction{Issuer::Warpgroup, a,         b,   accumulator, 64, 8, 8, 256, k, Registers | SharedMemory,
                             SharedMemory,      Registers, macs};
  };
  return typesOf(row, rate, true);
}

/// PTX ISA 9.0, "tcgen05.mma": kinds f16, tf32, f8f6f4, i8 and mxf8f6f4; m64 and m128 a block (m256 a pair), N in steps
/// of 8 up to 256; mxf8f6f4 also of six bits; kinds mxf4 and mxf4nvf4: k64, along k alone; "Major-ness supported by
/// Strides" (8-bit kinds too). A narrowed accumulator is A in tensor memory.
std::vector<MatrixInstruction> tcgen05Instructions(int rate, bool int8) {
  auto row = [](ElemType a, ElemType b, ElemType accumulator, int k, int macs) {
    return MatrixInstruction{
        Issuer::Thread, a,    b,   accumulator, 128, 16, 16, 256, k, SharedMemory | TensorMemory, SharedMemory,
        TensorMemory,   macs, true};
  };
  std::vector<MatrixInstruction> rows;
  for (ElemType type : {BF16, F16}) {
    rows.push_back(row(type, type, F32, 16, rate));
    rows.back().registerA = true;
  }
  rows.push_back(row(TF32, TF32, F32, 8, rate / 2));
  rows.back().anyMajor = false; // along m or n it takes a swizzle of 32-byte atoms
  if (int8) {
    rows.push_back(row(I8, I8, I32, 32, 2 * rate));
    rows.push_back(row(U8, U8, I32, 32, 2 * rate));
  }
  for (ElemType a : float8s)
    for (ElemType b : float8s)
      rows.push_back(row(a, b, F32, 32, 2 * rate));
  addScaledFloats(rows, rows.back());
  addFloat4(rows, row(F4E2M1, F4E2M1, F32, 64, 4 * rate));
  return rows;
}

} // namespace tkc::arch
