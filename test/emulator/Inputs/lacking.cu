// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with an instruction each that some GPUs lack. None is executed.
#include <cstdint>
#include <cstdio>

#define NAMES(f)                                                                                                       \
  f(atomics) f(copies) f(products) f(tensors) f(registers) f(bulk_copies) f(float8_products) f(conversions) f(barriers)

__global__ void atomics(bool never, float *to) {
  if (never)
    asm volatile("red.global.add.v2.f32 [%0], {%1, %1};" ::"l"(to), "f"(1.0f) : "memory");
}
__global__ void copies(bool never, float *from) {
  __shared__ float4 here;
  if (never)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(int(__cvta_generic_to_shared(&here))), "l"(from)
                 : "memory");
}
__global__ void products(bool never, float *) {
  if (never)
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__global__ void tensors(bool never, float *) {
  if (never)
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}
__global__ void registers(bool never, float *) {
  if (never)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
}
__global__ void bulk_copies(bool never, float *) {
  if (never)
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__global__ void float8_products(bool never, float *to) {
  unsigned a = 0, b = 0;
  if (never)
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                 : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
                 : "r"(a), "r"(b));
}
__global__ void conversions(bool never, float *to) {
  unsigned bits;
  if (never) {
    asm volatile("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(to[0]));
    to[1] = bits;
  }
}
__global__ void barriers(bool never, float *to) {
  unsigned rank;
  if (never) {
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    to[0] = rank;
  }
}

int main() {
#define RUN(name)                                                                                                      \
  name<<<1, 128>>>(false, nullptr);                                                                                    \
  std::printf("%s: %s\n", #name, cudaGetErrorString(cudaDeviceSynchronize()));                                         \
  cudaDeviceReset();
  NAMES(RUN)
}
