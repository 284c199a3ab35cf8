// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Operations.h"

#include <gtest/gtest.h>

using namespace tkc;
using namespace tkc::ir;

namespace {

TEST(Operations, CountElementsThatExistInTheTilesThatAreWalked) {
  // for i in tiles(0, N, 16) { for j in tiles(0, min(end(i), M), 8) { tile[i, 4] @ tile[4, j] } }
  Function function;
  Builder builder(function, &function.body);
  Value *zero = builder.constant(ElemType::I32, 0);
  Value *n = builder.dim("N"), *m = builder.dim("M");
  const auto enter = [&](Value *hi, int64_t size) {
    Op *loop = builder.forLoop(zero, hi, size, "t", {});
    builder.setInsertionPoint(&loop->body());
    return loop->body().args[0].get();
  };
  Value *i = enter(n, 16);
  Value *j = enter(builder.binary(OpKind::Min, builder.end(i), m), 8);
  Value *none = builder.constant(ElemType::F32, 0);
  const auto tile = [&](int64_t rows, int64_t cols, Value *rowEnd, Value *colEnd) {
    Value *value = builder.full(none, rows, cols);
    value->type = Type::tile(ElemType::F32, rows, cols, rowEnd, colEnd);
    return value;
  };
  builder.dot(tile(16, 4, i, nullptr), tile(4, 8, nullptr, j), tile(16, 8, i, j));

  CallArguments arguments;
  arguments.symbols = {{"N", 20}, {"M", 18}};
  // Rows 0..16 meet columns 0..16, rows 16..20 columns 0..18.
  EXPECT_EQ(harness::countProductOperations(function, arguments), 2 * 4 * (16 * 16 + 4 * 18));
}

TEST(Operations, ScalarsBoundLoops) {
  // for i in tiles(0, window, 16) { tile[8, 4] @ tile[4, 8] }
  Function function;
  Builder builder(function, &function.body);
  function.params.push_back({.name = "window", .elem = ElemType::I32, .dims = {}});
  Op *loop = builder.forLoop(builder.constant(ElemType::I32, 0), builder.param("window"), 16, "i", {});
  builder.setInsertionPoint(&loop->body());
  Value *none = builder.constant(ElemType::F32, 0);
  builder.dot(builder.full(none, 8, 4), builder.full(none, 4, 8), builder.full(none, 8, 8));
  CallArguments arguments;
  arguments.scalars = {{"window", 40}};
  EXPECT_EQ(harness::countProductOperations(function, arguments), 3 * 2 * 8 * 4 * 8);
}

TEST(Operations, AxesAreFilledUpToInstructions) {
  // tile[4, 24] @ tile[24, 12] of bf16: wgmma has 64 rows, 8 columns and a depth of 16.
  Function function;
  Builder builder(function, &function.body);
  Value *none = builder.constant(ElemType::BF16, 0);
  builder.dot(builder.full(none, 4, 24), builder.full(none, 24, 12),
              builder.full(builder.constant(ElemType::F32, 0), 4, 12));
  EXPECT_EQ(harness::countProductOperations(function, {}, arch::find("sm_90a")), 2 * 64 * 16 * 32);
  EXPECT_EQ(harness::countProductOperations(function, {}), 2 * 4 * 12 * 24);
}

} // namespace
