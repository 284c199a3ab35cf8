// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches by a HIP runtime of this file's own, which counts what it is asked.
#include <hip/hip_runtime.h>
#define hipGetDevice get_device
#define hipGetDeviceProperties get_properties
#define hipOccupancyMaxActiveBlocksPerMultiprocessor occupancy
#define hipLaunchKernel launch_kernel
hipError_t hipGetDevice(int *);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *, int);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
#include "tk/host/launch.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

int device = 0;
std::atomic<int> properties, occupancies, launched_blocks;
constexpr int too_much = 300 * 1024;

} // namespace

hipError_t hipGetDevice(int *id) { return *id = device, hipSuccess; }
hipError_t hipGetDeviceProperties(hipDeviceProp_t *all, int id) {
  ++properties;
  *all = hipDeviceProp_t();
  std::strcpy(all->gcnArchName, id == 2 ? "gfx90a" : "gfx942:sramecc+:xnack-");
  all->multiProcessorCount = 5 + 2 * id;
  return id == 3 ? hipErrorInvalidValue : hipSuccess;
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, size_t shared) {
  ++occupancies;
  return *blocks = 1, shared >= too_much ? hipErrorInvalidValue : hipSuccess;
}
hipError_t hipLaunchKernel(const void *, dim3 grid, dim3, void **, size_t, hipStream_t) {
  launched_blocks = static_cast<int>(grid.x);
  return hipSuccess;
}

struct arguments {
  int word;
};
__global__ void one(arguments) {}
__global__ void other(arguments) {}

/// As emitted launchers do it.
void launch(tk::host::call &c, void (*kernel)(arguments) = one, long long blocks = 100, bool resident = true,
            int shared_bytes = 1024) {
  const auto on = tk::host::find_device(c, "gfx942");
  tk::host::launch(c, on, kernel, arguments{}, blocks, resident, 256, shared_bytes, nullptr);
}

void report(const char *name, void (*kernel)(arguments) = one, long long blocks = 100, bool resident = true,
            int shared_bytes = 1024) {
  properties = occupancies = launched_blocks = 0;
  tk::host::call c("kernel");
  launch(c, kernel, blocks, resident, shared_bytes);
  std::printf("%s: %d properties of devices, %d occupancy; %d blocks %s\n", name, properties.load(), occupancies.load(),
              launched_blocks.load(), c.status().message);
}

int main() {
  report("first");
  report("again");
  report("fewer blocks than fit", one, 2);
  report("all blocks at once", one, 100, false);
  report("another kernel", other);
  report("more LDS", one, 100, true, 2048);
  device = 1;
  report("another device");
  device = 0;
  report("the first one again");
  report("a kernel that does not fit", one, 100, true, too_much);
  report("and again", one, 100, true, too_much);
  device = 2;
  report("another GPU");
  device = 3;
  report("a device that says nothing");
  report("and again");

  // Kernels and devices of all threads, so that they meet at places.
  device = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 20000; ++round) {
        tk::host::call mine("kernel");
        launch(mine, round % 3 ? one : other, 100, true, 1024 * ((round * (thread + 1)) % 50));
        wrong += !mine.ok() || launched_blocks != 5;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  std::printf("four threads: %d wrong\n", wrong.load());
}
