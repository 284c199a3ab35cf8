// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls as people write them.
#include "harness/Call.h"

#include <algorithm>
#include <llvm/ADT/StringRef.h>

namespace tkc::harness {
namespace {

using llvm::StringRef;

/// What stands before the next comma outside of brackets, which is taken off.
StringRef takeArgument(StringRef &text) {
  size_t end = text.find_first_of(",[");
  if (end != StringRef::npos && text[end] == '[')
    end = text.find(',', std::min(text.find(']', end), text.size()));
  const StringRef argument = text.substr(0, end);
  text = end == StringRef::npos ? StringRef() : text.substr(end + 1);
  return argument.trim();
}

/// "bf16[128, 64]"
std::optional<Tensor> parseTensor(StringRef text) {
  const auto [type, rest] = text.split('[');
  const std::optional<ElemType> elem = parseElemType(type.trim());
  StringRef dims = rest;
  if (!elem || !dims.consume_back("]"))
    return std::nullopt;
  Tensor tensor{*elem, {}, {}};
  for (dims = dims.trim(); !dims.empty();) {
    const auto [dim, others] = dims.split(',');
    if (dim.trim().getAsInteger(10, tensor.dims.emplace_back()))
      return std::nullopt;
    dims = others.trim();
  }
  return tensor;
}

} // namespace

std::optional<NamedCall> parseCall(std::string_view text) {
  const auto [name, rest] = StringRef(text.data(), text.size()).split('(');
  StringRef arguments = rest.trim();
  NamedCall result{name.trim().str(), {}};
  if (result.name.empty() || !arguments.consume_back(")"))
    return std::nullopt;
  while (!arguments.trim().empty()) {
    const auto [parameter, value] = takeArgument(arguments).split('=');
    const std::string key = parameter.trim().str();
    const StringRef word = value.trim();
    int64_t whole = 0;
    double number = 0;
    if (std::optional<Tensor> tensor = parseTensor(word))
      result.call.tensors[key] = std::move(*tensor);
    else if (word == "true" || word == "false")
      result.call.numbers[key] = word == "true";
    else if (!key.empty() && !word.getAsInteger(10, whole))
      result.call.numbers[key] = Number::ofInteger(whole);
    else if (!key.empty() && !word.getAsDouble(number))
      result.call.numbers[key] = number;
    else
      return std::nullopt;
  }
  return result;
}

} // namespace tkc::harness
