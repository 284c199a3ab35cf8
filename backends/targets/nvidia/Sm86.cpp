// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ampere, graphics: A40, RTX 3090.
// Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" (8.6); PTX ISA 9.0,
// "cp.async", "ldmatrix", "barrier"; NVIDIA A40 datasheet and GA102 whitepaper: 84 multiprocessors, 1740 MHz, 696 GB/s,
// 6 MB of L2, 149.7 TFLOP/s of bf16 = 512 multiply-adds a clock and multiprocessor (GeForce parts: half with f32
// accumulators).
// Rates: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"; approximately, from published
// measurements: L2, latencies.
#include "backends/targets/Description.h"

namespace tkc::arch {

const Description sm86{
    .name = "sm_86",
    .families = {"ampere", "nvidia"},
    .part = "A40",
    .hasBackend = true,
    .capability = {8, 6, false},
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
    .multiprocessors = 84,
    .l2Bytes = 6 * 1024 * 1024,
    .clockMHz = 1740,
    .bandwidthGBs = 696,
    .rates = {.l2GBs = 2300, .l2Ns = 150, .memoryNs = 320, .memoryShare = 0.9},
    .matrixInstructions = mmaInstructions(512, false),
};

} // namespace tkc::arch
