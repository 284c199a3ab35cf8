// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/interpreter/Interpreter.h"

#include "ir/TileIR.h"
#include "ir/passes/Passes.h"
#include "support/Diagnostics.h"
#include "support/Rounding.h"

#include <gtest/gtest.h>

using namespace tkc;
using namespace tkc::ir;

namespace {

Param tensorParam(const char *name, ParamMode mode, ElemType elem, std::vector<DimExpr> dims) {
  Param param;
  param.name = name;
  param.mode = mode;
  param.isTensor = true;
  param.elem = elem;
  param.dims = std::move(dims);
  return param;
}

ViewIndex tiled(unsigned operand) { return {ViewIndex::Tiled, operand, 0, 0}; }
ViewIndex element(unsigned operand) { return {ViewIndex::Element, operand, 0, 0}; }
ViewIndex gather(unsigned operand) { return {ViewIndex::Gather, operand, 0, 0}; }

Tensor tensor(ElemType elem, std::vector<int64_t> dims, std::vector<double> data = {}) {
  Tensor result{elem, std::move(dims), std::move(data)};
  result.data.resize(result.numElements());
  return result;
}

/// A small number that a bf16 holds.
double value(int64_t i) { return static_cast<double>((i * 37) % 17 - 8) / 4; }

/// c[m, n] = Σ a[m, k] b[k, n] in tiles that divide nothing.
std::unique_ptr<Function> gemm(int64_t bm, int64_t bn, int64_t bk) {
  auto fn = std::make_unique<Function>();
  auto dim = [](const char *name) { return DimExpr::named(name); };
  fn->params = {tensorParam("a", ParamMode::In, ElemType::BF16, {dim("M"), dim("K")}),
                tensorParam("b", ParamMode::In, ElemType::BF16, {dim("K"), dim("N")}),
                tensorParam("c", ParamMode::Out, ElemType::BF16, {dim("M"), dim("N")})};
  Builder b(*fn, &fn->body);
  Value *zero = b.constant(ElemType::I32, 0);
  Op *rows = b.parallel(zero, b.dim("M"), bm, "m");
  b.setInsertionPoint(&rows->body());
  Op *cols = b.parallel(zero, b.dim("N"), bn, "n");
  b.setInsertionPoint(&cols->body());
  Value *m = rows->body().args[0].get(), *n = cols->body().args[0].get();
  Value *start = b.full(b.constant(ElemType::F32, 0), bm, bn);
  Op *loop = b.forLoop(zero, b.dim("K"), bk, "k", {start});
  Block *outer = b.insertionBlock();
  b.setInsertionPoint(&loop->body());
  Value *k = loop->body().args[0].get(), *acc = loop->body().args[1].get();
  Value *x = b.load({"a", {tiled(0), tiled(1)}}, {m, k}, nullptr, Type::tile(ElemType::BF16, bm, bk, m, k));
  Value *y = b.load({"b", {tiled(0), tiled(1)}}, {k, n}, nullptr, Type::tile(ElemType::BF16, bk, bn, k, n));
  acc->type.rowEnd = m;
  acc->type.colEnd = n;
  b.yield({b.dot(x, y, acc)});
  b.setInsertionPoint(outer);
  b.store({"c", {tiled(0), tiled(1)}}, {m, n}, loop->result());
  return fn;
}

CallArguments gemmArguments(int64_t m, int64_t n, int64_t k) {
  CallArguments args;
  args.symbols = {{"M", m}, {"N", n}, {"K", k}};
  args.tensors = {{"a", tensor(ElemType::BF16, {m, k})},
                  {"b", tensor(ElemType::BF16, {k, n})},
                  {"c", tensor(ElemType::BF16, {m, n})}};
  for (int64_t i = 0; i < m * k; ++i)
    args.tensors["a"].data[i] = value(i);
  for (int64_t i = 0; i < k * n; ++i)
    args.tensors["b"].data[i] = value(i + 5);
  return args;
}

TEST(Interpreter, MultipliesOverEdgesThatNoTileDivides) {
  auto fn = gemm(16, 32, 8);
  CallArguments args = gemmArguments(37, 45, 13);
  auto error = interpret(*fn, args);
  ASSERT_FALSE(error) << error->message;
  for (int64_t i = 0; i < 37; ++i)
    for (int64_t j = 0; j < 45; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 13; ++k)
        sum += value(i * 13 + k) * value(k * 45 + j + 5);
      EXPECT_EQ(args.tensors["c"].data[i * 45 + j], roundTo(ElemType::BF16, sum)) << i << ", " << j;
    }
}

TEST(Interpreter, DoesNothingForEmptyTensors) {
  auto fn = gemm(16, 16, 16);
  CallArguments args = gemmArguments(0, 5, 3);
  EXPECT_FALSE(interpret(*fn, args));
}

/// Sums that see what pads a tile unless a mask hides it: zeros, of which exp makes ones; what the tensor has there;
/// and where a parameter ends the range, anything.
TEST(Interpreter, ShowsMissingMasksInPaddedTiles) {
  constexpr const char *text = R"(
func @sums(x: f32[N], upto: i32, out y: f32[3]) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 2 : i32
  %N = dim N : i32
  %upto = param upto : i32
  %half = div %N, %2 : i32
  for %i in tiles(%0, %N, 8) {
    %v = load x[%i] : vector<f32, 8, %i>
    %c = as_col %v : tile<f32, 8x1, %i, full>
    %e = exp %c : tile<f32, 8x1, %i, full>
    %s = colsum %e : tile<f32, 1x1>
    %t = to_scalar %s : f32
    store y[%0], %t
  }
  for %ib in tiles(%0, %half, 8) {
    %vb = load x[%ib] : vector<f32, 8, %ib>
    %cb = as_col %vb : tile<f32, 8x1, %ib, full>
    %sb = colsum %cb : tile<f32, 1x1>
    %tb = to_scalar %sb : f32
    store y[%1], %tb
  }
  for %ic in tiles(%0, %upto, 8) {
    %vc = load x[%ic] : vector<f32, 8, %ic>
    %cc = as_col %vc : tile<f32, 8x1, %ic, full>
    %sc = colsum %cc : tile<f32, 1x1>
    %tc = to_scalar %sc : f32
    store y[%2], %tc
  }
}
)";
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  auto functions = parseTileIR(sources.addBuffer("sums.tkir", text), diagnostics);
  ASSERT_FALSE(diagnostics.hasErrors()) << sources.render(diagnostics.all().front(), false);
  auto sums = [&](bool padded) {
    CallArguments args;
    args.symbols = {{"N", 6}};
    args.scalars = {{"upto", 2}};
    args.tensors = {{"x", tensor(ElemType::F32, {6})}, {"y", tensor(ElemType::F32, {3})}};
    args.tensors["x"].data = {0, 0, 1, 4, 0, 0};
    auto error = interpret(*functions.front(), args, {padded});
    EXPECT_FALSE(error) << error->message;
    return args.tensors["y"].data;
  };
  const std::vector<double> right = sums(false);
  EXPECT_EQ(right[1], 1);
  EXPECT_EQ(right[2], 0);
  std::vector<double> wrong = sums(true);
  EXPECT_NEAR(wrong[0], right[0] + 2, 1e-5);
  EXPECT_EQ(wrong[1], 5);
  EXPECT_TRUE(std::isnan(wrong[2]));
  maskEdges(*functions.front());
  EXPECT_EQ(sums(true), right);
}

/// A kernel `y[i] = …` of one range over y, whose body the test writes.
struct Lines {
  Function fn;
  Builder b{fn, &fn.body};
  Value *i = nullptr;

  Lines(std::vector<Param> params, int64_t size) {
    fn.params = std::move(params);
    Op *range = b.parallel(b.constant(ElemType::I32, 0), b.dim("N"), size, "i");
    b.setInsertionPoint(&range->body());
    i = range->body().args[0].get();
  }
};

std::vector<Param> xy(ParamMode mode = ParamMode::Out) {
  return {tensorParam("x", ParamMode::In, ElemType::F32, {DimExpr::named("N")}),
          tensorParam("y", mode, ElemType::F32, {DimExpr::named("N")})};
}

CallArguments xyArguments(std::vector<double> x) {
  CallArguments args;
  const auto n = static_cast<int64_t>(x.size());
  args.symbols["N"] = n;
  args.tensors = {{"x", tensor(ElemType::F32, {n}, std::move(x))}, {"y", tensor(ElemType::F32, {n})}};
  return args;
}

TEST(Interpreter, ReductionsSeeOnlyElementsThatExistAndIgnoreNaN) {
  Lines k(xy(), 4);
  Value *x = k.b.asRow(k.b.load({"x", {tiled(0)}}, {k.i}, nullptr, Type::vector(ElemType::F32, 4, k.i)));
  Value *largest = k.b.toScalar(k.b.reduce(ReduceKind::Max, 1, x));
  k.b.store({"y", {element(0)}}, {k.b.begin(k.i)}, largest);
  CallArguments args = xyArguments({-5, NAN, -7, -9, -2, -3});
  auto error = interpret(k.fn, args);
  ASSERT_FALSE(error) << error->message;
  EXPECT_EQ(args.tensors["y"].data[0], -5);
  EXPECT_EQ(args.tensors["y"].data[4], -2);
}

TEST(Interpreter, MovedTilesTakeElseOutsideTheTensor) {
  Lines k(xy(), 4);
  Value *moved = k.b.shift(k.i, k.b.constant(ElemType::I32, -1));
  Value *x = k.b.load({"x", {tiled(0)}}, {moved}, k.b.constant(ElemType::F32, 9), Type::vector(ElemType::F32, 4, k.i));
  k.b.store({"y", {tiled(0)}}, {k.i}, x);
  CallArguments args = xyArguments({1, 2, 3, 4, 5, 6});
  auto error = interpret(k.fn, args);
  ASSERT_FALSE(error) << error->message;
  EXPECT_EQ(args.tensors["y"].data, (std::vector<double>{9, 1, 2, 3, 4, 5}));
}

TEST(Interpreter, GathersByAColumn) {
  Lines k(xy(), 4);
  Value *last = k.b.binary(OpKind::Sub, k.b.dim("N"), k.b.constant(ElemType::I32, 1));
  Value *reversed = k.b.binary(OpKind::Sub, last, k.b.elements(k.i, 0));
  Value *x = k.b.load({"x", {gather(0)}}, {reversed}, nullptr, Type::tile(ElemType::F32, 4, 1, k.i));
  k.b.store({"y", {tiled(0)}}, {k.i}, x);
  CallArguments args = xyArguments({1, 2, 3, 4, 5, 6});
  auto error = interpret(k.fn, args);
  ASSERT_FALSE(error) << error->message;
  EXPECT_EQ(args.tensors["y"].data, (std::vector<double>{6, 5, 4, 3, 2, 1}));
}

TEST(Interpreter, AtomicsOfAllBlocksAddUp) {
  Lines k(xy(ParamMode::InOut), 2);
  Value *x = k.b.asRow(k.b.load({"x", {tiled(0)}}, {k.i}, nullptr, Type::vector(ElemType::F32, 2, k.i)));
  k.b.atomic(AtomicKind::Add, {"y", {element(0)}}, {k.b.constant(ElemType::I32, 1)},
             k.b.toScalar(k.b.reduce(ReduceKind::Sum, 1, x)));
  CallArguments args = xyArguments({1, 2, 3, 4, 5});
  auto error = interpret(k.fn, args);
  ASSERT_FALSE(error) << error->message;
  EXPECT_EQ(args.tensors["y"].data, (std::vector<double>{0, 15, 0, 0, 0}));
}

TEST(Interpreter, ReportsAnIndexOutsideATensor) {
  Lines k(xy(), 4);
  Value *moved = k.b.shift(k.i, k.b.constant(ElemType::I32, 1));
  Value *x = k.b.load({"x", {tiled(0)}}, {moved}, nullptr, Type::vector(ElemType::F32, 4, k.i));
  k.b.store({"y", {tiled(0)}}, {k.i}, x);
  CallArguments args = xyArguments({1, 2, 3});
  auto error = interpret(k.fn, args);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "index 3 is outside dim 1 of `x`, which has 3 elements");
}

TEST(Interpreter, ReportsTwoBlocksThatStoreOneElement) {
  Lines k(xy(), 2);
  k.b.store({"y", {element(0)}}, {k.b.constant(ElemType::I32, 1)}, k.b.constant(ElemType::F32, 3));
  CallArguments args = xyArguments({1, 2, 3});
  auto error = interpret(k.fn, args);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "two blocks store `y[1]`");
}

TEST(Interpreter, ReportsABlockThatReadsWhatOthersAddTo) {
  Lines k(xy(ParamMode::InOut), 2);
  Value *one = k.b.constant(ElemType::I32, 1);
  k.b.atomic(AtomicKind::Add, {"y", {element(0)}}, {one}, k.b.constant(ElemType::F32, 3));
  Value *y = k.b.load({"y", {element(0)}}, {one}, nullptr, Type::scalar(ElemType::F32));
  k.b.atomic(AtomicKind::Add, {"y", {element(0)}}, {one}, y);
  CallArguments args = xyArguments({1, 2, 3});
  auto error = interpret(k.fn, args);
  ASSERT_TRUE(error);
}

TEST(Interpreter, ReportsAnOutThatIsReadBeforeItIsStored) {
  Lines k(xy(), 2);
  Value *y = k.b.load({"y", {tiled(0)}}, {k.i}, nullptr, Type::vector(ElemType::F32, 2, k.i));
  k.b.store({"y", {tiled(0)}}, {k.i}, y);
  CallArguments args = xyArguments({1, 2});
  auto error = interpret(k.fn, args);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "`y[0]` is read before it was stored");
}

TEST(Interpreter, PhiloxIsTheGeneratorOfItsAuthors) {
  // Random123's known answers for philox4x32-10 with counter and key zero: word 0 is 0x6627e8d5.
  Lines k(xy(), 1);
  Value *zero = k.b.constant(ElemType::I32, 0);
  k.b.store({"y", {element(0)}}, {k.b.begin(k.i)}, k.b.philox(zero, zero, k.b.begin(k.i)));
  CallArguments args = xyArguments({1});
  auto error = interpret(k.fn, args);
  ASSERT_FALSE(error) << error->message;
  EXPECT_EQ(args.tensors["y"].data[0], (0x6627e8d5 >> 8) * 0x1p-24);
}

} // namespace
