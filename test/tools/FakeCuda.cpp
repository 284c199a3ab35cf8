// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands for NVIDIA's driver, as far as tkc asks it which GPUs there are: one, of compute capability 9.0.
#include <cstdio>

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int) { return *device = 0, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int) { return *value = attribute == 75 ? 9 : 0, 0; }
int cuDeviceGetName(char *name, int size, int) {
  return std::snprintf(name, static_cast<unsigned>(size), "NVIDIA Simulated"), 0;
}
}
