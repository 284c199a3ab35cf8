// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches by a CUDA runtime of this file's own, which counts what it is asked.
#include <cuda_runtime_api.h>
#define cudaGetDevice get_device
#define cudaDeviceGetAttribute get_attribute
#define cudaFuncSetAttribute set_attribute
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor occupancy
#define cudaLaunchKernelExC launch_kernel
#define cudaGetDriverEntryPointByVersion entry_point
cudaError_t cudaGetDevice(int *);
cudaError_t cudaDeviceGetAttribute(int *, cudaDeviceAttr, int);
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *, const void *, void **);
cudaError_t cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult *);
#include "tk/host/launch.h"

#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

int device = 0, context = 1;
bool has_numbers_of_contexts = true;
std::atomic<int> device_attributes, kernel_attributes, occupancies, maps, launched_blocks;

/// A map that says what it was made from.
int encode(void *map, int type, unsigned rank, void *base, const unsigned long long *dims,
           const unsigned long long *strides, const unsigned *box, const unsigned *, int, int swizzle, int promotion,
           int) {
  ++maps;
  const unsigned long long words[16] = {static_cast<unsigned long long>(type),
                                        rank,
                                        reinterpret_cast<unsigned long long>(base),
                                        dims[0],
                                        dims[1],
                                        strides[0],
                                        box[0],
                                        box[1],
                                        static_cast<unsigned long long>(swizzle),
                                        static_cast<unsigned long long>(promotion)};
  std::memcpy(map, words, sizeof words);
  return 0;
}
int context_id(void *, unsigned long long *id) { return *id = static_cast<unsigned long long>(context), 0; }

constexpr int too_much = 300 * 1024;

} // namespace

cudaError_t cudaGetDevice(int *id) { return *id = device, cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int id) {
  ++device_attributes;
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9
           : attribute == cudaDevAttrMultiProcessorCount  ? 5 + 2 * id
                                                          : 0;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int value) {
  ++kernel_attributes;
  return value >= too_much ? cudaErrorInvalidValue : cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, size_t) {
  ++occupancies;
  return *blocks = 1, cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *, void **) {
  launched_blocks = static_cast<int>(config->gridDim.x);
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult *found) {
  const bool is_map = std::strcmp(name, "cuTensorMapEncodeTiled") == 0;
  *function = is_map ? reinterpret_cast<void *>(encode) : reinterpret_cast<void *>(context_id);
  *found = is_map || has_numbers_of_contexts ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

struct arguments {
  tk::tensor_map map, stored;
};
__global__ void one(arguments) {}
__global__ void other(arguments) {}

struct tensor {
  int64_t dims[2] = {64, 128}, strides[2] = {128, 1};
  char *data = reinterpret_cast<char *>(1 << 20);
  tk::element type = tk::element::bf16;
  int memory = 2;
};

/// As emitted launchers do it. False where a map is not this tensor's.
bool launch(tk::host::call &c, const tensor &t, void (*kernel)(arguments) = one, long long blocks = 100,
            bool resident = true, int shared_bytes = 100 * 1024) {
  tensor copy = t;
  const tk_tensor raw{t.data, t.memory,  device,       2, tk::type_codes[int(t.type)], tk::type_bits[int(t.type)],
                      1,      copy.dims, copy.strides, 0};
  const tk::host::argument view = c.tensor("x", &raw, 2);
  const auto on = tk::host::find_device(c, tk::host::capability{9, 0, true}, view);
  arguments g{};
  const bool fits = tk::host::encode_map(g.map, view, {0, 64, 64, 128, false}) &&
                    tk::host::encode_map(g.stored, view, {0, 32, 64, 128, true});
  tk::host::launch(c, on, kernel, g, blocks, resident, 256, shared_bytes, nullptr);
  return fits && g.map.opaque[2] == reinterpret_cast<uint64_t>(t.data) &&
         g.map.opaque[3] == static_cast<uint64_t>(t.dims[1]) && g.map.opaque[7] == 64 && g.stored.opaque[7] == 32;
}

void report(const char *name, const tensor &t = {}, void (*kernel)(arguments) = one, long long blocks = 100,
            bool resident = true) {
  device_attributes = kernel_attributes = occupancies = maps = launched_blocks = 0;
  tk::host::call c("kernel");
  const bool right = launch(c, t, kernel, blocks, resident);
  std::printf("%s: %d attributes of devices, %d of kernels, %d occupancy, %d maps; %d blocks%s%s\n", name,
              device_attributes.load(), kernel_attributes.load(), occupancies.load(), maps.load(),
              launched_blocks.load(), right ? "" : ", a wrong map", c.status().message);
}

int main(int count, char **) {
  has_numbers_of_contexts = count == 1;
  report("first");
  report("again");
  report("fewer blocks than fit", {}, one, 2);
  report("all blocks at once", {}, one, 100, false);
  report("another kernel", {}, other);
  tensor t;
  t.data += 4096;
  report("another address", t);
  t.dims[1] = 64;
  report("other dims", t);
  t.strides[0] = 64;
  report("another stride", t);
  t.type = tk::element::f16;
  report("another type", t);
  t.memory = 3;
  report("memory of the host", t);
  report("again", t);
  context = 2;
  report("another context");
  device = 1, context = 3;
  report("another device");
  device = 0, context = 1;
  report("the first one again");

  tk::host::call c("kernel"), again("kernel");
  launch(c, {}, one, 100, true, too_much);
  std::printf("a kernel that does not fit: %s\n", std::strchr(c.status().message, ' ') + 1);
  kernel_attributes = 0;
  launch(again, {}, one, 100, true, too_much);
  std::printf("and again: %s, %d of kernels\n", std::strchr(again.status().message, ' ') + 1, kernel_attributes.load());

  // Tensors of all threads, so that they meet at places and displace each other's maps.
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 20000; ++round) {
        tk::host::call mine("kernel");
        tensor own;
        own.data += 4096 * ((round * (thread + 1)) % 1000);
        own.dims[1] = 64 * (1 + round % 2);
        wrong += !launch(mine, own, round % 3 ? one : other) || !mine.ok();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  std::printf("four threads: %d wrong\n", wrong.load());
}
