// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/targets/NativeGpus.h"

#include <dlfcn.h>

namespace tkc::arch {

/// By NVIDIA's driver. Source: CUDA Driver API 13.0, "Initialization" and "Device Management"; 75 and 76 are
/// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
std::vector<NvidiaGpu> nvidiaGpus() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver)
    return {};
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto getCount = reinterpret_cast<int (*)(int *)>(dlsym(driver, "cuDeviceGetCount"));
  const auto get = reinterpret_cast<int (*)(int *, int)>(dlsym(driver, "cuDeviceGet"));
  const auto attribute = reinterpret_cast<int (*)(int *, int, int)>(dlsym(driver, "cuDeviceGetAttribute"));
  const auto getName = reinterpret_cast<int (*)(char *, int, int)>(dlsym(driver, "cuDeviceGetName"));
  std::vector<NvidiaGpu> gpus;
  int count = 0;
  if (init && getCount && get && attribute && init(0) == 0 && getCount(&count) == 0)
    for (int i = 0; i < count; ++i) {
      int device = 0;
      NvidiaGpu gpu;
      char name[256] = "";
      if (get(&device, i) != 0 || attribute(&gpu.major, 75, device) != 0 || attribute(&gpu.minor, 76, device) != 0)
        continue;
      if (getName && getName(name, sizeof name, device) == 0)
        gpu.name = name;
      gpus.push_back(gpu);
    }
  return gpus; // the library stays: drivers do not like to be unloaded
}

} // namespace tkc::arch
