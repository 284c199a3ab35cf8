// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blackwell, data centre: B300.
// Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" (10.x); PTX ISA 9.0,
// "Tensor Memory" (512 columns of 128 lanes), "tcgen05.mma" (kinds, shapes, spaces; no kind i8),
// "clusterlaunchcontrol", "setmaxnreg", "cp.async.bulk.tensor"; NVIDIA Blackwell Ultra datasheet, HGX B300: 7.7 TB/s a
// GPU, 2250 TFLOP/s of bf16 = 4096 multiply-adds a clock and multiprocessor (GB300: 8 TB/s, 2500).
// Exponentials: twice B200's (NVIDIA, "Inside NVIDIA Blackwell Ultra"). Multiprocessors, L2
// and clock: reports of users, not confirmed.
// Rates: as Sm100a.cpp, with twice the special functions.
#include "backends/targets/Description.h"

namespace tkc::arch {

const Description sm103a{
    .name = "sm_103a",
    .families = {"blackwell", "nvidia"},
    .part = "B300",
    .hasBackend = true,
    .plansBlockScaling = true,
    .capability = {10, 3, true},
    .sharedBytesPerBlock = 227 * 1024,
    .sharedBytesPerMultiprocessor = 228 * 1024,
    .registersPerMultiprocessor = 64 * 1024,
    .maxRegistersPerThread = 255,
    .maxThreadsPerBlock = 1024,
    .maxThreadsPerMultiprocessor = 2048,
    .warpSize = 32,
    .warpsPerGroup = 4,
    .multiplyAddsPerExp2 = 4,
    .tensorMemoryColumns = 512,
    .namedBarriers = 16,
    .hasTransactionBarriers = true,
    .maxClusterSize = 8,
    .hasPairedProducts = true,
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
    .multiprocessors = 148,
    .l2Bytes = 126 * 1024 * 1024,
    .clockMHz = 2032,
    .bandwidthGBs = 7700,
    .rates = {.special = 32, .tensorMemory = 128, .l2GBs = 18000, .l2Ns = 300, .memoryNs = 600, .memoryShare = 0.92},
    .matrixInstructions = tcgen05Instructions(4096, false),
};

} // namespace tkc::arch
