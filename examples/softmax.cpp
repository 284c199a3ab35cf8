// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of the library called from C++. The rows of x lie 1024 elements apart, and have 1000. Where tkc and nvcc are, from the repository's root:
//
//   tkc kernels/softmax.tk --kernel softmax_any --set T=f32 --arch sm_90a -o softmax.cu --header softmax.h
//   nvcc -std=c++20 -arch=sm_90a -I . -I runtime/include examples/softmax.cpp softmax.cu -o softmax && ./softmax
#include "softmax.h"

#include <cmath>
#include <cstdio>
#include <cuda_runtime_api.h>
#include <vector>

int main() {
  constexpr int rows = 3, columns = 1000, pitch = 1024;
  std::vector<float> x(rows * pitch), y(rows * columns);
  for (int row = 0; row < rows; ++row)
    for (int c = 0; c < columns; ++c)
      x[row * pitch + c] = float((row + 1) * c % 17);

  void *x_data, *y_data;
  if (cudaMalloc(&x_data, x.size() * 4) != cudaSuccess || cudaMalloc(&y_data, y.size() * 4) != cudaSuccess)
    return 1;
  cudaMemcpy(x_data, x.data(), x.size() * 4, cudaMemcpyHostToDevice);

  // The type of the pointer is that of the elements. Strides that are not said are those of rows without gaps.
  const tk::tensor x_tensor(static_cast<float *>(x_data), {rows, columns}, {pitch, 1});
  const tk::tensor y_tensor(static_cast<float *>(y_data), {rows, columns});
  if (const tk_status status = softmax_any(x_tensor, y_tensor); status.code != TK_OK) {
    std::puts(status.message);
    return 1;
  }
  cudaMemcpy(y.data(), y_data, y.size() * 4, cudaMemcpyDeviceToHost);

  double worst = 0;
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int c = 0; c < columns; ++c)
      sum += std::exp(double(x[row * pitch + c]));
    for (int c = 0; c < columns; ++c)
      worst = std::fmax(worst, std::abs(y[row * columns + c] * sum / std::exp(double(x[row * pitch + c])) - 1));
  }
  std::printf("softmax from C++: %s\n", worst < 1e-5 ? "right" : "wrong");
  cudaFree(x_data);
  cudaFree(y_data);
  return worst >= 1e-5;
}
