// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a tensor of PyTorch, a c10::TensorImpl, keeps what a call asks of it. Reading it there runs none of PyTorch's
// code, which a call after a launch would have to bring back into the CPU's caches.
//
// PyTorch does not promise to keep these places. So they are read only where they show for examples what PyTorch's
// functions answer (_pytorch.h), and of any other kind of tensor only after the functions answered alike for one.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <dlpack/dlpack.h>

namespace tkc {

inline bool are_alike(const DLTensor &one, const DLTensor &other) {
  return one.data == other.data && one.byte_offset == other.byte_offset && one.ndim == other.ndim &&
         one.shape == other.shape && one.strides == other.strides && one.dtype.code == other.dtype.code &&
         one.dtype.bits == other.dtype.bits && one.dtype.lanes == other.dtype.lanes &&
         one.device.device_type == other.device.device_type && one.device.device_id == other.device.device_id;
}

/// An implementation of a tensor, in bytes. Nothing is written.
class tensor_inside {
public:
  explicit tensor_inside(const void *implementation) : at(static_cast<const char *>(implementation)) {}

  /// Two words. In the first are the type of the elements, the device, and flags: how dims are laid out, and whether
  /// this is a tensor that answers for its sizes by code of its own. The second is the set of dispatch keys: whether
  /// it is dense, negated or conjugated lazily, wrapped by a transformation, and so on.
  using words = std::array<uint64_t, 2>;
  words kind() const { return {read<uint64_t>(168), read<uint64_t>(176)}; }
  int device_id() const { return read<int8_t>(171); }                     ///< part of the first word
  bool has_autograd() const { return read<const void *>(24) != nullptr; } ///< without, no gradient is required
  const char *storage() const { return read<const char *>(16); }          ///< a c10::StorageImpl, or null
  /// Whether its memory is copied, or refused, or warned of, where someone asks for its address.
  bool is_guarded() const { return storage()[59] != 0; }
  bool is_empty() const { return read<int64_t>(160) == 0; }

  /// All but the type and the device, of a tensor with storage.
  void look(DLTensor &result) const {
    const int64_t rank = read<int64_t>(64);
    const bool is_here = rank <= 5;
    int64_t *const dims = is_here ? reinterpret_cast<int64_t *>(const_cast<char *>(at) + 72) : read<int64_t *>(72);
    result.ndim = static_cast<int32_t>(rank);
    result.shape = dims;
    result.strides = dims + (is_here ? 5 : rank);
    result.byte_offset = 0;
    uintptr_t data = 0;
    std::memcpy(&data, storage() + 16, sizeof data);
    result.data = reinterpret_cast<void *>(data + read<uint64_t>(152) * (result.dtype.bits * result.dtype.lanes / 8u));
  }

private:
  template <class T> T read(int offset) const {
    T result;
    std::memcpy(&result, at + offset, sizeof result);
    return result;
  }

  const char *at;
};

/// Kinds of tensors for which the functions answered as the places show, and which are not negated.
class kinds {
public:
  /// False where the functions have to be asked.
  bool look(const void *implementation, DLTensor &result) const {
    const tensor_inside tensor(implementation);
    const tensor_inside::words words = tensor.kind();
    for (int i = 0; i < count; ++i)
      if (known[i].words == words && can_be_read(tensor)) {
        result.dtype = known[i].dtype;
        result.device = known[i].device;
        tensor.look(result);
        return true;
      }
    return false;
  }

  /// After the functions answered so for a tensor that is not negated.
  void add(const void *implementation, const DLTensor &answer) {
    const tensor_inside tensor(implementation);
    DLTensor seen = {};
    seen.dtype = answer.dtype;
    seen.device = answer.device;
    if (!can_be_read(tensor) || (answer.device.device_type != kDLCPU && answer.device.device_id != tensor.device_id()))
      return;
    tensor.look(seen);
    if (!are_alike(seen, answer))
      return;
    for (int i = 0; i < count; ++i)
      if (known[i].words == tensor.kind()) // it was guarded, and is no longer
        return;
    known[next] = {tensor.kind(), answer.dtype, answer.device};
    next = (next + 1) % most;
    count = count < most ? count + 1 : most;
  }

private:
  static bool can_be_read(const tensor_inside &tensor) {
    return tensor.storage() && !tensor.is_guarded() && !tensor.is_empty();
  }

  struct kind {
    tensor_inside::words words;
    DLDataType dtype;
    DLDevice device;
  };
  static constexpr int most = 8;
  int count = 0, next = 0; ///< the oldest gives its place
  std::array<kind, most> known;
};

} // namespace tkc
