// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kind of statement whose text forgets a field does not compile: what the compiler asks is asked here.
#include "ir/plan/PlanIR.h"

#include <gtest/gtest.h>

namespace tkc::plan {
namespace {

struct Forgetful {
  int said = 0, forgotten = 0;
  static constexpr auto text(const auto &use) { return use(number(&Forgetful::said)); }
};

struct Complete {
  int count = 0;
  bool loud = false;
  BarrierRef at;
  static constexpr auto text(const auto &use) {
    return use(number(&Complete::count), word("times"), flag("aloud", &Complete::loud),
               option("at", barrier(&Complete::at)));
  }
};

static_assert(!hasAllFields<Forgetful>);
static_assert(hasAllFields<Complete>);

TEST(PlanSyntaxTest, findsTheBarrierOfAStatement) {
  Stmt commit(ProductCommit{}, {});
  EXPECT_EQ(commit.barrier(), nullptr);
  commit.as<ProductCommit>().completes = {"done", "at"};
  ASSERT_NE(commit.barrier(), nullptr);
  EXPECT_EQ(commit.barrier()->barrier, "done");
  EXPECT_EQ(cursorOf(commit), "at");
  EXPECT_EQ(Stmt(Sync{1, 128}, {}).barrier(), nullptr);
  EXPECT_EQ(cursorOf(Stmt(Advance{"ring"}, {})), "ring");
}

TEST(PlanSyntaxTest, printsAStatementByItsPieces) {
  EXPECT_EQ(print(Stmt(Sync{1, 128, true}, {})), "sync 1 threads 128 global");
  EXPECT_EQ(print(Stmt(Arrive{.at = {"full", ""}, .byWarps = true}, {})), "arrive full[0] by warps");
  EXPECT_EQ(print(Stmt(TensorFence{}, {})), "tensor_fence before");
  EXPECT_EQ(print(Stmt(Record{3, Activity::Wait, "full"}, {})), "record 3 wait on full");
  EXPECT_EQ(print(Stmt(Record{4, Activity::Copy, ""}, {})), "record 4 copy");
}

} // namespace
} // namespace tkc::plan
