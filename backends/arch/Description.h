// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a GPU has, as data. Passes ask a description; they never compare names.
#pragma once

#include "ir/plan/PlanIR.h"
#include "support/ElemType.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tkc::arch {

/// An asynchronous matrix instruction that a warpgroup issues: D[64, n] += A[64, k] · B[k, n].
struct MatrixInstruction {
  ElemType a, b; ///< operand types
  ElemType accumulator;
  int k;          ///< contraction of one instruction
  bool anyMajor;  ///< operands may be contiguous along either axis; else along k only
  bool registerA; ///< A may come from registers in the layout of an accumulator that was narrowed to `a`
};

struct Description {
  std::string name;                  ///< "sm_90a"
  std::vector<std::string> families; ///< names that a schedule may use as well: "hopper"
  int multiprocessors;               ///< of the largest part; for defaults, never for correctness
  int64_t sharedBytesPerBlock;       ///< dynamic, after opting in
  int64_t sharedBytesPerMultiprocessor;
  int registersPerMultiprocessor; ///< 32-bit
  int maxRegistersPerThread;
  int maxThreadsPerBlock;
  int warpSize;
  int warpsPerGroup; ///< warps that issue a matrix instruction together
  int namedBarriers;
  bool hasBulkTensorCopy;       ///< a copy engine that fills shared memory by tensor maps and completes barriers
  int maxBoxDim;                ///< of a copy's box, per dim
  bool hasRegisterReallocation; ///< setmaxnreg
  std::vector<MatrixInstruction> matrixInstructions;

  /// The instruction that multiplies these operand types; null where there is none.
  const MatrixInstruction *findMatrixInstruction(ElemType a, ElemType b) const;
  plan::Budget budget() const;
  /// The name and the family names, as findSchedule wants them.
  std::vector<std::string> scheduleNames() const;
};

/// By name or family name; null where unknown.
const Description *find(std::string_view name);
std::vector<const Description *> all();

/// NVIDIA H100, H200 (backends/arch/Sm90a.cpp).
extern const Description sm90a;

} // namespace tkc::arch
