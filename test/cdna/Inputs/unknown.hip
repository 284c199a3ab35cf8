// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host.h"

__global__ void unknown_intrinsic(unsigned long *x) { x[0] = __builtin_amdgcn_s_getpc(); }
__global__ void unknown_instruction() { asm volatile("s_icache_inv"); }
__global__ void unknown_form(float4 *x, float a) {
  using vector = float __attribute__((ext_vector_type(4)));
  const vector product = __builtin_amdgcn_mfma_f32_16x16x4f32(a, a, vector{}, 0, 0, 1);
  x->x = product[0];
}

int main() {
  unknown_intrinsic<<<1, 64>>>(nullptr);
  report("intrinsic", false);
  unknown_instruction<<<1, 64>>>();
  report("instruction", false);
  unknown_form<<<1, 64>>>(nullptr, 1);
  report("form", false);
}
