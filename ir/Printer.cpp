// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile IR as text. Every value gets a name of its own in the whole function: the source's where there is one, with a
// number after a dot when it is taken; a number for the others. docs/architecture.md, "Tile IR", has the grammar.
#include "ir/TileIR.h"

#include "support/Diagnostics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

namespace tkc::ir {
namespace {

using Out = std::back_insert_iterator<std::string>;

bool isNumber(std::string_view name) { return name.find_first_not_of("0123456789") == std::string_view::npos; }

std::string constantText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  return fmt::format("{}", value);
}

/// `nameOf` gives the text after `%` of a tile index.
template <class NameOf> std::string typeText(const Type &type, NameOf nameOf) {
  auto edge = [&](Value *end) { return end ? "%" + nameOf(end) : std::string("full"); };
  switch (type.kind) {
  case Type::Scalar:
    return std::string(spelling(type.elem));
  case Type::Vector:
    return type.rowEnd ? fmt::format("vector<{}, {}, {}>", spelling(type.elem), type.rows, edge(type.rowEnd))
                       : fmt::format("vector<{}, {}>", spelling(type.elem), type.rows);
  case Type::Tile:
    return type.rowEnd || type.colEnd ? fmt::format("tile<{}, {}x{}, {}, {}>", spelling(type.elem), type.rows,
                                                    type.cols, edge(type.rowEnd), edge(type.colEnd))
                                      : fmt::format("tile<{}, {}x{}>", spelling(type.elem), type.rows, type.cols);
  case Type::TileIndex:
    return fmt::format("index<{}>", type.rows);
  }
  return {};
}

class Printer {
public:
  explicit Printer(const PrintOptions &options) : options(options) {}

  std::string print(const Function &function) {
    header(function);
    printBody(function.body, 1);
    text += "}\n";
    return std::move(text);
  }

private:
  const PrintOptions &options;
  std::string text;
  Out out{text};
  std::unordered_map<const Value *, std::string> names;
  std::unordered_set<std::string> taken;
  unsigned nextNumber = 0;

  const std::string &nameOf(const Value *value) {
    auto [entry, isNew] = names.try_emplace(value);
    if (!isNew)
      return entry->second;
    std::string name = value->name;
    if (name.empty() || isNumber(name)) {
      name = std::to_string(nextNumber++);
    } else if (!taken.insert(name).second) {
      unsigned suffix = 1;
      while (!taken.insert(fmt::format("{}.{}", value->name, suffix)).second)
        ++suffix;
      name = fmt::format("{}.{}", value->name, suffix);
    }
    return entry->second = name;
  }

  std::string ref(const Value *value) { return "%" + nameOf(value); }
  std::string type(const Type &type) {
    return typeText(type, [&](Value *end) { return nameOf(end); });
  }

  void header(const Function &function) {
    for (size_t at = 0; at < function.doc.size();) {
      size_t end = std::min(function.doc.find('\n', at), function.doc.size());
      fmt::format_to(out, "/// {}\n", std::string_view(function.doc).substr(at, end - at));
      at = end + 1;
    }
    fmt::format_to(out, "func @{}", function.kernel);
    const char *separator = "<";
    for (auto &[name, elem] : function.typeArgs) {
      fmt::format_to(out, "{}{} = {}", separator, name, spelling(elem));
      separator = ", ";
    }
    text += function.typeArgs.empty() ? "(" : ">(";
    separator = "";
    for (const Param &param : function.params) {
      text += separator;
      printParam(param);
      separator = ", ";
    }
    text += ")";
    separator = " where ";
    for (auto &[name, value] : function.constants) {
      bool isTune = std::find(function.tunes.begin(), function.tunes.end(), name) != function.tunes.end();
      fmt::format_to(out, "{}{}{} = {}", separator, isTune ? "tune " : "", name, value);
      separator = ", ";
    }
    separator = " given ";
    for (auto &[whole, part] : function.multiples) {
      fmt::format_to(out, "{}{} == 0", separator, DimExpr::binary(DimExpr::Mod, whole, part).str());
      separator = ", ";
    }
    text += " {\n";
  }

  void printParam(const Param &param) {
    if (param.isOptional)
      text += param.isPresent ? "optional " : "absent ";
    switch (param.mode) {
    case ParamMode::In:
      break;
    case ParamMode::Out:
      text += param.isLocal ? "new " : "out ";
      break;
    case ParamMode::InOut:
      text += "inout ";
      break;
    }
    fmt::format_to(out, "{}: {}", param.name, spelling(param.elem));
    if (param.above)
      fmt::format_to(out, " > {}", *param.above);
    if (!param.isTensor)
      return;
    const char *separator = "[";
    for (const DimExpr &dim : param.dims) {
      fmt::format_to(out, "{}{}", separator, dim.str());
      separator = ", ";
    }
    text += param.dims.empty() ? "[]" : "]";
  }

  void printBody(const Block &body, unsigned depth) {
    for (auto &op : body.ops) {
      text.append(2 * depth, ' ');
      printOp(*op, depth);
      text += '\n';
    }
  }

  void printOperands(const Op &op, size_t first = 0) {
    const char *separator = " ";
    for (size_t i = first; i < op.operands().size(); ++i) {
      fmt::format_to(out, "{}{}", separator, ref(op.operand(i)));
      separator = ", ";
    }
  }

  void printView(const Op &op) {
    fmt::format_to(out, " {}[", op.view.tensor);
    const char *separator = "";
    for (const ViewIndex &index : op.view.indices) {
      text += separator;
      separator = ", ";
      switch (index.kind) {
      case ViewIndex::Element:
      case ViewIndex::Tiled:
        text += ref(op.operand(index.operand));
        if (index.divisor != 1)
          fmt::format_to(out, " / {}", index.divisor);
        break;
      case ViewIndex::Gather:
        fmt::format_to(out, "gather {}", ref(op.operand(index.operand)));
        break;
      case ViewIndex::All:
        text += ":";
        break;
      case ViewIndex::Span:
        fmt::format_to(out, "{}:{}", index.lo, index.hi);
        break;
      }
    }
    text += "]";
  }

  void printRange(const Op &op) {
    const Value *induction = op.body().args[0].get();
    if (op.tileSize == 0)
      fmt::format_to(out, " {} in {}..{}", ref(induction), ref(op.operand(0)), ref(op.operand(1)));
    else
      fmt::format_to(out, " {} in tiles({}, {}, {})", ref(induction), ref(op.operand(0)), ref(op.operand(1)),
                     op.tileSize);
    if (op.constant == 1)
      text += " of one";
    if (op.byMasks)
      text += " by masks";
  }

  void printCarried(const Op &op) {
    const Block &body = op.body();
    if (body.args.size() < 2)
      return;
    const char *separator = " carry(";
    for (size_t i = 1; i < body.args.size(); ++i) {
      const Value *arg = body.args[i].get();
      fmt::format_to(out, "{}{} = {} : {}", separator, ref(arg), ref(op.operand(i + 1)), type(arg->type));
      separator = ", ";
    }
    text += ")";
  }

  void closeBody(const Block &body, unsigned depth) {
    printBody(body, depth + 1);
    text.append(2 * depth, ' ');
    text += "}";
  }

  void comment(const Op &op) {
    if (options.sources && op.loc.isValid())
      fmt::format_to(out, "  // {}", options.sources->fileLine(op.loc));
  }

  void openBody(const Op &op) {
    text += " {";
    comment(op);
    text += '\n';
  }

  void printResults(const Op &op) {
    const char *separator = "";
    for (auto &result : op.results) {
      fmt::format_to(out, "{}{}", separator, ref(result.get()));
      separator = ", ";
    }
    if (!op.results.empty())
      text += " = ";
  }

  void printOp(const Op &op, unsigned depth) {
    printResults(op);
    if (op.bodies.empty()) {
      printLine(op);
      if (!op.results.empty())
        fmt::format_to(out, " : {}", type(op.result()->type));
      comment(op);
    } else if (op.kind == OpKind::If) {
      printIf(op, depth);
    } else {
      text += spelling(op.kind);
      printRange(op);
      printCarried(op);
      openBody(op);
      closeBody(op.body(), depth);
    }
  }

  void printIf(const Op &op, unsigned depth) {
    fmt::format_to(out, "if {}", ref(op.operand(0)));
    const char *separator = " -> ";
    for (auto &result : op.results) {
      fmt::format_to(out, "{}{}", separator, type(result->type));
      separator = ", ";
    }
    openBody(op);
    closeBody(op.body(0), depth);
    if (op.body(1).ops.empty())
      return;
    text += " else {\n";
    closeBody(op.body(1), depth);
  }

  void printLine(const Op &op) {
    switch (op.kind) {
    case OpKind::Const:
      fmt::format_to(out, "const {}", constantText(op.constant));
      return;
    case OpKind::Dim:
    case OpKind::Param:
      fmt::format_to(out, "{} {}", spelling(op.kind), op.name);
      return;
    case OpKind::Elements:
      fmt::format_to(out, "elements {} {}", op.axis == 0 ? "col" : "row", ref(op.operand(0)));
      return;
    case OpKind::Reduce:
      fmt::format_to(out, "{}{}", op.axis == 0 ? "col" : "row", spelling(op.reduce));
      printOperands(op);
      return;
    case OpKind::Cumsum:
      fmt::format_to(out, "cumsum {}", op.axis == 0 ? "down" : "across");
      printOperands(op);
      return;
    case OpKind::ExternCall:
      fmt::format_to(out, "extern_call @{}", op.name);
      printOperands(op);
      return;
    case OpKind::Load:
      text += "load";
      printView(op);
      if (op.hasElse)
        fmt::format_to(out, " else {}", ref(op.operands().back()));
      return;
    case OpKind::Atomic:
      fmt::format_to(out, "atomic {}", spelling(op.atomic));
      printView(op);
      fmt::format_to(out, ", {}", ref(op.operands().back()));
      return;
    case OpKind::Store:
      text += "store";
      printView(op);
      fmt::format_to(out, ", {}", ref(op.operands().back()));
      return;
#define TKC_UNARY(kind, name, domain, summary) case OpKind::kind:
#define TKC_BINARY(kind, name, domain, summary) case OpKind::kind:
#include "ir/Ops.def"
    case OpKind::Cast:
    case OpKind::Select:
    case OpKind::Full:
    case OpKind::Iota:
    case OpKind::Begin:
    case OpKind::End:
    case OpKind::Index:
    case OpKind::Shift:
    case OpKind::ToScalar:
    case OpKind::AsCol:
    case OpKind::AsRow:
    case OpKind::Transpose:
    case OpKind::Dot:
    case OpKind::DotScaled:
    case OpKind::Philox:
    case OpKind::Yield:
      text += spelling(op.kind);
      printOperands(op);
      return;
    case OpKind::Parallel:
    case OpKind::For:
    case OpKind::If:
      assert(false && "an op with bodies is more than a line");
      return;
    }
  }
};

} // namespace

std::string print(const Type &type) {
  return typeText(type, [](Value *end) { return end->name.empty() ? "?" : end->name; });
}

std::string print(const Function &function, const PrintOptions &options) { return Printer(options).print(function); }

} // namespace tkc::ir
