// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/TileIR.h"

#include <cassert>

namespace tkc::ir {
namespace {

Type withElem(Type type, ElemType elem) {
  type.elem = elem;
  return type;
}

Type broadcastChecked(const Type &x, const Type &y) {
  std::optional<Type> result = broadcast(x, y);
  assert(result && "operands broadcast");
  return *result;
}

} // namespace

void Builder::setInsertionPointBefore(Op *op) {
  block = op->parent;
  at = op->position;
}

Op *Builder::insert(OpKind kind, const std::vector<Value *> &operands, const std::vector<Type> &resultTypes) {
  auto position = block->ops.insert(at, std::make_unique<Op>(kind, loc));
  Op *op = position->get();
  op->parent = block;
  op->position = position;
  for (Value *operand : operands)
    op->addOperand(operand);
  for (const Type &type : resultTypes)
    op->addResult(type);
  return op;
}

// ---- scalars -------------------------------------------------------------------------------------------------------

Value *Builder::constant(ElemType elem, double value) {
  Op *op = insert(OpKind::Const, {}, {Type::scalar(elem)});
  op->constant = value;
  return op->result();
}

Value *Builder::dim(const std::string &symbol) {
  Op *op = insert(OpKind::Dim, {}, {Type::scalar(ElemType::I32)});
  op->name = symbol;
  op->result()->name = symbol;
  return op->result();
}

Value *Builder::param(const std::string &name) {
  const Param *param = function.findParam(name);
  assert(param && !param->isTensor && "a scalar parameter of this function");
  Op *op = insert(OpKind::Param, {}, {Type::scalar(param->elem)});
  op->name = name;
  op->result()->name = name;
  return op->result();
}

// ---- element-wise --------------------------------------------------------------------------------------------------

Value *Builder::cast(ElemType to, Value *x) {
  if (x->type.elem == to)
    return x;
  return insert(OpKind::Cast, {x}, {withElem(x->type, to)})->result();
}

Value *Builder::unary(OpKind kind, Value *x) {
  assert(isElementwiseUnary(kind));
  bool onNumbers = kind == OpKind::Neg || kind == OpKind::Abs || kind == OpKind::Not;
  if (!onNumbers && !isFloat(x->type.elem))
    x = cast(ElemType::F32, x);
  return insert(kind, {x}, {withElem(x->type, arithmeticType(x->type.elem))})->result();
}

Value *Builder::binary(OpKind kind, Value *x, Value *y) {
  assert(isElementwiseBinary(kind));
  ElemType elem = joinElemTypes(x->type.elem, y->type.elem);
  // Narrow operands widen by themselves; a meeting of integers and floats is said.
  if (arithmeticType(x->type.elem) != elem)
    x = cast(elem, x);
  if (arithmeticType(y->type.elem) != elem)
    y = cast(elem, y);
  Type type = broadcastChecked(x->type, y->type);
  return insert(kind, {x, y}, {withElem(type, isCompare(kind) ? ElemType::Bool : elem)})->result();
}

Value *Builder::select(Value *condition, Value *x, Value *y) {
  if (x->type.elem != y->type.elem) {
    ElemType elem = joinElemTypes(x->type.elem, y->type.elem);
    x = cast(elem, x);
    y = cast(elem, y);
  }
  Type type = broadcastChecked(broadcastChecked(x->type, y->type), condition->type);
  return insert(OpKind::Select, {condition, x, y}, {type})->result();
}

Value *Builder::philox(Value *seed, Value *i, Value *j) {
  Type type = broadcastChecked(broadcastChecked(i->type, j->type), seed->type);
  return insert(OpKind::Philox, {seed, i, j}, {withElem(type, ElemType::F32)})->result();
}

Value *Builder::externCall(const std::string &name, std::vector<Value *> args, ElemType result) {
  Type type = Type::scalar(result);
  for (Value *arg : args)
    type = broadcastChecked(type, arg->type);
  Op *op = insert(OpKind::ExternCall, args, {type});
  op->name = name;
  return op->result();
}

// ---- tiles and tile indices ----------------------------------------------------------------------------------------

Value *Builder::full(Value *scalar, int64_t rows, int64_t cols) {
  return insert(OpKind::Full, {scalar}, {Type::tile(scalar->type.elem, rows, cols)})->result();
}

Value *Builder::iota(int64_t rows, int64_t cols) {
  assert(rows == 1 || cols == 1);
  return insert(OpKind::Iota, {}, {Type::tile(ElemType::I32, rows, cols)})->result();
}

Value *Builder::begin(Value *tileIndex) {
  return insert(OpKind::Begin, {tileIndex}, {Type::scalar(ElemType::I32)})->result();
}

Value *Builder::end(Value *tileIndex) {
  return insert(OpKind::End, {tileIndex}, {Type::scalar(ElemType::I32)})->result();
}

Value *Builder::index(Value *tileIndex) {
  return insert(OpKind::Index, {tileIndex}, {Type::scalar(ElemType::I32)})->result();
}

Value *Builder::elements(Value *tileIndex, int axis) {
  int64_t size = tileIndex->type.rows;
  Value *end = edgeOf(tileIndex);
  Type type = axis == 0 ? Type::tile(ElemType::I32, size, 1, end) : Type::tile(ElemType::I32, 1, size, nullptr, end);
  Op *op = insert(OpKind::Elements, {tileIndex}, {type});
  op->axis = axis;
  return op->result();
}

Value *Builder::shift(Value *tileIndex, Value *by) {
  return insert(OpKind::Shift, {tileIndex, by}, {tileIndex->type})->result();
}

Value *Builder::toScalar(Value *tile) {
  assert(tile->type.isTile() && tile->type.rows == 1 && tile->type.cols == 1);
  return insert(OpKind::ToScalar, {tile}, {Type::scalar(tile->type.elem)})->result();
}

Value *Builder::asCol(Value *vector) {
  const Type &type = vector->type;
  return insert(OpKind::AsCol, {vector}, {Type::tile(type.elem, type.rows, 1, type.rowEnd)})->result();
}

Value *Builder::asRow(Value *vector) {
  const Type &type = vector->type;
  return insert(OpKind::AsRow, {vector}, {Type::tile(type.elem, 1, type.rows, nullptr, type.rowEnd)})->result();
}

Value *Builder::transpose(Value *x) {
  const Type &type = x->type;
  return insert(OpKind::Transpose, {x}, {Type::tile(type.elem, type.cols, type.rows, type.colEnd, type.rowEnd)})
      ->result();
}

// ---- reductions and products ---------------------------------------------------------------------------------------

Value *Builder::reduce(ReduceKind kind, int axis, Value *x) {
  if (x->type.elem == ElemType::Bool)
    x = cast(ElemType::I32, x);
  bool isArg = kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin;
  ElemType elem = isArg ? ElemType::I32 : arithmeticType(x->type.elem);
  Type type = axis == 1 ? Type::tile(elem, x->type.rows, 1, x->type.rowEnd)
                        : Type::tile(elem, 1, x->type.cols, nullptr, x->type.colEnd);
  Op *op = insert(OpKind::Reduce, {x}, {type});
  op->reduce = kind;
  op->axis = axis;
  return op->result();
}

Value *Builder::cumsum(int axis, Value *x) {
  if (x->type.elem == ElemType::Bool)
    x = cast(ElemType::I32, x);
  Op *op = insert(OpKind::Cumsum, {x}, {withElem(x->type, arithmeticType(x->type.elem))});
  op->axis = axis;
  return op->result();
}

Value *Builder::dot(Value *a, Value *b, Value *accumulator) {
  assert(a->type.cols == b->type.rows && joinEdges(a->type.colEnd, b->type.rowEnd));
  Type type = Type::tile(arithmeticType(a->type.elem), a->type.rows, b->type.cols, a->type.rowEnd, b->type.colEnd);
  std::vector<Value *> operands{a, b};
  if (accumulator) {
    type = broadcastChecked(type, accumulator->type);
    operands.push_back(accumulator);
  }
  return insert(OpKind::Dot, operands, {type})->result();
}

Value *Builder::dotScaled(Value *a, Value *scaleA, Value *b, Value *scaleB, Value *accumulator) {
  assert(a->type.cols == b->type.rows && joinEdges(a->type.colEnd, b->type.rowEnd));
  Type type = Type::tile(ElemType::F32, a->type.rows, b->type.cols, a->type.rowEnd, b->type.colEnd);
  std::vector<Value *> operands{a, scaleA, b, scaleB};
  if (accumulator) {
    type = broadcastChecked(type, accumulator->type);
    operands.push_back(accumulator);
  }
  return insert(OpKind::DotScaled, operands, {type})->result();
}

// ---- memory --------------------------------------------------------------------------------------------------------

Value *Builder::load(View view, std::vector<Value *> operands, Value *otherwise, Type type) {
  if (otherwise)
    operands.push_back(otherwise);
  Op *op = insert(OpKind::Load, operands, {type});
  op->view = std::move(view);
  op->hasElse = otherwise != nullptr;
  return op->result();
}

Op *Builder::store(View view, std::vector<Value *> operands, Value *value) {
  operands.push_back(value);
  Op *op = insert(OpKind::Store, operands, {});
  op->view = std::move(view);
  return op;
}

Op *Builder::atomic(AtomicKind kind, View view, std::vector<Value *> operands, Value *value) {
  operands.push_back(value);
  Op *op = insert(OpKind::Atomic, operands, {});
  op->view = std::move(view);
  op->atomic = kind;
  return op;
}

// ---- control flow --------------------------------------------------------------------------------------------------

static Type inductionType(int64_t tileSize) {
  return tileSize == 0 ? Type::scalar(ElemType::I32) : Type::tileIndex(tileSize);
}

Op *Builder::parallel(Value *lo, Value *hi, int64_t tileSize, const std::string &inductionName) {
  Op *op = insert(OpKind::Parallel, {lo, hi}, {});
  op->tileSize = tileSize;
  op->addBody()->addArg(inductionType(tileSize), inductionName);
  return op;
}

Op *Builder::forLoop(Value *lo, Value *hi, int64_t tileSize, const std::string &inductionName,
                     const std::vector<Value *> &initial) {
  std::vector<Value *> operands{lo, hi};
  std::vector<Type> types;
  for (Value *value : initial) {
    operands.push_back(value);
    types.push_back(value->type);
  }
  Op *op = insert(OpKind::For, operands, types);
  op->tileSize = tileSize;
  Block *body = op->addBody();
  body->addArg(inductionType(tileSize), inductionName);
  for (Value *value : initial)
    body->addArg(value->type, value->name);
  return op;
}

Op *Builder::ifOp(Value *condition, const std::vector<Type> &resultTypes) {
  Op *op = insert(OpKind::If, {condition}, resultTypes);
  op->addBody();
  op->addBody();
  return op;
}

Op *Builder::yield(const std::vector<Value *> &values) { return insert(OpKind::Yield, values, {}); }

// ---- copies --------------------------------------------------------------------------------------------------------

Op *Builder::clone(const Op &op, ir::ValueMap<Value *> &mapping) {
  auto mapped = [&](Value *value) {
    auto found = mapping.find(value);
    return found == mapping.end() ? value : found->second;
  };
  auto mappedType = [&](Type type) {
    type.rowEnd = type.rowEnd ? mapped(type.rowEnd) : nullptr;
    type.colEnd = type.colEnd ? mapped(type.colEnd) : nullptr;
    return type;
  };
  std::vector<Value *> operands;
  for (Value *operand : op.operands())
    operands.push_back(mapped(operand));
  std::vector<Type> types;
  for (auto &result : op.results)
    types.push_back(mappedType(result->type));
  Op *copy = insert(op.kind, operands, types);
  copy->loc = op.loc;
  copy->constant = op.constant;
  copy->name = op.name;
  copy->axis = op.axis;
  copy->reduce = op.reduce;
  copy->atomic = op.atomic;
  copy->view = op.view;
  copy->hasElse = op.hasElse;
  copy->tileSize = op.tileSize;
  copy->byMasks = op.byMasks;
  for (size_t i = 0; i < op.results.size(); ++i) {
    copy->result(i)->name = op.result(i)->name;
    mapping[op.result(i)] = copy->result(i);
  }
  for (auto &body : op.bodies) {
    Block *copied = copy->addBody();
    for (auto &arg : body->args)
      mapping[arg.get()] = copied->addArg(arg->type, arg->name);
    // Edges among the arguments, and on outer indices, once every argument has its copy.
    for (auto &arg : copied->args)
      arg->type = mappedType(arg->type);
    Builder inner(function, copied);
    for (auto &child : body->ops)
      inner.clone(*child, mapping);
  }
  return copy;
}

} // namespace tkc::ir
