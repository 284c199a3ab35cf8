// Blocks add to the same elements at the same time: half of them by threads, the others by the copy engine.
#include <cstdio>
#include <cuda_runtime.h>

constexpr int elements = 32, rounds = 500;

__global__ void add(float *sums) {
  __shared__ alignas(128) float ones[elements];
  ones[threadIdx.x] = 1;
  __syncthreads();
  if (blockIdx.x % 2 == 0) {
    for (int i = 0; i < rounds; ++i)
      asm volatile("red.global.add.f32 [%0], %1;" ::"l"(sums + threadIdx.x), "f"(1.0f) : "memory");
    return;
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < rounds; ++i) {
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(sums),
                   "r"(unsigned(__cvta_generic_to_shared(ones))), "r"(unsigned(sizeof ones))
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;");
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
  }
}

int main() {
  constexpr int blocks = 8;
  float *sums = nullptr, host[elements] = {};
  cudaMalloc(reinterpret_cast<void **>(&sums), sizeof host);
  cudaMemcpy(sums, host, sizeof host, cudaMemcpyHostToDevice);
  add<<<blocks, elements>>>(sums);
  cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (float sum : host)
    wrong += sum != float(blocks * rounds);
  std::printf("%d of %d sums are wrong\n", wrong, elements);
  cudaFree(sums);
}
