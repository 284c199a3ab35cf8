// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls a kernel's functions many times, and says how many nanoseconds of the CPU a call took. For bench/launches.py.
#include "tk/host/tensor.h"

#include <chrono>
#include <tvm/ffi/c_api.h>

namespace {

template <class Call> double nanoseconds(int calls, const Call &call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i)
    if (!call())
      return -1;
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count() / calls;
}

} // namespace

using entry = tk_status (*)(const tk_tensor *, const tk_tensor *, const tk_tensor *, CUstream_st *);

/// The C function of a kernel with three tensors; -1 where a call failed.
extern "C" double entry_ns(entry function, const tk_tensor *tensors, CUstream_st *stream, int calls) {
  return nanoseconds(calls, [&] { return function(&tensors[0], &tensors[1], &tensors[2], stream).code == TK_OK; });
}

/// Its function for apache-tvm-ffi.
extern "C" double function_ns(TVMFFISafeCallType function, tk_tensor *tensors, int calls) {
  TVMFFIAny arguments[3] = {}, result = {};
  for (int i = 0; i < 3; ++i) {
    arguments[i].type_index = kTVMFFIDLTensorPtr;
    arguments[i].v_ptr = &tensors[i];
  }
  return nanoseconds(calls, [&] { return function(nullptr, arguments, 3, &result) == 0; });
}
