// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ampere, data centre: A100.
// Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" (8.0), and
// cuda_occupancy.h of CUDA 13.0 (shared memory of all NVIDIA GPUs here): shared memory,
// registers, threads, named barriers (PTX ISA 9.0, "barrier": 16 a block); PTX ISA 9.0, "cp.async", "ldmatrix" (targets
// sm_80 and sm_75); NVIDIA A100 datasheet (80 GB SXM): 108 multiprocessors, 1410 MHz, 2039 GB/s, 312 TFLOP/s of bf16 =
// 1024 multiply-adds a clock and multiprocessor; A100 whitepaper: 40 MB of L2.
// Rates: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"; approximately, from published
// measurements: L2 (5120 bytes a clock at most), latencies.
#include "backends/targets/Description.h"

namespace tkc::arch {

const Description sm80{
    .name = "sm_80",
    .families = {"ampere", "nvidia"},
    .part = "A100",
    .hasBackend = true,
    .capability = {8, 0, false},
    .sharedBytesPerBlock = 163 * 1024,
    .sharedBytesPerMultiprocessor = 164 * 1024,
    .registersPerMultiprocessor = 64 * 1024,
    .maxRegistersPerThread = 255,
    .maxThreadsPerBlock = 1024,
    .maxThreadsPerMultiprocessor = 2048,
    .warpSize = 32,
    .warpsPerGroup = 1,
    .namedBarriers = 16,
    .hasEvictionPriority = true,
    .hasAsyncCopy = true,
    .hasMatrixLoad = true,
    .multiprocessors = 108,
    .l2Bytes = 40 * 1024 * 1024,
    .clockMHz = 1410,
    .bandwidthGBs = 2039,
    .rates = {.multiplyAdds = 64, .l2GBs = 5100, .l2Ns = 200, .memoryNs = 470, .memoryShare = 0.9},
    .matrixInstructions = mmaInstructions(1024, false),
};

} // namespace tkc::arch
