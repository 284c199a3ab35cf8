// A program with code for both sides, by headers that are in the precompiled ones and by one that is not.
#include <array>
#include <cstdio>
#include <vector>

__global__ void add(int *sum) {
  if (threadIdx.x == 0)
    *sum += 2;
}

int main() {
  int *sum = nullptr;
  const int one = 1;
  std::array<int, 4> host{};
  int from_device = 0;
  cudaMalloc(reinterpret_cast<void **>(&sum), sizeof *sum);
  cudaMemcpy(sum, &one, sizeof one, cudaMemcpyHostToDevice);
  add<<<1, 32>>>(sum);
  cudaMemcpy(&from_device, sum, sizeof *sum, cudaMemcpyDeviceToHost);
  std::printf("%d from the device, %zu from the host\n", from_device, std::vector<int>(host.begin(), host.end()).size());
  cudaFree(sum);
}
