// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/targets/nvidia/Nvcc.h"

#include <fmt/ranges.h>
#include <tuple>

namespace tkc::cuda {
namespace {

/// "90a", as in compute_90a.
std::string number(const arch::Description &gpu) {
  return fmt::format("{}{}{}", gpu.capability.major, gpu.capability.minor, gpu.capability.exactly ? "a" : "");
}

/// What nvcc's __CUDA_ARCH__ is for it.
int macroValue(const arch::Description &gpu) { return gpu.capability.major * 100 + gpu.capability.minor * 10; }

/// Defined where nvcc compiles for it with the letter (CUDA C++ Programming Guide 13.0, "Feature Set Compiler
/// Targets").
std::string featureMacro(const arch::Description &gpu) {
  return fmt::format("__CUDA_ARCH_FEAT_SM{}{}_ALL", gpu.capability.major, gpu.capability.minor);
}

} // namespace

bool isLessCapable(const arch::Description &gpu, const arch::Description &other) {
  const auto order = [](const arch::Description &each) {
    return std::tuple(each.capability.major, each.capability.minor, each.capability.exactly);
  };
  return order(gpu) < order(other);
}

std::string compilesFor(const arch::Description &gpu, const Architectures &all) {
  if (gpu.language == arch::Language::Hip)
    return fmt::format("defined(__{}__)", gpu.name);
  if (gpu.capability.exactly)
    return fmt::format("defined({})", featureMacro(gpu));
  std::string condition = fmt::format("__CUDA_ARCH__ >= {}", macroValue(gpu));
  bool hasLater = false;
  for (const arch::Description *other : all) {
    if (!isLessCapable(gpu, *other) || hasLater)
      continue;
    hasLater = !other->capability.exactly;
    condition += hasLater ? fmt::format(" && __CUDA_ARCH__ < {}", macroValue(*other))
                          : fmt::format(" && !defined({})", featureMacro(*other));
  }
  return condition;
}

std::string describe(const Architectures &all) {
  std::vector<std::string> names, options;
  if (all.front()->language == arch::Language::Hip) {
    for (const arch::Description *gpu : all) {
      names.push_back(gpu->name);
      options.push_back("--offload-arch=" + gpu->name);
    }
    return fmt::format("// For {}; the launchers choose by the device. Compile with\n//   hipcc -std=c++20 -O3 {}\n",
                       fmt::join(names, ", "), fmt::join(options, " "));
  }
  const arch::Description *widest = nullptr;
  for (const arch::Description *gpu : all) {
    names.push_back(gpu->name);
    options.push_back(fmt::format("-gencode arch=compute_{0},code=sm_{0}", number(*gpu)));
    if (!gpu->capability.exactly)
      widest = gpu;
  }
  if (widest) // as PTX for what comes later
    options.push_back(fmt::format("-gencode arch=compute_{0},code=compute_{0}", number(*widest)));
  return fmt::format(
      "// For {}; the launchers choose by the device. Compile with\n//   nvcc -std=c++20 -O3\n//     {}\n",
      fmt::join(names, ", "), fmt::join(options, "\n//     "));
}

std::string gencodeOf(const arch::Description &gpu) {
  return fmt::format("arch=compute_{0},code={1}_{0}", number(gpu), gpu.capability.exactly ? "sm" : "compute");
}

std::string refusals(const Architectures &all) {
  std::string text;
  for (const arch::Description *gpu : all)
    if (gpu->capability.exactly)
      text += fmt::format("#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == {} && !defined({})\n"
                          "#error \"the code for {} wants -gencode arch=compute_{},code=sm_{}\"\n#endif\n",
                          macroValue(*gpu), featureMacro(*gpu), gpu->name, number(*gpu), number(*gpu));
  return text.empty() ? text : "\n" + text;
}

} // namespace tkc::cuda
