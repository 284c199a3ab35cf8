// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/CudaRuntime.h"

#include "runtime/emulator/TensorMap.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

namespace tkc::emulator {

Device *&device() {
  static Device *current = nullptr;
  return current;
}

namespace {

// Enumerators and structures are those of shim/cuda_runtime_api.h.
enum Error {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  InvalidDeviceFunction = 98,
  NotFound = 500,
  LaunchFailure = 719,
};
enum Attribute {
  MaxSharedMemoryPerBlock = 8,
  WarpSize = 10,
  MultiProcessorCount = 16,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97,
};

constexpr uint64_t maxSharedBytes = 227 << 10; // CUDA C++ Programming Guide, "Compute Capabilities", 9.0
constexpr uint32_t maxThreads = 1024;

Error fail(const std::string &what) {
  device()->lastReport = what;
  return LaunchFailure;
}

Error mallocDevice(void **memory, size_t bytes) {
  *memory = device()->memory.allocate(bytes);
  return *memory ? Success : OutOfMemory;
}

Error freeDevice(void *memory) { return !memory || device()->memory.release(memory) ? Success : InvalidValue; }

Error copy(void *to, const void *from, size_t bytes, int /*kind*/) {
  std::memcpy(to, from, bytes);
  return Success;
}
Error copyAsync(void *to, const void *from, size_t bytes, int kind, void * /*stream*/) {
  return copy(to, from, bytes, kind);
}

Error set(void *to, int value, size_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(to);
  if (bytes != 0 && device()->memory.find(address, bytes).end == 0)
    return InvalidValue;
  std::memset(to, value, bytes);
  return Success;
}
Error setAsync(void *to, int value, size_t bytes, void * /*stream*/) { return set(to, value, bytes); }

/// Nothing is captured here.
Error isCapturing(void * /*stream*/, int *status) {
  *status = 0;
  return Success;
}

Error getDevice(int *number) {
  *number = 0;
  return Success;
}
Error setDevice(int number) { return number == 0 ? Success : InvalidValue; }

Error deviceAttribute(int *value, int attribute, int /*number*/) {
  switch (attribute) {
  case MaxSharedMemoryPerBlock:
    *value = 48 << 10;
    return Success;
  case MaxSharedMemoryPerBlockOptin:
    *value = static_cast<int>(maxSharedBytes);
    return Success;
  case WarpSize:
    *value = 32;
    return Success;
  case MultiProcessorCount:
    *value = device()->multiprocessors;
    return Success;
  case ComputeCapabilityMajor:
    *value = device()->computeMajor;
    return Success;
  case ComputeCapabilityMinor:
    *value = device()->computeMinor;
    return Success;
  default:
    return InvalidValue;
  }
}

/// Kernels have run when their launch returns; what went wrong is said here, as it is on a GPU, and then goes on being
/// said.
Error synchronize() { return device()->lastReport.empty() ? Success : LaunchFailure; }
/// Forgets what went wrong; memory stays.
Error reset() {
  device()->lastReport.clear();
  return Success;
}
Error synchronizeStream(void * /*stream*/) { return synchronize(); }

const char *errorString(Error error) {
  switch (error) {
  case Success:
    return "no error";
  case InvalidValue:
    return "invalid argument";
  case OutOfMemory:
    return "out of memory";
  case InvalidDeviceFunction:
    return "invalid device function";
  case NotFound:
    return "named symbol not found";
  case LaunchFailure:
    return device()->lastReport.c_str();
  }
  return "unknown error";
}

using Moment = std::chrono::steady_clock::time_point;

Error createEvent(Moment **event) {
  *event = new Moment();
  return Success;
}
Error destroyEvent(Moment *event) {
  delete event;
  return Success;
}
Error recordEvent(Moment *event, void * /*stream*/) {
  *event = std::chrono::steady_clock::now();
  return Success;
}
Error synchronizeEvent(Moment * /*event*/) { return synchronize(); }
Error elapsedTime(float *milliseconds, const Moment *from, const Moment *to) {
  *milliseconds = std::chrono::duration<float, std::milli>(*to - *from).count();
  return Success;
}

Error setFunctionAttribute(const void * /*kernel*/, int attribute, int value) {
  constexpr int maxDynamicShared = 8;
  if (attribute == maxDynamicShared && (value < 0 || static_cast<uint64_t>(value) > maxSharedBytes))
    return InvalidValue;
  return Success;
}

Error maxActiveBlocks(int *blocks, const void * /*kernel*/, int /*threads*/, size_t shared) {
  *blocks = shared > maxSharedBytes ? 0 : 1;
  return Success;
}

struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    Dim3 cluster;
  };
};
struct LaunchConfig {
  Dim3 grid, block;
  size_t shared;
  void *stream;
  const LaunchAttribute *attributes;
  unsigned numAttributes;
};

constexpr int clusterDimension = 4; // of cudaLaunchAttributeID

Dim3 clusterOf(const LaunchConfig &config, Dim3 otherwise) {
  for (unsigned i = 0; i < config.numAttributes; ++i)
    if (config.attributes[i].id == clusterDimension)
      return config.attributes[i].cluster;
  return otherwise;
}

Error maxActiveClusters(int *clusters, const void * /*kernel*/, const LaunchConfig *config) {
  *clusters = device()->multiprocessors / static_cast<int>(std::max<uint64_t>(clusterOf(*config, Dim3()).count(), 1));
  return Success;
}

bool divides(const Dim3 &a, const Dim3 &b) { return b.x % a.x == 0 && b.y % a.y == 0 && b.z % a.z == 0; }

Error launch(const LaunchConfig &config, const void *stub, void **arguments) {
  if (!device()->lastReport.empty())
    return LaunchFailure;
  const LoadedKernel &kernel = device()->findKernel(stub);
  if (!kernel.error.empty())
    return fail(kernel.error);
  Launch run;
  prepareLaunch(run, kernel, arguments);
  run.grid = config.grid;
  run.block = config.block;
  run.cluster = clusterOf(config, kernel.traits.cluster);
  run.dynamicShared = static_cast<uint32_t>(config.shared);
  if (run.grid.count() == 0 || run.block.count() == 0 || run.block.count() > maxThreads || run.cluster.count() == 0 ||
      run.cluster.count() > 16 || !divides(run.cluster, run.grid) ||
      kernel.traits.staticShared + config.shared > maxSharedBytes)
    return InvalidValue;
  const std::string report = runLaunch(run);
  return report.empty() ? Success : fail(report);
}

Error launchKernel(const void *stub, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream) {
  return launch({grid, block, shared, stream, nullptr, 0}, stub, arguments);
}
Error launchKernelEx(const LaunchConfig *config, const void *stub, void **arguments) {
  return launch(*config, stub, arguments);
}

/// What `kernel<<<…>>>` pushes and the stub that it calls pops.
std::vector<LaunchConfig> &pushedConfigurations() {
  static std::vector<LaunchConfig> configurations;
  return configurations;
}
unsigned pushConfiguration(Dim3 grid, Dim3 block, size_t shared, void *stream) {
  pushedConfigurations().push_back({grid, block, shared, stream, nullptr, 0});
  return 0;
}
Error popConfiguration(Dim3 *grid, Dim3 *block, size_t *shared, void **stream) {
  const LaunchConfig &config = pushedConfigurations().back();
  *grid = config.grid, *block = config.block, *shared = config.shared, *stream = config.stream;
  pushedConfigurations().pop_back();
  return Success;
}

Error driverEntryPoint(const char *symbol, void **function, unsigned /*version*/, unsigned long long /*flags*/,
                       int *found) {
  constexpr int isFound = 0, isNotFound = 1;
  const bool known = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
  *function = known ? reinterpret_cast<void *>(&encodeTensorMap) : nullptr;
  *found = known ? isFound : isNotFound;
  return known ? Success : NotFound;
}

template <class Function> void *address(Function *function) { return reinterpret_cast<void *>(function); }

const Support table[] = {
    {"cudaMalloc", address(mallocDevice)},
    {"cudaFree", address(freeDevice)},
    {"cudaMemcpy", address(copy)},
    {"cudaMemcpyAsync", address(copyAsync)},
    {"cudaMemset", address(set)},
    {"cudaMemsetAsync", address(setAsync)},
    {"cudaStreamIsCapturing", address(isCapturing)},
    {"cudaGetDevice", address(getDevice)},
    {"cudaSetDevice", address(setDevice)},
    {"cudaDeviceGetAttribute", address(deviceAttribute)},
    {"cudaDeviceSynchronize", address(synchronize)},
    {"cudaDeviceReset", address(reset)},
    {"cudaStreamSynchronize", address(synchronizeStream)},
    {"cudaGetLastError", address(synchronize)},
    {"cudaPeekAtLastError", address(synchronize)},
    {"cudaGetErrorString", address(errorString)},
    {"cudaEventCreate", address(createEvent)},
    {"cudaEventDestroy", address(destroyEvent)},
    {"cudaEventRecord", address(recordEvent)},
    {"cudaEventSynchronize", address(synchronizeEvent)},
    {"cudaEventElapsedTime", address(elapsedTime)},
    {"cudaFuncSetAttribute", address(setFunctionAttribute)},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", address(maxActiveBlocks)},
    {"cudaOccupancyMaxActiveClusters", address(maxActiveClusters)},
    {"cudaLaunchKernel", address(launchKernel)},
    {"cudaLaunchKernelExC", address(launchKernelEx)},
    {"cudaGetDriverEntryPointByVersion", address(driverEntryPoint)},
    {"__cudaPushCallConfiguration", address(pushConfiguration)},
    {"__cudaPopCallConfiguration", address(popConfiguration)},
};

} // namespace

void prepareLaunch(Launch &launch, const LoadedKernel &kernel, void **arguments) {
  launch.kernel = kernel.name;
  launch.entry = kernel.entry;
  launch.arguments = arguments;
  launch.traits = kernel.traits;
  launch.options = device()->options;
  launch.sites = device()->sites;
  launch.memory = &device()->memory;
}

std::span<const Support> runtimeFunctions() { return table; }

} // namespace tkc::emulator
