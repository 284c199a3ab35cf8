// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp writes a row of a tile, reads a column of it (32 lanes, one bank), and 16 bytes a lane side by side.
#include <cuda_runtime.h>

__global__ void conflicts(float *out) {
  __shared__ __align__(16) float tile[32 * 32];
  for (int row = 0; row < 32; ++row)
    tile[32 * row + int(threadIdx.x)] = float(row);
  __syncwarp();
  float sum = tile[32 * int(threadIdx.x)];
  float x, y, z, w;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
               : "r"(unsigned(__cvta_generic_to_shared(tile + 4 * int(threadIdx.x)))));
  out[threadIdx.x] = sum + x + y + z + w;
}

int main() {
  float *out;
  cudaMalloc(&out, 32 * sizeof(float));
  conflicts<<<1, 32>>>(out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
