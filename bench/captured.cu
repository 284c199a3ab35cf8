// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Causal attention whose blocks take tiles by a counter, beside the same as part of a graph, which has none: a row for
// each length, medians of so many rounds in which each side runs once.
//   tkc kernels/attention.tk --arch sm_90a --set D=128 --set causal=1 -o OUT/attention.cu
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I runtime/include -I OUT -o OUT/captured
//   bench/captured.cu && OUT/captured
#include "attention.cu"

#include "tk/convert.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

namespace {

constexpr int rounds = 15, launches = 20;

void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

__global__ void fill(tk::bf16 *to, size_t count, unsigned seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    unsigned x = unsigned(i) * 2654435761u + seed;
    x = (x ^ x >> 15) * 2246822519u;
    to[i] = tk::cast<tk::bf16>(float(int(x >> 8) - (1 << 23)) * 0x1p-22f);
  }
}

template <class T> T *allocate(size_t count) {
  void *memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
  return static_cast<T *>(memory);
}

/// Microseconds of a launch, of so many that run one after the other.
template <class Run> float time(cudaStream_t stream, const Run &run) {
  cudaEvent_t from, to;
  float milliseconds = 0;
  check(cudaEventCreate(&from), "cudaEventCreate");
  check(cudaEventCreate(&to), "cudaEventCreate");
  check(cudaEventRecord(from, stream), "cudaEventRecord");
  run();
  check(cudaEventRecord(to, stream), "cudaEventRecord");
  check(cudaEventSynchronize(to), "cudaEventSynchronize");
  check(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
  check(cudaEventDestroy(from), "cudaEventDestroy");
  check(cudaEventDestroy(to), "cudaEventDestroy");
  return milliseconds * 1000 / launches;
}

float median(std::vector<float> numbers) {
  std::nth_element(numbers.begin(), numbers.begin() + numbers.size() / 2, numbers.end());
  return numbers[numbers.size() / 2];
}

void row(int batch, int heads, int length, cudaStream_t stream) {
  const size_t rows = size_t(batch) * heads * length, count = rows * 128;
  tk::bf16 *inputs[3], *o = allocate<tk::bf16>(count);
  float *lse = allocate<float>(rows);
  for (unsigned i = 0; i < 3; ++i)
    fill<<<512, 256, 0, stream>>>(inputs[i] = allocate<tk::bf16>(count), count, i);
  const auto tensor = [&](const void *data) {
    return tk::tensor(data, tk::element::bf16, {batch, heads, length, 128});
  };
  const auto launchAll = [&] {
    for (int i = 0; i < launches; ++i) {
      const tk_status status = attn_fwd(tensor(inputs[0]), tensor(inputs[1]), tensor(inputs[2]), 0.088f, tensor(o),
                                        tk::tensor(lse, {batch, heads, length}), true, stream);
      if (status.code != TK_OK) {
        std::printf("attn_fwd: %s\n", status.message);
        std::exit(2);
      }
    }
  };
  cudaGraph_t graph;
  cudaGraphExec_t captured;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  launchAll();
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  check(cudaGraphInstantiate(&captured, graph, 0), "cudaGraphInstantiate");
  std::vector<float> counted, inOrder, ratios;
  for (int round = -2; round < rounds; ++round) {
    const float first = time(stream, launchAll);
    const float second = time(stream, [&] { check(cudaGraphLaunch(captured, stream), "cudaGraphLaunch"); });
    if (round < 0)
      continue;
    counted.push_back(first), inOrder.push_back(second), ratios.push_back(second / first);
  }
  std::printf("%3d x %2d x %5d  %9.1f us by a counter  %9.1f us captured  %.3f\n", batch, heads, length,
              median(counted), median(inOrder), median(ratios));
  for (void *memory : {static_cast<void *>(inputs[0]), static_cast<void *>(inputs[1]), static_cast<void *>(inputs[2]),
                       static_cast<void *>(o), static_cast<void *>(lse)})
    check(cudaFree(memory), "cudaFree");
}

} // namespace

int main() {
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  for (const int length : {512, 1024, 2048, 4096, 8192, 16384})
    row(std::max(1, 16384 / length), 16, length, stream);
}
