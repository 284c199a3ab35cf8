// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches that a GPU refuses, and one that it does not. Prints what becomes of each.
#include "host.h"
#include "tk/host/launch.h"

struct arguments {
  int *out;
};

__global__ void __launch_bounds__(256) kernel(const arguments g) { *g.out = 1; }

void launch(const char *name, dim3 grid, dim3 block, size_t shared = 0) {
  arguments g{upload(std::vector<int>(1))};
  void *parameters[] = {&g};
  const auto *function = reinterpret_cast<const void *>(kernel);
  std::printf("%s: %s\n", name, hipGetErrorString(hipLaunchKernel(function, grid, block, parameters, shared, nullptr)));
}

void launch_checked(const char *name, long long blocks) {
  tk::host::call c("k");
  tk::host::launch(c, {}, kernel, {upload(std::vector<int>(1))}, blocks, false, 256, 0, nullptr);
  std::printf("%s: %s\n", name, c.status().message);
}

int main() {
  launch("launch", 1, 256);
  launch("threads", 1, 512);
  launch("threads_of_all_blocks", 1 << 24, 256);
  launch("threads_along_y", {1, 1u << 31}, {1, 2});
  launch("lds", 1, 256, 65 << 10);
  launch_checked("launcher, 2", 2);
  launch_checked("launcher, 2^24", 1 << 24);
}
