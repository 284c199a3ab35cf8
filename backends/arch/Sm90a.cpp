// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hopper: H100, H200.
// Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" (9.0); PTX ISA 9.0,
// "Asynchronous Warpgroup Level Matrix Instructions" (shapes, types, majorness), "setmaxnreg", "cp.async.bulk.tensor".
#include "backends/arch/Description.h"

namespace tkc::arch {
namespace {

std::vector<MatrixInstruction> wgmmaTypes() {
  using enum ElemType;
  std::vector<MatrixInstruction> rows{
      {BF16, BF16, F32, 16, true, true}, {F16, F16, F32, 16, true, true}, {TF32, TF32, F32, 8, false, false},
      {I8, I8, I32, 32, false, false},   {U8, U8, I32, 32, false, false},
  };
  for (ElemType a : {F8E4M3, F8E5M2})
    for (ElemType b : {F8E4M3, F8E5M2})
      rows.push_back({a, b, F32, 32, false, false});
  return rows;
}

} // namespace

const Description sm90a{
    .name = "sm_90a",
    .families = {"hopper"},
    .multiprocessors = 132,
    .sharedBytesPerBlock = 227 * 1024,
    .sharedBytesPerMultiprocessor = 228 * 1024,
    .registersPerMultiprocessor = 64 * 1024,
    .maxRegistersPerThread = 255,
    .maxThreadsPerBlock = 1024,
    .warpSize = 32,
    .warpsPerGroup = 4,
    .namedBarriers = 16,
    .hasBulkTensorCopy = true,
    .maxBoxDim = 256,
    .hasRegisterReallocation = true,
    .matrixInstructions = wgmmaTypes(),
};

} // namespace tkc::arch
