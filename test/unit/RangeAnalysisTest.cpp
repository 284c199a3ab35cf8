// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/RangeAnalysis.h"

#include <gtest/gtest.h>

using namespace tkc;
using namespace tkc::ir;

namespace {

/// for i in tiles(0, N, 16) { for j in tiles(0, M, 8) { } } with a tensor x[N, M].
class Ranges : public testing::Test {
protected:
  Ranges() : builder(function, &function.body) {
    Param param;
    param.name = "x";
    param.isTensor = true;
    param.dims = {DimExpr::named("N"), DimExpr::named("M")};
    function.params.push_back(std::move(param));
    zero = number(0);
    n = builder.dim("N");
    m = builder.dim("M");
    i = tiles(zero, n, 16);
    j = tiles(zero, m, 8);
  }

  Value *number(int64_t value) { return builder.constant(ElemType::I32, static_cast<double>(value)); }
  Value *add(Value *x, Value *y) { return builder.binary(OpKind::Add, x, y); }
  Value *sub(Value *x, Value *y) { return builder.binary(OpKind::Sub, x, y); }
  Value *div(Value *x, int64_t y) { return builder.binary(OpKind::Div, x, number(y)); }
  Value *mul(Value *x, int64_t y) { return builder.binary(OpKind::Mul, x, number(y)); }
  Value *tiles(Value *lo, Value *hi, int64_t size) {
    Op *loop = builder.forLoop(lo, hi, size, "t", {});
    builder.setInsertionPoint(&loop->body());
    return loop->body().args[0].get();
  }

  Function function;
  Builder builder;
  Value *zero, *n, *m, *i, *j;
};

TEST_F(Ranges, KnowsWhereTilesLie) {
  RangeAnalysis ranges(function);
  EXPECT_TRUE(ranges.isLessEqual(zero, n));
  EXPECT_FALSE(ranges.isLess(zero, n)) << "a dim may be 0";
  EXPECT_TRUE(ranges.isLess(builder.begin(i), n));
  EXPECT_TRUE(ranges.isLessEqual(builder.end(i), n));
  EXPECT_TRUE(ranges.isLessEqual(builder.end(i), add(builder.begin(i), number(16))));
  EXPECT_FALSE(ranges.isLessEqual(add(builder.begin(i), number(16)), n));
  EXPECT_TRUE(ranges.isLess(builder.elements(i, 0), n));
  EXPECT_FALSE(ranges.isLess(builder.elements(i, 0), m));
}

/// A tile of a range of whole tiles begins a whole tile before its end.
TEST_F(Ranges, KnowsWhereWholeTilesLie) {
  RangeAnalysis ranges(function);
  Value *end = mul(n, 8);
  Value *whole = tiles(zero, end, 8);
  EXPECT_TRUE(ranges.isLessEqual(builder.begin(whole), sub(end, number(8))));
  EXPECT_FALSE(ranges.isLessEqual(builder.begin(j), sub(m, number(8))));
}

TEST_F(Ranges, ReliesOnWhatCallersPromise) {
  Param width;
  width.name = "width";
  width.elem = ElemType::I32;
  width.above = 7;
  function.params.push_back(width);
  RangeAnalysis ranges(function);
  EXPECT_TRUE(ranges.isLessEqual(number(8), builder.param("width")));
  EXPECT_FALSE(ranges.isLessEqual(number(9), builder.param("width")));
}

TEST_F(Ranges, AddsUpAndCancels) {
  RangeAnalysis ranges(function);
  Value *moved = builder.shift(i, number(-3));
  EXPECT_TRUE(ranges.isLessEqual(builder.elements(moved, 0), sub(n, number(4))));
  EXPECT_FALSE(ranges.isLessEqual(zero, builder.begin(moved)));
  EXPECT_TRUE(ranges.isLessEqual(sub(add(n, m), n), m));
}

TEST_F(Ranges, QuotientsRoundDown) {
  RangeAnalysis ranges(function);
  EXPECT_TRUE(ranges.isLessEqual(mul(div(n, 64), 64), n));
  EXPECT_TRUE(ranges.isLessEqual(sub(n, number(63)), mul(div(n, 64), 64)));
  EXPECT_TRUE(ranges.isLessEqual(zero, div(n, 64)));
  EXPECT_FALSE(ranges.isLessEqual(n, mul(div(n, 64), 64)));
}

TEST_F(Ranges, MinAndMaxAreEitherOfTwo) {
  RangeAnalysis ranges(function);
  Value *least = builder.binary(OpKind::Min, n, m), *most = builder.binary(OpKind::Max, n, m);
  EXPECT_TRUE(ranges.isLessEqual(least, n));
  EXPECT_TRUE(ranges.isLessEqual(zero, least));
  EXPECT_TRUE(ranges.isLessEqual(least, most));
  EXPECT_FALSE(ranges.isLessEqual(most, n));
}

TEST_F(Ranges, SeesFullTiles) {
  RangeAnalysis ranges(function);
  EXPECT_FALSE(ranges.isAlwaysFull(i));
  EXPECT_TRUE(ranges.isAlwaysFull(tiles(zero, mul(div(n, 8), 8), 8)));
  EXPECT_TRUE(ranges.isAlwaysFull(tiles(m, add(m, mul(n, 24)), 8)));
  EXPECT_TRUE(ranges.isAlwaysFull(tiles(zero, builder.binary(OpKind::Max, mul(div(sub(n, m), 8), 8), zero), 8)));
  EXPECT_FALSE(ranges.isAlwaysFull(tiles(number(4), mul(n, 8), 8)));
}

TEST_F(Ranges, ElementsBeyondTheEndLieOutside) {
  RangeAnalysis ranges(function);
  Value *elements = builder.elements(i, 1);
  EXPECT_EQ(ranges.compare(OpKind::Lt, elements, n), true);
  EXPECT_EQ(ranges.compare(OpKind::Lt, elements, n, {i, 1}), false);
  // Along the other axis the elements are those that exist.
  EXPECT_EQ(ranges.compare(OpKind::Lt, elements, n, {i, 0}), true);
  EXPECT_EQ(ranges.compare(OpKind::Lt, elements, m, {i, 1}), std::nullopt);
  // Whole tiles have none there, and a mask that is asked for all the same does what it is for.
  Value *end = mul(n, 8);
  Value *whole = tiles(zero, end, 8);
  EXPECT_EQ(ranges.compare(OpKind::Lt, builder.elements(whole, 1), end, {whole, 1}), false);
}

TEST_F(Ranges, ComesBackAsOps) {
  RangeAnalysis ranges(function);
  Value *form = sub(add(mul(div(n, 4), 4), m), number(5));
  Value *again = ranges.materialize(ranges.formOf(form), builder);
  EXPECT_EQ(ranges.formOf(again), ranges.formOf(form));
}

TEST_F(Ranges, OverflowProvesNothing) {
  RangeAnalysis ranges(function);
  Affine huge = ranges.formOf(n) * INT64_MAX;
  EXPECT_FALSE((huge * 2).valid);
  EXPECT_FALSE(ranges.isNonNegative(huge * 2));
}

} // namespace
