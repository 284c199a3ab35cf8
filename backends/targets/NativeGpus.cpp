// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/targets/NativeGpus.h"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <tuple>

#include <dlfcn.h>

namespace tkc::arch {
namespace {

/// By NVIDIA's driver. Source: CUDA Driver API 13.0, "Initialization" and "Device Management"; 75 and 76 are
/// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
std::vector<NativeGpu> nvidiaGpus() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver)
    return {};
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto getCount = reinterpret_cast<int (*)(int *)>(dlsym(driver, "cuDeviceGetCount"));
  const auto get = reinterpret_cast<int (*)(int *, int)>(dlsym(driver, "cuDeviceGet"));
  const auto attribute = reinterpret_cast<int (*)(int *, int, int)>(dlsym(driver, "cuDeviceGetAttribute"));
  std::vector<NativeGpu> gpus;
  int count = 0;
  if (init && getCount && get && attribute && init(0) == 0 && getCount(&count) == 0)
    for (int i = 0; i < count; ++i) {
      int device = 0;
      NativeGpu gpu{Language::Cuda};
      if (get(&device, i) == 0 && attribute(&gpu.major, 75, device) == 0 && attribute(&gpu.minor, 76, device) == 0)
        gpus.push_back(gpu);
    }
  return gpus; // the library stays: drivers do not like to be unloaded
}

} // namespace

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
  void *driver = nvidiaGpus().empty() ? nullptr : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto get = driver ? reinterpret_cast<int (*)(int *, int)>(dlsym(driver, "cuDeviceGet")) : nullptr;
  const auto getName = driver ? reinterpret_cast<int (*)(char *, int, int)>(dlsym(driver, "cuDeviceGetName")) : nullptr;
  int device = 0;
  char name[256] = "";
  return get && getName && get(&device, 0) == 0 && getName(name, sizeof name, device) == 0 ? name : "";
}

std::vector<NativeGpu> nativeGpus() {
  std::vector<NativeGpu> gpus = nvidiaGpus(), kinds;
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
