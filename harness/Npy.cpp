// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's .npy files, versions 1 to 3 (numpy.lib.format): "\x93NUMPY", a version, the header's length, a header such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, and the elements.
#include "harness/Inputs.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <fmt/core.h>
#include <type_traits>

namespace tkc::harness {
namespace {

template <class T> Number elementAt(const char *data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  if constexpr (std::is_integral_v<T>)
    return Number::ofInteger(value);
  else
    return static_cast<double>(value);
}

/// The text after `'key':`.
llvm::StringRef field(llvm::StringRef header, llvm::StringRef key) {
  const size_t at = header.find(("'" + key + "':").str());
  return at == llvm::StringRef::npos ? llvm::StringRef() : header.drop_front(at + key.size() + 3).ltrim();
}

using Reader = Number (*)(const char *, size_t);
struct Format {
  llvm::StringRef name;
  size_t bytes;
  Reader read;
};
constexpr Format formats[] = {
    {"<f8", 8, elementAt<double>},   {"<f4", 4, elementAt<float>},   {"<i8", 8, elementAt<int64_t>},
    {"<i4", 4, elementAt<int32_t>},  {"|i1", 1, elementAt<int8_t>},  {"|u1", 1, elementAt<uint8_t>},
    {"|b1", 1, elementAt<uint8_t>},  {"<i2", 2, elementAt<int16_t>}, {"<u2", 2, elementAt<uint16_t>},
    {"<u4", 4, elementAt<uint32_t>},
};

} // namespace

std::optional<Tensor> readNpy(const std::string &path, ElemType elem, std::string &error) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) {
    error = file.getError().message();
    return std::nullopt;
  }
  llvm::StringRef bytes = (*file)->getBuffer();
  const auto refuse = [&](const char *why) {
    error = why;
    return std::nullopt;
  };
  if (!bytes.consume_front("\x93NUMPY") || bytes.size() < 6)
    return refuse("it is not a .npy file");
  const bool isLong = bytes[0] > 1;
  const auto byteAt = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const size_t length =
      isLong ? byteAt(2) | byteAt(3) << 8 | byteAt(4) << 16 | byteAt(5) << 24 : byteAt(2) | byteAt(3) << 8;
  const size_t start = isLong ? 6 : 4;
  if (bytes.size() < start + length)
    return refuse("it ends within its header");
  const llvm::StringRef header = bytes.substr(start, length);
  if (!field(header, "fortran_order").starts_with("False"))
    return refuse("it is in Fortran order");
  const Format *format = nullptr;
  for (const Format &candidate : formats)
    if (field(header, "descr").trim("'").starts_with(candidate.name))
      format = &candidate;
  if (!format)
    return refuse("its element type is not a little-endian f8, f4, i8, i4, i2, i1, u4, u2, u1 or b1");

  Tensor tensor{elem, {}, {}};
  llvm::SmallVector<llvm::StringRef> dims;
  field(header, "shape").drop_front(1).split(')').first.split(dims, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef dim : dims) {
    int64_t size = 0;
    if (dim.trim().empty())
      continue;
    if (dim.trim().getAsInteger(10, size) || size < 0 || size > int64_t{1} << 31)
      return refuse("its shape is not understood");
    tensor.dims.push_back(size);
  }
  const char *data = bytes.data() + start + length;
  const size_t available = (bytes.size() - start - length) / format->bytes;
  const auto count = static_cast<size_t>(tensor.numElements());
  if (count > available)
    return refuse("it ends before its last element");
  tensor.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const Number value = format->read(data, i);
    if (!isInRange(elem, value)) {
      error = fmt::format("its element {} has to be {}", i, outOfRange(elem, value));
      return std::nullopt;
    }
    tensor.set(i, value);
  }
  return tensor;
}

} // namespace tkc::harness
