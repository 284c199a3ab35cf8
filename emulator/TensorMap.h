// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps: what the copy engine knows of a tensor. Their 128 bytes are opaque to programs; these are the
// emulator's.
#pragma once

#include <cstdint>

namespace tkc::emulator {

/// CUtensorMapDataType. Source: CUDA Driver API, "Tensor Map Object Management".
enum class TensorType : uint8_t {
  U8,
  U16,
  U32,
  I32,
  U64,
  I64,
  F16,
  F32,
  F64,
  BF16,
  F32Flushed,
  TF32,
  TF32Flushed,
  SixteenU4Align8, ///< no model, as the next
  SixteenU4Align16,
  SixteenU6Align16, ///< 16 elements of 6 bits: 12 bytes of global memory, in 16 of shared memory
};

struct TensorMap {
  uint64_t magic; ///< tells a map from bytes that are none
  uint64_t base;
  uint64_t strides[4]; ///< bytes; of dim 1 on
  uint32_t dims[5];
  uint16_t box[5];
  uint8_t elementStrides[5];
  TensorType type;
  uint8_t rank;
  uint8_t swizzle; ///< bytes of its span: 0, 32, 64, 128
  bool fillsNaN;   ///< what lies outside reads as NaN instead of zero

  static constexpr uint64_t valid = 0x70616d726f736e74;
  bool isPadded() const { return type == TensorType::SixteenU6Align16; }
  int elementBytes() const;                                               ///< in shared memory
  int elementBits() const { return isPadded() ? 6 : 8 * elementBytes(); } ///< in global memory
};
static_assert(sizeof(TensorMap) <= 128);

/// cuTensorMapEncodeTiled, with its checks: 0, or CUDA_ERROR_INVALID_VALUE.
int encodeTensorMap(void *map, int type, unsigned rank, void *base, const unsigned long long *dims,
                    const unsigned long long *strides, const unsigned *box, const unsigned *elementStrides,
                    int interleave, int swizzle, int promotion, int fill);

} // namespace tkc::emulator
