// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MI300X.
// Sources: "AMD Instinct MI300 Instruction Set Architecture", "Matrix Arithmetic Instructions" (shapes; float8 is FNUZ,
// xf32 stands for tf32), "Memory Buffer Instructions" (LDS bit: 4 bytes a lane); LLVM AMDGPU backend guide (512
// registers a lane); CDNA3 whitepaper and MI300X datasheet: 8 dies of 38 units, 2100 MHz, 5300 GB/s, 4 MB of L2 a die,
// 1307 TFLOP/s of bf16 = 1024 multiply-adds a clock and unit, f32 and f64 163; ROCm documentation, "AMD GPU
// specifications" and "MI300 series microarchitecture" (38 of 40 units a die, LDS of 64 KiB, 4 MiB of L2 a die).
// Rates: CDNA3 whitepaper (64 lanes, a quarter of them for transcendentals; Infinity Cache of 17 TB/s, which stands for
// L2 here); latencies and shares are guesses.
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
    rows.push_back(mfma(type, F32, 32, 8, 1024));
    rows.push_back(mfma(type, F32, 16, 16, 1024));
  }
  for (ElemType type : {F8E4M3, F8E5M2}) {
    rows.push_back(mfma(type, F32, 32, 16, 2048));
    rows.push_back(mfma(type, F32, 16, 32, 2048));
  }
  rows.push_back(mfma(TF32, F32, 32, 4, 512));
  rows.push_back(mfma(TF32, F32, 16, 8, 512));
  rows.push_back(mfma(I8, I32, 32, 16, 2048));
  rows.push_back(mfma(I8, I32, 16, 32, 2048));
  rows.push_back(mfma(F32, F32, 32, 2, 128));
  rows.push_back(mfma(F32, F32, 16, 4, 128));
  rows.push_back(mfma(F64, F64, 16, 4, 128));
  return rows;
}

} // namespace

const Description gfx942{
    .name = "gfx942",
    .families = {"cdna3", "amd"},
    .part = "MI300X",
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
    .hasFloat8Conversion = true,
    .float8IsFnuz = true,
    .multiprocessors = 304,
    .chiplets = 8,
    .l2Bytes = 4 * 1024 * 1024,
    .clockMHz = 2100,
    .bandwidthGBs = 5300,
    .rates =
        {.multiplyAdds = 64, .l2GBs = 14000, .l2Ns = 200, .memoryNs = 700, .matrixShare = 0.75, .memoryShare = 0.85},
    .matrixInstructions = instructions(),
};

} // namespace tkc::arch
