// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/ElementMemory.h"

#include "harness/CaseData.h"

#include <cstring>

namespace tkc::harness {
namespace {

/// What every code of a narrow type stands for. Decoding one takes longer than looking it up.
std::vector<double> decodeAll(ElemType elem) {
  std::vector<double> values(size_t{1} << bitWidth(elem));
  for (size_t code = 0; code < values.size(); ++code)
    values[code] = decodeElement(elem, code);
  return values;
}

uint64_t readBits(const char *memory, size_t at, size_t count) {
  uint64_t bits = 0;
  std::memcpy(&bits, memory + at / 8, (at % 8 + count + 7) / 8);
  return bits >> at % 8 & (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1);
}

} // namespace

void readElements(const char *memory, Tensor &tensor) {
  const auto count = static_cast<size_t>(tensor.numElements()), width = static_cast<size_t>(bitWidth(tensor.elem));
  const std::vector<double> values = width <= 16 && count >> width > 0 ? decodeAll(tensor.elem) : std::vector<double>();
  tensor.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = readBits(memory, i * width, width);
    if (tensor.isOfIntegers())
      tensor.integers[i] = static_cast<int64_t>(bits);
    else
      tensor.data[i] = values.empty() ? decodeElement(tensor.elem, bits) : values[bits];
  }
}

void writeElements(const Tensor &tensor, char *memory) {
  const auto width = static_cast<size_t>(bitWidth(tensor.elem));
  if (width < 8) // elements that share bytes are put into clean ones
    std::memset(memory, 0, static_cast<size_t>(bytesOf(tensor.elem, tensor.numElements())));
  for (size_t i = 0; i < tensor.numValues(); ++i) {
    // Where nothing was stored the interpreter leaves what is no number of a narrow type. An infinity stays one.
    const bool isNumber = isFloat(tensor.elem) && !isPacked(tensor.elem);
    const uint64_t bits = encodeElement(tensor.elem, isNumber ? tensor.at(i) : roundTo(tensor.elem, tensor.at(i)));
    if (width >= 8) {
      std::memcpy(memory + i * width / 8, &bits, width / 8);
      continue;
    }
    uint64_t around = 0;
    const size_t at = i * width, bytes = (at % 8 + width + 7) / 8;
    std::memcpy(&around, memory + at / 8, bytes);
    around |= bits << at % 8;
    std::memcpy(memory + at / 8, &around, bytes);
  }
}

} // namespace tkc::harness
