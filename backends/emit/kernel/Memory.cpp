// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Global memory by the threads of a role: a rectangle becomes a tk::view, a gather or scatter offsets and a condition
// an element, an access without axes a pointer.
#include "backends/emit/kernel/Views.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fmt/core.h>
#include <utility>

namespace tkc::cuda {

using ir::OpKind;
using ir::ViewIndex;
using plan::Division;
using plan::Stmt;
using plan::StmtKind;
using plan::VarType;

namespace {

/// Of a tile index over a number, which divides where it begins.
cpp::Expr beginOf(const cpp::Expr &tile, int64_t divisor) {
  const cpp::Expr begin = cpp::member(tile, "begin");
  return divisor == 1 ? begin : cpp::binary("/", begin, cpp::integer(divisor));
}
cpp::Expr endOf(const cpp::Expr &tile, int64_t divisor) {
  const cpp::Expr end = cpp::member(tile, "end");
  return divisor == 1 ? end : cpp::binary("/", cpp::binary("+", end, cpp::integer(divisor - 1)), cpp::integer(divisor));
}

cpp::Expr lesser(cpp::Expr x, cpp::Expr y) { return cpp::call("tk::min", {std::move(x), std::move(y)}); }

/// The power of two, at most 16, of which so many bits are a multiple in bytes; 1 where they are no whole bytes.
int alignmentOf(int64_t bits) {
  const int64_t bytes = (bits / 8) | 16;
  return bits % 8 != 0 ? 1 : static_cast<int>(bytes & -bytes);
}

} // namespace

/// Elements of a tile index, be it the grid's or a loop's; where the launcher chooses, of which that is a multiple.
int64_t RolePrinter::tileSizeOf(const std::string &tile) const {
  for (const plan::GridAxis &axis : kernel.plan.grid.axes)
    if (axis.name == tile)
      return axis.step > 0 ? axis.step : axis.tileSize;
  return typeOf(tile).rows;
}

/// Whether the launcher chooses how many elements the tiles of an axis have.
bool RolePrinter::isStepped(const std::string &tile) const {
  const plan::GridAxis *axis = kernel.plan.steppedAxis();
  return axis && axis->name == tile;
}

/// Whether a tile index is never one beyond the last, as those that are copied ahead, and blocks of a cluster, may
/// have.
bool RolePrinter::exists(const std::string &tile) const {
  return loops.count(tile) != 0 || (kernel.axisTypes.count(tile) != 0 && kernel.plan.cluster <= 1);
}

/// Whether a scalar is a multiple of `factor`, or, with `dim`, whenever that is. Where loops are split, their bounds
/// are such.
bool RolePrinter::isMultiple(const std::string &var, int64_t factor, const cpp::Expr &dim, int depth) {
  if (depth > 16)
    return false;
  if (dim && cpp::print(value(var)) == cpp::print(dim))
    return true;
  const Stmt *stmt = definitionOf(var);
  if (!stmt || stmt->kind != StmtKind::Compute)
    return false;
  const auto is = [&](size_t operand) { return isMultiple(stmt->operands[operand], factor, dim, depth + 1); };
  switch (stmt->op) {
  case OpKind::Const:
    return std::fmod(stmt->constant, static_cast<double>(factor)) == 0;
  case OpKind::Mul:
    return is(0) || is(1);
  case OpKind::Add:
  case OpKind::Sub:
  case OpKind::Min:
  case OpKind::Max:
    return is(0) && is(1);
  case OpKind::Begin:
  case OpKind::End:
    return stmt->tileSize == 0 && liesAtMultiples(stmt->operands[0], factor, dim);
  default:
    return false;
  }
}

bool RolePrinter::isMoved(const std::string &tile) const {
  const Stmt *stmt = definitionOf(tile);
  return stmt && stmt->kind == StmtKind::Compute && stmt->op == OpKind::Shift;
}

/// Whether a tile index is moved by what may be as large as an i32 can be.
bool RolePrinter::isFarMoved(const std::string &tile) const {
  if (!isMoved(tile))
    return false;
  const Stmt *stmt = definitionOf(tile);
  const Stmt *by = definitionOf(stmt->operands[1]);
  const bool isNear =
      by && by->kind == StmtKind::Compute && by->op == OpKind::Const && std::fabs(by->constant) <= 0x1p30;
  return !isNear || isFarMoved(stmt->operands[0]);
}

/// Whether a tile, moved or not, begins and ends at multiples of `unit`, at the latest where its tensor ends, whenever
/// the dim `extent` is such a multiple.
bool RolePrinter::liesAtMultiples(const std::string &tile, int64_t unit, const cpp::Expr &extent) {
  if (isMoved(tile)) {
    const std::vector<std::string> &operands = definitionOf(tile)->operands;
    return liesAtMultiples(operands[0], unit, extent) && isMultiple(operands[1], unit, extent);
  }
  const auto range = ranges.find(tile);
  return range != ranges.end() && tileSizeOf(tile) % unit == 0 && isMultiple(range->second.first, unit, extent) &&
         isMultiple(range->second.second, unit, extent);
}

/// `rows`, `cols`: of the part that an instance holds; `isColumn`: a view with one axis runs down.
RolePrinter::ViewParts RolePrinter::viewOf(const Stmt &stmt, int64_t rows, int64_t cols, bool isColumn,
                                           Division division) {
  ViewParts parts;
  parts.param = kernel.findParam(stmt.view.tensor);
  parts.isStored = stmt.kind == StmtKind::Store || stmt.kind == StmtKind::Atomic;
  parts.isCopied = stmt.kind == StmtKind::CopyIn || stmt.kind == StmtKind::Fetch;
  const int axes =
      static_cast<int>(std::count_if(stmt.view.indices.begin(), stmt.view.indices.end(), [](const ViewIndex &i) {
        return i.kind != ViewIndex::Element && i.kind != ViewIndex::Gather;
      }));
  int seen = 0;
  for (size_t d = 0; d < stmt.view.indices.size(); ++d) {
    const ViewIndex &index = stmt.view.indices[d];
    if (index.kind == ViewIndex::Element || index.kind == ViewIndex::Gather) { // rows by index: from the dim's start
      parts.origin.push_back(index.kind == ViewIndex::Gather ? cpp::integer(0) : value(stmt.operands[index.operand]));
      continue;
    }
    const bool isRows = axes == 2 ? seen == 0 : isColumn;
    ++seen;
    Axis &axis = isRows ? parts.rows : parts.cols;
    axis.dim = static_cast<int>(d);
    const bool divided = instance && division == (isRows ? Division::Rows : Division::Cols);
    const cpp::Expr ofInstance =
        divided ? cpp::binary("*", instance, cpp::integer(isRows ? rows : cols)) : cpp::integer(0);
    const cpp::Expr shift = isRows ? ofInstance : cpp::binary("+", ofInstance, cpp::integer(stmt.colLo));
    const int64_t bits = bitWidth(parts.param->elem), unit = elementsOfWhole(16, parts.param->elem);
    const bool isLast = d + 1 == stmt.view.indices.size();
    const int ofPart = divided ? alignmentOf((isRows ? rows : cols) * bits) : 16;
    if (index.kind == ViewIndex::Tiled) {
      const std::string &tile = stmt.operands[index.operand];
      const cpp::Expr t = value(tile);
      axis.begin = index.divisor == 1 && (divided || (!isRows && stmt.colLo != 0))
                       ? beginMovedBy(tile, shift)
                       : cpp::binary("+", beginOf(t, index.divisor), shift);
      cpp::Expr end = endOf(t, index.divisor);
      if (stmt.hasElse) {
        end = lesser(end, kernel.dim(parts.param->dims[d]));
        axis.first = isFarMoved(tile) ? cpp::call("tk::before", {axis.begin}) : cpp::unary("-", axis.begin);
      }
      axis.end = cpp::binary("-", end, axis.begin);
      const cpp::Expr extent = kernel.dim(parts.param->dims[d]);
      if (isLast && stmt.hasElse && index.divisor == 1 && !isPacked(parts.param->elem) &&
          liesAtMultiples(tile, unit, extent))
        axis.align = std::min(alignmentOf(tileSizeOf(tile) * bits), ofPart);
      const auto range = ranges.find(tile);
      if (range != ranges.end() && !stmt.hasElse && index.divisor == 1) {
        const auto &[lo, hi] = range->second;
        const int64_t size = tileSizeOf(tile);
        const bool isWhole = exists(tile) && !isStepped(tile);
        if (isWhole && (size == 1 || (isMultiple(lo, size, {}) && isMultiple(hi, size, {}))))
          axis.end = cpp::binary("-", cpp::integer(size), shift); // every tile is whole: no test remains
        if (isLast && isMultiple(lo, unit, extent) && isMultiple(hi, unit, extent))
          axis.align = std::min(alignmentOf(size * bits), ofPart);
      }
    } else {
      axis.begin = cpp::binary("+", cpp::integer(index.lo), shift);
      axis.end = cpp::binary("-", cpp::integer(index.hi), axis.begin);
      if (divided) // the part's share of the span
        axis.end = cpp::binary("-", cpp::integer(index.hi - index.lo), shift);
      if (isLast)
        axis.align = std::min({alignmentOf(index.lo * bits), alignmentOf(index.hi * bits), ofPart});
    }
    parts.origin.push_back(axis.begin);
  }
  // With an index outside that drops its dim nothing of the slice exists.
  for (size_t d = 0; stmt.hasElse && axes > 0 && d < parts.origin.size(); ++d)
    if (stmt.view.indices[d].kind == ViewIndex::Element) {
      cpp::Expr &end = axes == 2 || !isColumn ? parts.cols.end : parts.rows.end;
      const cpp::Expr exists = cpp::call("tk::within", {parts.origin[d], kernel.dim(parts.param->dims[d])});
      end = cpp::conditional(exists, end, cpp::integer(0));
    }
  return parts;
}

cpp::Expr RolePrinter::viewExpr(const ViewParts &parts, int align) const {
  const std::string elem = elementType(parts.param->elem);
  const bool isConst = parts.isCopied || parts.param->mode == ir::ParamMode::In;
  const cpp::Expr base = kernel.argument(parts.param->name);
  const auto stride = [&](const Axis &axis) {
    return axis.dim < 0 ? cpp::integer(0) : cpp::method(base, "stride", {cpp::integer(axis.dim)});
  };
  const auto end = [&](const Axis &axis) { return axis.dim < 0 ? cpp::integer(1) : axis.end; };
  const cpp::Expr rowEnd =
      parts.only ? cpp::conditional(parts.only, end(parts.rows), cpp::integer(0)) : end(parts.rows);
  std::vector<cpp::Expr> fields = {cpp::method(base, "at", parts.origin), stride(parts.rows), rowEnd, end(parts.cols)};
  const int last = static_cast<int>(parts.param->dims.size()) - 1;
  const bool strided = parts.cols.dim >= 0 && parts.cols.dim != last;
  const bool bounded = parts.rows.first || parts.cols.first;
  if (strided || bounded)
    fields.push_back(strided ? stride(parts.cols) : cpp::integer(1));
  if (bounded) {
    fields.push_back(parts.rows.first ? parts.rows.first : cpp::integer(0));
    fields.push_back(parts.cols.first ? parts.cols.first : cpp::integer(0));
  }
  const std::string type =
      fmt::format("tk::view<{}{}{}>", isConst ? "const " : "", elem, align > 0 ? fmt::format(", {}", align) : "");
  return cpp::braces(type, std::move(fields));
}

/// For copies of 16 bytes.
bool RolePrinter::suitsWide(const ViewParts &parts) {
  return parts.cols.dim >= 0 && parts.cols.align == 16 && !isPacked(parts.param->elem);
}

/// What the view promises where threads that hold neighbours move several of them, or several groups of packed ones, at
/// once: as many bytes as they hold side by side, at most 16. 0 where they do not.
int RolePrinter::bytesAtOnce(const ViewParts &parts, const plan::Layout &layout) {
  const ElemType elem = parts.param->elem;
  if (parts.cols.dim < 0)
    return 0;
  if (isPacked(elem))
    return parts.cols.align > 1 && plan::runOf(layout) > groupElements(elem) ? parts.cols.align : 0;
  const int64_t size = byteWidth(elem), held = std::min<int64_t>(plan::runOf(layout) * size, parts.cols.align);
  return held > size && held >= 4 ? static_cast<int>(held) : 0;
}

/// Whether accesses of what a view promises are possible. Packed elements ask for 16 bytes whatever it is.
cpp::Expr RolePrinter::isWide(const ir::Param &param, int align) const {
  const bool isWhole = align == 16 || isPacked(param.elem);
  return cpp::method(kernel.argument(param.name), "wide",
                     isWhole ? std::vector<cpp::Expr>{} : std::vector{cpp::integer(align)});
}

/// Where the offsets count from; the offsets, and what exists, each of whatever shape its parts broadcast to. Where
/// elements differ in their last index alone, offsets are that index, of 32 bits, and count from where the others lead:
/// an instruction makes an address of one.
cpp::Expr RolePrinter::gathered(const Stmt &stmt, const VarType &type, cpp::Expr &offsets, cpp::Expr &condition) {
  const ir::Param &param = *kernel.findParam(stmt.view.tensor);
  const cpp::Expr base = kernel.argument(param.name);
  const auto require = [&](cpp::Expr what) { condition = condition ? cpp::binary("&&", condition, what) : what; };
  std::vector<cpp::Expr> places;
  bool alongLast = !isPacked(param.elem);
  int seen = 0;
  bool gatherIsRows = false, gatherIsCols = false;
  for (const ViewIndex &index : stmt.view.indices)
    if (index.kind == ViewIndex::Gather) {
      const VarType::Kind kind = typeOf(stmt.operands[index.operand]).kind;
      gatherIsRows |= kind != VarType::Row;
      gatherIsCols |= kind != VarType::Column;
    }
  for (size_t d = 0; d < stmt.view.indices.size(); ++d) {
    const ViewIndex &index = stmt.view.indices[d];
    cpp::Expr at;
    bool isShared = false; // by all elements
    if (index.kind == ViewIndex::Element || index.kind == ViewIndex::Gather) {
      isShared = typeOf(stmt.operands[index.operand]).kind == VarType::Scalar;
      at = value(stmt.operands[index.operand]);
      // Indices that do not exist are -1: mask-edges.
      if (index.kind == ViewIndex::Gather)
        require(cpp::binary(">=", at, cpp::integer(0)));
      if (index.kind == ViewIndex::Gather && index.hi > 0) {
        VarType held = typeOf(stmt.operands[index.operand]);
        const bool isTile = held.kind == VarType::Fragment;
        held.kind = isTile ? VarType::Column : held.kind;
        require(cpp::binary("<", indices(held, held.kind == VarType::Row ? 1 : 0), cpp::integer(index.hi)));
        held.kind = VarType::Row;
        if (isTile)
          require(cpp::binary("<", indices(held, 1), cpp::integer(index.lo)));
      }
      if (stmt.hasElse && index.kind == ViewIndex::Gather)
        require(cpp::binary("<", at, kernel.dim(param.dims[d])));
      if (stmt.hasElse && index.kind == ViewIndex::Element)
        require(cpp::call("tk::within", {at, kernel.dim(param.dims[d])}));
    } else {
      // An axis of its own: rows, unless the gather has them or this is the second.
      const bool isRows = !gatherIsRows && (seen == 0 && (gatherIsCols || type.kind != VarType::Row));
      ++seen;
      VarType line = type;
      line.kind = (isRows ? type.rows : type.cols) == 1 ? VarType::Scalar : isRows ? VarType::Column : VarType::Row;
      isShared = line.kind == VarType::Scalar;
      if (index.kind == ViewIndex::Tiled) {
        const std::string &tile = stmt.operands[index.operand];
        const cpp::Expr t = value(tile);
        at = index.divisor == 1 ? elementsOf(line, isRows ? 0 : 1, tile)
                                : cpp::binary("+", indices(line, isRows ? 0 : 1), beginOf(t, index.divisor));
        require(cpp::binary("<", at, endOf(t, index.divisor)));
        if (stmt.hasElse && isMoved(tile)) {
          require(cpp::binary(">=", at, cpp::integer(0)));
          require(cpp::binary("<", at, kernel.dim(param.dims[d])));
        }
      } else {
        at = cpp::binary("+", indices(line, isRows ? 0 : 1), cpp::integer(index.lo));
        require(cpp::binary("<", at, cpp::integer(index.hi)));
      }
    }
    alongLast &= isShared || d + 1 == stmt.view.indices.size();
    places.push_back(at);
  }
  if (!condition)
    condition = cpp::boolean(true);
  if (alongLast && (places.size() > 1 || param.isLocal)) {
    offsets = std::exchange(places.back(), cpp::integer(0));
    return cpp::method(base, "at", std::move(places));
  }
  for (size_t d = 0; d < places.size(); ++d) {
    cpp::Expr term = convert(places[d], ElemType::I32, ElemType::I64);
    if (d + 1 < places.size())
      term = cpp::binary("*", term, cpp::method(base, "stride", {cpp::integer(static_cast<int64_t>(d))}));
    offsets = offsets ? cpp::binary("+", offsets, term) : term;
  }
  return cpp::member(base, "data");
}

/// One element, for a view without axes, or with axes of one element, as tiles of size 1 have: those that there are
/// exist.
cpp::Expr RolePrinter::loadedElement(const Stmt &stmt) {
  const ir::Param &param = *kernel.findParam(stmt.view.tensor);
  const ViewParts parts = viewOf(stmt, 1, 1, false, Division::Whole);
  cpp::Expr element = cpp::unary("*", cpp::method(kernel.argument(param.name), "at", parts.origin));
  if (stmt.hasElse) {
    cpp::Expr exists;
    for (size_t d = 0; d < parts.origin.size(); ++d) {
      const cpp::Expr in = cpp::call("tk::within", {parts.origin[d], kernel.dim(param.dims[d])});
      exists = exists ? cpp::binary("&&", exists, in) : in;
    }
    element = cpp::conditional(exists, element, otherwise(stmt));
  }
  return convert(element, param.elem, typeOf(stmt.dest).elem);
}

cpp::Expr RolePrinter::otherwise(const Stmt &stmt) {
  const std::string &operand = stmt.operands.back();
  return convert(value(operand), typeOf(operand).elem, kernel.findParam(stmt.view.tensor)->elem);
}

/// The declaration of how far vectors begin before their tiles; `first` is the first vector of a row.
cpp::Stmt RolePrinter::declareAlignment(const Stmt &first) {
  alignmentName = names.take("lead");
  const ViewParts parts = viewOf(first, 1, 1, false, Division::Whole);
  return cpp::Stmt::declaration("const tk::lead", alignmentName,
                                cpp::call(cpp::templated("tk::lead_of", {cpp::integer(first.view.indices.back().hi)}),
                                          {cpp::method(kernel.argument(parts.param->name), "at", parts.origin)}));
}

/// What a copy ahead brought has the columns as memory has them.
void RolePrinter::printLoadShared(const Stmt &stmt, cpp::Body &out) {
  const VarType &type = typeOf(stmt.dest);
  std::vector<cpp::Expr> args;
  if (type.layout.aligned && kernel.plan.findBuffer(stmt.ref.buffer)->cols > type.cols)
    args.push_back(cpp::name(alignmentName));
  const std::string callee = stmt.fromBlock > 0    ? "tk::load_cluster_shared"
                             : isPacked(type.elem) ? "tk::load_pairs"
                             : args.empty()        ? "tk::load_shared"
                                                   : "tk::load_led_shared";
  if (stmt.share == Division::Whole) {
    args.push_back(slice(stmt.ref));
  } else {
    const std::string shares = fmt::format("{}.cols_of<{}>", cpp::print(stage(stmt.ref)), type.cols);
    args.push_back(cpp::call(cpp::name(shares), {cpp::name("rank")}));
  }
  if (stmt.fromBlock > 0)
    args.push_back(cpp::binary("%", cpp::binary("+", cpp::name("rank"), cpp::integer(stmt.fromBlock)),
                               cpp::integer(kernel.plan.cluster)));
  assign(stmt, cpp::call(cpp::templated(callee, {cpp::name(typeText(stmt.dest))}), std::move(args)), out);
}

void RolePrinter::printLookUp(const Stmt &stmt, cpp::Body &out) {
  const VarType &type = typeOf(stmt.dest);
  const cpp::Expr nothing = stmt.hasElse ? value(stmt.operands[1]) : cpp::braces(elementType(type.elem), {});
  assign(stmt,
         cpp::call(cpp::templated("tk::look_up", {cpp::integer(stmt.count)}),
                   {stage(stmt.ref), value(stmt.operands[0]), nothing}),
         out);
}

/// A row of a tensor of which nothing is written may be read beside the tile.
cpp::Expr RolePrinter::loadedAligned(const Stmt &stmt, const ViewParts &parts, const VarType &loaded) {
  std::vector<cpp::Expr> args = {cpp::name(alignmentName)};
  if (parts.param->mode == ir::ParamMode::In)
    args.push_back(kernel.argument(parts.param->name));
  args.push_back(viewExpr(parts, 16));
  assert(!stmt.hasElse && "the planner and the verifier refuse it");
  return cpp::call(cpp::templated("tk::load_led", {cpp::name(variableType(loaded, role.instances))}), std::move(args));
}

/// Whether the thread is the one that stores what it and others hold; of scalars the role's first.
cpp::Expr RolePrinter::storesItself(const Stmt &stmt) {
  const VarType &type = typeOf(stmt.dest);
  if (type.kind == VarType::Scalar)
    return cpp::binary("==", threadInRole, cpp::integer(0));
  cpp::Expr stores = cpp::call(cpp::templated("tk::stores", {cpp::name(typeText(stmt.dest))}));
  if (instance && plan::heldPart(type) == Division::Whole)
    stores = cpp::binary("&&", cpp::binary("==", instance, cpp::integer(0)), stores);
  return stores;
}

void RolePrinter::printLoad(const Stmt &stmt, cpp::Body &out) {
  const VarType &type = typeOf(stmt.dest);
  const bool isOwn = stmt.own && !singleThread;
  if (type.kind == VarType::Scalar && !stmt.view.hasGather()) {
    cpp::Expr element = loadedElement(stmt);
    if (isOwn)
      element = cpp::conditional(storesItself(stmt), element, cpp::braces(elementType(type.elem), {}));
    return assign(stmt, element, out);
  }
  const ir::Param &param = *kernel.findParam(stmt.view.tensor);
  if (stmt.view.hasGather()) {
    cpp::Expr offsets, condition;
    const cpp::Expr base = gathered(stmt, type, offsets, condition);
    const cpp::Expr nothing = stmt.hasElse ? otherwise(stmt) : cpp::braces(elementType(param.elem), {});
    return assign(stmt, convert(cpp::call("tk::gather", {base, offsets, condition, nothing}), param.elem, type.elem),
                  out);
  }
  ViewParts parts = viewOf(stmt, partRows(type, role.instances), partCols(type, role.instances),
                           type.kind == VarType::Column, type.division);
  if (isOwn && !type.layout.aligned) // of an aligned row each element is one thread's
    parts.only = storesItself(stmt);
  VarType loaded = type;
  loaded.elem = param.elem;
  if (type.layout.aligned)
    return assign(stmt, convert(loadedAligned(stmt, parts, loaded), param.elem, type.elem), out);
  const int align = bytesAtOnce(parts, type.layout);
  std::vector<cpp::Expr> args;
  if (align > 0)
    args.push_back(isWide(param, align));
  args.push_back(viewExpr(parts, align));
  if (stmt.hasElse)
    args.push_back(otherwise(stmt));
  std::vector<cpp::Expr> how{cpp::name(variableType(loaded, role.instances))};
  if (align > 0 && stmt.lastInCache)
    how.push_back(cpp::name("tk::last_in_cache"));
  const cpp::Expr callee = cpp::templated("tk::load", std::move(how));
  assign(stmt, convert(cpp::call(callee, std::move(args)), param.elem, type.elem), out);
}

void RolePrinter::printStore(const Stmt &stmt, cpp::Body &out) {
  const ir::Param &param = *kernel.findParam(stmt.view.tensor);
  const std::string &source = stmt.operands.back();
  const VarType &type = typeOf(source);
  const cpp::Expr stored = convert(value(source), type.elem, param.elem);
  std::string verb = "store";
  if (stmt.kind == StmtKind::Atomic)
    verb = stmt.atomic == ir::AtomicKind::Add   ? "atomic_add"
           : stmt.atomic == ir::AtomicKind::Max ? "atomic_max"
                                                : "atomic_min";
  cpp::Body body;
  if (stmt.view.hasGather()) {
    cpp::Expr offsets, condition;
    const cpp::Expr base = gathered(stmt, type, offsets, condition);
    const std::optional<cpp::Stmt> oneByOne = countedScatter(stmt, base, stored);
    body.push_back(oneByOne
                       ? *oneByOne
                       : cpp::Stmt::expression(cpp::call("tk::" + (verb == "store" ? std::string("scatter") : verb),
                                                         {base, offsets, condition, stored})));
  } else {
    const ViewParts parts = viewOf(stmt, partRows(type, role.instances), partCols(type, role.instances),
                                   type.kind == VarType::Column, type.division);
    if (type.kind == VarType::Scalar) {
      const cpp::Expr element = cpp::method(kernel.argument(param.name), "at", parts.origin);
      cpp::Stmt write = verb == "store"
                            ? cpp::Stmt::assign(cpp::unary("*", element), stored)
                            : cpp::Stmt::expression(cpp::call("tk::" + verb + "_element", {element, stored}));
      out.push_back(singleThread ? write
                                 : cpp::Stmt::ifThen(cpp::binary("==", threadInRole, cpp::integer(0)), {write}));
      return;
    }
    const bool byGroups = verb == "store" || (verb == "atomic_add" && param.elem == ElemType::F32);
    const bool aligned = type.layout.aligned;
    const int align = aligned ? 16 : byGroups && !param.isLocal ? bytesAtOnce(parts, type.layout) : 0;
    std::vector<cpp::Expr> args;
    if (align > 0)
      args.push_back(aligned ? cpp::name(alignmentName) : isWide(param, align));
    args.push_back(viewExpr(parts, align));
    args.push_back(stored);
    body.push_back(cpp::Stmt::expression(cpp::call("tk::" + verb + (aligned ? "_led" : ""), std::move(args))));
  }
  if (stmt.firstInstance && instance)
    out.push_back(cpp::Stmt::ifThen(cpp::binary("==", instance, cpp::integer(0)), std::move(body)));
  else
    out.insert(out.end(), body.begin(), body.end());
}

} // namespace tkc::cuda
