// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `tkc tune` takes for a difference between two schedules' results.

// nvcc has these, the emulator what they come to.
static __device__ void atomicAdd(unsigned long long *at, unsigned long long x) {
  asm volatile("red.global.add.u64 [%0], %1;" ::"l"(at), "l"(x) : "memory");
}
static __device__ void atomicMin(unsigned long long *at, unsigned long long x) {
  asm volatile("red.global.min.u64 [%0], %1;" ::"l"(at), "l"(x) : "memory");
}

#include "tk/host/tune_compare.h"

#include <cmath>

static unsigned long long wrong(float got, float wanted) {
  float results[2][8] = {{1, 2, 3, 4, 5, 6, 7, got}, {1, 2, 3, 4, 5, 6, 7, wanted}};
  float *device[2];
  for (int i = 0; i < 2; ++i) {
    tk::test::check(tk::api::allocate(device[i], sizeof results[i]), "allocation");
    tk::test::check(tk::api::copy_to_device(device[i], results[i], sizeof results[i]), "upload");
  }
  tk::test::tensor tensor;
  tensor.type = 1;
  tensor.dims = {2, 4};
  tensor.strides = {4, 1};
  return tk::tune::compare(tensor, device[0], device[1], 0x1p-9).wrong;
}

int main() {
  const float infinite = INFINITY, none = NAN;
  std::printf("equal %llu near %llu far %llu\n", wrong(8, 8), wrong(8.01f, 8), wrong(9, 8));
  std::printf("finite for infinite %llu infinite for finite %llu both %llu\n", wrong(8, infinite), wrong(infinite, 8),
              wrong(infinite, infinite));
  std::printf("none for finite %llu finite for none %llu both %llu\n", wrong(none, 8), wrong(8, none),
              wrong(none, none));
}
