// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel whose tiles a counter hands out, called in every way in which a counter could be shared or be off. Whatever
// is left in the counters, each launch computes all of its tiles:
// - in two streams at once;
// - in two graphs instantiated from one capture, replayed in two streams at once, as often as the first argument says;
// - after launches of which nobody knows how far they came;
// - in the context that comes after cudaDeviceReset, which has been told nothing of the kernel.
//   tkc test/gpu/Inputs/prefix.tk --arch sm_90a -o OUT/prefix.cu
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I runtime/include -I OUT -o OUT/graphs
//   test/gpu/Inputs/graphs.cu && OUT/graphs 1000
// By default 32 heads of 2048 rows, which the second and the third argument say otherwise. The numbers are whole and
// small, so that every sum is exact. The emulator, which has neither graphs nor contexts, runs the rest.
#include "prefix.cu"

#include "tk/atomic_element.h"
#include "tk/convert.h"

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <utility>

namespace {

void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

__device__ int numberOf(unsigned at, unsigned seed) {
  unsigned x = (at + seed * 7919u) * 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  return int((x ^ x >> 13) % 3) - 1;
}

__global__ void fill(tk::bf16 *to, unsigned count, unsigned seed) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    to[i] = tk::cast<tk::bf16>(float(numberOf(i, seed)));
}

/// A thread a result: o[h, i, d] = sum over j <= i of (q[h, i, :] · k[h, j, :]) v[h, j, d].
__global__ void compute(float *to, int heads, int rows) {
  const unsigned count = unsigned(heads) * rows * 64;
  for (unsigned at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x) {
    const unsigned head = at / 64 / rows * rows, row = at / 64, d = at % 64;
    int sum = 0;
    for (unsigned j = head; j <= row; ++j) {
      int score = 0;
      for (unsigned e = 0; e < 64; ++e)
        score += numberOf(row * 64 + e, 1) * numberOf(j * 64 + e, 2);
      sum += score * numberOf(j * 64 + d, 3);
    }
    to[at] = float(sum);
  }
}

__global__ void compare(const float *got, const float *wanted, unsigned count, int *wrong) {
  int found = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    found += got[i] != wanted[i];
  if (found > 0)
    tk::atomic_add_element(wrong, found);
}

/// What launches may leave that were stopped midway, of other streams and of this one.
__global__ void scribble(unsigned seed) {
  for (int i = threadIdx.x; i < tk::tile_counter_count; i += blockDim.x)
    tk::tile_counters[i] = tk::u64(seed + i % 3) << 32 | unsigned(i % 50);
}

struct Test {
  int heads, rows;
  unsigned count = unsigned(heads) * rows * 64;
  tk::bf16 *q, *k, *v;
  float *o[2], *wanted;
  int *wrong;
  cudaStream_t streams[2] = {};

  void prepare() {
    for (auto [to, seed] : {std::pair{&q, 1u}, {&k, 2u}, {&v, 3u}}) {
      check(cudaMalloc(reinterpret_cast<void **>(to), count * sizeof(tk::bf16)), "cudaMalloc");
      fill<<<64, 128>>>(*to, count, seed);
    }
    for (float **to : {&o[0], &o[1], &wanted})
      check(cudaMalloc(reinterpret_cast<void **>(to), count * sizeof(float)), "cudaMalloc");
    check(cudaMalloc(reinterpret_cast<void **>(&wrong), sizeof(int)), "cudaMalloc");
    check(cudaMemset(wrong, 0, sizeof(int)), "cudaMemset");
    compute<<<1024, 128>>>(wanted, heads, rows);
    check(cudaDeviceSynchronize(), "inputs");
  }

  /// Behind all that went before: streams of their own do not wait for the one in which memory is set.
  void poison() {
    check(cudaDeviceSynchronize(), "the round before");
    for (float *to : o)
      check(cudaMemset(to, 0xff, count * sizeof(float)), "cudaMemset");
    check(cudaDeviceSynchronize(), "poison");
  }

  /// The kernel, and behind it in its stream what counts wrong results.
  void launch(int output, cudaStream_t stream) {
    const auto input = [&](const void *data) { return tk::tensor(data, tk::element::bf16, {heads, rows, 64}); };
    const tk_status status = prefix(input(q), input(k), input(v), tk::tensor(o[output], {heads, rows, 64}), stream);
    if (status.code != TK_OK) {
      std::printf("prefix: %s\n", status.message);
      std::exit(2);
    }
    compare<<<64, 128, 0, stream>>>(o[output], wanted, count, wrong);
  }

  /// Whether all was right since the last time.
  bool report(const char *what, int rounds) {
    int found = 0;
    check(cudaDeviceSynchronize(), what);
    check(cudaMemcpy(&found, wrong, sizeof found, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaMemset(wrong, 0, sizeof found), "cudaMemset");
    std::printf("%s: %d rounds, %d wrong elements\n", what, rounds, found);
    return found == 0;
  }

  bool inStreams(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      poison();
      for (int side : {0, 1})
        launch(side, streams[side]);
    }
    return report("two streams", rounds);
  }

  bool afterOthers(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      poison();
      scribble<<<1, 128, 0, streams[0]>>>(unsigned(round));
      launch(0, streams[0]);
    }
    return report("after launches that were stopped", rounds);
  }

#ifndef TKC_EMULATOR
  void makeStreams() {
    for (cudaStream_t &stream : streams)
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }

  bool inGraphs(int rounds) {
    cudaGraph_t graph;
    cudaGraphExec_t copies[2];
    check(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    launch(0, streams[0]);
    check(cudaStreamEndCapture(streams[0], &graph), "cudaStreamEndCapture");
    for (cudaGraphExec_t &copy : copies)
      check(cudaGraphInstantiate(&copy, graph, 0), "cudaGraphInstantiate");
    for (int round = 0; round < rounds; ++round) {
      poison();
      for (int side : {0, 1})
        check(cudaGraphLaunch(copies[side], streams[side]), "cudaGraphLaunch");
    }
    return report("two graphs of one capture", rounds);
  }
#endif
};

} // namespace

int main(int argc, char **argv) {
  const auto argument = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const int rounds = argument(1, 1000);
  Test test{.heads = argument(2, 32), .rows = argument(3, 2048)};
  test.prepare();
#ifdef TKC_EMULATOR
  bool right = true;
#else
  test.makeStreams();
  bool right = test.inGraphs(rounds);
#endif
  right &= test.inStreams(rounds);
  right &= test.afterOthers(rounds);
#ifndef TKC_EMULATOR
  check(cudaDeviceReset(), "cudaDeviceReset");
  test.prepare();
  test.makeStreams();
  std::puts("after a reset:");
  right &= test.inStreams(2);
#endif
  return right ? 0 : 1;
}
