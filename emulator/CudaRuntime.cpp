// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/CudaRuntime.h"

#include "emulator/TensorMap.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

namespace tkc::emulator {

namespace {

// Enumerators and structures are those of shim/cuda_runtime_api.h.
constexpr Error invalidDeviceFunction = Error(98), notFound = Error(500);
enum Attribute {
  MaxSharedMemoryPerBlock = 8,
  WarpSize = 10,
  MultiProcessorCount = 16,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97,
};

// CUDA C++ Programming Guide, "Compute Capabilities", "Technical Specifications per Compute Capability".
constexpr uint32_t maxThreads = 1024;
constexpr Dim3 mostBlocks{2147483647, 65535, 65535}, mostThreads{1024, 1024, 64};
constexpr uint64_t usualSharedBytes = 48 << 10; ///< a kernel that wants more has to ask for it
constexpr uint64_t portableCluster = 8, largestCluster = 16;

/// Bytes of shared memory that a block may have.
uint64_t maxSharedBytes() {
  const int capability = device()->computeMajor * 10 + device()->computeMinor;
  if (capability == 80)
    return 163 << 10;
  return capability < 90 || capability >= 120 ? 99 << 10 : 227 << 10;
}

/// There are no graphs. Launches that are told that they are captured run at once.
Error isCapturing(void * /*stream*/, int *status) {
  *status = device()->options->captures ? 1 : 0;
  return Success;
}
Error streamId(void *stream, unsigned long long *id) {
  *id = reinterpret_cast<uintptr_t>(stream);
  return Success;
}

Error deviceAttribute(int *value, int attribute, int /*number*/) {
  switch (attribute) {
  case MaxSharedMemoryPerBlock:
    *value = usualSharedBytes;
    return Success;
  case MaxSharedMemoryPerBlockOptin:
    *value = static_cast<int>(maxSharedBytes());
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

const char *errorString(int error) {
  if (const char *common = commonErrorString(error))
    return common;
  return error == invalidDeviceFunction ? "invalid device function"
         : error == notFound            ? "named symbol not found"
                                        : "unknown error";
}

/// What host code has asked for a kernel, by the address of its stub.
struct FunctionAttributes {
  uint64_t dynamicShared = usualSharedBytes;
  bool takesLargeClusters = false;
};
FunctionAttributes &attributesOf(const void *kernel) {
  static std::mutex mutex;
  static std::map<const void *, FunctionAttributes> attributes;
  const std::lock_guard lock(mutex);
  return attributes[kernel];
}

Error setFunctionAttribute(const void *kernel, int attribute, int value) {
  constexpr int maxDynamicShared = 8, nonPortableClusterSizeAllowed = 14;
  if (attribute == maxDynamicShared) {
    if (value < 0 || static_cast<uint64_t>(value) > maxSharedBytes())
      return InvalidValue;
    attributesOf(kernel).dynamicShared = static_cast<uint64_t>(value);
  } else if (attribute == nonPortableClusterSizeAllowed) {
    attributesOf(kernel).takesLargeClusters = value != 0;
  }
  return Success;
}

Error maxActiveBlocks(int *blocks, const void * /*kernel*/, int /*threads*/, size_t shared) {
  *blocks = shared > maxSharedBytes() ? 0 : 1;
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
bool isWithin(const Dim3 &a, const Dim3 &most) { return a.x <= most.x && a.y <= most.y && a.z <= most.z; }

/// Whether the device can run it: the sizes of grid, cluster and block, `__launch_bounds__`, and shared memory, of
/// which a kernel gets no more than was asked for.
bool canRun(const Launch &run, const FunctionAttributes &attributes) {
  const uint64_t cluster = run.cluster.count(), threads = run.block.count();
  const uint64_t shared = run.traits.staticShared + uint64_t(run.dynamicShared);
  return run.grid.count() != 0 && isWithin(run.grid, mostBlocks) && threads != 0 && isWithin(run.block, mostThreads) &&
         threads <= std::min(run.traits.maxThreads, maxThreads) && cluster != 0 &&
         cluster <= (attributes.takesLargeClusters ? largestCluster : portableCluster) &&
         divides(run.cluster, run.grid) && run.dynamicShared <= attributes.dynamicShared && shared <= maxSharedBytes();
}

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
  if (config.shared > UINT32_MAX || !canRun(run, attributesOf(stub)))
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

/// There is one context.
int contextId(void * /*context*/, unsigned long long *id) { return *id = 1, Success; }

Error driverEntryPoint(const char *symbol, void **function, unsigned /*version*/, unsigned long long /*flags*/,
                       int *found) {
  constexpr int isFound = 0, isNotFound = 1;
  *function = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0 ? reinterpret_cast<void *>(&encodeTensorMap)
              : std::strcmp(symbol, "cuCtxGetId") == 0           ? reinterpret_cast<void *>(&contextId)
                                                                 : nullptr;
  *found = *function ? isFound : isNotFound;
  return *function ? Success : notFound;
}

const Support table[] = {
    {"cudaStreamIsCapturing", address(isCapturing)},
    {"cudaStreamGetId", address(streamId)},
    {"cudaDeviceGetAttribute", address(deviceAttribute)},
    {"cudaGetErrorString", address(errorString)},
    {"cudaFuncSetAttribute", address(setFunctionAttribute)},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", address(maxActiveBlocks)},
    {"cudaOccupancyMaxActiveClusters", address(maxActiveClusters)},
    {"cudaLaunchKernel", address(launchKernel)},
    {"cudaLaunchKernelExC", address(launchKernelEx)},
    {"cudaGetDriverEntryPointByVersion", address(driverEntryPoint)},
};

} // namespace

std::span<const Support> cudaRuntimeFunctions() { return table; }

} // namespace tkc::emulator
