// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/targets/NativeGpus.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <sstream>
#include <tuple>

namespace tkc::arch {

std::vector<NvidiaGpu> listedNvidiaGpus(const std::string &lines) {
  std::vector<NvidiaGpu> gpus;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    NvidiaGpu gpu;
    char name[256] = "";
    if (std::sscanf(line.c_str(), "%d.%d, %255[^\n]", &gpu.major, &gpu.minor, name) != 3)
      continue; // "[N/A], …", or what it says where there is no driver
    gpu.name = name;
    gpus.push_back(gpu);
  }
  return gpus;
}

std::string NativeGpu::describe() const {
  return language == Language::Cuda ? fmt::format("of compute capability {}.{}", major, minor) : name;
}

std::string gfxName(unsigned version) {
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

std::vector<NativeGpu> amdGpus(const std::string &nodes) {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  for (const auto &node : std::filesystem::directory_iterator(nodes, error))
    folders.push_back(node.path());
  std::sort(folders.begin(), folders.end());
  std::vector<NativeGpu> gpus;
  for (const std::filesystem::path &folder : folders) {
    std::ifstream properties(folder / "properties");
    std::string key;
    for (unsigned long long value = 0; properties >> key >> value;)
      if (key == "gfx_target_version" && value != 0) // 0: a CPU
        gpus.push_back({Language::Hip, 0, 0, gfxName(static_cast<unsigned>(value))});
  }
  return gpus;
}

std::string nativeGpuName() {
  const std::vector<NvidiaGpu> gpus = nvidiaGpus();
  return gpus.empty() ? "" : gpus.front().name;
}

std::vector<NativeGpu> nativeGpus() {
  std::vector<NativeGpu> gpus, kinds;
  for (const NvidiaGpu &gpu : nvidiaGpus())
    gpus.push_back({Language::Cuda, gpu.major, gpu.minor});
  const std::vector<NativeGpu> amd = amdGpus("/sys/class/kfd/kfd/topology/nodes");
  gpus.insert(gpus.end(), amd.begin(), amd.end());
  for (const NativeGpu &gpu : gpus)
    if (std::none_of(kinds.begin(), kinds.end(), [&](const NativeGpu &k) { return k.describe() == gpu.describe(); }))
      kinds.push_back(gpu);
  return kinds;
}

const Description *bestTarget(const NativeGpu &gpu) {
  const Description *best = nullptr;
  const auto order = [](const Description &description) {
    return std::tuple(description.capability.major, description.capability.minor, description.capability.exactly);
  };
  for (const Description *description : all()) {
    const bool runs =
        gpu.language == Language::Hip ? description->name == gpu.name : description->runsOn(gpu.major, gpu.minor);
    if (runs && description->hasBackend && (!best || order(*best) < order(*description)))
      best = description;
  }
  return best;
}

} // namespace tkc::arch
