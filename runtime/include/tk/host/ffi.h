// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the functions that `--emit=ffi` prints are made of: from the arguments of apache-tvm-ffi's C ABI to those of a C
// entry, and from its status to an error. Nothing but that ABI's C header is needed, nor any of its C++.
#pragma once

#include "tk/host/ordered_memory.h"
#include "tk/host/tensor.h"

#include <cstddef>
#include <cstdio>
#include <tvm/ffi/extra/c_env_api.h>

namespace tk::ffi {

static_assert(sizeof(tk_tensor) == sizeof(DLTensor) && offsetof(tk_tensor, dims) == offsetof(DLTensor, shape) &&
                  offsetof(tk_tensor, byte_offset) == offsetof(DLTensor, byte_offset),
              "a tk_tensor is a DLTensor");

/// Takes a call's arguments one after another. What is wrong first is kept, and a later one is then taken as zero.
class arguments {
public:
  /// `count` of them were passed; up to `most` may be, and `least` must.
  arguments(const char *function, const TVMFFIAny *values, int32_t count, int32_t least, int32_t most)
      : function(function), values(values), count(count) {
    if (count < least || count > most)
      fail("TypeError", "it takes %d arguments, this call has %d", least, count);
  }

  /// Null for None, which an entry takes for a tensor that is left out.
  const tk_tensor *tensor(const char *name) {
    const TVMFFIAny *value = next();
    const DLTensor *taken = nullptr;
    if (!value || value->type_index == kTVMFFINone)
      return nullptr;
    if (value->type_index == kTVMFFIDLTensorPtr)
      taken = static_cast<const DLTensor *>(value->v_ptr);
    else if (value->type_index == kTVMFFITensor)
      taken = TVMFFITensorGetDLTensorPtr(value->v_obj);
    else
      return fail("TypeError", "`%s` is not a tensor", name), nullptr;
    if (!on.is_known && is_gpu(taken->device.device_type))
      on = {true, taken->device};
    return reinterpret_cast<const tk_tensor *>(taken);
  }

  template <class T> T number(const char *name) {
    constexpr bool is_integer = T(1) / T(2) == T(0);
    const TVMFFIAny *value = next();
    if (!value)
      return T(0);
    if (value->type_index == kTVMFFIFloat && !is_integer)
      return static_cast<T>(value->v_float64);
    if (value->type_index != kTVMFFIInt && value->type_index != kTVMFFIBool)
      return fail("TypeError", "`%s` is not %s", name, is_integer ? "an integer" : "a number"), T(0);
    const T result = static_cast<T>(value->v_int64);
    if (is_integer && static_cast<int64_t>(result) != value->v_int64)
      fail("ValueError", "`%s` is %lld, which has more than %d bits", name, static_cast<long long>(value->v_int64),
           static_cast<int>(sizeof(T) * 8));
    return result;
  }

  bool ok() const { return !failed; }
  /// Whether another argument was passed.
  bool has_next() const { return ok() && taken < count; }

  /// Whether the entry with workspace would do what the one without does: the call passes none, and no tensor of these
  /// needs a copy there. May say no of any call.
  template <class... Tensors> bool needs_no_workspace(const Tensors *...tensors) const {
    return !has_next() && (rows_are_aligned(tensors) && ...);
  }

  /// The GPU of the first tensor that is on one.
  struct gpu {
    bool is_known = false;
    DLDevice device = {};
  };
  const gpu &device() const { return on; }
  /// The stream that the caller's framework computes on there.
  api::stream stream() const {
    return on.is_known ? static_cast<api::stream>(TVMFFIEnvGetStream(on.device.device_type, on.device.device_id))
                       : nullptr;
  }

  template <class... Values> void fail(const char *kind, const char *format, Values... details) {
    if (failed)
      return;
    failed = true;
    char text[320];
    const int used = std::snprintf(text, sizeof text, "%s: ", function);
    std::snprintf(text + used, sizeof text - static_cast<size_t>(used), format, details...);
    TVMFFIErrorSetRaisedFromCStr(kind, text);
  }

  /// What the function returns to its caller: 0, or -1 after an error was set.
  int finish(const tk_status &status) {
    if (!failed && status.code != TK_OK) {
      failed = true; // the message names the function already
      TVMFFIErrorSetRaisedFromCStr(status.code == TK_BAD_ARGUMENT ? "ValueError" : "RuntimeError", status.message);
    }
    return failed ? -1 : 0;
  }
  int finish() const { return failed ? -1 : 0; }

private:
  /// As the copy engine asks for; the entry checks whatever else a tensor has to be.
  static bool rows_are_aligned(const tk_tensor *tensor) {
    if (!tensor)
      return true;
    if (!tensor->strides)
      return tensor->rank <= 1;
    uint64_t starts = reinterpret_cast<uintptr_t>(tensor->data) + tensor->byte_offset;
    for (int d = 0; d < tensor->rank - 1; ++d)
      if (tensor->dims[d] > 1)
        starts |= static_cast<uint64_t>(tensor->strides[d]) * tensor->type_bits * tensor->type_lanes / 8;
    return starts % 16 == 0;
  }

  static bool is_gpu(int device_type) { return device_type == kDLCUDA || device_type == kDLROCM; }

  const TVMFFIAny *next() { return has_next() ? &values[taken++] : nullptr; }

  const char *function;
  const TVMFFIAny *values;
  int32_t count, taken = 0;
  bool failed = false;
  gpu on;
};

/// Makes the arguments' GPU the current one, as entries need it, and at its end the one that was.
class current_device {
public:
  explicit current_device(const arguments &of) {
    if (of.device().is_known && api::current_device(before) == api::success && before != of.device().device.device_id)
      changed = api::set_device(of.device().device.device_id) == api::success;
  }
  ~current_device() {
    if (changed)
      api::set_device(before);
  }
  current_device(const current_device &) = delete;

private:
  int before = 0;
  bool changed = false;
};

/// A program's workspace: the tensor that the call passes behind the other arguments, or else memory that is taken and
/// given back in the order of the stream.
class workspace {
public:
  workspace(arguments &of, int64_t needed) : stream(of.stream()) {
    if (of.has_next()) {
      if (const tk_tensor *given = of.tensor("workspace")) {
        memory = static_cast<char *>(given->data) + given->byte_offset;
        size = given->type_bits * given->type_lanes / 8;
        for (int d = 0; d < given->rank; ++d)
          size *= given->dims[d];
        return;
      }
    }
    if (!of.ok() || needed <= 0) // less than 0: the entry says what is wrong
      return;
    const api::error error = api::allocate_in_order(memory, static_cast<size_t>(needed), stream);
    if (error == api::success)
      size = needed, owned = true;
    else
      of.fail("RuntimeError", "%s", api::text_of(error));
  }
  ~workspace() {
    if (owned)
      api::release_in_order(memory, stream);
  }
  workspace(const workspace &) = delete;

  void *data() const { return memory; }
  int64_t bytes() const { return size; }

private:
  api::stream stream;
  void *memory = nullptr;
  int64_t size = 0;
  bool owned = false;
};

} // namespace tk::ffi
