// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/CaseData.h"

#include "support/Rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>

namespace tkc::harness {
namespace {

constexpr char untouched = static_cast<char>(0xA5);

/// The formats narrower than f32: exponent bits, explicit mantissa bits, and what stands for infinity and NaN; 0 where
/// every code is a finite number.
struct NarrowFormat {
  int exponentBits;
  int mantissaBits;
  bool hasInfinity;
  uint64_t nan;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  uint64_t signBit() const { return uint64_t{1} << (exponentBits + mantissaBits); }
  uint64_t infinity() const { return ((uint64_t{1} << exponentBits) - 1) << mantissaBits; }
};
constexpr NarrowFormat f16Bits{5, 10, true, 0x7fff};
constexpr NarrowFormat bf16Bits{8, 7, true, 0x7fff};
constexpr NarrowFormat f8e4m3Bits{4, 3, false, 0x7f}; // OCP 8-bit floating point: no infinities, one NaN of each sign
constexpr NarrowFormat f8e5m2Bits{5, 2, true, 0x7f};
constexpr NarrowFormat f6e2m3Bits{2, 3, false, 0}; // OCP Microscaling Formats 1.0
constexpr NarrowFormat f6e3m2Bits{3, 2, false, 0};
constexpr NarrowFormat f4e2m1Bits{2, 1, false, 0};

/// An exponent and nothing else (OCP Microscaling Formats 1.0): 2^(code − 127), 255 is NaN.
uint64_t encodeF8E8M0(double value) { return std::isnan(value) ? 255 : static_cast<uint64_t>(std::ilogb(value) + 127); }
double decodeF8E8M0(uint64_t bits) { return bits == 255 ? NAN : std::ldexp(1.0, static_cast<int>(bits) - 127); }

uint64_t encodeNarrow(const NarrowFormat &format, double value) {
  if (std::isnan(value))
    return format.nan;
  const uint64_t sign = std::signbit(value) ? format.signBit() : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return sign | (format.hasInfinity ? format.infinity() : format.nan);
  if (magnitude == 0)
    return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent); // magnitude is in [2^(exponent − 1), 2^exponent)
  const int stored = exponent - 1 + format.bias();
  if (stored <= 0) // subnormal: a multiple of 2^(1 − bias − mantissaBits)
    return sign | static_cast<uint64_t>(std::ldexp(magnitude, format.bias() - 1 + format.mantissaBits));
  const double fraction = std::ldexp(magnitude, 1 - exponent) - 1;
  return sign | static_cast<uint64_t>(stored) << format.mantissaBits |
         static_cast<uint64_t>(std::ldexp(fraction, format.mantissaBits));
}

double decodeNarrow(const NarrowFormat &format, uint64_t bits) {
  const double sign = bits & format.signBit() ? -1 : 1;
  const uint64_t magnitude = bits & (format.signBit() - 1);
  if (format.hasInfinity ? magnitude > format.infinity() : format.nan != 0 && magnitude == format.nan)
    return NAN;
  if (format.hasInfinity && magnitude == format.infinity())
    return sign * INFINITY;
  const auto exponent = static_cast<int>(magnitude >> format.mantissaBits);
  const auto mantissa = static_cast<double>(magnitude & ((uint64_t{1} << format.mantissaBits) - 1));
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - format.bias() - format.mantissaBits);
  return sign * std::ldexp(1 + std::ldexp(mantissa, -format.mantissaBits), exponent - format.bias());
}

class Writer {
public:
  void raw(const void *data, size_t size) { bytes.append(static_cast<const char *>(data), size); }
  void u32(uint32_t value) { raw(&value, sizeof value); }
  void u64(uint64_t value) { raw(&value, sizeof value); }
  void f64(double value) { raw(&value, sizeof value); }
  void i64s(const std::vector<int64_t> &values) { raw(values.data(), values.size() * sizeof(int64_t)); }
  void f64s(const std::vector<double> &values) { raw(values.data(), values.size() * sizeof(double)); }
  void string(const std::string &text) {
    u32(static_cast<uint32_t>(text.size()));
    raw(text.data(), text.size());
  }

  std::string bytes;
};
static_assert(std::endian::native == std::endian::little, "the file is little-endian");

/// Bytes from the first element to the end of the last.
uint64_t spanOf(const Tensor &tensor, const std::vector<int64_t> &strides) {
  int64_t length = tensor.numElements() == 0 ? 0 : 1;
  for (size_t d = 0; d < strides.size() && length; ++d)
    length += (tensor.dims[d] - 1) * strides[d];
  return static_cast<uint64_t>(bytesOf(tensor.elem, length));
}

/// The lowest bits of `value` into the memory from bit `at` on.
void putBits(std::string &memory, size_t at, size_t count, uint64_t value) {
  if (count % 8 == 0) {
    memory.replace(at / 8, count / 8, reinterpret_cast<const char *>(&value), count / 8);
    return;
  }
  for (size_t bit = 0; bit < count; ++bit) {
    char &byte = memory[(at + bit) / 8];
    const auto mask = static_cast<unsigned>(1u << (at + bit) % 8);
    byte = static_cast<char>(value >> bit & 1 ? byte | mask : byte & ~mask);
  }
}

/// The tensor's memory: elements where the strides put them, the rest untouched.
std::string memoryOf(const Tensor &tensor, const std::vector<int64_t> &strides) {
  const auto bitsEach = static_cast<size_t>(bitWidth(tensor.elem));
  std::string memory(spanOf(tensor, strides), untouched);
  std::vector<int64_t> indices(tensor.dims.size());
  for (size_t i = 0; i < tensor.numValues(); ++i) {
    const int64_t at = std::inner_product(indices.begin(), indices.end(), strides.begin(), int64_t{0});
    putBits(memory, static_cast<size_t>(at) * bitsEach, bitsEach, encodeElement(tensor.elem, tensor.at(i)));
    for (size_t d = indices.size(); d-- > 0 && ++indices[d] == tensor.dims[d];)
      indices[d] = 0;
  }
  return memory;
}

void writeTensor(Writer &out, const ir::Param &param, const PreparedCase &prepared, const Expected &expected) {
  out.string(param.name);
  auto found = prepared.arguments.tensors.find(param.name);
  if (found == prepared.arguments.tensors.end()) {
    out.u32(static_cast<uint32_t>(param.elem));
    out.u32(3);
    return;
  }
  const Tensor &tensor = found->second;
  auto layout = prepared.layouts.find(param.name);
  const std::vector<int64_t> strides =
      stridesOf(tensor.dims, layout == prepared.layouts.end() ? Layout{} : layout->second);
  out.u32(static_cast<uint32_t>(tensor.elem));
  out.u32(static_cast<uint32_t>(param.mode));
  out.u32(static_cast<uint32_t>(tensor.dims.size()));
  out.raw(tensor.dims.data(), tensor.dims.size() * sizeof(int64_t));
  out.raw(strides.data(), strides.size() * sizeof(int64_t));
  out.u64(spanOf(tensor, strides));
  if (auto seed = prepared.seeds.find(param.name); seed != prepared.seeds.end()) {
    out.u32(2);
    out.u64(seed->second);
  } else if (param.mode == ir::ParamMode::Out) {
    out.u32(1);
  } else {
    out.u32(0);
    const std::string memory = memoryOf(tensor, strides);
    out.raw(memory.data(), memory.size());
  }
  if (param.mode == ir::ParamMode::In)
    return;
  auto wanted = expected.find(param.name);
  out.u64(wanted == expected.end() ? 0 : wanted->second.values.numValues());
  if (wanted == expected.end())
    return;
  out.f64s(wanted->second.values.data);
  out.i64s(wanted->second.values.integers);
  out.f64s(wanted->second.tolerances);
}

} // namespace

std::vector<int64_t> stridesOf(const std::vector<int64_t> &dims, const Layout &layout) {
  std::vector<int> order = layout.order;
  if (order.empty()) {
    order.resize(dims.size());
    std::iota(order.begin(), order.end(), 0);
  }
  std::vector<int64_t> strides(dims.size(), 1);
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= dims[order[i]];
    if (i + 1 == order.size())
      next += layout.pad;
  }
  return strides;
}

int64_t alignmentOf(ElemType elem, const std::vector<int64_t> &dims, const std::vector<int64_t> &strides,
                    int64_t offset) {
  int64_t starts = maxAlignment | offset * bitWidth(elem) / 8;
  for (size_t d = 0; d + 1 < dims.size(); ++d)
    if (dims[d] > 1)
      starts |= strides[d] * bitWidth(elem) / 8;
  return starts & -starts;
}

uint64_t encodeElement(ElemType elem, Number number) {
  const double value = number.toDouble();
  switch (elem) {
  case ElemType::F64:
    return std::bit_cast<uint64_t>(value);
  case ElemType::F32:
  case ElemType::TF32:
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  case ElemType::F16:
    return encodeNarrow(f16Bits, value);
  case ElemType::BF16:
    return encodeNarrow(bf16Bits, value);
  case ElemType::F8E4M3:
    return encodeNarrow(f8e4m3Bits, value);
  case ElemType::F8E5M2:
    return encodeNarrow(f8e5m2Bits, value);
  case ElemType::F8E8M0:
    return encodeF8E8M0(value);
  case ElemType::F4E2M1:
    return encodeNarrow(f4e2m1Bits, value);
  case ElemType::F6E2M3:
    return encodeNarrow(f6e2m3Bits, value);
  case ElemType::F6E3M2:
    return encodeNarrow(f6e3m2Bits, value);
  case ElemType::I64:
    return static_cast<uint64_t>(number.toInteger());
  case ElemType::I32:
    return static_cast<uint32_t>(static_cast<int32_t>(value));
  case ElemType::I8:
    return static_cast<uint8_t>(static_cast<int8_t>(value));
  case ElemType::U8:
    return static_cast<uint8_t>(value);
  case ElemType::I4:
    return static_cast<uint8_t>(static_cast<int8_t>(value)) & 0xf;
  case ElemType::U4:
    return static_cast<uint8_t>(value) & 0xf;
  case ElemType::Bool:
    return value != 0;
  }
  return 0;
}

double decodeElement(ElemType elem, uint64_t bits) {
  switch (elem) {
  case ElemType::F64:
    return std::bit_cast<double>(bits);
  case ElemType::F32:
  case ElemType::TF32:
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  case ElemType::F16:
    return decodeNarrow(f16Bits, bits & 0xffff);
  case ElemType::BF16:
    return decodeNarrow(bf16Bits, bits & 0xffff);
  case ElemType::F8E4M3:
    return decodeNarrow(f8e4m3Bits, bits & 0xff);
  case ElemType::F8E5M2:
    return decodeNarrow(f8e5m2Bits, bits & 0xff);
  case ElemType::F8E8M0:
    return decodeF8E8M0(bits & 0xff);
  case ElemType::F4E2M1:
    return decodeNarrow(f4e2m1Bits, bits & 0xf);
  case ElemType::F6E2M3:
    return decodeNarrow(f6e2m3Bits, bits & 0x3f);
  case ElemType::F6E3M2:
    return decodeNarrow(f6e3m2Bits, bits & 0x3f);
  case ElemType::I64:
    return static_cast<double>(static_cast<int64_t>(bits));
  case ElemType::I32:
    return static_cast<int32_t>(bits);
  case ElemType::I8:
    return static_cast<int8_t>(bits);
  case ElemType::U8:
    return static_cast<uint8_t>(bits);
  case ElemType::I4:
    return static_cast<int>((bits & 0xf) ^ 8) - 8; // two's complement
  case ElemType::U4:
    return static_cast<int>(bits & 0xf);
  case ElemType::Bool:
    return (bits & 0xff) != 0;
  }
  return 0;
}

std::string encodeCase(const PreparedCase &prepared, const Expected &expected) {
  Writer out;
  out.raw("TKCASE2\n", 8);
  out.u32(static_cast<uint32_t>(prepared.arguments.scalars.size()));
  for (const auto &[name, value] : prepared.arguments.scalars) {
    out.string(name);
    const ElemType elem = prepared.scalarTypes.at(name);
    out.u32(static_cast<uint32_t>(elem));
    if (elem == ElemType::I64)
      out.u64(static_cast<uint64_t>(value.toInteger()));
    else
      out.f64(value.toDouble());
  }
  uint32_t numTensors = 0;
  for (const ir::Param &param : prepared.signature->params)
    numTensors += param.isTensor;
  out.u32(numTensors);
  for (const ir::Param &param : prepared.signature->params)
    if (param.isTensor)
      writeTensor(out, param, prepared, expected);
  return std::move(out.bytes);
}

} // namespace tkc::harness
