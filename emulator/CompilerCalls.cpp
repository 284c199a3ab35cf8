// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/CompilerCalls.h"

#include "emulator/Formats.h"

#include <bit>

namespace tkc::emulator {
namespace {

/// These are passed as floats of 16 bits are on this processor, whose operations the compiler knows on its own.
template <typename T> T ofBits(uint32_t bits) { return std::bit_cast<T>(static_cast<uint16_t>(bits)); }

__bf16 bf16OfFloat(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x))
    return ofBits<__bf16>(bits >> 16 | 0x40);
  return ofBits<__bf16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
__bf16 bf16OfDouble(double x) { return ofBits<__bf16>(encode(bf16, x)); }
_Float16 f16OfFloat(float x) { return ofBits<_Float16>(encode(f16, x)); }
_Float16 f16OfDouble(double x) { return ofBits<_Float16>(encode(f16, x)); }
float floatOfF16(_Float16 x) { return static_cast<float>(decode(f16, std::bit_cast<uint16_t>(x))); }

template <typename F> Support call(const char *name, F *function) {
  return {name, reinterpret_cast<void *>(function)};
}

} // namespace

std::span<const Support> compilerCalls() {
  static const Support calls[] = {
      call("__truncsfbf2", bf16OfFloat), call("__truncdfbf2", bf16OfDouble), call("__truncsfhf2", f16OfFloat),
      call("__truncdfhf2", f16OfDouble), call("__extendhfsf2", floatOfF16),
  };
  return calls;
}

} // namespace tkc::emulator
