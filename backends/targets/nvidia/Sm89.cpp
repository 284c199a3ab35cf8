// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ada: L40S, RTX 4090.
// Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" (8.9); PTX ISA 9.0, "mma"
// (e4m3 and e5m2 from sm_89 on), "cvt" (float8 from sm_89 on), "cp.async", "ldmatrix", "barrier"; NVIDIA L40S datasheet
// and AD102 whitepaper: 142 multiprocessors, 2520 MHz, 864 GB/s, 96 MB of L2 (as measured on an L40, which has the same
// die), 362 TFLOP/s of bf16 = 512 multiply-adds a clock and multiprocessor.
// Rates: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"; approximately, from published
// measurements: L2, latencies.
#include "backends/targets/Description.h"

namespace tkc::arch {

const Description sm89{
    .name = "sm_89",
    .families = {"ada", "nvidia"},
    .part = "L40S",
    .hasBackend = true,
    .capability = {8, 9, false},
    .sharedBytesPerBlock = 99 * 1024,
    .sharedBytesPerMultiprocessor = 100 * 1024,
    .registersPerMultiprocessor = 64 * 1024,
    .maxRegistersPerThread = 255,
    .maxThreadsPerBlock = 1024,
    .maxThreadsPerMultiprocessor = 1536,
    .warpSize = 32,
    .warpsPerGroup = 1,
    .namedBarriers = 16,
    .hasEvictionPriority = true,
    .hasAsyncCopy = true,
    .hasMatrixLoad = true,
    .hasFloat8Conversion = true,
    .multiprocessors = 142,
    .l2Bytes = 96 * 1024 * 1024,
    .clockMHz = 2520,
    .bandwidthGBs = 864,
    .rates = {.l2GBs = 4000, .l2Ns = 150, .memoryNs = 310, .memoryShare = 0.9},
    .matrixInstructions = mmaInstructions(512, true),
};

} // namespace tkc::arch
