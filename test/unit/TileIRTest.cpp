// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the builder promises to code that makes tile IR, where text cannot show it.
#include "ir/TileIR.h"

#include <gtest/gtest.h>

using namespace tkc;
using namespace tkc::ir;

namespace {

TEST(TileIR, UsesFollowOperands) {
  Function function;
  Builder builder(function, &function.body);
  Value *x = builder.constant(ElemType::F32, 1), *y = builder.constant(ElemType::F32, 2);
  Value *sum = builder.binary(OpKind::Add, x, x);
  EXPECT_EQ(x->users.size(), 2u);
  replaceAllUses(x, y);
  EXPECT_TRUE(x->users.empty());
  EXPECT_EQ(y->users.size(), 2u);
  erase(sum->definingOp);
  EXPECT_TRUE(y->users.empty());
  EXPECT_EQ(function.body.ops.size(), 2u);
}

TEST(TileIR, ArithmeticWidensAndMixedOperandsAreCast) {
  Function function;
  Builder builder(function, &function.body);
  Value *half = builder.constant(ElemType::BF16, 1), *one = builder.constant(ElemType::I32, 1);
  EXPECT_EQ(builder.binary(OpKind::Mul, half, half)->type, Type::scalar(ElemType::F32));
  Value *mixed = builder.binary(OpKind::Add, half, one);
  EXPECT_EQ(mixed->type, Type::scalar(ElemType::F32));
  EXPECT_EQ(mixed->definingOp->operand(1)->definingOp->kind, OpKind::Cast);
  EXPECT_EQ(builder.binary(OpKind::Lt, half, one)->type, Type::scalar(ElemType::Bool));
  EXPECT_TRUE(verify(function).empty());
}

TEST(TileIR, EdgesMeetWhenOneIsFullOrBothAreOne) {
  Value i, j;
  EXPECT_EQ(joinEdges(nullptr, &i), &i);
  EXPECT_EQ(joinEdges(&i, &i), &i);
  EXPECT_EQ(joinEdges(&i, &j), std::nullopt);
  // What is broadcast has no edge to bring along.
  Type column = Type::tile(ElemType::F32, 16, 1, &i), row = Type::tile(ElemType::F32, 1, 8, nullptr, &j);
  EXPECT_EQ(broadcast(column, row), Type::tile(ElemType::F32, 16, 8, &i, &j));
  EXPECT_EQ(broadcast(column, Type::tile(ElemType::F32, 16, 1, &j)), std::nullopt);
}

TEST(TileIR, ClonesEndWithTheirOwnIndices) {
  Function function;
  Builder builder(function, &function.body);
  Value *lo = builder.constant(ElemType::I32, 0), *hi = builder.constant(ElemType::I32, 40);
  Op *loop = builder.forLoop(lo, hi, 16, "i", {});
  Builder inner(function, &loop->body());
  inner.elements(loop->body().args[0].get(), 0);
  ValueMap<Value *> copies;
  Op *copy = builder.clone(*loop, copies);
  EXPECT_EQ(copy->body().ops.front()->result()->type.rowEnd, copy->body().args[0].get());
  EXPECT_TRUE(verify(function).empty());
}

TEST(TileIR, DimsPrintWithTheFewestParentheses) {
  auto n = DimExpr::named("N"), one = DimExpr::constant(1);
  auto sum = DimExpr::binary(DimExpr::Add, n, one);
  EXPECT_EQ(DimExpr::binary(DimExpr::Sub, sum, n).str(), "N + 1 - N");
  EXPECT_EQ(DimExpr::binary(DimExpr::Sub, n, sum).str(), "N - (N + 1)");
  EXPECT_EQ(DimExpr::binary(DimExpr::Div, sum, one).str(), "(N + 1) / 1");
}

TEST(TileIR, DimsFloor) {
  auto value = [](const std::string &) { return std::optional<int64_t>(-7); };
  auto n = DimExpr::named("N"), two = DimExpr::constant(2), zero = DimExpr::constant(0);
  EXPECT_EQ(evaluate(DimExpr::binary(DimExpr::Div, n, two), value), -4);
  EXPECT_EQ(evaluate(DimExpr::binary(DimExpr::Mod, n, two), value), 1);
  EXPECT_EQ(evaluate(DimExpr::binary(DimExpr::Div, n, zero), value), std::nullopt);
}

} // namespace
