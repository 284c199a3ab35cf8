// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans as text. The grammar is in docs/planner.md, "The plan IR and its verifier"; Parser.cpp reads it.
#include "ir/plan/IgnoredNaN.h"
#include "ir/plan/PlanIR.h"
#include "ir/plan/Rounding.h"
#include "support/Diagnostics.h"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tkc::plan {
namespace {

/// A number that parses back to the same double.
std::string number(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  return fmt::format("{}", value);
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + "\"";
}

/// `a[fill].rows.T`; stage 0 without a cursor is `a[0]`.
std::string print(const BufferRef &ref) {
  std::string text = fmt::format("{}[{}]", ref.buffer, ref.cursor.empty() ? "0" : ref.cursor);
  if (ref.slice != Division::Whole)
    text += fmt::format(".{}", spelling(ref.slice));
  if (ref.transposed)
    text += ".T";
  return text;
}

/// `q[at b, i, k / 32, :64, 0:32, gather rows]`: an element, a tile, one over a number, all, a span and a gather.
std::string print(const ir::View &view, const std::vector<std::string> &operands) {
  std::vector<std::string> indices;
  for (const ir::ViewIndex &index : view.indices) {
    std::string operand = index.operand < operands.size() ? operands[index.operand] : "?";
    switch (index.kind) {
    case ir::ViewIndex::Element:
      indices.push_back("at " + operand);
      break;
    case ir::ViewIndex::Tiled:
      indices.push_back(operand + (index.divisor != 1 ? fmt::format(" / {}", index.divisor) : ""));
      break;
    case ir::ViewIndex::All:
      indices.push_back(fmt::format(":{}", index.hi));
      break;
    case ir::ViewIndex::Span:
      indices.push_back(fmt::format("{}:{}", index.lo, index.hi));
      break;
    case ir::ViewIndex::Gather:
      indices.push_back("gather " + operand + (index.hi > 0 ? fmt::format(" below {}", index.hi) : "") +
                        (index.lo > 0 ? fmt::format(" by {}", index.lo) : ""));
      break;
    }
  }
  return fmt::format("{}[{}]", view.tensor, fmt::join(indices, ", "));
}

std::string mapPrefix(const Stmt &stmt) { return stmt.map.empty() ? "" : stmt.map + " "; }

std::string print(const BarrierRef &ref) {
  return fmt::format("{}[{}]", ref.barrier, ref.cursor.empty() ? "0" : ref.cursor);
}

// ---- the pieces of a statement's text; empty where there is nothing to say

template <class S> std::string print(const S &, const Word &piece) { return std::string(piece.words); }
template <class S> std::string print(const S &stmt, const Flag<S> &piece) {
  return stmt.*piece.field ? std::string(piece.words) : "";
}
template <class S> std::string print(const S &stmt, const Either<S> &piece) {
  return std::string(stmt.*piece.field ? piece.ifTrue : piece.ifFalse);
}
template <class S, class T> std::string print(const S &stmt, const Number<S, T> &piece) {
  return std::to_string(stmt.*piece.field);
}
template <class S, class T> std::string print(const S &stmt, const Choice<S, T> &piece) {
  return std::string(spelling(stmt.*piece.field));
}
template <class S, class T> std::string print(const S &stmt, const Cursor<S, T> &piece) { return stmt.*piece.field; }
template <class S, class T> std::string print(const S &stmt, const Label<S, T> &piece) { return stmt.*piece.field; }
template <class S, class T> std::string print(const S &stmt, const BarrierPiece<S, T> &piece) {
  return print(stmt.*piece.field);
}
bool isNothing(int number) { return number == 0; }
bool isNothing(const auto &name) { return name.empty(); }
template <class S, class Piece> std::string print(const S &stmt, const Option<Piece> &option) {
  return isNothing(stmt.*option.piece.field) ? "" : fmt::format("{} {}", option.words, print(stmt, option.piece));
}

template <IsStatement S> std::string head(const S &stmt) {
  std::string text(S::keyword);
  forEachPiece<S>([&](const auto &piece) {
    const std::string part = print(stmt, piece);
    text += part.empty() ? "" : " " + part;
  });
  return text;
}

std::string range(const std::string &lo, const std::string &hi, int64_t tileSize) {
  return tileSize == 0 ? fmt::format("{}..{}", lo, hi) : fmt::format("tiles({}, {}, {})", lo, hi, tileSize);
}

std::string operand(const Stmt &stmt, size_t i) { return i < stmt.operands.size() ? stmt.operands[i] : "?"; }

/// `cols 64..128 of `, or nothing for all of them.
std::string columns(const Stmt &stmt) {
  return stmt.colLo == 0 && stmt.colHi == 0 ? "" : fmt::format("cols {}..{} of ", stmt.colLo, stmt.colHi);
}

std::string compute(const Stmt &stmt) {
  std::string text = fmt::format("{} = {}", stmt.dest, ir::spelling(stmt.op));
  if (stmt.op == ir::OpKind::Const)
    text += " " + number(stmt.constant);
  if (stmt.op == ir::OpKind::Dim || stmt.op == ir::OpKind::Param || stmt.op == ir::OpKind::ExternCall)
    text += " @" + stmt.name;
  if (stmt.op == ir::OpKind::Reduce)
    text += fmt::format(" {}", ir::spelling(stmt.reduce));
  if (stmt.op == ir::OpKind::Reduce || stmt.op == ir::OpKind::Cumsum || stmt.op == ir::OpKind::Elements)
    text += fmt::format(" axis {}{}", stmt.axis, stmt.byThreads ? " in parts" : "");
  if (!stmt.operands.empty())
    text += fmt::format(" {}({})", columns(stmt), fmt::join(stmt.operands, ", "));
  if (stmt.quotient != ir::Quotient::Any)
    text += stmt.quotient == ir::Quotient::Natural ? " natural" : " positive";
  if (stmt.tileSize > 0)
    text += fmt::format(" rows {}", stmt.tileSize);
  if (stmt.count > 0)
    text += fmt::format(" fma {} of 16 degree {}", stmt.count, stmt.degree);
  if (!stmt.ref.buffer.empty())
    text += fmt::format(" scratch {} sync {} threads {}", print(stmt.ref), stmt.meets.id, stmt.meets.threads);
  return text;
}

std::string otherwise(const Stmt &stmt) {
  return stmt.hasElse && !stmt.operands.empty() ? " else " + stmt.operands.back() : "";
}

/// Who executes it, where that is not all threads of all blocks.
std::string executors(const Stmt &stmt) {
  return fmt::format("{}{}", stmt.inFirst ? "in_first " : "", stmt.one ? "one " : "");
}

/// A statement up to its body.
std::string head(const Stmt &stmt) {
  std::string word(spelling(stmt.kind));
  switch (stmt.kind) {
  case StmtKind::Compute:
    return compute(stmt);
  case StmtKind::Move:
    return fmt::format("{} = move {}", stmt.dest, operand(stmt, 0));
  case StmtKind::Spread: {
    const bool cut = stmt.rowHi > 0 || stmt.colHi > 0;
    return fmt::format("{} = spread {}{}", stmt.dest, operand(stmt, 0),
                       cut ? fmt::format(" within {} by {}", stmt.rowHi, stmt.colHi) : "");
  }
  case StmtKind::Load:
    return fmt::format("{} = load {}{}{}{}", stmt.dest, print(stmt.view, stmt.operands), otherwise(stmt),
                       stmt.lastInCache ? " last_in_cache" : "", stmt.own ? " own" : "");
  case StmtKind::Store:
  case StmtKind::Atomic: {
    std::string how = stmt.kind == StmtKind::Atomic ? fmt::format(" {}", ir::spelling(stmt.atomic)) : "";
    return fmt::format("{}{}{} {} = {}", stmt.firstInstance ? "first " : "", word, how, print(stmt.view, stmt.operands),
                       stmt.operands.empty() ? "?" : stmt.operands.back());
  }
  case StmtKind::LoadShared:
    return fmt::format("{} = load_shared {}{}{}", stmt.dest, print(stmt.ref),
                       stmt.share == Division::Whole ? "" : fmt::format(" share {}", spelling(stmt.share)),
                       stmt.fromBlock > 0 ? fmt::format(" of block {} on", stmt.fromBlock) : "");
  case StmtKind::StoreShared:
    return fmt::format("{}store_shared {} = {}{}", stmt.firstInstance ? "first " : "", print(stmt.ref), columns(stmt),
                       operand(stmt, 0));
  case StmtKind::LookUp:
    return fmt::format("{} = look_up {} by {} below {}{}", stmt.dest, print(stmt.ref), operand(stmt, 0), stmt.count,
                       otherwise(stmt));
  case StmtKind::LoadTensor:
    return fmt::format("{} = load_tensor {}", stmt.dest, print(stmt.ref));
  case StmtKind::StoreTensor:
    return fmt::format("store_tensor {} = {}", print(stmt.ref), operand(stmt, 0));
  case StmtKind::ScaleTensor:
    return fmt::format("scale_tensor {} by {}", print(stmt.ref), operand(stmt, 0));
  case StmtKind::CopyIn:
    return fmt::format("copy_in {} <- {}{}{}{}{}{}{}", print(stmt.ref), mapPrefix(stmt),
                       print(stmt.view, stmt.operands), otherwise(stmt),
                       stmt.isThreadCopy() ? "" : " completes " + print(stmt.completes),
                       stmt.loads > 0 ? fmt::format(" loads {}", stmt.loads) : "", stmt.toFirst ? " of first" : "",
                       stmt.multicast == Division::Whole
                           ? ""
                           : fmt::format(" {} {}{}", stmt.toFirst ? "share" : "multicast", spelling(stmt.multicast),
                                         stmt.along.empty() ? "" : " along " + stmt.along));
  case StmtKind::Fetch:
    return fmt::format("{} = fetch {} for {}{}", stmt.dest, print(stmt.view, stmt.operands), print(stmt.ref),
                       otherwise(stmt));
  case StmtKind::Place:
    return fmt::format("place {} = {}", print(stmt.ref), operand(stmt, 0));
  case StmtKind::CopyOut:
    return fmt::format("copy_out {}{}{} {} {}", columns(stmt), mapPrefix(stmt), print(stmt.view, stmt.operands),
                       stmt.reducing ? "+=" : "<-", print(stmt.ref));
  case StmtKind::Product:
    return fmt::format(
        "product {} {} {} * {}{}{}{}{}{}{}", stmt.isTensorProduct() ? print(stmt.destRef) : stmt.dest,
        stmt.accumulate ? "+=" : "=", stmt.aShared ? print(stmt.aRef) : operand(stmt, 0), print(stmt.ref),
        stmt.scales.empty() ? ""
                            : fmt::format(" scales {}, {}{}", print(stmt.scales[0]), print(stmt.scales[1]),
                                          stmt.scales.size() > 2 ? " through " + print(stmt.scales[2]) : ""),
        stmt.byThreads ? " by threads"
        : stmt.byWarps ? " by warps"
                       : "",
        stmt.byPair ? " by pair" : "", stmt.count > 0 ? fmt::format(" steps {}", stmt.count) : "",
        stmt.interleaved ? " interleaved" : "",
        stmt.turns > 0 ? fmt::format(" turns {} threads {}", stmt.turns, stmt.meets.threads) : "");
  case StmtKind::Claim:
    return fmt::format("claim {} completes {}{}", print(stmt.ref), print(stmt.completes),
                       stmt.inCluster ? " in cluster" : "");
  case StmtKind::NextTile:
    return "next_tile " + print(stmt.ref);
  case StmtKind::For:
    return fmt::format("for {} in {}{}{}", stmt.dest, range(operand(stmt, 0), operand(stmt, 1), stmt.tileSize),
                       stmt.operands.size() > 2 ? " after " + stmt.operands[2] : "",
                       stmt.turns > 0 ? fmt::format(" turns {}", stmt.turns) : "");
  case StmtKind::If:
    if (!stmt.turn.empty())
      return "if instance " + stmt.turn;
    if (stmt.map.empty())
      return "if " + operand(stmt, 0);
    return fmt::format("if map {}{}", stmt.map, stmt.operands.empty() ? "" : " and " + operand(stmt, 0));
  case StmtKind::Ahead:
    return fmt::format("ahead {} = {}{} of {}{}", stmt.dest, stmt.operands.size() > 2 ? stmt.operands[2] + " + " : "",
                       stmt.count, range(operand(stmt, 0), operand(stmt, 1), stmt.tileSize),
                       stmt.always ? " always" : "");
  case StmtKind::Each:
    return "each instance";
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
    return std::visit(
        []<class S>(const S &fields) {
          if constexpr (IsStatement<S>)
            return head(fields);
          else
            return std::string();
        },
        stmt.fields);
  }
  return {};
}

class Printer {
public:
  explicit Printer(const SourceManager *sources) : sources(sources) {}

  void plan(const Plan &plan);
  std::string take() { return std::move(out); }

private:
  void line(std::string_view text) { out += fmt::format("{:{}}{}\n", "", 2 * depth, text); }
  void open(std::string_view text) {
    line(fmt::format("{} {{", text));
    ++depth;
  }
  void close() {
    --depth;
    line("}");
  }

  void params(const Plan &plan);
  void resources(const Plan &plan);
  void vars(const std::vector<Var> &vars) {
    for (const Var &var : vars)
      line(fmt::format("var {}: {}", var.name, print(var.type)));
  }
  void body(const Body &body) {
    for (const Stmt &each : body)
      stmt(each);
  }
  void stmt(const Stmt &stmt);
  void part(std::string_view name, const Body &statements) {
    if (statements.empty())
      return;
    open(name);
    body(statements);
    close();
  }
  std::string comment(const Stmt &stmt);
  bool isRounded(const Stmt &stmt) const { return isQuotientOrRoot(stmt) && rounded.count(stmt.dest) != 0; }
  bool mayBeNaN(const Stmt &stmt) const { return stmt.op == ir::OpKind::Reduce && ignored.count(stmt.dest) != 0; }

  const SourceManager *sources;
  std::set<std::string> rounded; ///< of the role: correctlyRounded
  std::set<std::string> ignored; ///< of the role: ignoredNaN
  std::string out;
  std::string lastLine;
  int depth = 0;
};

std::string header(const Plan &plan) {
  std::vector<std::string> fixed;
  for (auto &[name, type] : plan.typeArgs)
    fixed.push_back(fmt::format("{} = {}", name, spelling(type)));
  for (auto &[name, value] : plan.constants)
    fixed.push_back(fmt::format("{} = {}", name, value));
  return fmt::format("plan @{} for {} {{{}}}", plan.kernel, plan.arch, fmt::join(fixed, ", "));
}

std::string printParam(const ir::Param &param) {
  std::string text;
  if (param.isOptional)
    text += param.isPresent ? "optional " : "absent ";
  if (param.mode != ir::ParamMode::In)
    text += param.isLocal ? "new " : param.mode == ir::ParamMode::Out ? "out " : "inout ";
  text += fmt::format("{}: {}", param.name, spelling(param.elem));
  if (!param.isTensor)
    return param.above ? text + fmt::format(" > {}", *param.above) : text;
  std::vector<std::string> dims;
  for (const ir::DimExpr &dim : param.dims)
    dims.push_back(dim.str());
  return text + fmt::format("[{}]", fmt::join(dims, ", "));
}

std::string printGrid(const Grid &grid) {
  std::string text = "grid";
  if (grid.persistent)
    text += grid.counted ? " counted" : grid.dynamic ? " claimed" : " persistent";
  if (grid.uncounted != Uncounted::Apart)
    text += grid.uncounted == Uncounted::Pairs ? " else pairs" : " else turns";
  if (grid.rasterGroup > 0)
    text += fmt::format(" raster {}{}", grid.rasterGroup,
                        grid.rasterAxes > 1 ? fmt::format(" over {}", grid.rasterAxes) : "");
  if (grid.chiplets > 1)
    text += fmt::format(" chiplets {}", grid.chiplets);
  if (grid.ragged)
    text += " ragged";
  if (!grid.clusterAxis.empty())
    text += " clusters along " + grid.clusterAxis;
  if (!grid.acrossAxis.empty())
    text += fmt::format(" across {} by {}", grid.acrossAxis, grid.across);
  std::vector<std::string> axes;
  for (const GridAxis &axis : grid.axes)
    axes.push_back(fmt::format("{} in {}{}", axis.name, range(axis.lo, axis.hi, axis.tileSize),
                               axis.step > 0 ? fmt::format(" step {}", axis.step) : ""));
  text += fmt::format(" {{ {} }}", fmt::join(axes, ", "));
  return grid.reversed.empty() ? text : text + fmt::format(" reversed {}", fmt::join(grid.reversed, ", "));
}

void Printer::resources(const Plan &plan) {
  for (const TensorMap &map : plan.maps)
    line(fmt::format("map {} = {} box {}x{} dims {}, {} swizzle {}{}{} -> {}", map.name, map.tensor, map.boxRows,
                     map.boxCols, map.rowDim, map.colDim, spelling(map.swizzle),
                     map.fetched == TensorMap().fetched ? "" : fmt::format(" fetch {}", map.fetched),
                     map.tiledBy.empty() ? "" : " tiled by " + map.tiledBy, map.buffer));
  for (const Buffer &buffer : plan.buffers)
    line(fmt::format("buffer {}: {}[{}x{}] swizzle {}{} stages {}{} offset {}{}", buffer.name, spelling(buffer.elem),
                     buffer.rows, buffer.cols, spelling(buffer.swizzle),
                     buffer.grain == Buffer().grain ? "" : fmt::format(" grain {}", buffer.grain), buffer.stages,
                     buffer.instances == 1 ? "" : fmt::format(" instances {}", buffer.instances), buffer.offset,
                     buffer.aliasOf.empty() ? "" : " alias " + buffer.aliasOf));
  if (plan.tensorColumns > 0)
    line(fmt::format("tensor columns {}", plan.tensorColumns));
  for (const TensorBuffer &tensor : plan.tensors)
    line(fmt::format("tensor {}: {}[{}x{}] slab {}{} stages {} columns {}{}", tensor.name, spelling(tensor.elem),
                     tensor.rows, tensor.cols, tensor.instructionRows,
                     tensor.stride > 0 ? fmt::format(" stride {}", tensor.stride) : "", tensor.stages, tensor.offset,
                     tensor.aliasOf.empty() ? "" : " alias " + tensor.aliasOf));
  for (const Barrier &barrier : plan.barriers)
    line(fmt::format("barrier {} stages {} arrivals {}{}", barrier.name, barrier.stages, barrier.arrivals,
                     barrier.instances == 1 ? "" : fmt::format(" instances {}", barrier.instances)));
}

void Printer::params(const Plan &plan) {
  std::string indent = ",\n" + std::string(header(plan).size() + 2, ' ');
  std::vector<std::string> each;
  for (const ir::Param &param : plan.params)
    each.push_back(printParam(param));
  open(fmt::format("{} ({})", header(plan), fmt::join(each, plan.params.size() > 5 ? indent : ", ")));
}

void Printer::plan(const Plan &plan) {
  params(plan);
  if (!plan.doc.empty())
    line("doc " + quoted(plan.doc));
  for (auto &[whole, part] : plan.multiples)
    line(fmt::format("given {} == 0", ir::DimExpr::binary(ir::DimExpr::Mod, whole, part).str()));
  for (auto &[what, choice] : plan.decisions)
    line(fmt::format("decision {} {}", quoted(what), quoted(choice)));
  line(fmt::format("threads {} cluster {} shared {}{}{}", plan.threads, plan.cluster, plan.sharedBytes,
                   plan.sharedSpan == 128 ? "" : fmt::format(" span {}", plan.sharedSpan),
                   plan.aligned ? " aligned" : ""));
  open("prelude");
  vars(plan.preludeVars);
  body(plan.prelude);
  close();
  line(printGrid(plan.grid));
  for (const GridAxis &axis : plan.grid.axes)
    part("bounds " + axis.name, axis.bounds);
  resources(plan);
  auto roundedIn = correctlyRounded(plan), ignoredIn = ignoredNaN(plan);
  for (const Role &role : plan.roles) {
    rounded = std::move(roundedIn[role.name]);
    ignored = std::move(ignoredIn[role.name]);
    open(fmt::format("role {} warps {}..{}{} instances {} registers {}{}", role.name, role.firstWarp,
                     role.firstWarp + role.totalWarps(),
                     role.lanes == Role{}.lanes ? "" : fmt::format(" of {}", role.lanes),
                     fmt::format("{}{}", role.instances, role.serial ? " serial" : ""), role.registers,
                     role.inFirst ? " in_first" : "") +
         (role.headStart > 0 ? fmt::format(" head_start {}", role.headStart) : "") +
         (role.isAligned() ? " led by " + print(role.alignedBy, role.alignedByOperands) : ""));
    vars(role.vars);
    body(role.body);
    part("finish", role.finish);
    close();
  }
  close();
}

/// What follows from the rest of the plan, and the source line where that is another.
std::string Printer::comment(const Stmt &stmt) {
  std::string text = isRounded(stmt) ? "  // correctly rounded" : mayBeNaN(stmt) ? "  // or NaN" : "";
  const std::string place = sources && stmt.loc.isValid() ? sources->fileLine(stmt.loc) : lastLine;
  if (place == lastLine)
    return text;
  lastLine = place;
  return text + (text.empty() ? "  // " : ", ") + place;
}

void Printer::stmt(const Stmt &stmt) {
  std::string where = comment(stmt), text = executors(stmt) + head(stmt);
  if (stmt.kind != StmtKind::For && stmt.kind != StmtKind::If && stmt.kind != StmtKind::Ahead &&
      stmt.kind != StmtKind::Each)
    return line(text + where);
  line(text + " {" + where);
  ++depth;
  part("prologue", stmt.prologue);
  body(stmt.body);
  part("epilogue", stmt.epilogue);
  --depth;
  if (!stmt.orElse.empty()) {
    line("} else {");
    ++depth;
    body(stmt.orElse);
    --depth;
  }
  line("}");
}

} // namespace

std::string print(const Layout &layout) {
  if (layout.kind == Layout::WarpMma)
    return fmt::format("warp_mma({})", layout.threads);
  if (layout.kind == Layout::Tensor)
    return "tensor";
  if (layout.kind == Layout::Mfma)
    return fmt::format("mfma({}, {}, {})", layout.threads, layout.threadsPerRow, layout.vec);
  constexpr std::array<std::string_view, 3> names{"mma", "operand", "rows"};
  const std::string_view name = names[layout.kind];
  const Layout usual{layout.kind, Layout{}.threads, Layout{}.threadsPerRow, Layout{}.vec};
  if (layout.kind != Layout::Rows && layout == usual)
    return std::string(name);
  return fmt::format("{}({}, {}, {}{})", name, layout.threads, layout.threadsPerRow, layout.vec,
                     layout.aligned ? ", led" : "");
}

std::string print(const VarType &type) {
  switch (type.kind) {
  case VarType::Scalar:
    return std::string(spelling(type.elem));
  case VarType::TileIndex:
    return fmt::format("index<{}>", type.rows);
  case VarType::Cursor:
    return fmt::format("ring<{}>", type.rows);
  case VarType::Share:
    return fmt::format("share<{}, {}x{}, {}>", spelling(type.elem), type.rows, type.cols, print(type.layout));
  case VarType::Fragment:
    return fmt::format("fragment<{}, {}x{}, {}, {}>", spelling(type.elem), type.rows, type.cols, print(type.layout),
                       spelling(type.division));
  case VarType::Column:
    return fmt::format("column<{}, {}, {}, {}>", spelling(type.elem), type.rows, print(type.layout),
                       spelling(type.division));
  case VarType::Row:
    return fmt::format("row<{}, {}, {}, {}>", spelling(type.elem), type.cols, print(type.layout),
                       spelling(type.division));
  }
  return {};
}

std::string print(const Stmt &stmt) { return executors(stmt) + head(stmt); }

std::string print(const Plan &plan, const SourceManager *sources) {
  Printer printer(sources);
  printer.plan(plan);
  return printer.take();
}

} // namespace tkc::plan
