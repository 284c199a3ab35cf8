// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/TensorMap.h"

#include <cstring>

namespace tkc::emulator {

int TensorMap::elementBytes() const {
  switch (type) {
  case TensorType::U8:
  case TensorType::SixteenU6Align16:
    return 1;
  case TensorType::U16:
  case TensorType::F16:
  case TensorType::BF16:
    return 2;
  case TensorType::U32:
  case TensorType::I32:
  case TensorType::F32:
  case TensorType::F32Flushed:
  case TensorType::TF32:
  case TensorType::TF32Flushed:
    return 4;
  case TensorType::U64:
  case TensorType::I64:
  case TensorType::F64:
    return 8;
  case TensorType::SixteenU4Align8:
  case TensorType::SixteenU4Align16:
    break;
  }
  return 0;
}

/// Boxes of elements of 6 bits are 128 wide, of rows of whole such pieces that begin at multiples of 32 bytes.
static bool suitsPadding(const TensorMap &map) {
  if (map.base % 32 != 0 || map.dims[0] % 128 != 0 || map.box[0] != 128 || (map.swizzle != 0 && map.swizzle != 128) ||
      map.fillsNaN)
    return false;
  for (unsigned i = 1; i < map.rank; ++i)
    if (map.strides[i - 1] % 32 != 0)
      return false;
  return true;
}

int encodeTensorMap(void *to, int type, unsigned rank, void *base, const unsigned long long *dims,
                    const unsigned long long *strides, const unsigned *box, const unsigned *elementStrides,
                    int interleave, int swizzle, int promotion, int fill) {
  constexpr int success = 0, invalid = 1;
  if (type < 0 || type > static_cast<int>(TensorType::SixteenU6Align16) || rank < 1 || rank > 5 || interleave != 0 ||
      swizzle < 0 || swizzle > 3 || promotion < 0 || promotion > 3 || fill < 0 || fill > 1)
    return invalid;
  TensorMap map = {};
  map.magic = TensorMap::valid;
  map.base = reinterpret_cast<uint64_t>(base);
  map.type = static_cast<TensorType>(type);
  map.rank = static_cast<uint8_t>(rank);
  map.swizzle = static_cast<uint8_t>(swizzle == 0 ? 0 : 16 << swizzle);
  map.fillsNaN = fill == 1;
  if (map.base % 16 != 0 || map.elementBytes() == 0)
    return invalid;
  for (unsigned i = 0; i < 5; ++i) {
    map.dims[i] = i < rank ? static_cast<uint32_t>(dims[i]) : 1;
    map.box[i] = static_cast<uint16_t>(i < rank ? box[i] : 1);
    map.elementStrides[i] = static_cast<uint8_t>(i < rank ? elementStrides[i] : 1);
    if (i < rank && (dims[i] < 1 || dims[i] > 1ull << 32 || box[i] < 1 || box[i] > 256 || elementStrides[i] < 1 ||
                     elementStrides[i] > 8))
      return invalid;
    if (i >= 1 && i < rank) {
      map.strides[i - 1] = strides[i - 1];
      if (strides[i - 1] % 16 != 0 || strides[i - 1] == 0 || strides[i - 1] >= 1ull << 40)
        return invalid;
    }
  }
  const unsigned innerBytes = box[0] * static_cast<unsigned>(map.elementBytes());
  if (innerBytes % 16 != 0 || (map.swizzle != 0 && innerBytes > map.swizzle))
    return invalid;
  if (map.isPadded() && !suitsPadding(map))
    return invalid;
  std::memcpy(to, &map, sizeof map);
  return success;
}

} // namespace tkc::emulator
