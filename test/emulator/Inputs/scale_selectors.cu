// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block-scaled products of a warp with every byte and lane that may bring scales, and two mistakes in naming them.
#include <cstdio>
#include <cuda_runtime.h>
#include <initializer_list>

enum mistake { none, lanes_differ, byte_beside };

/// All elements are 1. In byte b of lane l stands 2^b, of lanes 2 and 3 of a quad times 16: so sums say which it was.
__global__ void product(float *out, int byte_a, int pair_a, int byte_b, int lane_b, mistake wrong) {
  float d[4] = {};
  const unsigned ones = 0x38383838, lane = threadIdx.x;
  const unsigned scale_a = (127u | 128u << 8 | 129u << 16 | 130u << 24) + 0x04040404u * (lane % 4 / 2);
  const unsigned scale_b = (127u | 128u << 8 | 129u << 16 | 130u << 24) + 0x04040404u * (lane % 4);
  const unsigned short from_a = byte_a + (wrong == lanes_differ && lane == 5), from_b = byte_b;
  asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
               "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3}, {%5}, {%6, %7}, {%8}, {%9, %10};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(ones), "r"(scale_a), "h"(from_a), "h"((unsigned short)pair_a), "r"(scale_b), "h"(from_b),
                 "h"((unsigned short)lane_b));
  if (wrong == byte_beside)
    asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 "
                 "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3}, {%5}, {%6, %7}, {%8}, {%9, %10};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ones), "r"(scale_a), "h"((unsigned short)1), "h"((unsigned short)0), "r"(scale_b),
                   "h"((unsigned short)0), "h"((unsigned short)0));
  for (int i = 0; i < 4; ++i)
    out[lane * 4 + i] = d[i];
}

int main() {
  float *out;
  cudaMalloc(&out, 128 * sizeof(float));
  float sums[128];
  int wrong = 0;
  for (int byte_a = 0; byte_a < 4; ++byte_a)
    for (int pair_a = 0; pair_a < 2; ++pair_a)
      for (int byte_b = 0; byte_b < 4; ++byte_b)
        for (int lane_b = 0; lane_b < 4; ++lane_b) {
          product<<<1, 32>>>(out, byte_a, pair_a, byte_b, lane_b, none);
          cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost);
          for (const float sum : sums)
            wrong += sum != 32.0f * float(1u << (byte_a + 4 * pair_a + byte_b + 4 * lane_b));
        }
  std::printf("all selectors: %d wrong\n", wrong);
  for (const mistake m : {lanes_differ, byte_beside}) {
    cudaDeviceReset();
    cudaMalloc(&out, 128 * sizeof(float));
    product<<<1, 32>>>(out, 0, 0, 0, 0, m);
    std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  }
}
