// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What trees come out. Messages and recovery are tested in test/syntax.
#include "frontend/Parser.h"
#include "support/Diagnostics.h"

#include <gtest/gtest.h>
#include <llvm/Support/Casting.h>

namespace tkc {
namespace {

using namespace ast;

/// A parsed text that must have no errors.
struct Parsed {
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};
  File file;

  explicit Parsed(const std::string &text) {
    file = parse(sources.addBuffer("test.tk", text), diagnostics);
    for (const Diagnostic &diagnostic : diagnostics.all())
      ADD_FAILURE() << sources.render(diagnostic, false);
  }
  template <class Node> const Node &decl(size_t i) const { return *llvm::cast<Node>(file.decls.at(i)); }
};

/// Fully parenthesised, so that a test can show how an expression binds.
std::string show(const Expr *expr) {
  if (auto *name = llvm::dyn_cast<NameExpr>(expr))
    return name->name;
  if (auto *number = llvm::dyn_cast<NumberExpr>(expr))
    return number->isFloat ? fmt::format("{}", number->value) : std::to_string(number->integer);
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(expr))
    return fmt::format("({} {})", std::string(spelling(unary->op)), show(unary->operand));
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(expr))
    return fmt::format("({} {} {})", show(binary->lhs), std::string(spelling(binary->op)), show(binary->rhs));
  if (auto *otherwise = llvm::dyn_cast<ElseExpr>(expr))
    return fmt::format("({} else {})", show(otherwise->slice), show(otherwise->otherwise));
  if (auto *index = llvm::dyn_cast<IndexExpr>(expr))
    return show(index->base) + "[…]";
  if (auto *member = llvm::dyn_cast<MemberExpr>(expr))
    return show(member->base) + "." + member->member.text;
  if (auto *call = llvm::dyn_cast<CallExpr>(expr))
    return show(call->callee) + "(…)";
  return "?";
}

std::string showExpr(const std::string &text) {
  Parsed parsed("fn f(x) = " + text + ";");
  auto *result = llvm::cast<ReturnStmt>(parsed.decl<FnDecl>(0).body->stmts[0]);
  return show(result->values[0]);
}

TEST(Parser, precedence) {
  EXPECT_EQ(showExpr("a + b * c - d"), "((a + (b * c)) - d)");
  EXPECT_EQ(showExpr("a @ b * c"), "((a @ b) * c)");
  EXPECT_EQ(showExpr("-a[i] @ b.T"), "((- a[…]) @ b.T)");
  EXPECT_EQ(showExpr("a | b ^ c & d << e + f"), "(a | (b ^ (c & (d << (e + f)))))");
  EXPECT_EQ(showExpr("not a == b and c or d"), "(((not (a == b)) and c) or d)");
  EXPECT_EQ(showExpr("x[t] else -1 + y"), "((x[…] else (- 1)) + y)");
  EXPECT_EQ(showExpr("where(c, x, y) * 1.5e-3"), "(where(…) * 0.0015)");
}

TEST(Parser, numbers) {
  EXPECT_EQ(showExpr("0x1f"), "31");
  EXPECT_EQ(showExpr("1e3"), "1000");
  Parsed parsed("kernel k(a: f32[N]) { for i in 0..N { } }");
  auto *loop = llvm::cast<ForStmt>(parsed.decl<KernelDecl>(0).body->stmts[0]);
  EXPECT_TRUE(llvm::isa<RangeExpr>(loop->binding.range));
}

TEST(Parser, kernelSignature) {
  Parsed parsed("/// One.\n/// Two.\n"
                "kernel k<T: {bf16, f16}>(a: T[M, K / 2], out out: f32[M], inout s: f32[1], bias: f32[N] = none,\n"
                "                         const causal: bool = false) where M in {64, 128}, K % 2 == 0 { }");
  const auto &kernel = parsed.decl<KernelDecl>(0);
  EXPECT_EQ(kernel.doc, "One.\nTwo.");
  ASSERT_EQ(kernel.params.size(), 5u);
  EXPECT_EQ(kernel.params[1].name.text, "out");
  EXPECT_EQ(kernel.params[1].mode, ParamMode::Out);
  EXPECT_EQ(kernel.params[2].mode, ParamMode::InOut);
  EXPECT_TRUE(llvm::isa<NoneExpr>(kernel.params[3].defaultValue));
  EXPECT_TRUE(kernel.params[4].isConst);
  EXPECT_EQ(kernel.typeParams[0].choices[1].text, "f16");
  ASSERT_EQ(kernel.whereIn.size(), 1u);
  EXPECT_EQ(kernel.whereIn[0].second.size(), 2u);
  EXPECT_EQ(kernel.where.size(), 1u);
}

TEST(Parser, statements) {
  Parsed parsed("kernel k(a: f32[N]) {\n"
                "  tune BM = 128, BN = 2 * BM;\n"
                "  parallel m in tiles(N, BM), h in 0..H {\n"
                "    let a, b = f(x);\n    var l = zeros(BM, 1);\n"
                "    if c { } else if d { } else { }\n"
                "    x[m] += 1; x[m] max= l; l *= 2;\n"
                "    y[m, :, 0:8, :4] = x[m - 3, :] else 0;\n"
                "  }\n}");
  auto *nest = llvm::cast<ParallelStmt>(parsed.decl<KernelDecl>(0).body->stmts[1]);
  EXPECT_EQ(nest->bindings.size(), 2u);
  const std::vector<Stmt *> &stmts = nest->body->stmts;
  ASSERT_EQ(stmts.size(), 7u);
  EXPECT_EQ(llvm::cast<LetStmt>(stmts[0])->names.size(), 2u);
  EXPECT_TRUE(llvm::isa<IfStmt>(llvm::cast<IfStmt>(stmts[2])->elseStmt));
  EXPECT_EQ(llvm::cast<AssignStmt>(stmts[4])->op, AssignOp::Max);
  auto *store = llvm::cast<AssignStmt>(stmts[6]);
  const auto &subscripts = llvm::cast<IndexExpr>(store->target)->subscripts;
  EXPECT_EQ(subscripts[1].kind, Subscript::All);
  EXPECT_EQ(subscripts[2].kind, Subscript::Span);
  EXPECT_EQ(subscripts[3].kind, Subscript::Span);
  EXPECT_TRUE(llvm::isa<ElseExpr>(store->value));
}

TEST(Parser, notation) {
  Parsed parsed("reference k {\n"
                "  s[i, j] = if c then q[i] else sum(k, l in 0..i, a[k] * b[l]);\n"
                "  m = max(a[0], 1);\n"
                "}\n"
                "case k { T = bf16; q = normal(seed = 7, std = 2); cu = [0, 3, 5]; f[i] = cos(i); }");
  const auto &equations = parsed.decl<ReferenceDecl>(0).equations;
  auto *choice = llvm::cast<IfExpr>(equations[0].value);
  EXPECT_TRUE(llvm::isa<IndexExpr>(choice->thenValue));
  auto *sum = llvm::cast<ReductionExpr>(choice->elseValue);
  ASSERT_EQ(sum->binders.size(), 2u);
  EXPECT_EQ(sum->binders[0].lo, nullptr);
  EXPECT_NE(sum->binders[1].lo, nullptr);
  EXPECT_TRUE(llvm::isa<CallExpr>(equations[1].value));
  const auto &settings = parsed.decl<CaseDecl>(1).settings;
  EXPECT_EQ(llvm::cast<CallExpr>(settings[1].value)->args[0].name.text, "seed");
  EXPECT_EQ(settings[3].indices.size(), 1u);
}

TEST(Parser, otherDeclarations) {
  Parsed parsed("import \"x.tk\";\n"
                "fn f(x) = x * 2;\n"
                "fn g(m, l) { let a = m; return a, l; }\n"
                "extern cuda \"act.cuh\" fn my_act(x: f32) -> f32;\n"
                "schedule k for sm_90a when D == 128 { BM = 128; pingpong = true; producer = warp; }\n"
                "program p(x: f32[B, N], out y: f32[N]) {\n"
                "  let d = new f32[B, N / 2 + 1] = 0;\n  y = 0;\n  k(x.view(B * N), d, causal = true);\n}\n");
  EXPECT_EQ(parsed.decl<ImportDecl>(0).path, "x.tk");
  EXPECT_EQ(llvm::cast<ReturnStmt>(parsed.decl<FnDecl>(2).body->stmts[1])->values.size(), 2u);
  EXPECT_EQ(parsed.decl<ExternFnDecl>(3).header, "act.cuh");
  EXPECT_EQ(parsed.decl<ScheduleDecl>(4).settings.size(), 3u);
  const auto &program = parsed.decl<ProgramDecl>(5);
  auto *fresh = llvm::cast<NewExpr>(llvm::cast<LetStmt>(program.body->stmts[0])->value);
  EXPECT_EQ(fresh->dims.size(), 2u);
  EXPECT_NE(fresh->fill, nullptr);
  EXPECT_TRUE(llvm::isa<ExprStmt>(program.body->stmts[2]));
}

} // namespace
} // namespace tkc
