// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of products, computed as their transposes, where that suits the instructions. Products with few rows: an
// instruction of 64 rows would leave most of them empty, and a stage would hold as much of nothing as of what is
// loaded; with the operands exchanged the many columns are the rows:
//   %r = for %k carry(%acc = full : 16x64) { %acc' = dot %a, %b, %acc … }
// ⇒ %t = for %k carry(%acc = full : 64x16) { %acc' = dot %bᵀ, %aᵀ, %acc … }
//   %r = transpose %t
// Products whose right operand is widened on its way, as 8-bit weights are: a right operand is read from shared memory,
// where it would have to be stored first. A left one is taken from registers:
//   dot %x, (transpose (cast %w : bf16)), %acc  ⇒  dot (cast %w : bf16), (transpose %x), %acc
// Only where nothing in the loop reads the sum, so that it is transposed once. Parts of a split loop follow each other:
// the transpositions between them cancel.
#include "ir/Effects.h"
#include "ir/Products.h"
#include "ir/passes/Passes.h"

#include <algorithm>
#include <utility>

namespace tkc::ir {
namespace {

/// Fewer than half of the instruction's rows.
constexpr int64_t fewRows = 32;
constexpr int64_t rowsOfInstruction = 64;

class Turner {
public:
  Turner(Function &function, llvm::function_ref<bool(const Op &)> isWanted) : function(function), isWanted(isWanted) {}

  void run(Block &block) {
    for (auto next = block.ops.begin(); next != block.ops.end();) {
      Op &op = **next++;
      for (auto &body : op.bodies)
        run(*body);
      if (op.kind == OpKind::For)
        for (size_t i = 0; i < op.results.size(); ++i)
          turn(op, i);
    }
  }

private:
  static bool hasFewRows(const Type &type) {
    return type.kind == Type::Tile && type.rows > 1 && type.rows <= fewRows && type.cols % rowsOfInstruction == 0;
  }

  static bool isLoaded(const Value *factor) {
    const Op *op = factor->definingOp;
    return op && (op->kind == OpKind::Load || (op->kind == OpKind::Transpose && isLoaded(op->operand(0))));
  }

  /// The transpose of what work on elements makes of loads in the same block, one of which it widens, and of nothing
  /// else there.
  static bool isWidened(const Value *factor) {
    const Op *op = factor->definingOp;
    if (!op || op->kind != OpKind::Transpose || isLoaded(factor))
      return false;
    bool widens = false;
    return !searchBack(op->operand(0), [&](const Value *at, std::vector<const Value *> &next) {
      const Op *made = at->definingOp;
      if (!made || made->parent != op->parent || !at->type.isTile())
        return false;
      widens |= made->kind == OpKind::Load && bitWidth(at->type.elem) < bitWidth(factor->type.elem);
      const bool isWork = isElementwise(made->kind);
      if (isWork)
        next.assign(made->operands().begin(), made->operands().end());
      return made->kind != OpKind::Load && made->kind != OpKind::Full && !isVectorAsTile(at) && !isWork;
    }) && widens;
  }

  /// Whether the transpose suits the instruction better.
  bool isBetterTurned(const Op &product) const {
    const Type &type = product.result()->type;
    const Value *right = factorOf(product, 1);
    return isLoaded(factorOf(product, 0)) && type.rows > 1 && (isLoaded(right) ? hasFewRows(type) : isWidened(right)) &&
           isWanted(product);
  }

  /// The products that add to carried value `i` one after the other; empty where anything else reads it.
  std::vector<Op *> sumOf(const Op &loop, size_t i) const {
    std::vector<Op *> products;
    const Block &body = loop.body();
    for (const Value *at = body.args[i + 1].get(); at->users.size() == 1; at = products.back()->result()) {
      Op *user = at->users[0];
      if (user == body.terminator())
        return user->operand(i) == at ? products : std::vector<Op *>();
      if (user->kind != OpKind::Dot || addendOf(*user) != at || user->parent != &body || !isBetterTurned(*user))
        break;
      products.push_back(user);
    }
    return {};
  }

  static Type turned(const Type &type) { return Type::tile(type.elem, type.cols, type.rows, type.colEnd, type.rowEnd); }

  static Value *transposed(Builder &builder, Value *value) {
    Op *op = value->definingOp;
    if (op && op->kind == OpKind::Transpose)
      return op->operand(0);
    return op && op->kind == OpKind::Full ? builder.full(op->operand(0), value->type.cols, value->type.rows)
                                          : builder.transpose(value);
  }

  void turn(Op &loop, size_t i) {
    Value *arg = loop.body().args[i + 1].get();
    const std::vector<Op *> products = sumOf(loop, i);
    if (products.empty())
      return;
    Builder builder(function, loop.parent);
    builder.setInsertionPointBefore(&loop);
    builder.setLoc(loop.loc);
    exchange(loop, i + 2, transposed(builder, loop.operand(i + 2)));
    arg->type = turned(arg->type);
    for (Op *product : products) {
      builder.setInsertionPointBefore(product);
      builder.setLoc(product->loc);
      Value *left = transposed(builder, product->operand(1)), *right = transposed(builder, product->operand(0));
      exchange(*product, 0, left);
      exchange(*product, 1, right);
      product->result()->type = turned(product->result()->type);
    }
    turnBack(loop, i);
  }

  /// What reads the result gets it as it was. Of a large one the work on elements that follows is done first, as it
  /// narrows the result: that makes less to turn.
  void turnBack(Op &loop, size_t i) {
    Value *result = loop.result(i);
    const bool isLarge = result->type.rows > fewRows;
    result->type = turned(result->type);
    while (isLarge && result->users.size() == 1 && turnReader(*result->users.front(), *result))
      result = result->users.front()->result();
    Builder builder(function, result->definingOp->parent);
    auto after = std::next(result->definingOp->position);
    if (after != result->definingOp->parent->ops.end())
      builder.setInsertionPointBefore(after->get());
    const std::vector<Op *> users = result->users;
    builder.setLoc(users.empty() ? loop.loc : users.front()->loc);
    Value *back = builder.transpose(result);
    back->name = std::exchange(result->name, {});
    for (Op *user : users)
      for (size_t at = 0; at < user->operands().size(); ++at)
        if (user->operand(at) == result)
          user->setOperand(at, back);
  }

  static bool isVectorAsTile(const Value *value) {
    return value->definingOp && (value->definingOp->kind == OpKind::AsCol || value->definingOp->kind == OpKind::AsRow);
  }

  /// Work on the elements of what is turned, with scalars and vectors.
  bool turnReader(Op &reader, const Value &turnedOperand) {
    const bool isWork =
        isElementwiseUnary(reader.kind) || isElementwiseBinary(reader.kind) || reader.kind == OpKind::Cast;
    if (!isWork || reader.parent != turnedOperand.definingOp->parent ||
        !std::all_of(reader.operands().begin(), reader.operands().end(), [&](const Value *operand) {
          return operand == &turnedOperand || operand->type.isScalar() || isVectorAsTile(operand);
        }))
      return false;
    Builder builder(function, reader.parent);
    builder.setInsertionPointBefore(&reader);
    builder.setLoc(reader.loc);
    for (size_t at = 0; at < reader.operands().size(); ++at)
      if (const Value *operand = reader.operand(at); isVectorAsTile(operand)) {
        Value *vector = operand->definingOp->operand(0);
        const bool isColumn = operand->definingOp->kind == OpKind::AsCol;
        reader.setOperand(at, isColumn ? builder.asRow(vector) : builder.asCol(vector));
      }
    reader.result()->type = turned(reader.result()->type);
    return true;
  }

  /// A transposition that nothing reads any more goes with its last use.
  static void exchange(Op &user, size_t position, Value *by) {
    Op *before = user.operand(position)->definingOp;
    user.setOperand(position, by);
    if (before && before->kind == OpKind::Transpose && before->result()->users.empty())
      erase(before);
  }

  Function &function;
  const llvm::function_ref<bool(const Op &)> isWanted;
};

} // namespace

void turnProducts(Function &function) {
  turnProducts(function, [](const Op &) { return true; });
}

void turnProducts(Function &function, llvm::function_ref<bool(const Op &)> isWanted) {
  Turner(function, isWanted).run(function.body);
}

} // namespace tkc::ir
