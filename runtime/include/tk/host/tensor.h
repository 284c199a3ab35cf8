// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What callers of emitted kernels pass and get back. Plain C; the generated headers include it.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A stream of the CUDA runtime, cudaStream_t, and one of HIP, hipStream_t.
struct CUstream_st;
struct ihipStream_t;

/// A tensor, laid out in memory as DLPack's DLTensor (dlpack.h 1.1), so that one may be passed for the other.
typedef struct tk_tensor {
  void *data;
  int32_t
      device_type; ///< 2: CUDA (also 3 and 13: pinned and managed memory, which the device reads too), 10: ROCm (11)
  int32_t device_id;
  int32_t rank;
  /// DLDataTypeCode: 0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool, 10 f8e4m3fn, 12 f8e5m2, 14 f8e8m0fnu, 17 f4e2m1fn,
  /// 15 f6e2m3fn, 16 f6e3m2fn
  uint8_t type_code;
  uint8_t type_bits;
  uint16_t
      type_lanes; ///< 1; 2 where the last dim and the strides count pairs of four bits, as PyTorch has it of f4e2m1
  int64_t *dims;
  int64_t *strides;     ///< in elements; null: row-major without gaps
  uint64_t byte_offset; ///< from data to the first element
} tk_tensor;

/// How a call ended. `message` is empty on success, else it names the argument and says what would be right.
typedef struct tk_status {
  int32_t code; ///< a tk_status_code
  char message[252];
} tk_status;

enum tk_status_code {
  TK_OK = 0,
  TK_BAD_ARGUMENT = 1, ///< an argument is missing or does not fit
  TK_NOT_COMPILED = 2, ///< no specialisation in this file serves these arguments
  TK_WRONG_DEVICE = 3, ///< another GPU architecture, or tensors of another device
  TK_CUDA_ERROR = 4    ///< the CUDA or HIP runtime refused; its message is in `message`
};

#ifdef __cplusplus
} // extern "C"

#include <initializer_list>

// CUDA's element types, without its headers.
struct __nv_bfloat16;
struct __half;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
struct __nv_fp8_e8m0;

namespace tk {

enum class element : unsigned char {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3,
  f8e5m2,
  int64,
  int32,
  int8,
  uint8,
  boolean,
  f8e8m0,
  f4e2m1,
  f6e2m3,
  f6e3m2,
  uint4,
  int4
};

/// Of each element type, DLDataTypeCode and bits.
inline constexpr uint8_t type_codes[] = {2, 2, 2, 4, 10, 12, 0, 0, 0, 1, 6, 14, 17, 15, 16, 1, 0};
inline constexpr uint8_t type_bits[] = {64, 32, 16, 16, 8, 8, 64, 32, 8, 8, 8, 8, 4, 6, 6, 4, 4};

/// The element type that a C++ type is.
template <class T> struct element_of;
template <element Type> struct is_element {
  static constexpr element value = Type;
};
template <> struct element_of<double> : is_element<element::f64> {};
template <> struct element_of<float> : is_element<element::f32> {};
template <> struct element_of<__half> : is_element<element::f16> {};
template <> struct element_of<__nv_bfloat16> : is_element<element::bf16> {};
template <> struct element_of<__nv_fp8_e4m3> : is_element<element::f8e4m3> {};
template <> struct element_of<__nv_fp8_e5m2> : is_element<element::f8e5m2> {};
template <> struct element_of<__nv_fp8_e8m0> : is_element<element::f8e8m0> {};
template <> struct element_of<long> : is_element<element::int64> {};
template <> struct element_of<long long> : is_element<element::int64> {};
template <> struct element_of<int> : is_element<element::int32> {};
template <> struct element_of<signed char> : is_element<element::int8> {};
template <> struct element_of<unsigned char> : is_element<element::uint8> {};
template <> struct element_of<bool> : is_element<element::boolean> {};

/// A view of a tensor on a device, for C++ callers: keeps its dims and strides itself. Made of nothing, or of nullptr,
/// it stands for a tensor that is left out.
class tensor {
public:
  static constexpr int max_rank = 8;

  tensor() = default;
  tensor(decltype(nullptr)) {}
  /// Row-major without gaps where no strides (in elements) are given. A rank that cannot be is refused by the call.
  tensor(const void *data, element type, std::initializer_list<int64_t> dims,
         std::initializer_list<int64_t> strides = {}, int device = 0)
      : present(true) {
    const bool fits = dims.size() <= max_rank && (strides.size() == 0 || strides.size() == dims.size());
    raw.data = const_cast<void *>(data);
    raw.device_type = 2;
    raw.device_id = device;
    raw.rank = fits ? static_cast<int32_t>(dims.size()) : -1;
    raw.type_code = type_codes[static_cast<int>(type)];
    raw.type_bits = type_bits[static_cast<int>(type)];
    raw.type_lanes = 1;
    int64_t stride = 1;
    for (int d = raw.rank - 1; d >= 0; --d) {
      sizes[d] = dims.begin()[d];
      steps[d] = strides.size() ? strides.begin()[d] : stride;
      stride *= sizes[d];
    }
    raw.dims = sizes, raw.strides = steps;
  }
  template <class T>
  tensor(const T *data, std::initializer_list<int64_t> dims, std::initializer_list<int64_t> strides = {},
         int device = 0)
      : tensor(data, element_of<T>::value, dims, strides, device) {}

  tensor(const tensor &other) { *this = other; }
  tensor &operator=(const tensor &other) {
    present = other.present, raw = other.raw;
    for (int d = 0; d < max_rank; ++d)
      sizes[d] = other.sizes[d], steps[d] = other.steps[d];
    raw.dims = sizes, raw.strides = steps;
    return *this;
  }

  /// As C functions take it: null where it is left out. Valid as long as this is.
  const tk_tensor *get() const { return present ? &raw : nullptr; }

private:
  bool present = false;
  tk_tensor raw = {};
  int64_t sizes[max_rank] = {}, steps[max_rank] = {};
};

} // namespace tk
#endif
