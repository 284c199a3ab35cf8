// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses to global memory with and without an order, one kernel each. Those whose names begin with `fine` have one.
#include <cstdint>
#include <cstdio>

constexpr int blocks = 4, threads = 64;

__device__ int rank() { return blockIdx.x * threads + threadIdx.x; }
__device__ unsigned shared_address(const void *at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }

__global__ void fine_elements(uint8_t *data) { data[rank()] = threadIdx.x; }
__global__ void fine_same_value(uint8_t *data) { data[threadIdx.x % 8] = 5; }
__global__ void fine_barrier(uint8_t *data) {
  data[rank()] = threadIdx.x;
  __syncthreads();
  data[rank() ^ 1] += 1;
}
__global__ void fine_atomics(uint8_t *data) {
  asm volatile("red.global.add.u32 [%0], %1;" ::"l"(data), "r"(1) : "memory");
}
/// The last block to come reads what all have written.
__device__ void last_block(uint8_t *data, bool fences) {
  __shared__ bool is_last;
  data[16 + blockIdx.x * threads + threadIdx.x] = 1;
  if (fences)
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned before;
    asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(data), "r"(1) : "memory");
    is_last = before == blocks - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x < blocks)
    data[8 + threadIdx.x] = data[16 + threadIdx.x * threads];
}
__global__ void fine_last_block(uint8_t *data) { last_block(data, true); }
__global__ void no_fence(uint8_t *data) { last_block(data, false); }
__global__ void fine_flag(uint8_t *data) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    data[8] = 1;
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(data), "r"(1) : "memory");
  } else if (threadIdx.x == 0) {
    unsigned flag;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(flag) : "l"(data) : "memory");
    if (flag)
      data[8 + blockIdx.x * 4] = data[8];
  }
}

__global__ void threads_write(uint8_t *data) { data[threadIdx.x / 2] = threadIdx.x; }
__global__ void blocks_write(uint8_t *data) { data[threadIdx.x] = blockIdx.x; }
__global__ void thread_reads(uint8_t *data) {
  data[rank()] = threadIdx.x;
  __syncwarp();
  data[rank()] = data[rank() ^ 32];
}
__global__ void block_reads(uint8_t *data) {
  if (blockIdx.x == 0)
    data[threadIdx.x] = threadIdx.x;
  else
    data[rank()] = data[threadIdx.x];
}
__global__ void block_writes_later(uint8_t *data) {
  if (blockIdx.x == blocks - 1)
    data[threadIdx.x] = threadIdx.x;
  else
    data[rank() + threads] = data[threadIdx.x];
}
__global__ void plain_beside_atomic(uint8_t *data) {
  if (blockIdx.x == 0)
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(data), "r"(1) : "memory");
  else
    data[4 + rank()] = data[3];
}

/// A thread writes, the copy engine reads; with a proxy fence between, or without.
__device__ void copy_in(uint8_t *data, bool fences) {
  __shared__ alignas(16) uint8_t here[threads];
  __shared__ alignas(8) uint64_t full;
  uint8_t *own = data + blockIdx.x * threads;
  own[threadIdx.x] = threadIdx.x;
  if (fences)
    asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned barrier = shared_address(&full);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(barrier)
                 : "memory");
    asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], 64; }" ::"r"(barrier) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 64, [%2];" ::"r"(
                     shared_address(here)),
                 "l"(own), "r"(barrier)
                 : "memory");
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; }" ::"r"(barrier) : "memory");
  }
}
__global__ void fine_copy_in(uint8_t *data) { copy_in(data, true); }
__global__ void no_proxy_fence(uint8_t *data) { copy_in(data, false); }

/// The copy engine writes, a thread reads; after the write, or after no more than the reading of shared memory.
__device__ void copy_out(uint8_t *data, bool waits) {
  __shared__ alignas(16) uint8_t here[threads];
  here[threadIdx.x] = threadIdx.x;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    uint8_t *own = data + blockIdx.x * threads;
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;" ::"l"(own), "r"(shared_address(here))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    if (waits)
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    else
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    own[0] += 1;
  }
}
__global__ void fine_copy_out(uint8_t *data) { copy_out(data, true); }
__global__ void no_wait_for_write(uint8_t *data) { copy_out(data, false); }
/// Copies of several blocks to one place; all write the same, or not.
__device__ void copies_out(uint8_t *data, int value) {
  __shared__ alignas(16) uint8_t here[threads];
  here[threadIdx.x] = value;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;" ::"l"(data), "r"(shared_address(here))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
__global__ void fine_copies_out(uint8_t *data) { copies_out(data, 7); }
__global__ void blocks_copy_out(uint8_t *data) { copies_out(data, blockIdx.x); }

template <class Kernel> void run(const char *name, Kernel kernel) {
  void *data;
  cudaMalloc(&data, 1024);
  cudaMemset(data, 0, 1024);
  kernel<<<blocks, threads>>>(static_cast<uint8_t *>(data));
  std::printf("%s: %s\n", name, cudaGetErrorString(cudaDeviceSynchronize()));
  cudaDeviceReset();
  cudaFree(data);
}

int main() {
  run("fine_elements", fine_elements);
  run("fine_same_value", fine_same_value);
  run("fine_barrier", fine_barrier);
  run("fine_atomics", fine_atomics);
  run("fine_last_block", fine_last_block);
  run("fine_flag", fine_flag);
  run("fine_copy_in", fine_copy_in);
  run("fine_copy_out", fine_copy_out);
  run("fine_copies_out", fine_copies_out);
  run("threads_write", threads_write);
  run("blocks_write", blocks_write);
  run("thread_reads", thread_reads);
  run("block_reads", block_reads);
  run("block_writes_later", block_writes_later);
  run("plain_beside_atomic", plain_beside_atomic);
  run("no_fence", no_fence);
  run("no_proxy_fence", no_proxy_fence);
  run("no_wait_for_write", no_wait_for_write);
  run("blocks_copy_out", blocks_copy_out);
}
