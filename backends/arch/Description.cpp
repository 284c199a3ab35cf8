// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/arch/Description.h"

#include <algorithm>

namespace tkc::arch {

const MatrixInstruction *Description::findMatrixInstruction(ElemType a, ElemType b) const {
  auto found = std::find_if(matrixInstructions.begin(), matrixInstructions.end(),
                            [&](const MatrixInstruction &row) { return row.a == a && row.b == b; });
  return found == matrixInstructions.end() ? nullptr : &*found;
}

plan::Budget Description::budget() const {
  return {sharedBytesPerBlock, registersPerMultiprocessor, maxThreadsPerBlock, namedBarriers, maxBoxDim};
}

std::vector<std::string> Description::scheduleNames() const {
  std::vector<std::string> names{name};
  names.insert(names.end(), families.begin(), families.end());
  return names;
}

std::vector<const Description *> all() { return {&sm90a}; }

const Description *find(std::string_view name) {
  for (const Description *description : all()) {
    std::vector<std::string> names = description->scheduleNames();
    if (std::find(names.begin(), names.end(), name) != names.end())
      return description;
  }
  return nullptr;
}

} // namespace tkc::arch
