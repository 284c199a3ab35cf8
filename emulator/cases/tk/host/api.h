// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's functions as tk/host/test.h calls them, where it is a part of the emulator.
#pragma once

#include "emulator/HostRuntime.h"

#include <chrono>

struct tkc_stream;

namespace tk::api {

using stream = tkc_stream *;
using error = tkc::emulator::Error;
using event = std::chrono::steady_clock::time_point *;
inline constexpr error success = tkc::emulator::Success;

inline const char *text_of(error e) { return tkc::emulator::commonErrorString(e); }

inline error current_device(int &id) { return id = 0, success; }
inline error synchronize() { return tkc::emulator::synchronize(); }

template <class T> error allocate(T *&block, size_t bytes) {
  return tkc::emulator::mallocDevice(reinterpret_cast<void **>(&block), bytes);
}
inline error release(void *block) { return tkc::emulator::freeDevice(block); }
inline error set_bytes(void *to, int value, size_t bytes) { return tkc::emulator::set(to, value, bytes); }
inline error set_bytes_async(void *to, int value, size_t bytes, stream) { return set_bytes(to, value, bytes); }
inline error copy_to_device(void *to, const void *from, size_t bytes) {
  return tkc::emulator::copy(to, from, bytes, /*kind=*/1);
}
inline error copy_to_host(void *to, const void *from, size_t bytes) {
  return tkc::emulator::copy(to, from, bytes, /*kind=*/2);
}

inline error create(event &e) { return e = new std::chrono::steady_clock::time_point(), success; }
inline error destroy(event e) { return delete e, success; }
inline error record(event e, stream) { return *e = std::chrono::steady_clock::now(), success; }
inline error wait_for(event) { return synchronize(); }
inline error milliseconds(float &ms, event from, event to) {
  return ms = std::chrono::duration<float, std::milli>(*to - *from).count(), success;
}

} // namespace tk::api
