// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/verify/Scalars.h"

#include <algorithm>
#include <cmath>

namespace tkc::plan {

int64_t toInteger(double value) { return std::abs(value) < 9e15 ? static_cast<int64_t>(value) : 0; }

int64_t Inputs::endOf(int64_t lo, int64_t hi, int64_t step) const {
  if (fewTrips == 0 || hi <= lo)
    return hi;
  const auto trips = static_cast<uint64_t>((hi - lo + step - 1) / step);
  const uint64_t hash = mix(mix(mix(seed, static_cast<uint64_t>(lo)), trips), static_cast<uint64_t>(step));
  const int64_t most = hash % 3 == 0 ? manyTrips : fewTrips;
  return static_cast<int64_t>(trips) <= most ? hi : lo + most * step;
}

namespace {

/// Element-wise operations on two numbers; nullopt for what has no bearing on control flow.
std::optional<double> binary(ir::OpKind op, double x, double y) {
  switch (op) {
  case ir::OpKind::Add:
    return x + y;
  case ir::OpKind::Sub:
    return x - y;
  case ir::OpKind::Mul:
    return x * y;
  case ir::OpKind::Div:
    return y == 0 ? 0 : std::floor(x / y);
  case ir::OpKind::Mod:
    return y == 0 ? 0 : x - std::floor(x / y) * y;
  case ir::OpKind::Max:
    return std::max(x, y);
  case ir::OpKind::Min:
    return std::min(x, y);
  case ir::OpKind::And:
    return toInteger(x) & toInteger(y);
  case ir::OpKind::Or:
    return toInteger(x) | toInteger(y);
  case ir::OpKind::Xor:
    return toInteger(x) ^ toInteger(y);
  case ir::OpKind::Shl:
    return x * std::exp2(std::clamp(y, 0.0, 31.0));
  case ir::OpKind::Shr:
    return std::floor(x / std::exp2(std::clamp(y, 0.0, 31.0)));
  case ir::OpKind::Eq:
    return x == y;
  case ir::OpKind::Ne:
    return x != y;
  case ir::OpKind::Lt:
    return x < y;
  case ir::OpKind::Le:
    return x <= y;
  case ir::OpKind::Gt:
    return x > y;
  case ir::OpKind::Ge:
    return x >= y;
  default:
    return std::nullopt;
  }
}

std::optional<double> unary(ir::OpKind op, double x, ElemType elem) {
  switch (op) {
  case ir::OpKind::Neg:
    return -x;
  case ir::OpKind::Abs:
    return std::abs(x);
  case ir::OpKind::Not:
    return elem == ElemType::Bool ? x == 0 : ~toInteger(x);
  case ir::OpKind::Cast:
    return isFloat(elem) ? x : std::trunc(x);
  case ir::OpKind::ToScalar:
    return x;
  default:
    return std::nullopt;
  }
}

} // namespace

Scalar Scalars::get(const std::string &name) const {
  const Scalar *found = find(name);
  return found ? *found : Scalar{};
}

/// Small enough that a loop over it ends soon; 0 and 1 often enough that it decides branches both ways.
double Scalars::opaque(const Stmt &stmt, uint64_t occurrence) const {
  uint64_t hash = mix(inputs.seed, static_cast<uint64_t>(stmt.op));
  hash = mix(hash, std::hash<std::string>()(stmt.name + "/" + stmt.view.tensor));
  bool fromTiles = false;
  for (const std::string &operand : stmt.operands) {
    const Scalar *known = find(operand);
    fromTiles |= !known;
    const Scalar value = known ? *known : Scalar{};
    hash = mix(mix(hash, std::hash<double>()(value.value)), static_cast<uint64_t>(value.begin));
  }
  // What comes from tiles differs from one execution to the next; what comes from tensors does not.
  if (fromTiles)
    hash = mix(hash, occurrence);
  constexpr double choices[] = {0, 1, 2, 64, 100, 300};
  return choices[hash % std::size(choices)];
}

/// Where a tile index begins or ends, or the instance's rows of it.
int64_t Scalars::edge(const Stmt &stmt) const {
  const Scalar tile = get(stmt.operands[0]);
  const bool isBegin = stmt.op == ir::OpKind::Begin;
  if (stmt.tileSize == 0)
    return isBegin ? tile.begin : tile.end;
  const int64_t begin = tile.begin + stmt.tileSize * instance;
  return isBegin ? std::min(begin, tile.end - 1) : std::min(begin + stmt.tileSize, tile.end);
}

double Scalars::compute(const Stmt &stmt, uint64_t occurrence) const {
  switch (stmt.op) {
  case ir::OpKind::Const:
    return stmt.constant;
  case ir::OpKind::Dim: {
    auto found = inputs.dims.find(stmt.name);
    return found == inputs.dims.end() ? 1 : static_cast<double>(found->second);
  }
  case ir::OpKind::Param: {
    auto found = inputs.params.find(stmt.name);
    return found == inputs.params.end() ? 1 : found->second;
  }
  case ir::OpKind::Begin:
  case ir::OpKind::End:
    return static_cast<double>(edge(stmt));
  case ir::OpKind::Elements: // of a tile of one
    return static_cast<double>(get(stmt.operands[0]).begin);
  case ir::OpKind::Index:
    return static_cast<double>(get(stmt.operands[0]).index);
  case ir::OpKind::Select:
    return operand(stmt, operand(stmt, 0) != 0 ? 1 : 2);
  default:
    break;
  }
  std::optional<double> result;
  if (stmt.operands.size() == 2)
    if (const Scalar *x = find(stmt.operands[0]), *y = find(stmt.operands[1]); x && y)
      result = binary(stmt.op, x->value, y->value);
  return result ? *result : opaque(stmt, occurrence);
}

void Scalars::run(const Stmt &stmt, const VarType &dest, uint64_t occurrence) {
  if (stmt.kind == StmtKind::Move || (stmt.kind == StmtKind::Compute && stmt.op == ir::OpKind::Shift)) {
    Scalar value = get(stmt.operands[0]);
    if (stmt.kind == StmtKind::Compute)
      value.begin = toInteger(static_cast<double>(value.begin) + operand(stmt, 1));
    set(stmt.dest, value);
    return;
  }
  Scalar value;
  std::optional<double> simple;
  if (stmt.kind == StmtKind::Compute && stmt.operands.size() == 1)
    if (const Scalar *x = find(stmt.operands[0]))
      simple = unary(stmt.op, x->value, dest.elem);
  value.value = simple                           ? *simple
                : stmt.kind == StmtKind::Compute ? compute(stmt, occurrence)
                                                 : opaque(stmt, occurrence);
  if (isFloat(dest.elem) && stmt.kind == StmtKind::Compute && stmt.op == ir::OpKind::Div)
    value.value = operand(stmt, 1) == 0 ? 0 : operand(stmt, 0) / operand(stmt, 1);
  set(stmt.dest, value);
}

} // namespace tkc::plan
