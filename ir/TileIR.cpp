// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/TileIR.h"

#include <llvm/Support/MathExtras.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <unordered_map>

namespace tkc::ir {

uint64_t nextNumber() {
  // Functions are made side by side by several threads; each function's numbers still rise.
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

namespace {

enum class Family : uint8_t { Unary, Binary, Other };
enum class Domain : uint8_t { None, Number, Float, Integer, Logic, Bits, Compare };

struct OpRow {
  std::string_view name;
  Family family;
  Domain domain;
};

constexpr OpRow opRows[] = {
#define TKC_UNARY(kind, name, domain, summary) {#name, Family::Unary, Domain::domain},
#define TKC_BINARY(kind, name, domain, summary) {#name, Family::Binary, Domain::domain},
#define TKC_OP(kind, name, summary) {#name, Family::Other, Domain::None},
#include "ir/Ops.def"
};

const OpRow &rowOf(OpKind kind) { return opRows[static_cast<size_t>(kind)]; }

} // namespace

std::string_view spelling(OpKind kind) { return rowOf(kind).name; }

std::optional<OpKind> parseOpKind(std::string_view name) {
  static const auto *byName = [] {
    auto *map = new std::unordered_map<std::string_view, OpKind>;
    for (size_t i = 0; i < std::size(opRows); ++i)
      (*map)[opRows[i].name] = static_cast<OpKind>(i);
    return map;
  }();
  auto found = byName->find(name);
  return found == byName->end() ? std::nullopt : std::optional(found->second);
}

bool isElementwiseUnary(OpKind kind) { return rowOf(kind).family == Family::Unary; }
bool isElementwiseBinary(OpKind kind) { return rowOf(kind).family == Family::Binary; }
bool isElementwise(OpKind kind) {
  return isElementwiseUnary(kind) || isElementwiseBinary(kind) || kind == OpKind::Cast || kind == OpKind::Select;
}
bool isCompare(OpKind kind) { return rowOf(kind).domain == Domain::Compare; }

bool hasEffect(OpKind kind) {
  return kind == OpKind::Load || kind == OpKind::Store || kind == OpKind::Atomic || kind == OpKind::Parallel ||
         kind == OpKind::For || kind == OpKind::If || kind == OpKind::Yield;
}

bool View::hasGather() const {
  return std::any_of(indices.begin(), indices.end(),
                     [](const ViewIndex &index) { return index.kind == ViewIndex::Gather; });
}

std::string_view spelling(ReduceKind kind) {
  constexpr std::array<std::string_view, 6> names{"sum", "max", "min", "prod", "argmax", "argmin"};
  return names[static_cast<size_t>(kind)];
}

std::string_view spelling(AtomicKind kind) {
  constexpr std::array<std::string_view, 3> names{"add", "max", "min"};
  return names[static_cast<size_t>(kind)];
}

// ---- dims ----------------------------------------------------------------------------------------------------------

DimExpr DimExpr::constant(int64_t value) {
  DimExpr expr;
  expr.value = value;
  return expr;
}

DimExpr DimExpr::named(std::string symbol) {
  DimExpr expr;
  expr.kind = Symbol;
  expr.symbol = std::move(symbol);
  return expr;
}

DimExpr DimExpr::binary(Kind kind, DimExpr lhs, DimExpr rhs) {
  DimExpr expr;
  expr.kind = kind;
  expr.lhs = std::make_shared<const DimExpr>(std::move(lhs));
  expr.rhs = std::make_shared<const DimExpr>(std::move(rhs));
  return expr;
}

static int precedence(DimExpr::Kind kind) {
  switch (kind) {
  case DimExpr::Const:
  case DimExpr::Symbol:
    return 3;
  case DimExpr::Mul:
  case DimExpr::Div:
  case DimExpr::Mod:
    return 2;
  case DimExpr::Add:
  case DimExpr::Sub:
    return 1;
  }
  return 0;
}

std::string_view spelling(DimExpr::Kind kind) {
  constexpr std::array<std::string_view, 7> names{"", "", "+", "-", "*", "/", "%"};
  return names[static_cast<size_t>(kind)];
}

std::string DimExpr::str() const {
  if (kind == Const)
    return std::to_string(value);
  if (kind == Symbol)
    return symbol;
  auto parenthesised = [](const DimExpr &expr, bool needed) { return needed ? "(" + expr.str() + ")" : expr.str(); };
  bool left = precedence(lhs->kind) < precedence(kind);
  // Operators of one level associate to the left, so a right operand of the same level keeps its parentheses.
  bool right = precedence(rhs->kind) <= precedence(kind);
  return parenthesised(*lhs, left) + " " + std::string(spelling(kind)) + " " + parenthesised(*rhs, right);
}

std::optional<int64_t> evaluate(const DimExpr &dim,
                                llvm::function_ref<std::optional<int64_t>(const std::string &)> valueOf) {
  if (dim.kind == DimExpr::Const)
    return dim.value;
  if (dim.kind == DimExpr::Symbol)
    return valueOf(dim.symbol);
  std::optional<int64_t> x = evaluate(*dim.lhs, valueOf), y = evaluate(*dim.rhs, valueOf);
  if (!x || !y)
    return std::nullopt;
  int64_t result = 0;
  switch (dim.kind) {
  case DimExpr::Const:
  case DimExpr::Symbol:
    break;
  case DimExpr::Add:
    return llvm::AddOverflow(*x, *y, result) ? std::nullopt : std::optional(result);
  case DimExpr::Sub:
    return llvm::SubOverflow(*x, *y, result) ? std::nullopt : std::optional(result);
  case DimExpr::Mul:
    return llvm::MulOverflow(*x, *y, result) ? std::nullopt : std::optional(result);
  case DimExpr::Div:
  case DimExpr::Mod:
    if (*y == 0 || (*x == INT64_MIN && *y == -1))
      return std::nullopt;
    int64_t quotient = llvm::divideFloorSigned(*x, *y);
    return dim.kind == DimExpr::Div ? quotient : *x - quotient * *y;
  }
  return std::nullopt;
}

// ---- blocks, ops and uses ------------------------------------------------------------------------------------------

Block::~Block() {
  for (auto op = ops.rbegin(); op != ops.rend(); ++op)
    (*op)->dropUses();
}

Value *Block::addArg(Type type, std::string name) {
  auto &arg = args.emplace_back(std::make_unique<Value>());
  arg->type = type;
  arg->name = std::move(name);
  arg->ownerBlock = this;
  arg->index = static_cast<unsigned>(args.size() - 1);
  return arg.get();
}

Op *Block::terminator() const { return !ops.empty() && ops.back()->kind == OpKind::Yield ? ops.back().get() : nullptr; }

static void removeUser(Value *value, Op *user) {
  // From the back: bodies are taken down in reverse, where the last user is the one to go.
  auto found = std::find(value->users.rbegin(), value->users.rend(), user);
  assert(found != value->users.rend() && "an operand's value knows its user");
  *found = value->users.back();
  value->users.pop_back();
}

Op::~Op() { dropUses(); }

void Op::addOperand(Value *value) {
  assert(value && "an operand is a value");
  operandList.push_back(value);
  value->users.push_back(this);
}

void Op::setOperand(size_t i, Value *value) {
  removeUser(operandList[i], this);
  operandList[i] = value;
  value->users.push_back(this);
}

void Op::eraseOperand(size_t i) {
  removeUser(operandList[i], this);
  operandList.erase(operandList.begin() + static_cast<ptrdiff_t>(i));
}

Value *Op::addResult(Type type) {
  auto &value = results.emplace_back(std::make_unique<Value>());
  value->type = type;
  value->definingOp = this;
  value->index = static_cast<unsigned>(results.size() - 1);
  return value.get();
}

Block *Op::addBody() {
  auto &block = bodies.emplace_back(std::make_unique<Block>());
  block->parent = this;
  return block.get();
}

void Op::dropUses() {
  for (auto &body : bodies)
    for (auto op = body->ops.rbegin(); op != body->ops.rend(); ++op)
      (*op)->dropUses();
  for (Value *value : operandList)
    removeUser(value, this);
  operandList.clear();
}

const Param *Function::findParam(std::string_view name) const {
  auto found = std::find_if(params.begin(), params.end(), [&](const Param &param) { return param.name == name; });
  return found == params.end() ? nullptr : &*found;
}

std::optional<int64_t> Function::findConstant(std::string_view name) const {
  for (auto &[constant, value] : constants)
    if (constant == name)
      return value;
  return std::nullopt;
}

void replaceAllUses(Value *from, Value *to) {
  assert(from != to && "a value does not replace itself");
  while (!from->users.empty()) {
    Op *user = from->users.back();
    for (size_t i = 0; i < user->operands().size(); ++i)
      if (user->operand(i) == from)
        user->setOperand(i, to);
  }
}

void erase(Op *op) {
  for ([[maybe_unused]] auto &result : op->results)
    assert(result->users.empty() && "an op that is erased has no uses");
  op->parent->ops.erase(op->position);
}

void moveBefore(Op *op, Op *before) {
  before->parent->ops.splice(before->position, op->parent->ops, op->position);
  op->parent = before->parent;
}

void moveToEnd(Op *op, Block *block) {
  block->ops.splice(block->ops.end(), op->parent->ops, op->position);
  op->parent = block;
}

Value *rootTileIndex(Value *tileIndex) {
  while (tileIndex->definingOp && tileIndex->definingOp->kind == OpKind::Shift)
    tileIndex = tileIndex->definingOp->operand(0);
  return tileIndex;
}

} // namespace tkc::ir
