// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/amdgpu/HipRuntime.h"

#include <cmath>
#include <cstring>

namespace tkc::emulator {
namespace {

// Enumerators and structures are those of shim/hip/hip_runtime_api.h.
constexpr Error invalidConfiguration = Error(9);
enum Attribute { MaxSharedMemoryPerBlock = 1, WarpSize = 2, MultiprocessorCount = 3 };

struct Properties {
  char name[256];
  char gcnArchName[256];
  size_t sharedMemPerBlock;
  int warpSize, multiProcessorCount, maxThreadsPerBlock, major, minor;
};

constexpr int maxThreads = 1024;

/// LDS of a compute unit: 64 KiB, 160 on CDNA4.
size_t ldsBytes() { return (device()->options->cdna == Cdna::Cdna4 ? 160 : 64) << 10; }

const char *archName() {
  switch (device()->options->cdna) {
  case Cdna::Cdna2:
    return "gfx90a";
  case Cdna::Cdna3:
    return "gfx942";
  case Cdna::Cdna4:
    return "gfx950";
  case Cdna::None:
    break;
  }
  return "";
}

Error getProperties(Properties *properties, int /*number*/) {
  *properties = Properties();
  std::strcpy(properties->name, "tkc-emulate");
  std::strcpy(properties->gcnArchName, archName());
  std::strcat(properties->gcnArchName, ":sramecc+:xnack-");
  properties->sharedMemPerBlock = ldsBytes();
  properties->warpSize = 64;
  properties->multiProcessorCount = device()->multiprocessors;
  properties->maxThreadsPerBlock = maxThreads;
  properties->major = 9;
  return Success;
}

Error deviceAttribute(int *value, int attribute, int /*number*/) {
  switch (attribute) {
  case MaxSharedMemoryPerBlock:
    *value = static_cast<int>(ldsBytes());
    return Success;
  case WarpSize:
    *value = 64;
    return Success;
  case MultiprocessorCount:
    *value = device()->multiprocessors;
    return Success;
  default:
    return InvalidValue;
  }
}

const char *errorString(int error) {
  if (const char *common = commonErrorString(error))
    return common;
  return error == invalidConfiguration ? "invalid configuration argument" : "unknown error";
}

Error setFunctionAttribute(const void * /*kernel*/, int /*attribute*/, int value) {
  return value < 0 || static_cast<size_t>(value) > ldsBytes() ? InvalidValue : Success;
}
Error maxActiveBlocks(int *blocks, const void * /*kernel*/, int /*threads*/, size_t shared) {
  *blocks = shared > ldsBytes() ? 0 : 1;
  return Success;
}

/// What a kernel is told by the launch: LLVM's "User Guide for AMDGPU Backend", "Code Object V5 Kernel Argument
/// Metadata": block counts, block sizes, remainders, the number of dimensions and the dynamic part of LDS.
void setHiddenArguments(Launch &launch) {
  const auto put = [&](size_t offset, auto value) {
    std::memcpy(launch.hiddenArguments.data() + offset, &value, sizeof value);
  };
  const uint32_t counts[] = {launch.grid.x, launch.grid.y, launch.grid.z};
  const uint32_t sizes[] = {launch.block.x, launch.block.y, launch.block.z};
  for (size_t axis = 0; axis < 3; ++axis) {
    put(4 * axis, counts[axis]);
    put(12 + 2 * axis, static_cast<uint16_t>(sizes[axis]));
  }
  put(64, static_cast<uint16_t>(launch.grid.z > 1 ? 3 : launch.grid.y > 1 ? 2 : 1));
  put(120, launch.dynamicShared);
}

/// A launch counts the threads along each axis in 32 bits: HSA Platform System Architecture, "kernel dispatch packet".
bool countsThreads(const Dim3 &grid, const Dim3 &block) {
  const auto fits = [](uint32_t blocks, uint32_t threads) { return uint64_t(blocks) * threads <= UINT32_MAX; };
  return fits(grid.x, block.x) && fits(grid.y, block.y) && fits(grid.z, block.z);
}

Error launchKernel(const void *stub, Dim3 grid, Dim3 block, void **arguments, size_t shared, void * /*stream*/) {
  if (!device()->lastReport.empty())
    return LaunchFailure;
  const LoadedKernel &kernel = device()->findKernel(stub);
  if (!kernel.error.empty())
    return fail(kernel.error);
  Launch run;
  prepareLaunch(run, kernel, arguments);
  run.grid = grid;
  run.block = block;
  run.dynamicShared = static_cast<uint32_t>(shared);
  setHiddenArguments(run);
  if (grid.count() == 0 || block.count() == 0 || block.count() > kernel.traits.maxThreads ||
      !countsThreads(grid, block) || kernel.traits.staticShared + shared > ldsBytes())
    return invalidConfiguration;
  const std::string report = runLaunch(run);
  return report.empty() ? Success : fail(report);
}

// ---- what the host code of a file registers when it starts

void **registerBinary(const void * /*binary*/) {
  static void *handle = nullptr;
  return &handle;
}
void unregisterBinary(void ** /*handle*/) {}
void registerFunction(void ** /*handle*/, const void *kernel, const char * /*deviceName*/, const char *name,
                      unsigned /*threads*/, void *, void *, void *, void *, int *) {
  device()->registerKernel(kernel, name);
}

double (*const exp2Function)(double) = std::exp2;
double (*const expFunction)(double) = std::exp;
double (*const log2Function)(double) = std::log2;
double (*const logFunction)(double) = std::log;
double (*const tanhFunction)(double) = std::tanh;
double (*const erfFunction)(double) = std::erf;
double (*const sinFunction)(double) = std::sin;
double (*const cosFunction)(double) = std::cos;
double rsqrtFunction(double x) { return 1 / std::sqrt(x); }

const Support table[] = {
    {"hipGetDeviceProperties", address(getProperties)},
    {"hipDeviceGetAttribute", address(deviceAttribute)},
    {"hipGetErrorString", address(errorString)},
    {"hipFuncSetAttribute", address(setFunctionAttribute)},
    {"hipOccupancyMaxActiveBlocksPerMultiprocessor", address(maxActiveBlocks)},
    {"hipLaunchKernel", address(launchKernel)},
    {"__hipRegisterFatBinary", address(registerBinary)},
    {"__hipUnregisterFatBinary", address(unregisterBinary)},
    {"__hipRegisterFunction", address(registerFunction)},
    // Functions of the device library, in double precision.
    {"__ocml_exp2_f64", address(exp2Function)},
    {"__ocml_exp_f64", address(expFunction)},
    {"__ocml_log2_f64", address(log2Function)},
    {"__ocml_log_f64", address(logFunction)},
    {"__ocml_tanh_f64", address(tanhFunction)},
    {"__ocml_erf_f64", address(erfFunction)},
    {"__ocml_sin_f64", address(sinFunction)},
    {"__ocml_cos_f64", address(cosFunction)},
    {"__ocml_rsqrt_f64", address(rsqrtFunction)},
};

} // namespace

std::span<const Support> hipRuntimeFunctions() { return table; }

} // namespace tkc::emulator
