// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile ops as expressions over the runtime's operators and functions.
#include "backends/emit/kernel/RolePrinter.h"
#include "backends/emit/kernel/SplitVariables.h"
#include "backends/targets/Dialect.h"
#include "support/Number.h"

#include <cassert>
#include <cmath>
#include <fmt/core.h>
#include <limits>

namespace tkc::cuda {

using ir::OpKind;
using plan::Stmt;
using plan::StmtKind;
using plan::VarType;

const VarType &RolePrinter::typeOf(const std::string &var) const {
  if (const plan::Var *own = role.findVar(var))
    return own->type;
  for (const plan::Var &shared : kernel.plan.preludeVars)
    if (shared.name == var)
      return shared.type;
  if (const auto axis = kernel.axisTypes.find(var); axis != kernel.axisTypes.end())
    return axis->second;
  assert(false && "every variable is declared");
  return role.vars.front().type;
}

bool RolePrinter::isTile(const std::string &var) const {
  const VarType::Kind kind = typeOf(var).kind;
  return kind == VarType::Fragment || kind == VarType::Column || kind == VarType::Row;
}

cpp::Expr RolePrinter::value(const std::string &var) {
  if (uses.isInlined(var)) {
    const Stmt *definition = uses.definition(var);
    return definition->kind == StmtKind::Move ? value(definition->operands[0]) : computed(*definition);
  }
  const auto fromPrelude = kernel.preludeValues.find(var);
  if (fromPrelude != kernel.preludeValues.end() && !role.findVar(var))
    return fromPrelude->second;
  return cpp::name(nameOf(var));
}

/// An i64 by its type: beside one, C++ takes a number for an int.
static cpp::Expr wideInteger(double constant) {
  const int64_t number = Number(constant).toInteger();
  const bool isLeast = number == std::numeric_limits<int64_t>::min(); // C++ has no digits for it
  const cpp::Expr digits =
      isLeast ? cpp::binary("-", cpp::name(std::to_string(number + 1)), cpp::integer(1)) : cpp::integer(number);
  return cpp::call("tk::i64", {digits});
}

cpp::Expr RolePrinter::convert(cpp::Expr value, ElemType from, ElemType to) {
  if (from == to)
    return value;
  return cpp::call(cpp::templated("tk::cast", {cpp::name(elementType(to))}), {std::move(value)});
}

void RolePrinter::assign(const Stmt &stmt, cpp::Expr value, cpp::Body &out) {
  const std::string name = nameOf(stmt.dest);
  if (!uses.declaresAt(stmt, stmt.dest)) {
    out.push_back(cpp::Stmt::assign(cpp::name(name), std::move(value)));
    return;
  }
  const VarType &type = typeOf(stmt.dest);
  const std::string spelled = type.kind == VarType::Scalar ? elementType(type.elem) : "auto";
  const bool isConst = uses.isAssignedOnce(stmt.dest) && !namedByWaits.count(stmt.dest);
  out.push_back(cpp::Stmt::declaration((isConst ? "const " : "") + spelled, name, std::move(value)));
}

void RolePrinter::printCompute(const Stmt &stmt, cpp::Body &out) {
  // x = x + y reads better as x += y.
  const bool updates = stmt.operands.size() == 2 && stmt.operands[0] == stmt.dest && !uses.declaresAt(stmt, stmt.dest);
  if (updates && !mayWrap(stmt) && (stmt.op == OpKind::Add || stmt.op == OpKind::Sub || stmt.op == OpKind::Mul)) {
    const std::string op = stmt.op == OpKind::Add ? "+=" : stmt.op == OpKind::Sub ? "-=" : "*=";
    out.push_back(cpp::Stmt::expression(cpp::binary(op, cpp::name(nameOf(stmt.dest)), value(stmt.operands[1]))));
    return;
  }
  assign(stmt, computed(stmt), out);
}

cpp::Expr RolePrinter::infix(const Stmt &stmt, const std::string &op) {
  return cpp::binary(op, value(stmt.operands[0]), value(stmt.operands[1]));
}

cpp::Expr RolePrinter::function(const Stmt &stmt, const std::string &name) {
  std::vector<cpp::Expr> args;
  for (const std::string &operand : stmt.operands)
    args.push_back(value(operand));
  return cpp::call("tk::" + name, std::move(args));
}

/// The one statement of the role or the prelude that sets a variable, or null.
const Stmt *RolePrinter::definitionOf(const std::string &var) const {
  if (const Stmt *stmt = uses.definition(var))
    return stmt;
  for (const Stmt &shared : kernel.plan.prelude)
    if (shared.dest == var)
      return &shared;
  return nullptr;
}

/// The statement that makes a value of which nothing else is made, if it is of that kind.
const Stmt *RolePrinter::inlinedAs(const std::string &var, OpKind op) const {
  const Stmt *made = uses.isInlined(var) ? uses.definition(var) : nullptr;
  return made && made->kind == StmtKind::Compute && made->op == op ? made : nullptr;
}

/// 1 + erf x and, of elements, 1 + tanh x, of a value of which nothing else is made: half the work of erf or tanh, and
/// small sums keep their digits.
std::optional<cpp::Expr> RolePrinter::onePlus(const Stmt &stmt) {
  for (const size_t side : {0, 1}) {
    const std::string &term = stmt.operands[side];
    const Stmt *one = uses.definition(stmt.operands[1 - side]);
    if (!one || one->kind != StmtKind::Compute || one->op != OpKind::Const || one->constant != 1)
      continue;
    if (const Stmt *erf = inlinedAs(term, OpKind::Erf))
      return cpp::call("tk::one_plus_erf", {value(erf->operands[0])});
    if (const Stmt *tanh = byElements ? inlinedAs(term, OpKind::Tanh) : nullptr;
        tanh && typeOf(term).elem == ElemType::F32)
      return cpp::call("tk::one_plus_tanh", {value(tanh->operands[0])});
  }
  return std::nullopt;
}

/// The factors of a product of a tile of f32 and a number.
std::optional<std::pair<std::string, std::string>> RolePrinter::tileTimesScalar(const Stmt &product) const {
  for (const size_t side : {0, 1}) {
    const std::string &tile = product.operands[side], &number = product.operands[1 - side];
    const VarType &type = typeOf(number);
    if (typeOf(tile).kind == VarType::Fragment && typeOf(tile).elem == ElemType::F32 && type.kind == VarType::Scalar &&
        type.elem == ElemType::F32)
      return std::pair(tile, number);
  }
  return std::nullopt;
}

/// tanh of a tile, with the numbers by which it and its operand are multiplied: these take no instructions of their
/// own.
std::optional<cpp::Expr> RolePrinter::scaledTanh(const Stmt &stmt) {
  const VarType &type = typeOf(stmt.dest);
  if (byElements || type.kind != VarType::Fragment || type.elem != ElemType::F32)
    return std::nullopt;
  const Stmt *tanh = &stmt;
  std::vector<cpp::Expr> factors;
  if (stmt.op == OpKind::Mul) {
    const auto outer = tileTimesScalar(stmt);
    tanh = outer ? inlinedAs(outer->first, OpKind::Tanh) : nullptr;
    if (!tanh)
      return std::nullopt;
    factors.push_back(value(outer->second));
  }
  const Stmt *product = inlinedAs(tanh->operands[0], OpKind::Mul);
  const auto inner = product ? tileTimesScalar(*product) : std::nullopt;
  if (inner || !factors.empty())
    factors.insert(factors.begin(), inner ? value(inner->second) : cpp::floating(1, false));
  factors.insert(factors.begin(), value(inner ? inner->first : tanh->operands[0]));
  return cpp::call("tk::scaled_tanh", std::move(factors));
}

/// Whether the result of a division or root is to be correctly rounded.
bool RolePrinter::isRounded(const Stmt &stmt) const {
  const auto names = kernel.correctlyRounded.find(role.name);
  return plan::isQuotientOrRoot(stmt) && names != kernel.correctlyRounded.end() &&
         names->second.count(std::string(withoutPart(stmt.dest))) != 0;
}

/// Whether a largest or smallest element may be NaN where there is nothing but NaN.
bool RolePrinter::mayBeNaN(const Stmt &stmt) const {
  const auto names = kernel.ignoredNaN.find(role.name);
  return names != kernel.ignoredNaN.end() && names->second.count(std::string(withoutPart(stmt.dest))) != 0;
}

/// A root or a reciprocal.
cpp::Expr RolePrinter::root(const Stmt &stmt) {
  return function(stmt, std::string(ir::spelling(stmt.op)) + (isRounded(stmt) ? "_rn" : ""));
}

/// Integers floor, and by zero give zero: which functions do that depends on what is known of the operands. Of numbers
/// that are not negative C++ does it, and a compiler leaves the tests for a known divisor out.
cpp::Expr RolePrinter::quotient(const Stmt &stmt) {
  if (isRounded(stmt))
    return function(stmt, "divide_rn");
  const bool isDivision = stmt.op == OpKind::Div, isNatural = stmt.quotient == ir::Quotient::Natural;
  const Stmt *divisor = definitionOf(stmt.operands[1]);
  const bool isKnown = divisor && divisor->kind == StmtKind::Compute && divisor->op == OpKind::Const;
  if (isTile(stmt.dest) && isNatural)
    return function(stmt, isDivision ? "divide_natural" : "modulo_natural");
  if (stmt.quotient == ir::Quotient::Positive && !isKnown)
    return function(stmt, isDivision ? "divide_positive" : "modulo_positive");
  if (isTile(stmt.dest) || isNatural)
    return infix(stmt, isDivision ? "/" : "%");
  return function(stmt, isDivision ? "divide" : "modulo");
}

/// A tile index moved by a number; by an unknown one, in C++ even its negative may overflow.
cpp::Expr RolePrinter::moved(const Stmt &stmt) {
  const std::string &by = stmt.operands[1];
  if (!isFarMoved(stmt.dest))
    return cpp::method(value(stmt.operands[0]), "shifted", {value(by)});
  const Stmt *negative = inlinedAs(by, OpKind::Neg);
  return cpp::method(value(stmt.operands[0]), negative ? "moved_back" : "moved",
                     {value(negative ? negative->operands[0] : by)});
}

/// By less than 0 or more than 31, C++ has no shift.
cpp::Expr RolePrinter::shifted(const Stmt &stmt) {
  const bool isLeft = stmt.op == OpKind::Shl;
  const Stmt *by = definitionOf(stmt.operands[1]);
  const bool isKnown =
      by && by->kind == StmtKind::Compute && by->op == OpKind::Const && by->constant >= 0 && by->constant <= 31;
  if (isTile(stmt.dest) || isKnown)
    return infix(stmt, isLeft ? "<<" : ">>");
  return function(stmt, isLeft ? "shift_left" : "shift_right");
}

/// Numbers of the rows (axis 0: a column) or columns (a row) of a tile in the whole tile.
cpp::Expr RolePrinter::indices(const VarType &type, int axis) {
  if (type.kind == VarType::Scalar)
    return cpp::integer(0);
  std::vector<cpp::Expr> args;
  if (axis == 1 && type.layout.aligned)
    args.push_back(cpp::name(alignmentName));
  const cpp::Expr local = cpp::call(cpp::templated(axis == 0             ? "tk::row_index"
                                                   : type.layout.aligned ? "tk::led_col_index"
                                                                         : "tk::col_index",
                                                   {cpp::name(variableType(type, role.instances))}),
                                    std::move(args));
  const cpp::Expr first = firstOfInstance(type, axis);
  return first ? cpp::binary("+", local, first) : local;
}

/// The number of the first row (axis 0) or column of an instance's part of a tile, if it has a part.
cpp::Expr RolePrinter::firstOfInstance(const VarType &type, int axis) const {
  const bool divided = type.division == (axis == 0 ? plan::Division::Rows : plan::Division::Cols);
  if (!divided || !instance)
    return {};
  const int64_t part = axis == 0 ? partRows(type, role.instances) : partCols(type, role.instances);
  return cpp::binary("*", instance, cpp::integer(part));
}

/// Column numbers of a tile index against a scalar, in the layout of products by warps.
bool RolePrinter::comparesColumns(const Stmt &stmt) const {
  const Stmt *elements = uses.isInlined(stmt.operands[0]) ? uses.definition(stmt.operands[0]) : nullptr;
  const VarType &left = typeOf(stmt.operands[0]);
  return elements && elements->kind == StmtKind::Compute && elements->op == ir::OpKind::Elements &&
         !isFarMoved(elements->operands[0]) && left.kind == VarType::Row && left.layout.kind == plan::Layout::WarpMma &&
         left.division != plan::Division::Cols && typeOf(stmt.operands[1]).kind == VarType::Scalar;
}

/// Places in the tile against a number of the thread's own: no register holds the numbers of columns.
cpp::Expr RolePrinter::columnsBefore(const Stmt &stmt) {
  const Stmt &elements = *uses.definition(stmt.operands[0]);
  const cpp::Expr begin = cpp::member(value(elements.operands[0]), "begin");
  return cpp::call(
      cpp::templated("tk::cols_before", {cpp::name(variableType(typeOf(stmt.operands[0]), role.instances))}),
      {cpp::binary("-", value(stmt.operands[1]), begin)});
}

/// Where a tile begins or ends, or the instance's rows of it.
cpp::Expr RolePrinter::edge(const Stmt &stmt) {
  const bool isBegin = stmt.op == OpKind::Begin;
  const cpp::Expr tile = value(stmt.operands[0]);
  if (stmt.tileSize == 0)
    return cpp::member(tile, isBegin ? "begin" : "end");
  const cpp::Expr end = cpp::member(tile, "end");
  const cpp::Expr before = cpp::binary("*", instance, cpp::integer(stmt.tileSize));
  if (isBegin)
    return cpp::call("tk::min", {beginMovedBy(stmt.operands[0], before), cpp::binary("-", end, cpp::integer(1))});
  const cpp::Expr size = cpp::integer(stmt.tileSize);
  const cpp::Expr partEnd = isFarMoved(stmt.operands[0])
                                ? beginMovedBy(stmt.operands[0], cpp::binary("+", before, size))
                                : cpp::binary("+", beginMovedBy(stmt.operands[0], before), size);
  return cpp::call("tk::min", {partEnd, end});
}

/// Where a tile begins and so many elements on, be it moved to the end of i32.
cpp::Expr RolePrinter::beginMovedBy(const std::string &tile, const cpp::Expr &by) {
  return isFarMoved(tile) ? cpp::member(cpp::method(value(tile), "moved", {by}), "begin")
                          : cpp::binary("+", cpp::member(value(tile), "begin"), by);
}

/// Elements of a tile index as a column (axis 0), a row, or a scalar.
cpp::Expr RolePrinter::elementsOf(const VarType &type, int axis, const std::string &tile) {
  const cpp::Expr begin = cpp::member(value(tile), "begin");
  if (type.kind == VarType::Scalar)
    return begin;
  const cpp::Expr places = indices(type, axis);
  // Past the end of i32 they are negative: no tensor has them, but C++ may take for granted that no sum gets there.
  return isFarMoved(tile) ? cpp::call("tk::wrapping_add", {places, begin}) : cpp::binary("+", places, begin);
}

/// What warps combine through. Instances that have whole columns each combine their own.
cpp::Expr RolePrinter::scratch(const Stmt &stmt) {
  const cpp::Expr all = cpp::name(scratchNames.at(stmt.ref.buffer));
  const bool othersMeet = stmt.meets.threads > role.warps * role.lanes;
  if (!othersMeet || stmt.axis == 1 || plan::heldPart(typeOf(stmt.operands[0])) == plan::Division::Rows)
    return all;
  return cpp::call(cpp::templated("tk::of_group", {cpp::integer(role.warps)}), {all});
}

cpp::Expr RolePrinter::reduction(const Stmt &stmt) {
  static constexpr std::string_view names[] = {"sum", "max", "min", "prod", "argmax", "argmin"};
  const std::string kind(names[static_cast<int>(stmt.reduce)]);
  const bool isPlace = stmt.reduce == ir::ReduceKind::ArgMax || stmt.reduce == ir::ReduceKind::ArgMin;
  VarType type = typeOf(stmt.operands[0]);
  const ElemType computed = arithmeticType(type.elem);
  cpp::Expr operand = convert(value(stmt.operands[0]), type.elem, computed);
  type.elem = computed;
  if (stmt.colHi > 0) { // the tile is padded
    VarType line = type;
    line.kind = stmt.axis == 1 ? VarType::Row : VarType::Column;
    const cpp::Expr exists = cpp::binary("<", indices(line, stmt.axis == 1 ? 1 : 0), cpp::integer(stmt.colHi));
    const bool isFloatType = isFloat(type.elem);
    const auto extreme = [&](int sign) { // of places NaN, which is found nowhere
      if (type.elem == ElemType::I64)
        return wideInteger(sign < 0 ? leastOf(type.elem) : greatestOf(type.elem));
      return isFloatType ? cpp::floating(isPlace ? NAN : sign * INFINITY, type.elem == ElemType::F64)
                         : cpp::name(sign < 0 ? "(-2147483647 - 1)" : "2147483647");
    };
    cpp::Expr nothing;
    switch (stmt.reduce) {
    case ir::ReduceKind::Sum:
      nothing = isFloatType ? cpp::floating(0, type.elem == ElemType::F64) : cpp::integer(0);
      break;
    case ir::ReduceKind::Prod:
      nothing = isFloatType ? cpp::floating(1, type.elem == ElemType::F64) : cpp::integer(1);
      break;
    case ir::ReduceKind::Max:
    case ir::ReduceKind::ArgMax:
      nothing = extreme(-1);
      break;
    case ir::ReduceKind::Min:
    case ir::ReduceKind::ArgMin:
      nothing = extreme(1);
      break;
    }
    operand = cpp::call("tk::where", {exists, operand, nothing});
  }
  if (type.kind == VarType::Scalar &&
      !stmt.byThreads) { // of one element: itself, but that NaN is none to a maximum or minimum
    const bool isMax = stmt.reduce == ir::ReduceKind::Max, isMin = stmt.reduce == ir::ReduceKind::Min;
    if (isPlace)
      return cpp::integer(0);
    if (!isFloat(type.elem) || (!isMax && !isMin) || mayBeNaN(stmt))
      return operand;
    return cpp::call("tk::" + kind, {operand, cpp::floating(isMax ? -INFINITY : INFINITY, type.elem == ElemType::F64)});
  }
  std::vector<cpp::Expr> args = {operand};
  if (!stmt.ref.buffer.empty())
    args.push_back(scratch(stmt));
  if (const cpp::Expr first = isPlace && args.size() > 1 ? firstOfInstance(type, stmt.axis) : cpp::Expr())
    args.push_back(first);
  const bool isPart = type.kind == VarType::Fragment || type.kind == VarType::Row;
  if (stmt.byThreads && !isPart)
    return cpp::call("tk::finish_row_" + kind, std::move(args));
  const std::string along = stmt.byThreads ? "thread_row_" : stmt.axis == 1 ? "row_" : "col_";
  const std::string name = "tk::" + along + kind + (isFloat(type.elem) && mayBeNaN(stmt) ? "_or_nan" : "");
  return cpp::call(name, std::move(args));
}

cpp::Expr RolePrinter::spread(const Stmt &stmt) {
  const VarType &from = typeOf(stmt.operands[0]), &to = typeOf(stmt.dest);
  const cpp::Expr source = value(stmt.operands[0]);
  if (to.kind == VarType::Row && to.cols < from.cols)
    return cpp::call(cpp::templated("tk::any_row", {cpp::integer(to.cols)}), {source});
  if (to.kind != VarType::Fragment)
    return cpp::call(to.kind == VarType::Row      ? "tk::any_row"
                     : to.kind == VarType::Column ? "tk::first_column"
                                                  : "tk::first_element",
                     {source});
  const bool sameShape = from.kind == VarType::Fragment && from.rows == to.rows && from.cols == to.cols;
  cpp::Expr result = source;
  if (!sameShape || stmt.rowHi > 0 || stmt.colHi > 0) {
    VarType tile = to;
    tile.layout = from.layout;
    const int64_t rows = stmt.rowHi > 0 ? stmt.rowHi : to.rows, cols = stmt.colHi > 0 ? stmt.colHi : to.cols;
    const auto within = [&](int64_t extent, plan::Division division, int64_t part) {
      if (!instance || to.division != division)
        return cpp::integer(extent);
      return cpp::binary("-", cpp::integer(extent), cpp::binary("*", instance, cpp::integer(part)));
    };
    result = cpp::call(cpp::templated("tk::spread", {cpp::name(variableType(tile, role.instances))}),
                       {source, within(rows, plan::Division::Rows, partRows(to, role.instances)),
                        within(cols, plan::Division::Cols, partCols(to, role.instances))});
  }
  return to.layout.kind == plan::Layout::Operand ? cpp::call("tk::as_operand", {result}) : result;
}

cpp::Expr RolePrinter::externCall(const Stmt &stmt) {
  std::vector<cpp::Expr> args;
  bool onTiles = false;
  for (const std::string &operand : stmt.operands) {
    onTiles |= isTile(operand);
    args.push_back(value(operand));
  }
  if (!onTiles)
    return cpp::call("::" + stmt.name, std::move(args));
  const std::string pack = cpp::NameScope(names).take("x");
  args.insert(args.begin(),
              cpp::lambda("[](auto... " + pack + ")", cpp::call("::" + stmt.name, {cpp::name(pack + "...")})));
  return cpp::call("tk::map", std::move(args));
}

/// `where(condition, chosen, otherwise)` of a tile; where two conditions of its elements would take registers at once,
/// one after the other.
cpp::Expr RolePrinter::masked(const std::string &condition, cpp::Expr chosen, const std::string &otherwise) {
  const Stmt *both = uses.isInlined(condition) ? uses.definition(condition) : nullptr;
  const bool inTurns = dialectOf(kernel.plan.arch).masksInTurns && both && both->kind == StmtKind::Compute &&
                       both->op == OpKind::And && isTile(both->operands[0]) && isTile(both->operands[1]) &&
                       !isTile(otherwise);
  if (inTurns)
    return masked(both->operands[0], masked(both->operands[1], std::move(chosen), otherwise), otherwise);
  return cpp::call("tk::where", {value(condition), std::move(chosen), value(otherwise)});
}

cpp::Expr RolePrinter::computed(const Stmt &stmt) {
  if (const std::string negated = negatedBy(stmt); !negated.empty())
    return cpp::call("tk::negate", {value(negated)});
  switch (stmt.op) {
  case OpKind::Const: {
    const VarType &type = typeOf(stmt.dest);
    if (type.elem == ElemType::Bool)
      return cpp::boolean(stmt.constant != 0);
    if (type.elem == ElemType::I64)
      return wideInteger(stmt.constant);
    if (!isFloat(type.elem))
      return cpp::integer(static_cast<int64_t>(stmt.constant));
    if (type.elem == ElemType::F64)
      return cpp::floating(stmt.constant, true);
    return convert(cpp::floating(stmt.constant, false), ElemType::F32, type.elem);
  }
  case OpKind::Dim:
    return kernel.symbol(stmt.name);
  case OpKind::Param:
    return kernel.argument(stmt.name);
  case OpKind::Cast:
    return convert(value(stmt.operands[0]), typeOf(stmt.operands[0]).elem, typeOf(stmt.dest).elem);
  case OpKind::Select:
    if (!isTile(stmt.dest))
      return cpp::conditional(value(stmt.operands[0]), value(stmt.operands[1]), value(stmt.operands[2]));
    return masked(stmt.operands[0], value(stmt.operands[1]), stmt.operands[2]);
  case OpKind::Full:
    return cpp::call(cpp::templated("tk::full", {cpp::name(typeText(stmt.dest))}), {value(stmt.operands[0])});
  case OpKind::Iota:
    return indices(typeOf(stmt.dest), typeOf(stmt.dest).kind == VarType::Row ? 1 : 0);
  case OpKind::Begin:
  case OpKind::End:
    return edge(stmt);
  case OpKind::Index:
    return cpp::member(value(stmt.operands[0]), "index");
  case OpKind::Elements:
    return elementsOf(typeOf(stmt.dest), stmt.axis, stmt.operands[0]);
  case OpKind::Shift:
    return moved(stmt);
  case OpKind::ToScalar:
  case OpKind::AsCol:
  case OpKind::AsRow:
    return value(stmt.operands[0]);
  case OpKind::Reduce:
    return isCount(stmt) ? counted(stmt) : reduction(stmt);
  case OpKind::Cumsum: {
    if (isCount(stmt))
      return counted(stmt);
    const VarType &summed = typeOf(stmt.operands[0]);
    std::vector<cpp::Expr> args = {convert(value(stmt.operands[0]), summed.elem, typeOf(stmt.dest).elem)};
    if (summed.kind == VarType::Scalar || summed.kind == (stmt.axis == 1 ? VarType::Column : VarType::Row))
      return args.front(); // of one element each
    if (!stmt.ref.buffer.empty())
      args.push_back(scratch(stmt));
    return cpp::call(stmt.axis == 1 ? "tk::cumsum_cols" : "tk::cumsum_rows", std::move(args));
  }
  case OpKind::Philox:
    return function(stmt, "philox");
  case OpKind::ExternCall:
    return externCall(stmt);
  case OpKind::Neg:
    return cpp::unary("-", value(stmt.operands[0]));
  case OpKind::Not:
    return cpp::unary(typeOf(stmt.dest).elem == ElemType::Bool ? "!" : "~", value(stmt.operands[0]));
  case OpKind::Div:
  case OpKind::Mod:
    return quotient(stmt);
  case OpKind::Add:
    if (mayWrap(stmt))
      return function(stmt, "wrapping_add");
    if (std::optional<cpp::Expr> sum = onePlus(stmt))
      return *sum;
    return infix(stmt, "+");
  case OpKind::Sub:
    return mayWrap(stmt) ? function(stmt, "wrapping_sub") : infix(stmt, "-");
  case OpKind::Mul:
    if (mayWrap(stmt))
      return function(stmt, "wrapping_mul");
    if (std::optional<cpp::Expr> bent = scaledTanh(stmt))
      return *bent;
    return infix(stmt, "*");
  case OpKind::And:
    return infix(stmt, typeOf(stmt.dest).elem == ElemType::Bool ? "&&" : "&");
  case OpKind::Or:
    return infix(stmt, typeOf(stmt.dest).elem == ElemType::Bool ? "||" : "|");
  case OpKind::Xor:
    return infix(stmt, "^");
  case OpKind::Shl:
  case OpKind::Shr:
    return shifted(stmt);
  case OpKind::Eq:
    return infix(stmt, "==");
  case OpKind::Ne:
    return infix(stmt, "!=");
  case OpKind::Lt:
    return comparesColumns(stmt) ? columnsBefore(stmt) : infix(stmt, "<");
  case OpKind::Le:
    return infix(stmt, "<=");
  case OpKind::Gt:
    return infix(stmt, ">");
  case OpKind::Ge:
    return infix(stmt, ">=");
  case OpKind::Exp2:
    return stmt.count > 0 ? function(stmt, fmt::format("exp2_shared<{}, {}>", stmt.count, stmt.degree))
                          : function(stmt, "exp2");
  case OpKind::Tanh:
    if (std::optional<cpp::Expr> bent = scaledTanh(stmt))
      return *bent;
    return function(stmt, "tanh");
  case OpKind::Sqrt:
  case OpKind::Rsqrt:
  case OpKind::Rcp:
    return root(stmt);
  case OpKind::Abs:
  case OpKind::Exp:
  case OpKind::Log:
  case OpKind::Log2:
  case OpKind::Sin:
  case OpKind::Cos:
  case OpKind::Erf:
  case OpKind::Sigmoid:
  case OpKind::Floor:
  case OpKind::Max:
  case OpKind::Min:
    return function(stmt, std::string(ir::spelling(stmt.op)));
  case OpKind::Transpose:
  case OpKind::Dot:
  case OpKind::DotScaled:
  case OpKind::Load:
  case OpKind::Store:
  case OpKind::Atomic:
  case OpKind::Parallel:
  case OpKind::For:
  case OpKind::If:
  case OpKind::Yield:
    break;
  }
  assert(false && "the planner places this op by another statement");
  return {};
}

} // namespace tkc::cuda
