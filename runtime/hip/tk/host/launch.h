// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From checked arguments to a launch: devices, grids.
#pragma once

#include "tk/host/api.h"
#include "tk/host/arguments.h"
#include "tk/host/remembered.h"

#include <cstring>

namespace tk::host {

/// What launches need to know of a device.
struct device_properties {
  int multiprocessors = 0;
  char gpu[32] = ""; ///< "gfx942"
};
[[gnu::visibility("hidden")]] inline hipError_t properties_of(int id, device_properties &properties) {
  hipError_t error = hipSuccess;
  const auto ask = [&](device_properties &answer) {
    hipDeviceProp_t all;
    error = hipGetDeviceProperties(&all, id);
    if (error != hipSuccess)
      return false;
    answer = {all.multiProcessorCount};
    // "gfx942:sramecc+:xnack-": what follows the name are settings.
    const size_t length = std::strcspn(all.gcnArchName, ":"), most = sizeof answer.gpu - 1;
    std::memcpy(answer.gpu, all.gcnArchName, length < most ? length : most);
    return true;
  };
  static constinit remembered<device_number, device_properties, 64> devices;
  devices.find({id}, properties, ask);
  return error;
}

/// The current device, checked: it must be one of these GPUs ("gfx942"; empty: any), and hold the tensors.
template <int Count, class... Arguments>
device find_device(call &c, const char *const (&gpus)[Count], const Arguments &...arguments) {
  device result;
  if (!c.ok())
    return result;
  device_properties properties;
  hipError_t error = hipGetDevice(&result.id);
  if (error == hipSuccess)
    error = properties_of(result.id, properties);
  if (error != hipSuccess) {
    c.fail(TK_CUDA_ERROR, "%s", hipGetErrorString(error));
    return result;
  }
  result.multiprocessors = properties.multiprocessors;
  const auto runs = [&](const char *gpu) { return gpu[0] == 0 || std::strcmp(gpu, properties.gpu) == 0; };
  while (result.code < Count && !runs(gpus[result.code]))
    ++result.code;
  if (result.code == Count)
    c.fail(TK_WRONG_DEVICE, "compiled for %s%s; device %d is %s", gpus[0], Count > 1 ? " and others" : "", result.id,
           properties.gpu);
  const auto check = [&](const argument &a) {
    if (c.ok() && a && (a.tensor->device_type == 2 || a.tensor->device_type == 10) && a.tensor->device_id != result.id)
      c.fail(TK_WRONG_DEVICE, "`%s` is on device %d, the current device is %d", a.name, a.tensor->device_id, result.id);
  };
  (check(arguments), ...);
  return result;
}

template <class... Arguments> device find_device(call &c, const char *gpu, const Arguments &...arguments) {
  const char *const gpus[] = {gpu};
  return find_device(c, gpus, arguments...);
}

/// A tile is fetched through a descriptor of 2^31 bytes; half of them for the extent along each dim.
inline void check_reach(call &c, const argument &a, int dim, int extent) {
  constexpr int64_t most = int64_t(1) << 30;
  if (!c.ok() || !a || a.dim(dim) <= 1)
    return;
  const int64_t stride = a.stride(dim) * bytes_of(a.type);
  if (stride < 0 || stride > most / extent)
    c.fail(TK_BAD_ARGUMENT, "dim %d of `%s` has a stride of %lld bytes, here it may have 0 to %lld", dim, a.name,
           (long long)stride, (long long)(most / extent));
}

/// A kernel and how it is launched, on a device.
struct kernel_use {
  const void *kernel;
  int device, threads, shared_bytes;

  bool operator==(const kernel_use &) const = default;
  uint64_t hash() const { return hash_of(reinterpret_cast<uintptr_t>(kernel), device, shared_bytes); }
};

/// `most`: so many blocks of the kernel run at once.
[[gnu::visibility("hidden")]] inline hipError_t blocks_at_once(const kernel_use &use, const device &on,
                                                               long long &most) {
  hipError_t error = hipSuccess;
  static constinit remembered<kernel_use, long long, 256> uses;
  uses.find(use, most, [&](long long &answer) {
    int each = 0;
    error = hipOccupancyMaxActiveBlocksPerMultiprocessor(&each, use.kernel, use.threads,
                                                         static_cast<size_t>(use.shared_bytes));
    answer = static_cast<long long>(each > 0 ? each : 1) * on.multiprocessors;
    return error == hipSuccess;
  });
  return error;
}

/// Launches `blocks` blocks, or, of a persistent kernel (`resident`), no more than run at once. None: nothing to do.
/// The dispatch packet counts threads, in 32 bits (HSA Platform System Architecture, "kernel dispatch packet").
template <class Arguments>
void launch(call &c, const device &on, void (*kernel)(Arguments), const Arguments &arguments, long long blocks,
            bool resident, int threads, int shared_bytes, api::stream stream, order = order::after_all) {
  if (!c.ok() || blocks <= 0)
    return;
  const auto *function = reinterpret_cast<const void *>(kernel);
  hipError_t error = hipSuccess;
  if (resident) {
    long long most = 0;
    error = blocks_at_once({function, on.id, threads, shared_bytes}, on, most);
    blocks = blocks < most ? blocks : most;
  }
  if (error == hipSuccess && blocks > UINT32_MAX / threads) {
    c.fail(TK_BAD_ARGUMENT, "%lld blocks of %d threads are more than one launch can have", blocks, threads);
    return;
  }
  if (error == hipSuccess) {
    void *parameters[] = {const_cast<Arguments *>(&arguments)};
    error = hipLaunchKernel(function, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)),
                            parameters, static_cast<size_t>(shared_bytes), stream);
  }
  if (error != hipSuccess)
    c.fail(TK_CUDA_ERROR, "%s", hipGetErrorString(error));
}

} // namespace tk::host
