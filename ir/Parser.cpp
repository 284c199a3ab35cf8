// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads what Printer.cpp writes. Parsing stops at a function's first error and goes on with the next `func`. Types are
// read, not worked out: the verifier says whether they are right.
#include "ir/TileIR.h"

#include "support/Diagnostics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <limits>
#include <unordered_map>

namespace tkc::ir {
namespace {

enum class Token : uint8_t { End, Word, ValueName, FuncName, Number, Doc, Punctuation, Unknown };

struct Lexeme {
  Token token = Token::End;
  std::string_view text; ///< names without their sigil; Doc without slashes
  SourceRange range;
};

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isWord(char c) { return isWordStart(c) || isDigit(c); }

class Lexer {
public:
  Lexer(std::string_view text, uint32_t buffer) : text(text), buffer(buffer) {}

  Lexeme next() {
    while (skipSpace() || skipComment()) {
    }
    size_t start = at;
    if (at == text.size())
      return make(Token::End, start, start);
    if (text.substr(at, 3) == "///")
      return docLine();
    char c = text[at];
    if (c == '%' || c == '@') {
      ++at;
      size_t name = at;
      while (at < text.size() && (isWord(text[at]) || (text[at] == '.' && text.substr(at, 2) != "..")))
        ++at;
      Token token = name == at ? Token::Unknown : c == '%' ? Token::ValueName : Token::FuncName;
      return make(token, start, name);
    }
    if (isWordStart(c)) {
      while (at < text.size() && isWord(text[at]))
        ++at;
      return make(Token::Word, start, start);
    }
    if (isDigit(c))
      return number(start);
    at += text.substr(at, 2) == ".." || text.substr(at, 2) == "->" ? 2 : 1;
    return make(std::string_view("{}[]()<>,:=-+*/%.").find(c) == std::string_view::npos ? Token::Unknown
                                                                                        : Token::Punctuation,
                start, start);
  }

private:
  std::string_view text;
  uint32_t buffer;
  size_t at = 0;

  bool skipSpace() {
    size_t start = at;
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r'))
      ++at;
    return at != start;
  }

  bool skipComment() {
    if (text.substr(at, 2) != "//" || text.substr(at, 3) == "///")
      return false;
    at = std::min(text.find('\n', at), text.size());
    return true;
  }

  Lexeme docLine() {
    size_t start = at;
    at = std::min(text.find('\n', at), text.size());
    size_t body = std::min(start + (text.substr(start + 3, 1) == " " ? 4 : 3), at);
    return make(Token::Doc, start, body);
  }

  /// `128x64` is a number, a word `x64` and no more: the parser takes it apart.
  Lexeme number(size_t start) {
    while (at < text.size() && isDigit(text[at]))
      ++at;
    if (at + 1 < text.size() && text[at] == '.' && isDigit(text[at + 1]))
      for (++at; at < text.size() && isDigit(text[at]);)
        ++at;
    if (at + 1 < text.size() && text[at] == 'e' &&
        (isDigit(text[at + 1]) || text[at + 1] == '-' || text[at + 1] == '+'))
      for (at += 2; at < text.size() && isDigit(text[at]);)
        ++at;
    return make(Token::Number, start, start);
  }

  Lexeme make(Token token, size_t start, size_t textStart) {
    auto loc = [&](size_t offset) { return SourceLoc{buffer, static_cast<uint32_t>(offset)}; };
    return {token, text.substr(textStart, at - textStart), {loc(start), loc(at)}};
  }
};

/// Every parse function returns whether it went well; where not, it has reported why.
class Parser {
public:
  Parser(uint32_t buffer, DiagnosticEngine &diagnostics)
      : diagnostics(diagnostics), lexer(diagnostics.sourceManager().text(buffer), buffer) {
    advance();
  }

  std::vector<std::unique_ptr<Function>> run() {
    std::vector<std::unique_ptr<Function>> functions;
    while (current.token != Token::End && !diagnostics.limitReached()) {
      if (auto function = parseFunction())
        functions.push_back(std::move(function));
      else
        recover();
    }
    return functions;
  }

private:
  DiagnosticEngine &diagnostics;
  Lexer lexer;
  Lexeme current;
  Function *function = nullptr;
  std::unordered_map<std::string_view, Value *> values;
  unsigned depth = 0;
  static constexpr unsigned maxDepth = 256;

  // ---- tokens

  void advance() { current = lexer.next(); }
  void recover() {
    while (current.token != Token::End && !(current.token == Token::Word && current.text == "func"))
      advance();
  }
  bool at(std::string_view text) const {
    return (current.token == Token::Punctuation || current.token == Token::Word) && current.text == text;
  }
  bool accept(std::string_view text) {
    if (!at(text))
      return false;
    advance();
    return true;
  }
  bool expected(std::string_view what) {
    std::string found =
        current.token == Token::End ? "the end of the file" : fmt::format("`{}`", escape(current.range));
    diagnostics.report(Diag::expected_token, current.range, what, found);
    return false;
  }
  std::string escape(SourceRange range) const {
    std::string shown;
    for (char c : diagnostics.sourceManager().text(range))
      shown += c >= ' ' && c <= '~' ? std::string(1, c) : std::string("?");
    return shown;
  }
  bool expect(std::string_view text) {
    if (accept(text))
      return true;
    return expected(fmt::format("`{}`", text));
  }
  bool expectWord(std::string &word, std::string_view what) {
    if (current.token != Token::Word)
      return expected(what);
    word = current.text;
    advance();
    return true;
  }
  bool expectInteger(int64_t &value) {
    bool negative = accept("-");
    if (current.token != Token::Number)
      return expected("an integer");
    const char *end = current.text.data() + current.text.size();
    auto [stop, error] = std::from_chars(current.text.data(), end, value);
    if (error != std::errc() || stop != end)
      return expected("an integer");
    value = negative ? -value : value;
    advance();
    return true;
  }
  bool expectElem(ElemType &elem) {
    std::optional<ElemType> parsed = current.token == Token::Word ? parseElemType(current.text) : std::nullopt;
    if (!parsed)
      return expected("an element type");
    elem = *parsed;
    advance();
    return true;
  }
  bool expectValue(Value *&value) {
    if (current.token != Token::ValueName)
      return expected("a value");
    auto found = values.find(current.text);
    if (found == values.end()) {
      diagnostics.report(Diag::ir_unknown_value, current.range, current.text);
      return false;
    }
    value = found->second;
    advance();
    return true;
  }
  bool expectNewName(Lexeme &name) {
    if (current.token != Token::ValueName)
      return expected("a value");
    name = current;
    advance();
    return true;
  }
  /// Gives `value` its name in the text. Names are unique in a function, so that inner values may keep theirs after
  /// the end of their body: the verifier says where one is used outside of it.
  bool define(const Lexeme &name, Value *value) {
    if (!values.emplace(name.text, value).second) {
      diagnostics.report(Diag::ir_redefined_value, name.range, name.text);
      return false;
    }
    value->name = name.text;
    return true;
  }

  // ---- functions and parameters

  std::unique_ptr<Function> parseFunction() {
    auto result = std::make_unique<Function>();
    function = result.get();
    values.clear();
    depth = 0;
    for (; current.token == Token::Doc; advance()) {
      result->doc += result->doc.empty() ? "" : "\n";
      result->doc += current.text;
    }
    result->loc = current.range.begin;
    if (!expect("func"))
      return nullptr;
    if (current.token != Token::FuncName)
      return expected("a function's name"), nullptr;
    result->kernel = current.text;
    advance();
    if (!parseTypeArgs() || !parseParams() || !parseConstants() || !parseMultiples() || !parseBody(result->body))
      return nullptr;
    return result;
  }

  bool parseTypeArgs() {
    if (!accept("<"))
      return true;
    do {
      std::string name;
      ElemType elem;
      if (!expectWord(name, "a type parameter") || !expect("=") || !expectElem(elem))
        return false;
      function->typeArgs.emplace_back(name, elem);
    } while (accept(","));
    return expect(">");
  }

  bool parseParams() {
    if (!expect("("))
      return false;
    if (accept(")"))
      return true;
    do {
      Param param;
      if (!parseParam(param))
        return false;
      function->params.push_back(std::move(param));
    } while (accept(","));
    return expect(")");
  }

  bool parseParam(Param &param) {
    param.loc = current.range.begin;
    if (accept("absent"))
      param.isOptional = true, param.isPresent = false;
    else if (accept("optional"))
      param.isOptional = true;
    param.isLocal = accept("new");
    if (param.isLocal || accept("out"))
      param.mode = ParamMode::Out;
    else if (accept("inout"))
      param.mode = ParamMode::InOut;
    if (!expectWord(param.name, "a parameter") || !expect(":") || !expectElem(param.elem))
      return false;
    if (accept(">")) {
      return expectInteger(param.above.emplace()) && (*param.above >= 0 || expected("a number that is not negative"));
    }
    if (!accept("["))
      return true;
    param.isTensor = true;
    if (accept("]"))
      return true;
    do {
      DimExpr dim;
      if (!parseDim(dim, 1))
        return false;
      param.dims.push_back(std::move(dim));
    } while (accept(","));
    return expect("]");
  }

  /// Precedence climbing: 1 for sums, 2 for products.
  bool parseDim(DimExpr &dim, int level) {
    if (++depth > maxDepth)
      return tooDeep();
    if (!parseDimAtom(dim))
      return false;
    while (true) {
      std::optional<std::pair<DimExpr::Kind, int>> op = dimOperator();
      if (!op || op->second < level)
        break;
      advance();
      DimExpr rhs;
      if (!parseDim(rhs, op->second + 1))
        return false;
      dim = DimExpr::binary(op->first, std::move(dim), std::move(rhs));
    }
    --depth;
    return true;
  }

  std::optional<std::pair<DimExpr::Kind, int>> dimOperator() const {
    if (at("+"))
      return {{DimExpr::Add, 1}};
    if (at("-"))
      return {{DimExpr::Sub, 1}};
    if (at("*"))
      return {{DimExpr::Mul, 2}};
    if (at("/"))
      return {{DimExpr::Div, 2}};
    if (current.token == Token::Unknown && current.text.empty() &&
        diagnostics.sourceManager().text(current.range) == "%")
      return {{DimExpr::Mod, 2}};
    return std::nullopt;
  }

  bool parseDimAtom(DimExpr &dim) {
    if (accept("("))
      return parseDim(dim, 1) && expect(")");
    if (current.token == Token::Word) {
      dim = DimExpr::named(std::string(current.text));
      advance();
      return true;
    }
    int64_t value = 0;
    if (!expectInteger(value))
      return false;
    dim = DimExpr::constant(value);
    return true;
  }

  bool parseConstants() {
    if (!accept("where"))
      return true;
    do {
      bool isTune = accept("tune");
      std::string name;
      int64_t value = 0;
      if (!expectWord(name, "a constant's name") || !expect("=") || !expectInteger(value))
        return false;
      function->constants.emplace_back(name, value);
      if (isTune)
        function->tunes.push_back(name);
    } while (accept(","));
    return true;
  }

  bool parseMultiples() {
    if (!accept("given"))
      return true;
    do {
      DimExpr remainder;
      if (!parseDim(remainder, 1))
        return false;
      if (remainder.kind != DimExpr::Mod)
        return expected("a remainder, `M % N == 0`");
      int64_t zero = 0;
      if (!expect("=") || !expect("=") || !expectInteger(zero))
        return false;
      if (zero != 0)
        return expected("`0`");
      function->multiples.emplace_back(*remainder.lhs, *remainder.rhs);
    } while (accept(","));
    return true;
  }

  // ---- types

  bool parseType(Type &type) {
    if (accept("index"))
      return type = Type::tileIndex(1), expect("<") && parseSize(type.rows) && expect(">");
    if (accept("vector"))
      return parseVectorType(type);
    if (accept("tile"))
      return parseTileType(type);
    ElemType elem;
    if (!expectElem(elem))
      return false;
    type = Type::scalar(elem);
    return true;
  }

  bool parseSize(int64_t &size) {
    SourceRange range = current.range;
    if (!expectInteger(size))
      return false;
    if (size >= 1 && size <= maxSize)
      return true;
    diagnostics.report(Diag::ir_bad_size, range, size, maxSize);
    return false;
  }
  static constexpr int64_t maxSize = 1 << 20;

  bool parseEdge(Value *&end) {
    end = nullptr;
    return accept("full") || expectValue(end);
  }

  bool parseVectorType(Type &type) {
    ElemType elem;
    type = Type::vector(ElemType::F32, 1);
    if (!expect("<") || !expectElem(elem) || !expect(",") || !parseSize(type.rows))
      return false;
    type.elem = elem;
    if (accept(",") && !parseEdge(type.rowEnd))
      return false;
    return expect(">");
  }

  bool parseTileType(Type &type) {
    type = Type::tile(ElemType::F32, 1, 1);
    if (!expect("<") || !expectElem(type.elem) || !expect(",") || !parseSize(type.rows) || !parseCols(type.cols))
      return false;
    if (accept(",") && (!parseEdge(type.rowEnd) || !expect(",") || !parseEdge(type.colEnd)))
      return false;
    return expect(">");
  }

  /// The rest of `128x64`: a word `x64`.
  bool parseCols(int64_t &cols) {
    std::string_view text = current.text;
    if (current.token != Token::Word || text.size() < 2 || text[0] != 'x')
      return expected("`x` and the number of columns");
    const char *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + 1, end, cols);
    if (error != std::errc() || stop != end || cols < 1 || cols > maxSize)
      return expected("`x` and the number of columns");
    advance();
    return true;
  }

  // ---- bodies and operations

  bool tooDeep() {
    diagnostics.report(Diag::ir_nested_too_deep, current.range, maxDepth);
    return false;
  }

  bool parseBody(Block &block) {
    if (++depth > maxDepth)
      return tooDeep();
    if (!expect("{"))
      return false;
    Builder builder(*function, &block);
    while (!accept("}"))
      if (!parseOp(builder))
        return false;
    --depth;
    return true;
  }

  bool parseOp(Builder &builder) {
    std::vector<Lexeme> resultNames;
    SourceRange start = current.range;
    if (current.token == Token::ValueName) {
      do {
        if (!expectNewName(resultNames.emplace_back()))
          return false;
      } while (accept(","));
      if (!expect("="))
        return false;
    }
    builder.setLoc(start.begin);
    Op *op = parseOpByName(builder);
    if (!op)
      return false;
    if (op->results.size() != resultNames.size()) {
      diagnostics.report(Diag::ir_result_count, start, spelling(op->kind), op->results.size(), resultNames.size());
      return false;
    }
    for (size_t i = 0; i < resultNames.size(); ++i)
      if (!define(resultNames[i], op->result(i)))
        return false;
    return true;
  }

  /// Null after an error.
  Op *parseOpByName(Builder &builder) {
    if (current.token != Token::Word)
      return expected("an operation"), nullptr;
    std::string_view name = current.text;
    SourceRange range = current.range;
    Op *op = nullptr;
    if (parseReduceName(name, builder, op))
      return op && parseOperandList(*op) && parseResultType(*op) ? op : nullptr;
    std::optional<OpKind> kind = parseOpKind(name);
    if (!kind || *kind == OpKind::Reduce) {
      diagnostics.report(Diag::ir_unknown_operation, range, name);
      return nullptr;
    }
    advance();
    op = builder.insert(*kind, {}, {});
    return parseRest(*op) ? op : nullptr;
  }

  /// `rowmax`, `colsum`, …
  bool parseReduceName(std::string_view name, Builder &builder, Op *&op) {
    std::string_view prefix = name.substr(0, 3);
    if (prefix != "row" && prefix != "col")
      return false;
    for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod, ReduceKind::ArgMax,
                            ReduceKind::ArgMin}) {
      if (name.substr(3) != spelling(kind))
        continue;
      advance();
      op = builder.insert(OpKind::Reduce, {}, {});
      op->reduce = kind;
      op->axis = prefix == "row" ? 1 : 0;
      return true;
    }
    return false;
  }

  bool parseRest(Op &op) {
    switch (op.kind) {
    case OpKind::Const:
      return parseConstant(op.constant) && parseResultType(op);
    case OpKind::Dim:
    case OpKind::Param:
      return expectWord(op.name, "a name") && parseResultType(op);
    case OpKind::Elements:
      return parseChoice(op.axis, "col", "row") && parseOperandList(op) && parseResultType(op);
    case OpKind::Cumsum:
      return parseChoice(op.axis, "down", "across") && parseOperandList(op) && parseResultType(op);
    case OpKind::ExternCall:
      if (current.token != Token::FuncName)
        return expected("a function's name");
      op.name = current.text;
      advance();
      return parseOperandList(op) && parseResultType(op);
    case OpKind::Load:
      return parseView(op) && parseElse(op) && parseResultType(op);
    case OpKind::Atomic:
      return parseAtomicKind(op.atomic) && parseView(op) && expect(",") && parseOperandList(op);
    case OpKind::Store:
      return parseView(op) && expect(",") && parseOperandList(op);
    case OpKind::Yield:
      return parseOperandList(op);
    case OpKind::Parallel:
    case OpKind::For:
      return parseLoop(op);
    case OpKind::If:
      return parseIf(op);
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
    case OpKind::Reduce:
    case OpKind::Transpose:
    case OpKind::Dot:
    case OpKind::DotScaled:
    case OpKind::Philox:
      return parseOperandList(op) && parseResultType(op);
    }
    return false;
  }

  bool parseResultType(Op &op) {
    Type type;
    if (!expect(":") || !parseType(type))
      return false;
    op.addResult(type);
    return true;
  }

  bool parseOperandList(Op &op) {
    if (current.token != Token::ValueName)
      return true;
    do {
      Value *value = nullptr;
      if (!expectValue(value))
        return false;
      op.addOperand(value);
    } while (accept(","));
    return true;
  }

  bool parseChoice(int &axis, std::string_view zero, std::string_view one) {
    if (accept(zero))
      axis = 0;
    else if (accept(one))
      axis = 1;
    else
      return expected(fmt::format("`{}` or `{}`", zero, one));
    return true;
  }

  bool parseConstant(double &value) {
    bool negative = accept("-");
    if (accept("inf")) {
      value = std::numeric_limits<double>::infinity();
    } else if (accept("nan")) {
      value = std::numeric_limits<double>::quiet_NaN();
    } else {
      if (current.token != Token::Number)
        return expected("a number");
      const char *end = current.text.data() + current.text.size();
      auto [stop, error] = std::from_chars(current.text.data(), end, value);
      if (error != std::errc() || stop != end)
        return expected("a number");
      advance();
    }
    value = negative ? -value : value;
    return true;
  }

  bool parseAtomicKind(AtomicKind &kind) {
    for (AtomicKind candidate : {AtomicKind::Add, AtomicKind::Max, AtomicKind::Min}) {
      if (!accept(spelling(candidate)))
        continue;
      kind = candidate;
      return true;
    }
    return expected("`add`, `max` or `min`");
  }

  bool parseElse(Op &op) {
    if (!accept("else"))
      return true;
    Value *otherwise = nullptr;
    if (!expectValue(otherwise))
      return false;
    op.hasElse = true;
    op.addOperand(otherwise);
    return true;
  }

  // ---- views

  bool parseView(Op &op) {
    SourceRange range = current.range;
    if (!expectWord(op.view.tensor, "a tensor"))
      return false;
    const Param *param = function->findParam(op.view.tensor);
    if (!param || !param->isTensor) {
      diagnostics.report(Diag::ir_unknown_tensor, range, op.view.tensor);
      return false;
    }
    if (!expect("["))
      return false;
    if (accept("]"))
      return true;
    do {
      if (!parseViewIndex(op, *param))
        return false;
    } while (accept(","));
    return expect("]");
  }

  bool parseViewIndex(Op &op, const Param &param) {
    size_t position = op.view.indices.size();
    ViewIndex index;
    if (at(":")) {
      std::optional<int64_t> size =
          position < param.dims.size()
              ? evaluate(
                    param.dims[position], [&](const std::string &name) { return function->findConstant(name); })
              : std::nullopt;
      if (!size) {
        diagnostics.report(Diag::ir_dim_not_constant, current.range, position, param.name);
        return false;
      }
      advance();
      index.kind = ViewIndex::All;
      index.hi = *size;
    } else if (current.token == Token::Number) {
      index.kind = ViewIndex::Span;
      if (!expectInteger(index.lo) || !expect(":") || !expectInteger(index.hi))
        return false;
    } else {
      bool isGather = accept("gather");
      Value *value = nullptr;
      if (!expectValue(value))
        return false;
      index.kind = isGather                              ? ViewIndex::Gather
                   : value->type.kind == Type::TileIndex ? ViewIndex::Tiled
                                                         : ViewIndex::Element;
      index.operand = static_cast<unsigned>(op.operands().size());
      op.addOperand(value);
      if (index.kind == ViewIndex::Tiled && accept("/") && !expectInteger(index.divisor))
        return false;
    }
    op.view.indices.push_back(index);
    return true;
  }

  // ---- control flow

  bool parseLoop(Op &op) {
    Lexeme induction;
    Value *lo = nullptr, *hi = nullptr;
    if (!expectNewName(induction) || !expect("in"))
      return false;
    if (accept("tiles")) {
      if (!expect("(") || !expectValue(lo) || !expect(",") || !expectValue(hi) || !expect(",") ||
          !parseSize(op.tileSize) || !expect(")"))
        return false;
    } else if (!expectValue(lo) || !expect("..") || !expectValue(hi)) {
      return false;
    }
    if (op.kind == OpKind::For && op.tileSize != 0 && accept("of")) {
      if (!expect("one"))
        return false;
      op.constant = 1;
    }
    op.byMasks = op.kind == OpKind::For && accept("by");
    if (op.byMasks && !expect("masks"))
      return false;
    op.addOperand(lo);
    op.addOperand(hi);
    Block &body = *op.addBody();
    Type type = op.tileSize == 0 ? Type::scalar(ElemType::I32) : Type::tileIndex(op.tileSize);
    if (!define(induction, body.addArg(type, {})) || !parseCarried(op, body))
      return false;
    return parseBody(body);
  }

  bool parseCarried(Op &op, Block &body) {
    if (op.kind != OpKind::For || !accept("carry"))
      return true;
    if (!expect("("))
      return false;
    do {
      Lexeme name;
      Value *initial = nullptr;
      Type type;
      if (!expectNewName(name) || !expect("=") || !expectValue(initial) || !expect(":") || !parseType(type))
        return false;
      op.addOperand(initial);
      op.addResult(type);
      if (!define(name, body.addArg(type, {})))
        return false;
    } while (accept(","));
    return expect(")");
  }

  bool parseIf(Op &op) {
    Value *condition = nullptr;
    if (!expectValue(condition))
      return false;
    op.addOperand(condition);
    if (accept("->")) {
      do {
        Type type;
        if (!parseType(type))
          return false;
        op.addResult(type);
      } while (accept(","));
    }
    Block &thenBody = *op.addBody();
    Block &elseBody = *op.addBody();
    return parseBody(thenBody) && (!accept("else") || parseBody(elseBody));
  }
};

} // namespace

std::vector<std::unique_ptr<Function>> parseTileIR(uint32_t buffer, DiagnosticEngine &diagnostics) {
  return Parser(buffer, diagnostics).run();
}

} // namespace tkc::ir
