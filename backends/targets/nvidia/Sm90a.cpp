// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hopper: H100, H200.
// Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" (9.0) and "Thread Block
// Clusters" (8 is portable); PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions" (shapes, types,
// majorness), "setmaxnreg", "cp.async.bulk.tensor" (boxes of up to 256 a dim), "stmatrix"; NVIDIA H200 datasheet: 132
// multiprocessors, 1980 MHz, 4800 GB/s, 50 MB of L2, 989 TFLOP/s of bf16 at 1830 MHz = 2048 multiply-adds a clock and
// multiprocessor.
// Rates: measured on an H200, docs/cost-model.md. boxAlignment: measured on an H100, which faults at other boxes.
#include "backends/targets/Description.h"

namespace tkc::arch {

const Description sm90a{
    .name = "sm_90a",
    .families = {"hopper", "nvidia"},
    .part = "H200",
    .hasBackend = true,
    .capability = {9, 0, true},
    .sharedBytesPerBlock = 227 * 1024,
    .sharedBytesPerMultiprocessor = 228 * 1024,
    .registersPerMultiprocessor = 64 * 1024,
    .maxRegistersPerThread = 255,
    .maxThreadsPerBlock = 1024,
    .maxThreadsPerMultiprocessor = 2048,
    .warpSize = 32,
    .warpsPerGroup = 4,
    .namedBarriers = 16,
    .hasTransactionBarriers = true,
    .maxClusterSize = 8,
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
    .multiprocessors = 132,
    .l2Bytes = 50 * 1024 * 1024,
    .clockMHz = 1980,
    .bandwidthGBs = 4800,
    .rates = {.l2GBs = 10000,
              .l2StoreGBs = 5100,
              .l2FillGBs = 3420,
              .l2SectorGBs = 2300,
              .l2Joined = 0.6,
              .l2Ns = 175,
              .memoryNs = 390,
              .multiplyAddsLost = 0.5,
              .simpleLost = 0.6,
              .specialLost = 0.28,
              .memoryShare = 0.92,
              .launchNs = 2700,
              .blockNs = 160,
              .measured = true},
    .matrixInstructions = wgmmaInstructions(2048),
};

} // namespace tkc::arch
