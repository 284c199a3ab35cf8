// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Ptx.h"

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace tkc::emulator::ptx {
namespace {

std::string withoutComments(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "//") {
      while (i < text.size() && text[i] != '\n')
        ++i;
      result += '\n';
    } else if (text.substr(i, 2) == "/*") {
      const size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 1;
      result += ' ';
    } else {
      result += text[i];
    }
  }
  return result;
}

class Parser {
public:
  explicit Parser(std::string text) : text(std::move(text)) {}

  Program run() {
    while (program.error.empty()) {
      skipSpace();
      if (at == text.size())
        break;
      if (text[at] == '{' || text[at] == '}' || text[at] == ';')
        ++at;
      else
        statement();
    }
    return std::move(program);
  }

private:
  void skipSpace() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }

  bool take(char c) {
    skipSpace();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }

  void expect(char c) {
    if (!take(c))
      fail();
  }

  void fail() {
    if (program.error.empty())
      program.error = at < text.size() ? "`" + text.substr(at, text.find('\n', at) - at) + "`" : "the end of the text";
    at = text.size();
  }

  /// Letters, digits and what names and opcodes contain besides.
  std::string word(const char *besides) {
    skipSpace();
    const size_t begin = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || std::strchr(besides, text[at])))
      ++at;
    if (at == begin)
      fail();
    return text.substr(begin, at - begin);
  }

  void statement() {
    Instruction instruction;
    if (take('@')) {
      instruction.negated = take('!');
      instruction.predicate = word("_%");
    }
    instruction.opcode = word("._%:");
    if (instruction.opcode.starts_with(".reg")) { // registers are known by their use
      at = std::min(text.find(';', at), text.size());
      return;
    }
    // `label:`; the colons inside of opcodes (`mbarrier::complete_tx`) come in pairs.
    if (instruction.opcode.ends_with(":") && !instruction.opcode.ends_with("::")) {
      instruction.opcode.pop_back();
      instruction.label = std::move(instruction.opcode);
      instruction.opcode.clear();
      program.instructions.push_back(std::move(instruction));
      return;
    }
    while (!take(';') && program.error.empty()) {
      if (!instruction.operands.empty())
        expect(',');
      instruction.operands.push_back(operand());
    }
    program.instructions.push_back(std::move(instruction));
  }

  Operand operand() {
    Operand result;
    if (take('{')) {
      result.kind = Operand::Kind::Vector;
      list('}', result);
    } else if (take('[')) {
      result.kind = Operand::Kind::Address;
      list(']', result);
    } else {
      result.values.push_back(value());
      if (take('|'))
        result.values.push_back(value());
    }
    return result;
  }

  void list(char close, Operand &into) {
    do {
      if (take('{'))
        list('}', into);
      else
        into.values.push_back(value());
      if (take('+'))
        into.offset = number();
    } while (take(',') && program.error.empty());
    expect(close);
  }

  int64_t number() {
    skipSpace();
    char *end = nullptr;
    const int64_t result = std::strtoll(text.c_str() + at, &end, 0);
    if (end == text.c_str() + at)
      fail();
    at = static_cast<size_t>(end - text.c_str());
    return result;
  }

  Value value() {
    skipSpace();
    Value result;
    const char c = at < text.size() ? text[at] : ' ';
    if (c == '$') {
      ++at;
      result.kind = Value::Kind::Operand;
      result.number = number();
    } else if (std::isdigit(static_cast<unsigned char>(c)) || c == '-') {
      result.kind = Value::Kind::Immediate;
      result.number = number();
    } else {
      result.name = word("_%.!");
      result.kind = result.name == "_" ? Value::Kind::Sink : Value::Kind::Register;
    }
    return result;
  }

  std::string text;
  size_t at = 0;
  Program program;
};

} // namespace

Program parse(std::string_view text) { return Parser(withoutComments(text)).run(); }

} // namespace tkc::emulator::ptx
