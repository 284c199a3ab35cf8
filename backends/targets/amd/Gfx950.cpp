// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MI355X.
// Sources: "AMD Instinct CDNA4 Instruction Set Architecture", "Matrix Arithmetic Instructions" (shapes; float8 is OCP;
// no xf32), "Memory Buffer Instructions" (LDS bit: up to 16 bytes a lane), "Data Share" (160 KiB; ds_read_b64_tr_*);
// LLVM AMDGPU backend guide (512 registers a lane); CDNA4 whitepaper and MI355X datasheet: 8 dies of 32 units, 2400
// MHz, 8 TB/s, 4 MB of L2 a die, 2.5 PFLOP/s of bf16 = 2048 multiply-adds a clock and unit, f64 78.6;
// ROCm documentation, "AMD GPU specifications" (256 units, 32 a die; LDS of 160 KiB; 4 MiB of L2 a die; 512 KiB of
// vector registers); W. Hu et al., "HipKittens" (64 banks that serve a read); AMD at ISSCC 2026: 8192 FLOP of float8 a
// clock and unit.
// Rates: CDNA4 whitepaper (transcendentals twice as fast as before); the rest as Gfx942.cpp.
#include "backends/targets/Description.h"

#include <utility>

namespace tkc::arch {
namespace {

using enum ElemType;

/// 16- and 8-bit operands are read down their columns as well, and a 16-bit accumulator is an operand where it stands.
MatrixInstruction mfma(ElemType type, ElemType accumulator, int tile, int k, int macs) {
  const bool is16Bit = bitWidth(type) == 16;
  return {Issuer::Wave, type, type,      accumulator, tile,      tile, tile,
          tile,         k,    Registers, Registers,   Registers, macs, is16Bit || bitWidth(type) == 8,
          is16Bit};
}

std::vector<MatrixInstruction> instructions() {
  std::vector<MatrixInstruction> rows;
  for (ElemType type : {BF16, F16}) {
    rows.push_back(mfma(type, F32, 32, 16, 2048));
    rows.push_back(mfma(type, F32, 16, 32, 2048));
  }
  for (ElemType type : {F8E4M3, F8E5M2}) {
    rows.push_back(mfma(type, F32, 32, 16, 2048));
    rows.push_back(mfma(type, F32, 16, 32, 2048));
  }
  // At half the rate where an operand has eight bits.
  for (ElemType type : scaledFloats)
    for (ElemType right : scaledFloats)
      for (auto [tile, k] : {std::pair(32, 64), std::pair(16, 128)}) {
        rows.push_back(mfma(type, F32, tile, k, isFloat8(type) || isFloat8(right) ? 4096 : 8192));
        rows.back().b = right;
        rows.back().scaling = Scaling::Block, rows.back().anyMajor = false;
      }
  for (auto [tile, k] : {std::pair(32, 64), std::pair(16, 128)}) {
    rows.push_back(mfma(F4E2M1, F32, tile, k, 8192));
    rows.back().scaling = Scaling::Block;
  }
  for (int tile : {32, 16})
    for (bool mixed : {false, true}) {
      rows.push_back(mfma(mixed ? F8E4M3 : F8E5M2, F32, tile, tile == 32 ? 16 : 32, 2048));
      rows.back().b = mixed ? F8E5M2 : F8E4M3;
    }
  rows.push_back(mfma(I8, I32, 32, 32, 4096));
  rows.push_back(mfma(I8, I32, 16, 64, 4096));
  rows.push_back(mfma(F32, F32, 32, 2, 128));
  rows.push_back(mfma(F32, F32, 16, 4, 128));
  rows.push_back(mfma(TF32, F32, 32, 2, 128)); // by those of f32, of which every tf32 is one
  rows.push_back(mfma(F64, F64, 16, 4, 64));
  return rows;
}

} // namespace

const Description gfx950{
    .name = "gfx950",
    .families = {"cdna4", "amd"},
    .part = "MI355X",
    .hasBackend = true,
    .plansBlockScaling = true,
    .language = Language::Hip,
    .sharedBytesPerBlock = 160 * 1024,
    .sharedBytesPerMultiprocessor = 160 * 1024,
    .sharedSpan = 256,
    .registersPerMultiprocessor = 128 * 1024,
    .maxRegistersPerThread = 512,
    .maxThreadsPerBlock = 1024,
    .maxThreadsPerMultiprocessor = 2048,
    .warpSize = 64,
    .warpsPerGroup = 1,
    .namedBarriers = 1,
    .directLoadBytes = 16,
    .hasTransposingRead = true,
    .hasFloat8Conversion = true,
    .float8IsFnuz = false,
    .multiprocessors = 256,
    .chiplets = 8,
    .l2Bytes = 4 * 1024 * 1024,
    .clockMHz = 2400,
    .bandwidthGBs = 8000,
    .rates = {.multiplyAdds = 64,
              .special = 32,
              .l2GBs = 14000,
              .l2Ns = 200,
              .memoryNs = 700,
              .matrixShare = 0.75,
              .memoryShare = 0.85},
    .matrixInstructions = instructions(),
};

} // namespace tkc::arch
