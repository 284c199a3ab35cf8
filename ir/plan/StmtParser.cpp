// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements of the plan's text form.
#include "ir/plan/ParserImpl.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <array>

namespace tkc::plan {
namespace {

/// The kinds without a struct that start with their own spelling; the others are assignments.
constexpr StmtKind effects[] = {StmtKind::Store,   StmtKind::Atomic,      StmtKind::StoreShared, StmtKind::CopyIn,
                                StmtKind::CopyOut, StmtKind::Product,     StmtKind::For,         StmtKind::If,
                                StmtKind::Ahead,   StmtKind::StoreTensor, StmtKind::ScaleTensor, StmtKind::Place,
                                StmtKind::Claim,   StmtKind::NextTile,    StmtKind::Each};

/// The values of an enumeration that statements name.
template <class T> constexpr auto allOf = nullptr;
template <>
constexpr std::array allOf<Activity> = {Activity::Compute, Activity::Product, Activity::Copy, Activity::Wait};

} // namespace

/// Reads the pieces of a statement's text.
struct PieceParser {
  Parser &in;

  /// Whether the words stand there, which are then read, and not an assignment to a variable of that name.
  bool accept(std::string_view words) const {
    const size_t end = std::min(words.find(' '), words.size());
    if (!in.at(words.substr(0, end)) || in.ahead.text == "=" ||
        (end < words.size() && in.ahead.text != words.substr(end + 1)))
      return false;
    expect(words);
    return true;
  }
  void expect(std::string_view words) const {
    for (size_t end = 0; !words.empty(); words.remove_prefix(std::min(end + 1, words.size()))) {
      end = std::min(words.find(' '), words.size());
      in.expect(words.substr(0, end));
    }
  }

  template <class S> void read(S &, const Word &piece) const { expect(piece.words); }
  template <class S> void read(S &stmt, const Flag<S> &piece) const { stmt.*piece.field = accept(piece.words); }
  template <class S> void read(S &stmt, const Either<S> &piece) const {
    stmt.*piece.field = accept(piece.ifTrue);
    if (!(stmt.*piece.field))
      expect(piece.ifFalse);
  }
  template <class S, class T> void read(S &stmt, const Number<S, T> &piece) const {
    stmt.*piece.field = static_cast<T>(in.integer(0, sizeof(T) > sizeof(int) ? 1 << 30 : 1 << 20));
  }
  template <class S, class T> void read(S &stmt, const Choice<S, T> &piece) const {
    for (const T value : allOf<T>)
      if (accept(spelling(value))) {
        stmt.*piece.field = value;
        return;
      }
    std::string names;
    for (const T value : allOf<T>)
      names += fmt::format("{}`{}`", names.empty() ? "" : value == allOf<T>.back() ? " or " : ", ", spelling(value));
    in.fail(names);
  }
  template <class S, class T> void read(S &stmt, const Cursor<S, T> &piece) const {
    stmt.*piece.field = in.name("a cursor");
  }
  template <class S, class T> void read(S &stmt, const Label<S, T> &piece) const {
    stmt.*piece.field = in.name("what it is about");
  }
  template <class S, class T> void read(S &stmt, const BarrierPiece<S, T> &piece) const {
    stmt.*piece.field = in.barrierRef();
  }
  template <class S, class Piece> void read(S &stmt, const Option<Piece> &option) const {
    if (accept(option.words))
      read(stmt, option.piece);
  }

  /// The statement of this kind that stands there, or nothing.
  template <IsStatement S> bool statement(Stmt &stmt) const {
    if (!in.accept(S::keyword))
      return false;
    S fields;
    forEachPiece<S>([&](const auto &piece) { read(fields, piece); });
    stmt.kind = S::kind;
    stmt.fields = std::move(fields);
    return true;
  }
  template <class... S> bool oneOf(Stmt &stmt, const std::variant<std::monostate, S...> *) const {
    return (statement<S>(stmt) || ...);
  }
};

Body Parser::body(std::vector<Var> *vars, Role *role, Stmt *loop) {
  Body result;
  if (++depth > maxDepth)
    fail(fmt::format("at most {} levels of nesting", maxDepth));
  auto part = [&](std::string_view name, Body &into) {
    if (!at(name) || ahead.text != "{")
      return false;
    expect(name);
    expect("{");
    into = body(nullptr, nullptr, nullptr);
    return true;
  };
  while (vars && at("var") && ahead.text != "=")
    vars->push_back(var());
  while (!failed && !at("}")) {
    if (role && part("finish", role->finish))
      continue;
    if (loop && (part("prologue", loop->prologue) || part("epilogue", loop->epilogue)))
      continue;
    result.push_back(stmt());
  }
  expect("}");
  --depth;
  return result;
}

Stmt Parser::stmt() {
  Stmt stmt;
  stmt.loc = current.range.begin;
  bool isName = ahead.text == "=";
  if (!isName && accept("in_first"))
    stmt.inFirst = true, isName = ahead.text == "=";
  if (!isName && accept("one"))
    stmt.one = true, isName = ahead.text == "=";
  if (!isName && accept("first"))
    stmt.firstInstance = true;
  if (isName) {
    assignment(stmt);
    return stmt;
  }
  if (PieceParser{*this}.oneOf(stmt, &stmt.fields))
    return stmt;
  for (StmtKind kind : effects)
    if (accept(spelling(kind))) {
      stmt.kind = kind;
      effect(stmt);
      return stmt;
    }
  fail("a statement");
  return stmt;
}

void Parser::assignment(Stmt &stmt) {
  stmt.dest = name("a variable");
  expect("=");
  if (accept("move")) {
    stmt.kind = StmtKind::Move;
    stmt.operands.push_back(name("a variable"));
  } else if (accept("spread")) {
    stmt.kind = StmtKind::Spread;
    stmt.operands.push_back(name("a variable"));
    if (accept("within")) {
      stmt.rowHi = integer(0, 1 << 24);
      expect("by");
      stmt.colHi = integer(0, 1 << 24);
    }
  } else if (accept("load")) {
    stmt.kind = StmtKind::Load;
    view(stmt);
    otherwise(stmt);
    stmt.lastInCache = accept("last_in_cache");
    stmt.own = accept("own");
  } else if (accept("fetch")) {
    stmt.kind = StmtKind::Fetch;
    view(stmt);
    expect("for");
    stmt.ref = bufferRef();
    otherwise(stmt);
  } else if (accept("load_shared")) {
    stmt.kind = StmtKind::LoadShared;
    stmt.ref = bufferRef();
    if (accept("share"))
      stmt.share = division();
    if (accept("of")) {
      expect("block");
      stmt.fromBlock = static_cast<int>(number());
      expect("on");
    }
  } else if (accept("look_up")) {
    stmt.kind = StmtKind::LookUp;
    stmt.ref = bufferRef();
    expect("by");
    stmt.operands.push_back(name("a variable"));
    expect("below");
    stmt.count = smallInteger();
    otherwise(stmt);
  } else if (accept("load_tensor")) {
    stmt.kind = StmtKind::LoadTensor;
    stmt.ref = bufferRef();
  } else {
    compute(stmt);
  }
}

void Parser::compute(Stmt &stmt) {
  std::optional<ir::OpKind> op = !failed && current.token == Token::Word ? ir::parseOpKind(current.text) : std::nullopt;
  if (!op)
    return fail("an operation");
  stmt.kind = StmtKind::Compute;
  stmt.op = *op;
  advance();
  if (stmt.op == ir::OpKind::Const)
    stmt.constant = number();
  if (stmt.op == ir::OpKind::Dim || stmt.op == ir::OpKind::Param || stmt.op == ir::OpKind::ExternCall) {
    expect("@");
    stmt.name = name("a name");
  }
  if (stmt.op == ir::OpKind::Reduce) {
    using ir::ReduceKind;
    bool found = false;
    for (ReduceKind kind :
         {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod, ReduceKind::ArgMax, ReduceKind::ArgMin})
      if (!found && accept(ir::spelling(kind)))
        stmt.reduce = kind, found = true;
    if (!found)
      fail("a kind of reduction");
  }
  if (stmt.op == ir::OpKind::Reduce || stmt.op == ir::OpKind::Cumsum || stmt.op == ir::OpKind::Elements) {
    expect("axis");
    stmt.axis = static_cast<int>(integer(0, 1));
    stmt.byThreads = stmt.op == ir::OpKind::Reduce && accept("in");
    if (stmt.byThreads)
      expect("parts");
  }
  columns(stmt);
  if (accept("(")) {
    do
      stmt.operands.push_back(name("a variable"));
    while (accept(","));
    expect(")");
  }
  if (stmt.op == ir::OpKind::Div || stmt.op == ir::OpKind::Mod)
    stmt.quotient = accept("natural")    ? ir::Quotient::Natural
                    : accept("positive") ? ir::Quotient::Positive
                                         : ir::Quotient::Any;
  if ((stmt.op == ir::OpKind::Begin || stmt.op == ir::OpKind::End) && accept("rows"))
    stmt.tileSize = smallInteger();
  if (accept("fma")) {
    stmt.count = smallInteger();
    expect("of");
    integer(16, 16);
    expect("degree");
    stmt.degree = smallInteger();
  }
  if (accept("scratch")) {
    stmt.ref = bufferRef();
    expect("sync");
    stmt.meets.id = smallInteger();
    expect("threads");
    stmt.meets.threads = smallInteger();
  }
}

/// What follows the keyword of stmt.kind.
void Parser::effect(Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::Compute:
  case StmtKind::Move:
  case StmtKind::Spread:
  case StmtKind::Load:
  case StmtKind::LoadShared:
  case StmtKind::LookUp:
  case StmtKind::LoadTensor:
  case StmtKind::Fetch:
  case StmtKind::Sync:
  case StmtKind::Stagger:
  case StmtKind::ClusterSync:
  case StmtKind::FenceProxy:
  case StmtKind::TensorFence:
  case StmtKind::ProductFence:
  case StmtKind::BulkCommit:
  case StmtKind::BulkWait:
  case StmtKind::CopyCommit:
  case StmtKind::CopyWait:
  case StmtKind::ProductCommit:
  case StmtKind::ProductWait:
  case StmtKind::Expect:
  case StmtKind::Wait:
  case StmtKind::Arrive:
  case StmtKind::Advance:
  case StmtKind::WaitForPrevious:
  case StmtKind::Record:
    return fail("a statement"); // assignments, and what has a struct
  case StmtKind::StoreTensor:
  case StmtKind::ScaleTensor:
    stmt.ref = bufferRef();
    expect(stmt.kind == StmtKind::StoreTensor ? "=" : "by");
    stmt.operands.push_back(name("a variable"));
    return;
  case StmtKind::Atomic: {
    bool found = false;
    for (ir::AtomicKind kind : {ir::AtomicKind::Add, ir::AtomicKind::Max, ir::AtomicKind::Min})
      if (!found && accept(ir::spelling(kind)))
        stmt.atomic = kind, found = true;
    if (!found)
      return fail("`add`, `max` or `min`");
    [[fallthrough]];
  }
  case StmtKind::Store:
    view(stmt);
    expect("=");
    stmt.operands.push_back(name("a variable"));
    return;
  case StmtKind::StoreShared:
  case StmtKind::Place:
  case StmtKind::CopyIn:
  case StmtKind::CopyOut:
    return shared(stmt);
  case StmtKind::Product:
    return product(stmt);
  case StmtKind::Claim:
    stmt.ref = bufferRef();
    expect("completes");
    stmt.completes = barrierRef();
    return inCluster(stmt);
  case StmtKind::NextTile:
    stmt.ref = bufferRef();
    return;
  case StmtKind::For:
    return loop(stmt);
  case StmtKind::If:
    return branch(stmt);
  case StmtKind::Ahead:
    return tileAhead(stmt);
  case StmtKind::Each:
    expect("instance");
    expect("{");
    stmt.body = body(nullptr, nullptr, nullptr);
    return;
  }
}

void Parser::inCluster(Stmt &stmt) {
  stmt.inCluster = accept("in");
  if (stmt.inCluster)
    expect("cluster");
}

void Parser::ofFirst(Stmt &stmt) {
  stmt.toFirst = accept("of");
  if (stmt.toFirst)
    expect("first");
}

void Parser::shared(Stmt &stmt) {
  if (stmt.kind == StmtKind::CopyOut) {
    columns(stmt);
    mapAndView(stmt);
    stmt.reducing = accept("+=");
    if (!stmt.reducing)
      expect("<-");
    stmt.ref = bufferRef();
    return;
  }
  stmt.ref = bufferRef();
  if (stmt.kind == StmtKind::StoreShared || stmt.kind == StmtKind::Place) {
    expect("=");
    columns(stmt);
    stmt.operands.push_back(name("a variable"));
    return;
  }
  expect("<-");
  mapAndView(stmt);
  otherwise(stmt);
  if (stmt.map.empty() && accept("loads"))
    stmt.loads = smallInteger();
  if (stmt.map.empty() && (!at("completes") || ahead.token != Token::Word))
    return;
  expect("completes");
  stmt.completes = barrierRef();
  ofFirst(stmt);
  if (!accept(stmt.toFirst ? "share" : "multicast"))
    return;
  stmt.multicast = division();
  if (stmt.multicast == Division::Whole)
    fail("`rows` or `cols`");
  if (!stmt.toFirst && accept("along"))
    stmt.along = name("an axis");
}

void Parser::product(Stmt &stmt) {
  if (ahead.text == "[")
    stmt.destRef = bufferRef();
  else
    stmt.dest = name("an accumulator");
  stmt.accumulate = accept("+=");
  if (!stmt.accumulate)
    expect("=");
  stmt.aShared = ahead.text == "[";
  if (stmt.aShared)
    stmt.aRef = bufferRef();
  else
    stmt.operands.push_back(name("an operand"));
  expect("*");
  stmt.ref = bufferRef();
  if (accept("scales")) {
    stmt.scales.push_back(bufferRef());
    expect(",");
    stmt.scales.push_back(bufferRef());
    if (accept("through"))
      stmt.scales.push_back(bufferRef());
  }
  stmt.byThreads = at("by") && ahead.text == "threads";
  stmt.byWarps = at("by") && ahead.text == "warps";
  stmt.byPair = at("by") && ahead.text == "pair";
  if (stmt.isSynchronous() || stmt.byPair) {
    expect("by");
    expect(stmt.byThreads ? "threads" : stmt.byWarps ? "warps" : "pair");
  }
  if (stmt.byWarps && accept("steps"))
    stmt.count = smallInteger();
  stmt.interleaved = stmt.byWarps && accept("interleaved");
  if (stmt.byWarps && accept("turns")) {
    stmt.turns = smallInteger();
    expect("threads");
    stmt.meets.threads = smallInteger();
  }
}

void Parser::loop(Stmt &stmt) {
  stmt.dest = name("a variable");
  expect("in");
  stmt.operands.resize(2);
  range(stmt.operands[0], stmt.operands[1], stmt.tileSize);
  if (accept("after"))
    stmt.operands.push_back(name("where the loop before began"));
  if (accept("turns"))
    stmt.turns = smallInteger();
  expect("{");
  stmt.body = body(nullptr, nullptr, &stmt);
  if (!accept("else"))
    return;
  expect("{");
  stmt.orElse = body(nullptr, nullptr, nullptr);
}

void Parser::tileAhead(Stmt &stmt) {
  stmt.dest = name("a variable");
  expect("=");
  std::string current;
  if (this->current.token == Token::Word) {
    current = name("a loop's variable");
    expect("+");
  }
  stmt.count = smallInteger();
  expect("of");
  stmt.operands.resize(2);
  range(stmt.operands[0], stmt.operands[1], stmt.tileSize);
  if (!current.empty())
    stmt.operands.push_back(current);
  stmt.always = accept("always");
  expect("{");
  stmt.body = body(nullptr, nullptr, nullptr);
  if (!accept("else"))
    return;
  expect("{");
  stmt.orElse = body(nullptr, nullptr, nullptr);
}

void Parser::branch(Stmt &stmt) {
  if (at("map") && ahead.token == Token::Word) {
    expect("map");
    stmt.map = name("a map");
    if (accept("and"))
      stmt.operands.push_back(name("a condition"));
  } else if (at("instance") && ahead.token == Token::Word) {
    expect("instance");
    stmt.turn = name("a cursor");
  } else {
    stmt.operands.push_back(name("a condition"));
  }
  expect("{");
  stmt.body = body(nullptr, nullptr, nullptr);
  if (!accept("else"))
    return;
  expect("{");
  stmt.orElse = body(nullptr, nullptr, nullptr);
}

void Parser::view(Stmt &stmt) {
  stmt.view.tensor = name("a tensor");
  expect("[");
  while (!failed && !at("]")) {
    stmt.view.indices.push_back(viewIndex(stmt));
    if (!accept(","))
      break;
  }
  expect("]");
}

ir::ViewIndex Parser::viewIndex(Stmt &stmt) {
  constexpr int64_t maxDim = int64_t{1} << 31;
  ir::ViewIndex index;
  if (accept(":")) {
    index.kind = ir::ViewIndex::All;
    index.hi = integer(0, maxDim);
    return index;
  }
  if (current.token == Token::Number || at("-")) {
    index.kind = ir::ViewIndex::Span;
    index.lo = integer(-maxDim, maxDim);
    expect(":");
    index.hi = integer(-maxDim, maxDim);
    return index;
  }
  bool named = ahead.token == Token::Word;
  index.kind = named && accept("at")       ? ir::ViewIndex::Element
               : named && accept("gather") ? ir::ViewIndex::Gather
                                           : ir::ViewIndex::Tiled;
  index.operand = static_cast<unsigned>(stmt.operands.size());
  stmt.operands.push_back(name("an index"));
  if (index.kind == ir::ViewIndex::Gather && accept("below")) {
    index.hi = integer(0, maxDim);
    index.lo = accept("by") ? integer(0, maxDim) : 0;
  }
  if (index.kind == ir::ViewIndex::Tiled && accept("/"))
    index.divisor = integer(1, maxDim);
  return index;
}

BufferRef Parser::bufferRef() {
  BufferRef ref;
  ref.buffer = name("a buffer");
  expect("[");
  if (current.token == Token::Word)
    ref.cursor = name("a cursor");
  else
    integer(0, 0);
  expect("]");
  if (!accept("."))
    return ref;
  // `rows.T` is one word.
  std::string part = name("`rows`, `cols` or `T`");
  ref.transposed = part == "T" || part == "rows.T" || part == "cols.T";
  ref.slice = part.starts_with("rows") ? Division::Rows : part.starts_with("cols") ? Division::Cols : Division::Whole;
  if (part != "rows" && part != "cols" && !ref.transposed)
    fail("`rows`, `cols` or `T`");
  return ref;
}

BarrierRef Parser::barrierRef() {
  BarrierRef ref;
  ref.barrier = name("a barrier");
  expect("[");
  if (current.token == Token::Word)
    ref.cursor = name("a cursor");
  else
    integer(0, 0);
  expect("]");
  return ref;
}

void Parser::columns(Stmt &stmt) {
  if (!at("cols") || ahead.token != Token::Number)
    return;
  expect("cols");
  stmt.colLo = integer(0, 1 << 24);
  expect("..");
  stmt.colHi = integer(0, 1 << 24);
  expect("of");
}

void Parser::otherwise(Stmt &stmt) {
  stmt.hasElse = accept("else");
  if (stmt.hasElse)
    stmt.operands.push_back(name("a variable"));
}

/// `a_map a[m, k]`, or `a[m, k]` where there is no map.
void Parser::mapAndView(Stmt &stmt) {
  if (ahead.token == Token::Word)
    stmt.map = name("a map");
  view(stmt);
}

} // namespace tkc::plan
