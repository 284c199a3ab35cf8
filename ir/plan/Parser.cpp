// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens and declarations; statements are in StmtParser.cpp.
#include "ir/plan/ParserImpl.h"
#include "support/Diagnostics.h"

#include <charconv>
#include <limits>

namespace tkc::plan {

// ---- tokens --------------------------------------------------------------------------------------------------------

Parser::Parser(uint32_t buffer, DiagnosticEngine &diagnostics)
    : diagnostics(diagnostics), lexer(diagnostics.sourceManager().text(buffer), buffer) {
  current = lexer.next();
  ahead = lexer.next();
}

void Parser::advance() {
  if (failed)
    return;
  current = ahead;
  ahead = lexer.next();
}

void Parser::fail(std::string_view what) {
  if (failed)
    return;
  failed = true;
  std::string found = "the end of the file";
  if (current.token != Token::End) {
    found = "`";
    for (char c : current.text.substr(0, 40))
      found += c >= ' ' && c <= '~' ? c : '?';
    found += '`';
  }
  diagnostics.report(Diag::expected_token, current.range, what, found);
}

bool Parser::at(std::string_view text) const {
  return !failed && (current.token == Token::Punctuation || current.token == Token::Word) && current.text == text;
}

bool Parser::accept(std::string_view text) {
  if (!at(text))
    return false;
  advance();
  return true;
}

void Parser::expect(std::string_view text) {
  if (!accept(text))
    fail(fmt::format("`{}`", text));
}

std::string Parser::name(std::string_view what) {
  if (failed || current.token != Token::Word) {
    fail(what);
    return {};
  }
  std::string result(current.text);
  advance();
  return result;
}

int64_t Parser::integer(int64_t lo, int64_t hi) {
  bool negative = accept("-");
  int64_t value = 0;
  const char *begin = current.text.data(), *end = begin + current.text.size();
  if (!failed && current.token == Token::Number) {
    auto [stop, error] = std::from_chars(begin, end, value);
    value = negative ? -value : value;
    if (error == std::errc() && stop == end && value >= lo && value <= hi) {
      advance();
      return value;
    }
  }
  fail(fmt::format("an integer in {}..{}", lo, hi));
  return std::max<int64_t>(lo, 1);
}

double Parser::number() {
  double sign = accept("-") ? -1 : 1;
  if (accept("inf"))
    return sign * std::numeric_limits<double>::infinity();
  if (accept("nan"))
    return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  if (failed || current.token != Token::Number)
    fail("a number");
  else
    std::from_chars(current.text.data(), current.text.data() + current.text.size(), value);
  advance();
  return sign * value;
}

std::string Parser::string() {
  if (failed || current.token != Token::String) {
    fail("a string");
    return {};
  }
  std::string result;
  std::string_view quoted = current.text.substr(1, current.text.size() - 2);
  for (size_t i = 0; i < quoted.size(); ++i) {
    bool escaped = quoted[i] == '\\' && i + 1 < quoted.size();
    result += !escaped ? quoted[i] : quoted[i + 1] == 'n' ? '\n' : quoted[i + 1];
    i += escaped;
  }
  advance();
  return result;
}

ElemType Parser::elem() {
  std::optional<ElemType> parsed = !failed && current.token == Token::Word ? parseElemType(current.text) : std::nullopt;
  if (!parsed)
    fail("an element type");
  advance();
  return parsed.value_or(ElemType::F32);
}

// ---- declarations --------------------------------------------------------------------------------------------------

std::vector<std::unique_ptr<Plan>> Parser::run() {
  std::vector<std::unique_ptr<Plan>> plans;
  while (current.token != Token::End && !diagnostics.limitReached()) {
    failed = false;
    depth = 0;
    std::unique_ptr<Plan> parsed = plan();
    if (!failed) {
      plans.push_back(std::move(parsed));
      continue;
    }
    failed = false;
    do
      advance();
    while (current.token != Token::End && !(at("plan") && ahead.text == "@"));
  }
  return plans;
}

std::unique_ptr<Plan> Parser::plan() {
  auto result = std::make_unique<Plan>();
  result->loc = current.range.begin;
  expect("plan");
  expect("@");
  result->kernel = name("the kernel's name");
  expect("for");
  result->arch = name("an architecture");
  expect("{");
  fixedValues(*result);
  expect("(");
  while (!failed && !at(")")) {
    result->params.push_back(param());
    if (!accept(","))
      break;
  }
  expect(")");
  expect("{");
  while (!failed && !at("}"))
    item(*result);
  expect("}");
  return result;
}

/// `T = bf16, BM = 128}`
void Parser::fixedValues(Plan &plan) {
  while (!failed && !at("}")) {
    std::string fixed = name("a constant's name");
    expect("=");
    if (current.token == Token::Word)
      plan.typeArgs.emplace_back(fixed, elem());
    else
      plan.constants.emplace_back(fixed, integer(std::numeric_limits<int64_t>::min() + 1, INT64_MAX));
    if (!accept(","))
      break;
  }
  expect("}");
}

ir::Param Parser::param() {
  ir::Param result;
  result.loc = current.range.begin;
  bool optional = at("optional") && ahead.text != ":", absent = at("absent") && ahead.text != ":";
  if (optional || absent)
    advance();
  result.isOptional = optional || absent;
  result.isPresent = !absent;
  if (at("new") && ahead.text != ":") {
    advance();
    result.mode = ir::ParamMode::Out;
    result.isLocal = true;
  }
  for (ir::ParamMode mode : {ir::ParamMode::Out, ir::ParamMode::InOut})
    if (ahead.text != ":" && accept(mode == ir::ParamMode::Out ? "out" : "inout"))
      result.mode = mode;
  result.name = name("a parameter's name");
  expect(":");
  result.elem = elem();
  if (accept(">"))
    result.above = integer(0, INT64_MAX);
  if (!accept("["))
    return result;
  result.isTensor = true;
  while (!failed && !at("]")) {
    result.dims.push_back(dim(0));
    if (!accept(","))
      break;
  }
  expect("]");
  return result;
}

/// Operators of at least `precedence` (0: + -, 1: * / %), to the left.
ir::DimExpr Parser::dim(int precedence) {
  if (++depth > maxDepth)
    fail(fmt::format("at most {} levels of nesting", maxDepth));
  ir::DimExpr lhs;
  if (failed)
    return lhs;
  if (precedence < 2) {
    using Kind = ir::DimExpr::Kind;
    constexpr std::pair<std::string_view, Kind> operators[] = {
        {"+", Kind::Add}, {"-", Kind::Sub}, {"*", Kind::Mul}, {"/", Kind::Div}, {"%", Kind::Mod}};
    lhs = dim(precedence + 1);
    bool more = true;
    for (int terms = 1; more && !failed; ++terms) {
      more = false;
      if (terms > maxDepth)
        fail(fmt::format("at most {} terms", maxDepth));
      for (auto [spelled, kind] : operators)
        if ((kind >= Kind::Mul) == (precedence == 1) && accept(spelled)) {
          lhs = ir::DimExpr::binary(kind, std::move(lhs), dim(precedence + 1));
          more = true;
        }
    }
  } else if (accept("(")) {
    lhs = dim(0);
    expect(")");
  } else if (current.token == Token::Word) {
    lhs = ir::DimExpr::named(name("a dim"));
  } else {
    lhs = ir::DimExpr::constant(integer(std::numeric_limits<int64_t>::min() + 1, INT64_MAX));
  }
  --depth;
  return lhs;
}

/// One line of a plan.
void Parser::item(Plan &plan) {
  if (accept("doc")) {
    plan.doc = string();
  } else if (accept("decision")) {
    std::string what = string();
    plan.decisions.emplace_back(what, string());
  } else if (accept("given")) {
    const ir::DimExpr remainder = dim(0);
    if (remainder.kind != ir::DimExpr::Mod)
      return fail("a remainder, `M % N == 0`");
    plan.multiples.emplace_back(*remainder.lhs, *remainder.rhs);
    expect("=");
    expect("=");
    integer(0, 0);
  } else if (accept("threads")) {
    plan.threads = smallInteger();
    expect("cluster");
    plan.cluster = smallInteger();
    expect("shared");
    plan.sharedBytes = integer(0, INT64_MAX);
    if (accept("span"))
      plan.sharedSpan = integer(128, 256);
    plan.aligned = accept("aligned");
  } else if (accept("prelude")) {
    expect("{");
    plan.prelude = body(&plan.preludeVars, nullptr, nullptr);
  } else if (at("grid")) {
    plan.grid = grid();
  } else if (accept("bounds")) {
    std::string axis = name("an axis of the grid");
    expect("{");
    Body bounds = body(nullptr, nullptr, nullptr);
    for (GridAxis &each : plan.grid.axes)
      if (each.name == axis)
        each.bounds = std::move(bounds);
  } else if (at("map")) {
    plan.maps.push_back(map());
  } else if (at("buffer")) {
    plan.buffers.push_back(buffer());
  } else if (at("tensor")) {
    tensor(plan);
  } else if (at("barrier")) {
    plan.barriers.push_back(barrier());
  } else if (at("role")) {
    plan.roles.push_back(role());
  } else {
    fail("a part of a plan");
  }
}

void Parser::range(std::string &lo, std::string &hi, int64_t &tileSize) {
  if (at("tiles") && ahead.text == "(") {
    expect("tiles");
    expect("(");
    lo = name("a scalar");
    expect(",");
    hi = name("a scalar");
    expect(",");
    tileSize = integer(1, 1 << 24);
    expect(")");
    return;
  }
  lo = name("a scalar");
  expect("..");
  hi = name("a scalar");
}

GridAxis Parser::gridAxis() {
  GridAxis axis;
  axis.name = name("an axis");
  expect("in");
  range(axis.lo, axis.hi, axis.tileSize);
  if (accept("step"))
    axis.step = integer(1, 1 << 24);
  return axis;
}

Grid Parser::grid() {
  Grid grid;
  expect("grid");
  grid.counted = accept("counted");
  grid.dynamic = grid.counted || accept("claimed");
  grid.persistent = grid.dynamic || accept("persistent");
  if (accept("else")) {
    grid.uncounted = at("pairs") ? Uncounted::Pairs : Uncounted::Turns;
    expect(grid.uncounted == Uncounted::Pairs ? "pairs" : "turns");
  }
  if (accept("raster"))
    grid.rasterGroup = smallInteger();
  if (accept("over"))
    grid.rasterAxes = smallInteger();
  if (accept("chiplets"))
    grid.chiplets = smallInteger();
  grid.ragged = accept("ragged");
  if (accept("clusters")) {
    expect("along");
    grid.clusterAxis = name("an axis");
    if (accept("across")) {
      grid.acrossAxis = name("an axis");
      expect("by");
      grid.across = smallInteger();
    }
  }
  expect("{");
  while (!failed && !at("}")) {
    grid.axes.push_back(gridAxis());
    if (!accept(","))
      break;
  }
  expect("}");
  if (accept("reversed"))
    do
      grid.reversed.push_back(name("an axis"));
    while (accept(","));
  return grid;
}

Swizzle Parser::swizzle() {
  expect("swizzle");
  if (accept("none"))
    return Swizzle::None;
  for (Swizzle each : {Swizzle::B32, Swizzle::B64, Swizzle::B128})
    if (!failed && spelling(each) == std::string(current.text) + std::string(ahead.text)) {
      advance();
      advance();
      return each;
    }
  fail("a swizzle");
  return Swizzle::None;
}

TensorMap Parser::map() {
  TensorMap map;
  expect("map");
  map.name = name("a map's name");
  expect("=");
  map.tensor = name("a tensor");
  expect("box");
  shape(map.boxRows, map.boxCols);
  expect("dims");
  map.rowDim = static_cast<int>(integer(-1, 15));
  expect(",");
  map.colDim = static_cast<int>(integer(0, 15));
  map.swizzle = swizzle();
  if (accept("fetch")) {
    map.fetched = static_cast<int>(integer(128, 256));
    if (map.fetched != 128 && map.fetched != 256)
      fail("128 or 256");
  }
  if (accept("tiled")) {
    expect("by");
    map.tiledBy = name("an axis");
  }
  expect("->");
  map.buffer = name("a buffer");
  return map;
}

Buffer Parser::buffer() {
  Buffer buffer;
  buffer.loc = current.range.begin;
  expect("buffer");
  buffer.name = name("a buffer's name");
  expect(":");
  buffer.elem = elem();
  expect("[");
  shape(buffer.rows, buffer.cols);
  expect("]");
  buffer.swizzle = swizzle();
  if (accept("grain"))
    buffer.grain = smallInteger();
  expect("stages");
  buffer.stages = smallInteger();
  if (accept("instances"))
    buffer.instances = static_cast<int>(integer(1, 64));
  expect("offset");
  buffer.offset = integer(0, 1 << 30);
  if (accept("alias"))
    buffer.aliasOf = name("a buffer");
  return buffer;
}

/// `tensor columns 512`, or a buffer of tensor memory.
void Parser::tensor(Plan &plan) {
  const SourceLoc loc = current.range.begin;
  expect("tensor");
  if (at("columns") && ahead.text != ":") {
    expect("columns");
    plan.tensorColumns = smallInteger();
    return;
  }
  TensorBuffer tensor;
  tensor.loc = loc;
  tensor.swizzle = Swizzle::None;
  tensor.name = name("the name of a buffer of tensor memory");
  expect(":");
  tensor.elem = elem();
  expect("[");
  shape(tensor.rows, tensor.cols);
  expect("]");
  expect("slab");
  tensor.instructionRows = static_cast<int>(integer(1, 1 << 16));
  if (accept("stride"))
    tensor.stride = integer(1, 1 << 16);
  expect("stages");
  tensor.stages = smallInteger();
  expect("columns");
  tensor.offset = integer(0, 1 << 16);
  if (accept("alias"))
    tensor.aliasOf = name("a buffer of tensor memory");
  plan.tensors.push_back(std::move(tensor));
}

Barrier Parser::barrier() {
  Barrier barrier;
  expect("barrier");
  barrier.name = name("a barrier's name");
  expect("stages");
  barrier.stages = smallInteger();
  expect("arrivals");
  barrier.arrivals = smallInteger();
  if (accept("instances"))
    barrier.instances = static_cast<int>(integer(1, 64));
  return barrier;
}

Role Parser::role() {
  Role role;
  expect("role");
  role.name = name("a role's name");
  expect("warps");
  role.firstWarp = static_cast<int>(integer(0, 64));
  expect("..");
  int end = static_cast<int>(integer(role.firstWarp, 64));
  if (accept("of"))
    role.lanes = static_cast<int>(integer(1, 64));
  expect("instances");
  role.instances = static_cast<int>(integer(1, 64));
  role.serial = accept("serial");
  role.warps = (end - role.firstWarp) / role.processes();
  if (role.totalWarps() != end - role.firstWarp)
    fail(fmt::format("warps for {} instances of equal size", role.instances));
  expect("registers");
  role.registers = smallInteger();
  role.inFirst = accept("in_first");
  if (accept("head_start"))
    role.headStart = smallInteger();
  if (accept("led")) {
    expect("by");
    Stmt first;
    view(first);
    role.alignedBy = first.view;
    role.alignedByOperands = first.operands;
  }
  expect("{");
  role.body = body(&role.vars, &role, nullptr);
  return role;
}

Var Parser::var() {
  Var var;
  expect("var");
  var.name = name("a variable");
  expect(":");
  var.type = varType();
  return var;
}

Layout Parser::layout() {
  Layout layout;
  if (accept("warp_mma")) {
    layout.kind = Layout::WarpMma;
    expect("(");
    layout.threads = static_cast<int>(integer(32, 1024));
    expect(")");
    return layout;
  }
  if (accept("tensor")) {
    layout.kind = Layout::Tensor;
    return layout;
  }
  if (accept("rows"))
    layout.kind = Layout::Rows;
  else if (accept("mfma"))
    layout.kind = Layout::Mfma;
  else if (accept("operand"))
    layout.kind = Layout::Operand;
  else
    expect("mma");
  if (layout.kind == Layout::Rows || layout.kind == Layout::Mfma || at("(")) {
    expect("(");
    layout.threads = static_cast<int>(integer(1, 4096));
    expect(",");
    layout.threadsPerRow = static_cast<int>(integer(1, 4096));
    expect(",");
    layout.vec = static_cast<int>(integer(1, 4096));
    if (layout.kind == Layout::Rows && accept(","))
      layout.aligned = accept("led");
    expect(")");
  }
  return layout;
}

Division Parser::division() {
  for (Division each : {Division::Whole, Division::Rows, Division::Cols})
    if (accept(spelling(each)))
      return each;
  fail("`whole`, `rows` or `cols`");
  return Division::Whole;
}

VarType Parser::varType() {
  VarType type;
  if (accept("index") || at("ring")) {
    type.kind = accept("ring") ? VarType::Cursor : VarType::TileIndex;
    expect("<");
    type.rows = integer(1, 1 << 24);
    if (type.kind == VarType::TileIndex)
      type.elem = ElemType::I32;
    expect(">");
    return type;
  }
  if (accept("share")) {
    type.kind = VarType::Share;
    expect("<");
    type.elem = elem();
    expect(",");
    shape(type.rows, type.cols);
    expect(",");
    type.layout = layout();
    expect(">");
    return type;
  }
  bool fragment = accept("fragment"), column = !fragment && accept("column"),
       row = !fragment && !column && accept("row");
  if (!fragment && !column && !row) {
    type.elem = elem();
    return type;
  }
  type.kind = fragment ? VarType::Fragment : column ? VarType::Column : VarType::Row;
  expect("<");
  type.elem = elem();
  expect(",");
  if (fragment)
    shape(type.rows, type.cols);
  else
    (column ? type.rows : type.cols) = integer(1, 1 << 24);
  expect(",");
  type.layout = layout();
  expect(",");
  type.division = division();
  expect(">");
  return type;
}

/// `128x64`: a number and a word.
void Parser::shape(int64_t &rows, int64_t &cols) {
  constexpr int64_t most = 1 << 16;
  rows = integer(1, most);
  const char *begin = current.text.data(), *end = begin + current.text.size();
  if (!failed && current.token == Token::Word && *begin == 'x') {
    auto [stop, error] = std::from_chars(begin + 1, end, cols);
    if (error == std::errc() && stop == end && cols >= 1 && cols <= most)
      return advance();
  }
  fail("a shape, as 128x64");
}

std::vector<std::unique_ptr<Plan>> parsePlan(uint32_t buffer, DiagnosticEngine &diagnostics) {
  return Parser(buffer, diagnostics).run();
}

} // namespace tkc::plan
