// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/HostRuntime.h"

#include <chrono>
#include <cstring>
#include <vector>

namespace tkc::emulator {

Device *&device() {
  static Device *current = nullptr;
  return current;
}

Error fail(const std::string &what) {
  device()->lastReport = what;
  return LaunchFailure;
}

const char *commonErrorString(int error) {
  switch (error) {
  case Success:
    return "no error";
  case InvalidValue:
    return "invalid argument";
  case OutOfMemory:
    return "out of memory";
  case LaunchFailure:
    return device()->lastReport.c_str();
  default:
    return nullptr;
  }
}

void prepareLaunch(Launch &launch, const LoadedKernel &kernel, void **arguments) {
  launch.kernel = kernel.name;
  launch.entry = kernel.entry;
  launch.arguments = arguments;
  launch.traits = kernel.traits;
  launch.options = device()->options;
  launch.sites = device()->sites;
  launch.memory = &device()->memory;
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

Error set(void *to, int value, size_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(to);
  if (bytes != 0 && device()->memory.find(address, bytes).end == 0)
    return InvalidValue;
  std::memset(to, value, bytes);
  return Success;
}

/// Kernels have run when their launch returns; what went wrong is said here, as it is on a GPU, and then goes on being
/// said.
Error synchronize() { return device()->lastReport.empty() ? Success : LaunchFailure; }

namespace {

Error copyAsync(void *to, const void *from, size_t bytes, int kind, void * /*stream*/) {
  return copy(to, from, bytes, kind);
}

Error setAsync(void *to, int value, size_t bytes, void * /*stream*/) { return set(to, value, bytes); }

Error getDevice(int *number) {
  *number = 0;
  return Success;
}
Error setDevice(int number) { return number == 0 ? Success : InvalidValue; }

/// Forgets what went wrong; memory stays.
Error reset() {
  device()->lastReport.clear();
  return Success;
}
Error synchronizeStream(void * /*stream*/) { return synchronize(); }

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

std::vector<PushedLaunch> &pushedLaunches() {
  static std::vector<PushedLaunch> launches;
  return launches;
}
Error pushLaunch(Dim3 grid, Dim3 block, size_t shared, void *stream) {
  pushedLaunches().push_back({grid, block, shared, stream});
  return Success;
}
Error popLaunch(Dim3 *grid, Dim3 *block, size_t *shared, void **stream) {
  const PushedLaunch &launch = pushedLaunches().back();
  *grid = launch.grid, *block = launch.block, *shared = launch.shared, *stream = launch.stream;
  pushedLaunches().pop_back();
  return Success;
}

const Support functions[] = {
    {"Malloc", address(mallocDevice)},
    {"Free", address(freeDevice)},
    {"Memcpy", address(copy)},
    {"MemcpyAsync", address(copyAsync)},
    {"Memset", address(set)},
    {"MemsetAsync", address(setAsync)},
    {"GetDevice", address(getDevice)},
    {"SetDevice", address(setDevice)},
    {"DeviceSynchronize", address(synchronize)},
    {"DeviceReset", address(reset)},
    {"StreamSynchronize", address(synchronizeStream)},
    {"GetLastError", address(synchronize)},
    {"PeekAtLastError", address(synchronize)},
    {"EventCreate", address(createEvent)},
    {"EventDestroy", address(destroyEvent)},
    {"EventRecord", address(recordEvent)},
    {"EventSynchronize", address(synchronizeEvent)},
    {"EventElapsedTime", address(elapsedTime)},
};

const Support hiddenFunctions[] = {
    {"PushCallConfiguration", address(pushLaunch)},
    {"PopCallConfiguration", address(popLaunch)},
};

} // namespace

std::span<const Support> hostFunctions() { return functions; }
std::span<const Support> hiddenHostFunctions() { return hiddenFunctions; }

} // namespace tkc::emulator
