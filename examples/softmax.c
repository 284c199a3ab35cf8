/* Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
   SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   A kernel of the library called from C. The rows of x lie 1024 elements apart, and have 1000. Where tkc and nvcc are, from the repository's root:

     tkc kernels/softmax.tk --kernel softmax_any --set T=f32 --arch sm_90a -o softmax.cu --header softmax.h
     nvcc -std=c++20 -arch=sm_90a -I runtime/include -c softmax.cu
     cc -std=c11 -I . -I runtime/include -I /usr/local/cuda/include examples/softmax.c softmax.o \
       -L /usr/local/cuda/lib64 -lcudart -lstdc++ -lm -o softmax && ./softmax */
#include "softmax.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>

enum { ROWS = 3, COLUMNS = 1000, PITCH = 1024 };

int main(void) {
  static float x[ROWS][PITCH], y[ROWS][COLUMNS];
  for (int row = 0; row < ROWS; ++row)
    for (int c = 0; c < COLUMNS; ++c)
      x[row][c] = (float)((row + 1) * c % 17);

  void *on_device[2];
  if (cudaMalloc(&on_device[0], sizeof x) != cudaSuccess || cudaMalloc(&on_device[1], sizeof y) != cudaSuccess)
    return 1;
  cudaMemcpy(on_device[0], x, sizeof x, cudaMemcpyHostToDevice);

  int64_t dims[2] = {ROWS, COLUMNS}, strides[2] = {PITCH, 1};
  /* A tensor is what DLPack calls DLTensor: 2 is CUDA and also the code of floats, which have 32 bits here. */
  const tk_tensor x_tensor = {on_device[0], 2, 0, 2, 2, 32, 1, dims, strides, 0};
  const tk_tensor y_tensor = {on_device[1], 2, 0, 2, 2, 32, 1, dims, NULL, 0}; /* NULL: row after row, without gaps */
  const tk_status status = softmax_any(&x_tensor, &y_tensor, NULL);
  if (status.code != TK_OK) {
    printf("%s\n", status.message);
    return 1;
  }
  cudaMemcpy(y, on_device[1], sizeof y, cudaMemcpyDeviceToHost);

  double worst = 0;
  for (int row = 0; row < ROWS; ++row) {
    double sum = 0;
    for (int c = 0; c < COLUMNS; ++c)
      sum += exp(x[row][c]);
    for (int c = 0; c < COLUMNS; ++c)
      worst = fmax(worst, fabs(y[row][c] * sum / exp(x[row][c]) - 1));
  }
  printf("softmax from C: %s\n", worst < 1e-5 ? "right" : "wrong");
  cudaFree(on_device[0]);
  cudaFree(on_device[1]);
  return worst >= 1e-5;
}
