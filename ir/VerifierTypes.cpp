// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works out result types from operands, as Builder does, and says why where there is none.
#include "ir/Verifier.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace tkc::ir {
namespace {

std::string wants(const Op &op, std::string_view what, const Type &type) {
  return fmt::format("`{}` takes {}, not {}", spelling(op.kind), what, print(type));
}

Type withElem(Type type, ElemType elem) {
  type.elem = elem;
  return type;
}

bool isNumeric(ElemType elem) { return elem != ElemType::Bool; }

/// "number", "float", …: what the row of Ops.def says that an element-wise op takes.
enum class Domain : uint8_t { Number, Float, Integer, Logic, Bits, Compare };

Domain domainOf(OpKind kind) {
  switch (kind) {
#define TKC_UNARY(kind, name, domain, summary)                                                                         \
  case OpKind::kind:                                                                                                   \
    return Domain::domain;
#define TKC_BINARY(kind, name, domain, summary) TKC_UNARY(kind, name, domain, summary)
#define TKC_OP(kind, name, summary) case OpKind::kind:
#include "ir/Ops.def"
    break;
  }
  return Domain::Number;
}

bool inDomain(Domain domain, ElemType elem) {
  switch (domain) {
  case Domain::Number:
    return isNumeric(elem);
  case Domain::Compare:
    return true;
  case Domain::Float:
    return isFloat(elem);
  case Domain::Integer:
    return isInteger(elem);
  case Domain::Logic:
    return elem == ElemType::Bool;
  case Domain::Bits:
    return !isFloat(elem);
  }
  return false;
}

std::string_view describe(Domain domain) {
  switch (domain) {
  case Domain::Number:
  case Domain::Compare:
    return "numbers";
  case Domain::Float:
    return "floats";
  case Domain::Integer:
    return "integers";
  case Domain::Logic:
    return "bools";
  case Domain::Bits:
    return "integers or bools";
  }
  return {};
}

ExpectedType elementwise(const Op &op) {
  Domain domain = domainOf(op.kind);
  const Type &x = op.operand(0)->type;
  for (const Value *operand : op.operands()) {
    if (operand->type.kind == Type::TileIndex || !inDomain(domain, operand->type.elem))
      return wants(op, describe(domain), operand->type);
    if (arithmeticType(operand->type.elem) != arithmeticType(x.elem))
      return fmt::format("`{}` of {} and {} needs a cast", spelling(op.kind), print(x), print(operand->type));
  }
  Type result = withElem(x, domain == Domain::Compare ? ElemType::Bool : arithmeticType(x.elem));
  if (op.operands().size() == 1)
    return result;
  std::optional<Type> both = broadcast(result, op.operand(1)->type);
  if (!both)
    return fmt::format("`{}`: {} and {} do not broadcast", spelling(op.kind), print(x), print(op.operand(1)->type));
  return *both;
}

/// Operands from `first` on, broadcast; the element type is `elem`.
ExpectedType broadcastAll(const Op &op, size_t first, ElemType elem) {
  Type result = Type::scalar(elem);
  for (size_t i = first; i < op.operands().size(); ++i) {
    std::optional<Type> both = broadcast(result, op.operand(i)->type);
    if (!both)
      return fmt::format("`{}`: {} and {} do not broadcast", spelling(op.kind), print(result),
                         print(op.operand(i)->type));
    result = *both;
  }
  return result;
}

ExpectedType select(const Op &op) {
  const Type &condition = op.operand(0)->type, &x = op.operand(1)->type, &y = op.operand(2)->type;
  if (condition.kind == Type::TileIndex || condition.elem != ElemType::Bool)
    return fmt::format("the condition of `select` is of bools, not {}", print(condition));
  if (x.elem != y.elem)
    return fmt::format("`select` of {} and {} needs a cast", print(x), print(y));
  return broadcastAll(op, 0, x.elem);
}

ExpectedType constant(const Op &op) {
  const Type &type = op.result()->type;
  if (!type.isScalar())
    return fmt::format("`const` gives a scalar, not {}", print(type));
  bool isWhole = op.constant == std::floor(op.constant);
  const double limit = type.elem == ElemType::I64 ? 0x1p63 : 0x1p53;
  if (type.elem == ElemType::Bool ? op.constant != 0 && op.constant != 1
                                  : isInteger(type.elem) && (!isWhole || std::abs(op.constant) > limit))
    return fmt::format("`const`: {} is no {}", op.constant, spelling(type.elem));
  return type;
}

ExpectedType scalarParam(const Function &function, const Op &op) {
  const Param *param = function.findParam(op.name);
  if (!param || param->isTensor)
    return fmt::format("no scalar parameter `{}`", op.name);
  return Type::scalar(param->elem);
}

bool mentions(const DimExpr &dim, const std::string &symbol) {
  if (dim.kind == DimExpr::Symbol)
    return dim.symbol == symbol;
  return dim.lhs && (mentions(*dim.lhs, symbol) || mentions(*dim.rhs, symbol));
}

ExpectedType dim(const Function &function, const Op &op) {
  for (const Param &param : function.params)
    for (const DimExpr &expr : param.dims)
      if (mentions(expr, op.name))
        return Type::scalar(ElemType::I32);
  return fmt::format("no tensor has a dim `{}`", op.name);
}

ExpectedType ofTileIndex(const Op &op) {
  const Type &type = op.operand(0)->type;
  if (type.kind != Type::TileIndex)
    return wants(op, "a tile index", type);
  Value *end = edgeOf(op.operand(0));
  switch (op.kind) {
  case OpKind::Elements:
    return op.axis == 0 ? Type::tile(ElemType::I32, type.rows, 1, end)
                        : Type::tile(ElemType::I32, 1, type.rows, nullptr, end);
  case OpKind::Shift:
    if (op.operand(1)->type != Type::scalar(ElemType::I32))
      return wants(op, "an i32 to move by", op.operand(1)->type);
    return type;
  default: // Begin, End, Index
    return Type::scalar(ElemType::I32);
  }
}

ExpectedType iota(const Op &op) {
  const Type &type = op.result()->type;
  if (!type.isTile() || type.elem != ElemType::I32 || (type.rows != 1 && type.cols != 1) || type.rowEnd || type.colEnd)
    return fmt::format("`iota` gives a full column or row of i32, not {}", print(type));
  return type;
}

ExpectedType full(const Op &op) {
  const Type &scalar = op.operand(0)->type, &type = op.result()->type;
  if (!scalar.isScalar())
    return wants(op, "a scalar", scalar);
  return Type::tile(scalar.elem, type.rows, type.cols);
}

ExpectedType ofVector(const Op &op) {
  const Type &type = op.operand(0)->type;
  if (type.kind != Type::Vector)
    return wants(op, "a vector", type);
  return op.kind == OpKind::AsCol ? Type::tile(type.elem, type.rows, 1, type.rowEnd)
                                  : Type::tile(type.elem, 1, type.rows, nullptr, type.rowEnd);
}

ExpectedType reduce(const Op &op) {
  const Type &type = op.operand(0)->type;
  if (!type.isTile() || !isNumeric(type.elem))
    return wants(op, "a tile of numbers", type);
  bool isArg = op.reduce == ReduceKind::ArgMax || op.reduce == ReduceKind::ArgMin;
  ElemType elem = isArg ? ElemType::I32 : arithmeticType(type.elem);
  return op.axis == 1 ? Type::tile(elem, type.rows, 1, type.rowEnd)
                      : Type::tile(elem, 1, type.cols, nullptr, type.colEnd);
}

/// The type of a product, plus operand number `place` if there is one.
ExpectedType accumulated(const Op &op, const Type &result, size_t place) {
  if (op.operands().size() == place)
    return result;
  const Type &accumulator = op.operand(place)->type;
  std::optional<Type> both = broadcast(result, accumulator);
  if (!both || both->rows != accumulator.rows || both->cols != accumulator.cols || accumulator.elem != result.elem)
    return fmt::format("`{}` accumulates {} onto {}", spelling(op.kind), print(result), print(accumulator));
  return *both;
}

ExpectedType dot(const Op &op) {
  const Type &a = op.operand(0)->type, &b = op.operand(1)->type;
  for (const Type &type : {a, b})
    if (!type.isTile() || !isNumeric(type.elem))
      return wants(op, "tiles of numbers", type);
  if (a.cols != b.rows)
    return fmt::format("`dot` contracts {} columns with {} rows", a.cols, b.rows);
  if (!joinEdges(a.colEnd, b.rowEnd))
    return fmt::format("`dot` contracts axes that end with different indices: {} and {}", print(a), print(b));
  if (a.elem != b.elem && !(isFloat8(a.elem) && isFloat8(b.elem)))
    return fmt::format("`dot` of {} and {} needs a cast", spelling(a.elem), spelling(b.elem));
  return accumulated(op, Type::tile(arithmeticType(a.elem), a.rows, b.cols, a.rowEnd, b.colEnd), 2);
}

/// Scales for `x`, whose axis 1 (columns) or 0 (rows) is contracted; empty where they fit.
std::string scalesProblem(const Type &x, const Type &scales, int axis) {
  if (!x.isTile() || !scales.isTile())
    return fmt::format("`dot_scaled` takes tiles, not {} and {}", print(x), print(scales));
  const std::optional<BlockScaling> scaling = findBlockScaling(x.elem, scales.elem);
  if (!scaling)
    return fmt::format("`dot_scaled` has no scales of {} for {}", spelling(scales.elem), spelling(x.elem));
  Type blocks = withElem(x, scales.elem);
  int64_t &size = axis == 1 ? blocks.cols : blocks.rows;
  const bool isWhole = size % scaling->block == 0;
  size /= scaling->block;
  if (Value *&end = axis == 1 ? blocks.colEnd : blocks.rowEnd; size == 1)
    end = nullptr;
  const std::optional<Type> both = isWhole ? broadcast(blocks, scales) : std::nullopt;
  if (!both || both->rows != scales.rows || both->cols != scales.cols || both->rows != blocks.rows ||
      both->cols != blocks.cols)
    return fmt::format("`dot_scaled` of {} takes a scale for each {} elements, not {}", print(x), scaling->block,
                       print(scales));
  return {};
}

ExpectedType dotScaled(const Op &op) {
  const Type &a = op.operand(0)->type, &b = op.operand(2)->type;
  if (std::string problem = scalesProblem(a, op.operand(1)->type, 1); !problem.empty())
    return problem;
  if (std::string problem = scalesProblem(b, op.operand(3)->type, 0); !problem.empty())
    return problem;
  if (op.operand(1)->type.elem != op.operand(3)->type.elem || !canMultiplyScaled(a.elem, b.elem))
    return fmt::format("`dot_scaled` of {} and {}, or of their scales, needs a cast", spelling(a.elem),
                       spelling(b.elem));
  if (a.cols != b.rows)
    return fmt::format("`dot_scaled` contracts {} columns with {} rows", a.cols, b.rows);
  if (!joinEdges(a.colEnd, b.rowEnd))
    return fmt::format("`dot_scaled` contracts axes that end with different indices: {} and {}", print(a), print(b));
  return accumulated(op, Type::tile(ElemType::F32, a.rows, b.cols, a.rowEnd, b.colEnd), 4);
}

ExpectedType load(const Function &function, const Op &op) {
  std::vector<Value *> indices = op.operands();
  ElemType elem = function.findParam(op.view.tensor)->elem;
  if (op.hasElse) {
    const Type &otherwise = indices.back()->type;
    if (otherwise != Type::scalar(elem))
      return fmt::format("`load` of {} takes a scalar of that type after `else`, not {}", spelling(elem),
                         print(otherwise));
    indices.pop_back();
  }
  return *viewType(elem, op.view, indices);
}

} // namespace

bool takesElements(OpKind kind, ElemType elem) { return inDomain(domainOf(kind), elem); }

ExpectedType expectedType(const Function &function, const Op &op) {
  switch (op.kind) {
#define TKC_UNARY(kind, name, domain, summary) case OpKind::kind:
#define TKC_BINARY(kind, name, domain, summary) case OpKind::kind:
#include "ir/Ops.def"
    return elementwise(op);
  case OpKind::Const:
    return constant(op);
  case OpKind::Dim:
    return dim(function, op);
  case OpKind::Param:
    return scalarParam(function, op);
  case OpKind::Cast:
    if (op.operand(0)->type.kind == Type::TileIndex)
      return wants(op, "a scalar, vector or tile", op.operand(0)->type);
    return withElem(op.operand(0)->type, op.result()->type.elem);
  case OpKind::Select:
    return select(op);
  case OpKind::Full:
    return full(op);
  case OpKind::Iota:
    return iota(op);
  case OpKind::Begin:
  case OpKind::End:
  case OpKind::Index:
  case OpKind::Elements:
  case OpKind::Shift:
    return ofTileIndex(op);
  case OpKind::ToScalar:
    if (const Type &type = op.operand(0)->type; !type.isTile() || type.rows != 1 || type.cols != 1)
      return wants(op, "a 1x1 tile", type);
    return Type::scalar(op.operand(0)->type.elem);
  case OpKind::AsCol:
  case OpKind::AsRow:
    return ofVector(op);
  case OpKind::Reduce:
    return reduce(op);
  case OpKind::Cumsum:
    if (const Type &type = op.operand(0)->type; !type.isTile() || !isNumeric(type.elem))
      return wants(op, "a tile of numbers", type);
    return withElem(op.operand(0)->type, arithmeticType(op.operand(0)->type.elem));
  case OpKind::Transpose: {
    const Type &type = op.operand(0)->type;
    if (!type.isTile())
      return wants(op, "a tile", type);
    return Type::tile(type.elem, type.cols, type.rows, type.colEnd, type.rowEnd);
  }
  case OpKind::Dot:
    return dot(op);
  case OpKind::DotScaled:
    return dotScaled(op);
  case OpKind::Philox:
    for (const Value *operand : op.operands())
      if (operand->type.kind == Type::TileIndex || !isInteger(operand->type.elem))
        return wants(op, "integers", operand->type);
    return broadcastAll(op, 0, ElemType::F32);
  case OpKind::ExternCall:
    return broadcastAll(op, 0, op.result()->type.elem);
  case OpKind::Load:
    return load(function, op);
  case OpKind::Store:
  case OpKind::Atomic:
  case OpKind::Parallel:
  case OpKind::For:
  case OpKind::If:
  case OpKind::Yield:
    break;
  }
  return fmt::format("`{}` has no single result", spelling(op.kind));
}

std::string viewProblem(const Function &function, const Op &op) {
  const View &view = op.view;
  const Param *param = function.findParam(view.tensor);
  if (!param || !param->isTensor)
    return fmt::format("no tensor parameter `{}`", view.tensor);
  if (!param->isPresent)
    return fmt::format("`{}` was left out of this specialisation", view.tensor);
  if (view.indices.size() != param->dims.size())
    return fmt::format("`{}` has {} dims, not {}", view.tensor, param->dims.size(), view.indices.size());
  const auto isOperand = [](const ViewIndex &index) {
    return index.kind != ViewIndex::All && index.kind != ViewIndex::Span;
  };
  const bool hasMore = op.kind != OpKind::Load || op.hasElse; // what is stored, or what stands outside
  const auto wanted = static_cast<size_t>(std::count_if(view.indices.begin(), view.indices.end(), isOperand)) + hasMore;
  if (op.operands().size() != wanted)
    return fmt::format("`{}` of this slice takes {} operands, not {}", spelling(op.kind), wanted, op.operands().size());
  for (const ViewIndex &index : view.indices) {
    if (!isOperand(index)) {
      if (index.lo < 0 || index.lo >= index.hi)
        return fmt::format("`{}:{}` is no range", index.lo, index.hi);
      continue;
    }
    const Type &type = op.operand(index.operand)->type;
    if (index.kind == ViewIndex::Tiled && type.kind != Type::TileIndex)
      return fmt::format("`{}` is indexed by {} where a tile index is wanted", view.tensor, print(type));
    if (index.kind == ViewIndex::Tiled && index.divisor != 1 &&
        (index.divisor < 1 || type.rows % index.divisor != 0 || op.operand(index.operand)->definingOp))
      return fmt::format("`{}` is indexed by a tile index of {} over {}, which does not divide it, or that was moved",
                         view.tensor, type.rows, index.divisor);
    if (index.kind == ViewIndex::Element && type != Type::scalar(ElemType::I32))
      return fmt::format("`{}` is indexed by {}, not by an i32 or a tile index", view.tensor, print(type));
    if (index.kind == ViewIndex::Gather && (!type.isTile() || type.elem != ElemType::I32))
      return fmt::format("`{}` is gathered by {}, not by a tile of i32", view.tensor, print(type));
  }
  if (!viewType(param->elem, view, op.operands()))
    return fmt::format("the slice of `{}` keeps more than two axes, or its indices clash", view.tensor);
  return {};
}

bool canEnter(const Type &from, const Type &to) {
  auto takesOn = [](Value *from, Value *to) { return !from || from == to; };
  return from.kind == to.kind && from.elem == to.elem && from.rows == to.rows && from.cols == to.cols &&
         takesOn(from.rowEnd, to.rowEnd) && takesOn(from.colEnd, to.colEnd);
}

bool canStore(const Type &value, const Type &slice) {
  auto sameAxis = [](int64_t size, Value *end, int64_t wanted, Value *wantedEnd) {
    return size == wanted && joinEdges(end, wantedEnd);
  };
  if (slice.kind == Type::Vector && value.isTile())
    return (value.cols == 1 && sameAxis(value.rows, value.rowEnd, slice.rows, slice.rowEnd)) ||
           (value.rows == 1 && sameAxis(value.cols, value.colEnd, slice.rows, slice.rowEnd));
  return value.kind == slice.kind && sameAxis(value.rows, value.rowEnd, slice.rows, slice.rowEnd) &&
         sameAxis(value.cols, value.colEnd, slice.cols, slice.colEnd);
}

} // namespace tkc::ir
