// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX of an asm statement as a list of instructions. Source: PTX ISA 9.0, "Syntax" and "Instruction Operands".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tkc::emulator::ptx {

/// One value that an operand names.
struct Value {
  enum class Kind : uint8_t {
    Operand,   ///< of the asm statement: `number`
    Register,  ///< declared in the text, or special (`%cluster_ctarank`): `name`
    Immediate, ///< `number`
    Sink,      ///< `_`
  };
  Kind kind = Kind::Sink;
  int64_t number = 0;
  std::string name;
};

struct Operand {
  enum class Kind : uint8_t {
    Value,   ///< one value, or two of `d|p`
    Vector,  ///< `{a, b, …}`
    Address, ///< `[a]`, `[a + 4]`; also `[map, {x, y}]`: the address, then the coordinates
  };
  Kind kind = Kind::Value;
  std::vector<Value> values;
  int64_t offset = 0; ///< of an address
};

struct Instruction {
  std::string label;     ///< what stands before the instruction; there may be a label and no instruction
  std::string predicate; ///< `@p`; empty if none
  bool negated = false;  ///< `@!p`
  std::string opcode;    ///< with its modifiers; empty for a label alone
  std::vector<Operand> operands;
};

struct Program {
  std::vector<Instruction> instructions;
  std::string error; ///< what is not understood; empty if all is
};

/// `text` has `$0`, `$1`, … for the operands of the statement.
Program parse(std::string_view text);

} // namespace tkc::emulator::ptx
