// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What callers of emitted kernels pass and get back. Plain C; the generated headers include it.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A stream of the CUDA runtime: cudaStream_t.
struct CUstream_st;

/// A tensor, laid out in memory as DLPack's DLTensor (dlpack.h 1.1), so that one may be passed for the other.
typedef struct tk_tensor {
  void *data;
  int32_t device_type; ///< 2: CUDA (also 3 and 13: pinned and managed memory, which the device reads too)
  int32_t device_id;
  int32_t rank;
  uint8_t type_code; ///< DLDataTypeCode: 0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool, 10 f8e4m3fn, 12 f8e5m2
  uint8_t type_bits;
  uint16_t type_lanes; ///< 1
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
  TK_CUDA_ERROR = 4    ///< the CUDA runtime refused; its message is in `message`
};

#ifdef __cplusplus
} // extern "C"
#endif
