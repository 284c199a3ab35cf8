// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that only passes and the planner can break: what the parsers read has no such thing. The others have a test
// each in test/ir/verify and test/plan/verify.
#include "ir/Verifier.h"
#include "ir/plan/PlanIR.h"

#include <gtest/gtest.h>

using namespace tkc;
using namespace tkc::ir;

namespace {

struct TileVerifier : testing::Test {
  Function function;
  Builder builder{function, &function.body};
  Value *zero = builder.constant(ElemType::I32, 0);

  TileVerifier() {
    Param a;
    a.name = "a";
    a.isTensor = true;
    a.dims = {DimExpr::named("N")};
    function.params.push_back(a);
  }

  std::string problem() {
    std::vector<VerifyError> errors = verify(function);
    return errors.empty() ? "" : errors.front().message;
  }
};

TEST_F(TileVerifier, LoopsGiveWhatTheyCarry) {
  Op *loop = builder.forLoop(zero, zero, 0, "i", {zero});
  Builder(function, &loop->body()).yield({loop->body().args[1].get()});
  EXPECT_EQ(problem(), "");
  loop->result()->type = Type::scalar(ElemType::F32);
  EXPECT_EQ(problem(), "`for` carries i32 and gives f32");
}

TEST_F(TileVerifier, SlicesHaveTheOperandsOfTheirIndices) {
  View view{"a", {{ViewIndex::Element, 0}}};
  Value *x = builder.load(view, {zero}, nullptr, Type::scalar(ElemType::F32));
  EXPECT_EQ(problem(), "");
  x->definingOp->view.indices[0].kind = ViewIndex::Tiled;
  EXPECT_EQ(problem(), "`a` is indexed by i32 where a tile index is wanted");
  x->definingOp->hasElse = true;
  EXPECT_EQ(problem(), "`load` of this slice takes 2 operands, not 1");
}

TEST_F(TileVerifier, OpsWithoutAResultHaveNoType) {
  Op *yield = builder.yield({});
  EXPECT_EQ(expectedType(function, *yield).problem, "`yield` has no single result");
}

TEST(PlanVerifier, AssignmentsSayWhatTheyAssign) {
  plan::Plan plan;
  plan.arch = "sm_90a";
  plan.threads = 32;
  plan.roles.push_back({.name = "one", .warps = 1, .vars = {{"x", {}}}, .body = {}, .finish = {}});
  plan::Stmt move;
  move.kind = plan::StmtKind::Move;
  move.operands = {"x"};
  plan.roles[0].body = {move};
  std::vector<plan::Violation> violations = plan::verify(plan, {});
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_NE(violations[0].message.find("has no destination"), std::string::npos) << violations[0].message;
}

} // namespace
