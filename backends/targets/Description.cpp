// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/targets/Description.h"

#include <algorithm>
#include <utility>

namespace tkc::arch {

std::string_view spelling(Issuer issuer) {
  switch (issuer) {
  case Issuer::Warp:
    return "a warp";
  case Issuer::Warpgroup:
    return "a warpgroup";
  case Issuer::Thread:
    return "one thread";
  case Issuer::Wave:
    return "a wave";
  }
  return {};
}

const MatrixInstruction *Description::findMatrixInstruction(ElemType a, ElemType b) const {
  if (float8IsFnuz && (isFloat8(a) || isFloat8(b))) // other values than the language's
    return nullptr;
  auto found = std::find_if(matrixInstructions.begin(), matrixInstructions.end(), [&](const MatrixInstruction &row) {
    return row.a == a && row.b == b && row.scaling == Scaling::None;
  });
  return found == matrixInstructions.end() ? nullptr : &*found;
}

const MatrixInstruction *Description::findScaledInstruction(ElemType a, ElemType b, ElemType scale) const {
  auto found = std::find_if(matrixInstructions.begin(), matrixInstructions.end(), [&](const MatrixInstruction &row) {
    return row.a == a && row.b == b && row.scaling == Scaling::Block && row.scale == scale;
  });
  return found == matrixInstructions.end() ? nullptr : &*found;
}

plan::Budget Description::budget() const {
  return {sharedBytesPerBlock,
          registersPerMultiprocessor,
          maxThreadsPerBlock,
          namedBarriers,
          maxBoxDim,
          boxAlignment,
          maxClusterSize,
          maxRegistersPerThread,
          tensorMemoryColumns,
          hasClusterLaunchControl,
          sharedSpan,
          sharedGrain,
          hasTransposingRead,
          chiplets,
          directLoadBytes};
}

bool Description::runsOn(int major, int minor) const {
  if (language != Language::Cuda || capability.exactly)
    return language == Language::Cuda && capability.major == major && capability.minor == minor;
  return std::pair(major, minor) >= std::pair(capability.major, capability.minor);
}

std::vector<std::string> Description::scheduleNames() const {
  std::vector<std::string> names{name};
  names.insert(names.end(), families.begin(), families.end());
  return names;
}

std::vector<const Description *> all() {
  return {&sm80, &sm86, &sm89, &sm90a, &sm100a, &sm103a, &sm120a, &gfx90a, &gfx942, &gfx950};
}

std::vector<std::string> allNames() {
  std::vector<std::string> names;
  for (const Description *description : all())
    for (std::string &name : description->scheduleNames())
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(std::move(name));
  return names;
}

const Description *find(std::string_view name) {
  const Description *first = nullptr;
  for (const Description *description : all()) {
    std::vector<std::string> names = description->scheduleNames();
    if (std::find(names.begin(), names.end(), name) == names.end())
      continue;
    if (description->hasBackend)
      return description;
    first = first ? first : description;
  }
  return first;
}

} // namespace tkc::arch
