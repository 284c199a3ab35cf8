// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blackwell, data centre: B200.
// Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" (10.x); Blackwell Tuning
// Guide 13.0 (228 KB of shared memory, 227 a block; L2 of 126 MB); CUDA C++ Programming Guide, "Throughput of Native
// Arithmetic Instructions" (128 multiply-adds, 16 exp2 a clock); PTX ISA 9.0, "Tensor Memory" (512 columns of 128
// lanes), "tcgen05.mma" (kinds, shapes, spaces; kind i8 is for sm_100a, not for sm_103a), "clusterlaunchcontrol",
// "setmaxnreg", "cp.async.bulk.tensor"; NVIDIA Blackwell datasheet, HGX B200: 7.7 TB/s a GPU (the driver reports 7680
// bits at 3996 MHz), 2250 TFLOP/s of bf16 = 4096 multiply-adds a clock and multiprocessor; 148 multiprocessors as the
// driver reports; 1965 MHz from reports of users.
// Rates: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"; PTX ISA, "tcgen05.ld" (a value a
// lane and clock); shares and latencies as on Hopper; L2: two dies, each as fast as Hopper.
#include "backends/targets/Description.h"

namespace tkc::arch {

const Description sm100a{
    .name = "sm_100a",
    .families = {"blackwell", "nvidia"},
    .part = "B200",
    .hasBackend = true,
    .plansBlockScaling = true,
    .capability = {10, 0, true},
    .sharedBytesPerBlock = 227 * 1024,
    .sharedBytesPerMultiprocessor = 228 * 1024,
    .registersPerMultiprocessor = 64 * 1024,
    .maxRegistersPerThread = 255,
    .maxThreadsPerBlock = 1024,
    .maxThreadsPerMultiprocessor = 2048,
    .warpSize = 32,
    .warpsPerGroup = 4,
    .multiplyAddsPerExp2 = 8,
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
    .clockMHz = 1965,
    .bandwidthGBs = 7700,
    .rates = {.tensorMemory = 128, .l2GBs = 18000, .l2Ns = 300, .memoryNs = 600, .memoryShare = 0.92},
    .matrixInstructions = tcgen05Instructions(4096, true),
};

} // namespace tkc::arch
