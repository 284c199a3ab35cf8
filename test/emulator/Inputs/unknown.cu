// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>

__global__ void unknown_instruction() { asm volatile("discard.global.L2 [%0], 128;" ::"l"(nullptr) : "memory"); }
__global__ void unknown_form() {
  float x;
  asm volatile("mov.b32 %0, %%clock_hi;" : "=f"(x));
}

int main() {
  unknown_instruction<<<1, 32>>>();
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaDeviceReset();
  unknown_form<<<1, 32>>>();
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
