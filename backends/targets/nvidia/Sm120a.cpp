// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blackwell, graphics: RTX PRO 6000, RTX 5090.
// Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" (12.0); PTX ISA 9.0,
// "mma" (block scaling: kinds mxf8f6f4, m16n8k32, of float8 and six bits, mxf4 and mxf4nvf4, m16n8k64, from sm_120a
// on), "cp.async.bulk.tensor", "clusterlaunchcontrol", "setmaxnreg", "stmatrix"; NVIDIA RTX Blackwell PRO whitepaper
// (RTX PRO 6000): 188 multiprocessors, 2617 MHz, 1792 GB/s, 128 MB of L2, 504 TFLOP/s of bf16 = 512 multiply-adds a
// clock and multiprocessor. Rates: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"; L2 and
// latencies are guesses.
#include "backends/targets/Description.h"

namespace tkc::arch {
namespace {

std::vector<MatrixInstruction> instructions() {
  std::vector<MatrixInstruction> rows = mmaInstructions(512, true);
  addScaledFloats(rows, rows.back()); // like those of float8
  MatrixInstruction float4 = rows.back();
  float4.a = float4.b = ElemType::F4E2M1;
  float4.k = 64, float4.macsPerClock = 4 * 512;
  addFloat4(rows, float4);
  return rows;
}

} // namespace

const Description sm120a{
    .name = "sm_120a",
    .families = {"blackwell_rtx", "nvidia"},
    .part = "RTX PRO 6000",
    .hasBackend = true,
    .plansBlockScaling = true,
    .capability = {12, 0, true},
    .sharedBytesPerBlock = 99 * 1024,
    .sharedBytesPerMultiprocessor = 100 * 1024,
    .registersPerMultiprocessor = 64 * 1024,
    .maxRegistersPerThread = 255,
    .maxThreadsPerBlock = 1024,
    .maxThreadsPerMultiprocessor = 1536,
    .warpSize = 32,
    .warpsPerGroup = 1,
    .namedBarriers = 16,
    .hasTransactionBarriers = true,
    .maxClusterSize = 1,
    .hasClusterLaunchControl = true,
    .hasDependentLaunch = true,
    .hasEvictionPriority = true,
    .hasAsyncCopy = true,
    .hasBulkTensorCopy = true,
    .maxBoxDim = 256,
    .boxAlignment = 16,
    .hasMatrixLoad = true,
    .hasMatrixStore = true,
    .hasRegisterReallocation = true,
    .hasFloat8Conversion = true,
    .multiprocessors = 188,
    .l2Bytes = 128 * 1024 * 1024,
    .clockMHz = 2617,
    .bandwidthGBs = 1792,
    .rates = {.l2GBs = 5000, .l2Ns = 180, .memoryNs = 400, .memoryShare = 0.9},
    .matrixInstructions = instructions(),
};

} // namespace tkc::arch
