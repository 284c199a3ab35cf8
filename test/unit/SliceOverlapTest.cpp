// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which stores of a loop are proven to go elsewhere in each iteration.
#include "backends/plan/analysis/SliceOverlap.h"

#include <gtest/gtest.h>

using namespace tkc;
using namespace tkc::ir;
using tkc::planner::LoopSteps;
using tkc::planner::SliceOverlap;

namespace {

/// Stores to x[X, N, 64] in loops over N.
class Slices : public testing::Test {
protected:
  Slices() : builder(function, &function.body) {
    Param param;
    param.name = "x";
    param.isTensor = true;
    param.dims = {DimExpr::named("X"), DimExpr::named("N"), DimExpr::constant(64)};
    function.params.push_back(std::move(param));
    n = builder.dim("N");
  }

  Value *number(int64_t value) { return builder.constant(ElemType::I32, static_cast<double>(value)); }
  Value *add(Value *x, Value *y) { return builder.binary(OpKind::Add, x, y); }
  Value *sub(Value *x, Value *y) { return builder.binary(OpKind::Sub, x, y); }
  Value *div(Value *x, int64_t y) { return builder.binary(OpKind::Div, x, number(y)); }
  Value *mul(Value *x, int64_t y) { return builder.binary(OpKind::Mul, x, number(y)); }
  Value *least(Value *x, Value *y) { return builder.binary(OpKind::Min, x, y); }

  /// A loop whose body comes next; size 0: over integers.
  Op *loop(Value *lo, Value *hi, int64_t size) {
    Op *made = builder.forLoop(lo, hi, size, "t", {});
    builder.setInsertionPoint(&made->body());
    return made;
  }
  static Value *indexOf(Op *loop) { return loop->body().args[0].get(); }
  /// Goes on behind a loop.
  void leave(Op *loop) { builder.setInsertionPoint(loop->parent); }

  Value *zeros(int64_t rows) { return builder.full(builder.constant(ElemType::F32, 0), rows, 64); }
  static ViewIndex index(ViewIndex::Kind kind, unsigned operand, int64_t hi = 0) {
    ViewIndex made;
    made.kind = kind;
    made.operand = operand;
    made.hi = hi;
    return made;
  }
  /// x[at, 0:64, :] = 0
  Op *storeAt(Value *at) {
    View view{"x", {index(ViewIndex::Element, 0), index(ViewIndex::Span, 0, 64), index(ViewIndex::All, 0, 64)}};
    return builder.store(view, {at}, zeros(64));
  }
  /// x[0, t, :] = 0
  Op *storeTile(Value *tile) {
    View view{"x", {index(ViewIndex::Element, 0), index(ViewIndex::Tiled, 1), index(ViewIndex::All, 0, 64)}};
    return builder.store(view, {number(0), tile}, zeros(tile->type.rows));
  }
  bool areApart(Op *one, Op *other, Op *loop) { return SliceOverlap(function).areApart(*one, *other, loop); }

  Function function;
  Builder builder;
  Value *n;
};

TEST_F(Slices, OfAnIndexThatCountsDown) {
  Value *count = div(add(n, number(63)), 64);
  Op *outer = loop(number(0), count, 0);
  Op *store = storeAt(sub(sub(count, number(1)), indexOf(outer)));
  Op *twice = storeAt(div(indexOf(outer), 2));
  EXPECT_TRUE(areApart(store, store, outer));
  EXPECT_FALSE(areApart(twice, twice, outer)) << "two iterations have the same half";
  EXPECT_FALSE(areApart(store, twice, outer));
}

TEST_F(Slices, OfTilesThatCountDown) {
  Value *count = div(add(n, number(63)), 64);
  Op *outer = loop(number(0), count, 0);
  Value *begin = mul(sub(sub(count, number(1)), indexOf(outer)), 64);
  Op *inner = loop(begin, least(n, add(begin, number(64))), 64);
  Op *store = storeTile(indexOf(inner));
  EXPECT_TRUE(areApart(store, store, inner)) << "it has one tile";
  EXPECT_TRUE(areApart(store, store, outer));
  leave(inner);
  Op *longer = loop(begin, least(n, add(begin, number(65))), 64);
  Op *other = storeTile(indexOf(longer));
  EXPECT_TRUE(areApart(other, other, longer)) << "tiles of one loop";
  EXPECT_FALSE(areApart(other, other, outer)) << "they reach into the next iteration's";
  EXPECT_FALSE(areApart(store, other, outer));
}

TEST_F(Slices, OfTheNumberOfATile) {
  Value *whole = mul(div(n, 64), 64);
  Op *first = loop(number(0), whole, 64);
  Op *store = storeAt(builder.index(indexOf(first)));
  EXPECT_TRUE(areApart(store, store, first));
  leave(first);
  // As loop splitting leaves it: the last tile counts on.
  Op *last = loop(whole, n, 64);
  Op *lastStore = storeAt(add(builder.index(indexOf(last)), div(n, 64)));
  Op *anew = storeAt(builder.index(indexOf(last)));
  EXPECT_TRUE(areApart(lastStore, lastStore, last));
  EXPECT_TRUE(areApart(store, lastStore, nullptr));
  EXPECT_FALSE(areApart(store, anew, nullptr)) << "it counts from zero once more";
}

TEST_F(Slices, OfWholeTilesAndTheLast) {
  Value *whole = mul(div(n, 64), 64);
  Op *first = loop(number(0), whole, 64);
  Op *store = storeTile(indexOf(first));
  leave(first);
  Op *last = loop(whole, n, 64);
  Op *lastStore = storeTile(indexOf(last));
  EXPECT_TRUE(areApart(store, lastStore, nullptr));
}

/// Parts of one tile: one is the whole tile, the other what is less than one.
TEST_F(Slices, OfLoopsOfWhichOneRuns) {
  Op *outer = loop(number(0), div(add(n, number(63)), 64), 0);
  Value *begin = mul(indexOf(outer), 64), *end = least(n, add(begin, number(64)));
  Value *middle = add(begin, mul(div(sub(end, begin), 64), 64));
  Op *full = loop(begin, middle, 64);
  Op *store = storeAt(indexOf(outer));
  leave(full);
  Op *part = loop(middle, end, 64);
  Op *partStore = storeAt(indexOf(outer));
  leave(part);
  loop(begin, end, 64);
  Op *againStore = storeAt(indexOf(outer));
  EXPECT_TRUE(areApart(store, partStore, nullptr));
  EXPECT_FALSE(areApart(store, againStore, nullptr)) << "both run where the tile is whole";
  EXPECT_TRUE(areApart(store, partStore, outer)) << "of different iterations";
}

TEST_F(Slices, OfAStepThatIsTooShort) {
  Op *outer = loop(number(0), n, 0);
  Value *begin = mul(indexOf(outer), 32);
  Op *inner = loop(begin, least(n, add(begin, number(64))), 64);
  Op *store = storeTile(indexOf(inner));
  EXPECT_FALSE(areApart(store, store, outer));
}

TEST_F(Slices, StepsAreWhatTheLoopAdds) {
  Op *tiles = loop(number(16), n, 64);
  RangeAnalysis ranges(function);
  LoopSteps steps(ranges);
  const auto by = [&](const Affine &form) {
    const std::optional<LoopSteps::Step> step = steps.stepOf(form, *tiles);
    return step ? step->by : -1;
  };
  EXPECT_EQ(by(ranges.beginOf(indexOf(tiles))), 64);
  EXPECT_EQ(by(ranges.formOf(builder.index(indexOf(tiles))) * 3), 3);
  EXPECT_EQ(by(ranges.formOf(n)), 0);
  EXPECT_EQ(by(ranges.endOf(indexOf(tiles))), -1) << "the last tile's end is not as far from the one before";
  EXPECT_EQ(steps.stepOf(ranges.beginOf(indexOf(tiles)), *tiles)->rest, Affine(16));
}

} // namespace
