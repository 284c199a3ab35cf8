// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention whose blocks take tiles by a counter, beside the same as part of a graph, which has none: a row for each
// length, medians of so many rounds in which each side runs once. By default causal, forward, with D = 128; -DFULL,
// -DBACKWARD and -DHEAD_DIM=64 say otherwise. bench/captured.sh builds and runs all of them, with each order of tiles.
#ifndef HEAD_DIM
#define HEAD_DIM 128
#endif
#ifdef BACKWARD
#include "attention_backward.cu"
#else
#include "attention.cu"
#endif

#include "tk/convert.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

namespace {

constexpr int rounds = 15, launches = 10;

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

/// The tensors of a call, and the call.
class Attention {
public:
  Attention(int batch, int heads, int length, cudaStream_t stream)
      : batch(batch), heads(heads), length(length), stream(stream) {
    const size_t rows = size_t(batch) * heads * length, count = rows * HEAD_DIM;
    for (unsigned i = 0; i < 6; ++i)
      fill<<<512, 256, 0, stream>>>(wide[i] = allocate<tk::bf16>(count), count, i);
    for (float *&to : perRow)
      check(cudaMemsetAsync(to = allocate<float>(rows), 0, rows * sizeof(float), stream), "cudaMemsetAsync");
#ifdef BACKWARD
    check(cudaMemsetAsync(dq = allocate<float>(count), 0, count * sizeof(float), stream), "cudaMemsetAsync");
#endif
  }
  Attention(const Attention &) = delete;
  Attention &operator=(const Attention &) = delete;
  ~Attention() {
    for (void *memory : wide)
      check(cudaFree(memory), "cudaFree");
    for (void *memory : perRow)
      check(cudaFree(memory), "cudaFree");
    check(cudaFree(dq), "cudaFree");
  }

  void launch() const {
#ifdef FULL
    constexpr bool causal = false;
#else
    constexpr bool causal = true;
#endif
    const auto each = [&](int i) { return tk::tensor(wide[i], tk::element::bf16, {batch, heads, length, HEAD_DIM}); };
    const auto row = [&](int i) { return tk::tensor(perRow[i], {batch, heads, length}); };
#ifdef BACKWARD
    const tk_status status =
        attn_bwd_main(each(0), each(1), each(2), each(3), row(0), row(1), scale,
                      tk::tensor(dq, {batch, heads, length, HEAD_DIM}), each(4), each(5), causal, stream);
#else
    const tk_status status = attn_fwd(each(0), each(1), each(2), scale, each(3), row(0), causal, stream);
#endif
    if (status.code != TK_OK) {
      std::printf("%s\n", status.message);
      std::exit(2);
    }
  }

private:
  static constexpr float scale = 0.088f;
  const int batch, heads, length;
  const cudaStream_t stream;
  tk::bf16 *wide[6];
  float *perRow[2], *dq = nullptr;
};

void row(int batch, int heads, int length, cudaStream_t stream) {
  const Attention attention(batch, heads, length, stream);
  const auto launchAll = [&] {
    for (int i = 0; i < launches; ++i)
      attention.launch();
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
  check(cudaGraphExecDestroy(captured), "cudaGraphExecDestroy");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

} // namespace

int main() {
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  for (const int length : {512, 1024, 2048, 4096, 8192, 16384})
    row(std::max(1, 16384 / length), 2048 / HEAD_DIM, length, stream);
}
