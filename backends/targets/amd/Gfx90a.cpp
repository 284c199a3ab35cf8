// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MI250X.
// Sources: "AMD Instinct MI200 Instruction Set Architecture", "Matrix Arithmetic Instructions" (shapes; the bf16 ones
// are the _1k forms), "Memory Buffer Instructions" (LDS bit: 4 bytes a lane); LLVM AMDGPU backend guide, "Target
// Features" (unified register file: 512 a lane, 4 × 512 × 64 × 4 bytes a unit); CDNA2 whitepaper, one die of an MI250X:
// 110 units, 1700 MHz, 1638 GB/s, 8 MB of L2, 191.5 TFLOP/s of bf16 = 512 multiply-adds a clock and unit, f32 and
// f64 47.9; ROCm documentation, "AMD GPU specifications" (units, LDS, L2, registers) and "MI250 microarchitecture".
// Rates: CDNA2 whitepaper (64 lanes, a quarter of them for transcendentals); L2, latencies and shares are guesses.
#include "backends/targets/Description.h"

namespace tkc::arch {
namespace {

using enum ElemType;

/// 16-bit operands are read down their columns as well, and an accumulator is an operand where it stands.
MatrixInstruction mfma(ElemType type, ElemType accumulator, int tile, int k, int macs) {
  const bool is16Bit = bitWidth(type) == 16;
  return {Issuer::Wave, type,      type,      accumulator, tile,    tile,   tile, tile, k,
          Registers,    Registers, Registers, macs,        is16Bit, is16Bit};
}

std::vector<MatrixInstruction> instructions() {
  std::vector<MatrixInstruction> rows;
  for (ElemType type : {BF16, F16}) {
    rows.push_back(mfma(type, F32, 32, 8, 512));
    rows.push_back(mfma(type, F32, 16, 16, 512));
  }
  rows.push_back(mfma(I8, I32, 32, 8, 512));
  rows.push_back(mfma(I8, I32, 16, 16, 512));
  rows.push_back(mfma(F32, F32, 32, 2, 128));
  rows.push_back(mfma(F32, F32, 16, 4, 128));
  rows.push_back(mfma(TF32, F32, 32, 2, 128)); // by those of f32, of which every tf32 is one
  rows.push_back(mfma(F64, F64, 16, 4, 128));
  return rows;
}

} // namespace

const Description gfx90a{
    .name = "gfx90a",
    .families = {"cdna2", "amd"},
    .part = "MI250X",
    .hasBackend = true,
    .language = Language::Hip,
    .sharedBytesPerBlock = 64 * 1024,
    .sharedBytesPerMultiprocessor = 64 * 1024,
    .sharedSpan = 256,
    .sharedGrain = 4,
    .registersPerMultiprocessor = 128 * 1024,
    .maxRegistersPerThread = 512,
    .maxThreadsPerBlock = 1024,
    .maxThreadsPerMultiprocessor = 2048,
    .warpSize = 64,
    .warpsPerGroup = 1,
    .namedBarriers = 1,
    .directLoadBytes = 4,
    .hasTransposingRead = false,
    .hasFloat8Conversion = false,
    .flushesSubnormals = true,
    .float8IsFnuz = false,
    .multiprocessors = 110,
    .chiplets = 1,
    .l2Bytes = 8 * 1024 * 1024,
    .clockMHz = 1700,
    .bandwidthGBs = 1638,
    .rates =
        {.multiplyAdds = 64, .l2GBs = 3500, .l2Ns = 200, .memoryNs = 650, .matrixShare = 0.75, .memoryShare = 0.85},
    .matrixInstructions = instructions(),
};

} // namespace tkc::arch
