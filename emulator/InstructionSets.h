// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of NVIDIA's GPUs have which instructions, forms and special registers. Of AMD's Clang knows it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tkc::emulator {

/// What `gpu` ("sm_90a") has instead of the instruction: "sm_80 has no `…`; it needs sm_90 or later (PTX ISA, "red")".
/// Nothing where it has it. `opcode` with its modifiers, and how many operands it has.
std::optional<std::string> lackOf(std::string_view gpu, std::string_view opcode, size_t operands);

/// The same for a special register, without `%`.
std::optional<std::string> lackOfRegister(std::string_view gpu, std::string_view name);

} // namespace tkc::emulator
