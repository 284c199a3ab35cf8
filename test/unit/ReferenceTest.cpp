// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/reference/Reference.h"

#include "frontend/Parser.h"
#include "support/Diagnostics.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tkc;

namespace {

/// A reference given as text, and what it may use.
struct Reference {
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};
  ast::File file;
  ReferenceInput input;

  explicit Reference(const std::string &equations) {
    file = parse(sources.addBuffer("test.tk", "reference f { " + equations + " }"), diagnostics);
    input.reference = static_cast<const ast::ReferenceDecl *>(file.decls.at(0));
  }
  Reference &tensor(const std::string &name, std::vector<int64_t> dims, std::vector<double> data,
                    ElemType elem = ElemType::F32) {
    Tensor &made = input.arguments.tensors[name] = {elem, std::move(dims), {}};
    made.resize(data.size());
    for (size_t i = 0; i < data.size(); ++i)
      made.set(i, data[i]);
    return *this;
  }
  Reference &output(const std::string &name, std::vector<int64_t> dims) {
    input.outputs.push_back(name);
    input.arguments.tensors[name] = {ElemType::F32, std::move(dims), {}};
    return *this;
  }
  Reference &symbol(const std::string &name, int64_t value) {
    input.arguments.symbols[name] = value;
    return *this;
  }
  std::vector<double> run(const std::string &name = "y") {
    auto results = evaluateReference(input, diagnostics);
    for (const Diagnostic &diagnostic : diagnostics.all())
      ADD_FAILURE() << diagnostic.message;
    std::vector<double> values;
    for (size_t i = 0; i < results[name].numValues(); ++i)
      values.push_back(results[name].at(i).toDouble());
    return values;
  }
  /// The only message.
  std::string complaint() {
    evaluateReference(input, diagnostics);
    return diagnostics.all().size() == 1 ? diagnostics.all()[0].message
                                         : std::to_string(diagnostics.all().size()) + " messages";
  }
};

using Doubles = std::vector<double>;

TEST(Reference, SumsProductsOverTheRangeOfTheDim) {
  Reference r("y[i, j] = sum(k, a[i, k] * b[k, j]);");
  r.tensor("a", {2, 3}, {1, 2, 3, 4, 5, 6}).tensor("b", {3, 2}, {1, 0, 0, 1, 1, 1}).output("y", {2, 2});
  EXPECT_EQ(r.run(), (Doubles{4, 5, 10, 11}));
}

TEST(Reference, SumsOverMoreThanOneChunkOfLanes) {
  Doubles ones(1000, 1), expected(1000, 1000);
  Reference r("y[i] = sum(k, a[k]); z = sum(k in 0..900, k);");
  r.tensor("a", {1000}, ones).output("y", {1000}).output("z", {});
  EXPECT_EQ(r.run(), expected);
  EXPECT_EQ(r.run("z"), (Doubles{900 * 899 / 2}));
}

TEST(Reference, EvaluatesOnlyTheBranchTaken) {
  Reference r("y[i] = if i == 0 then 0 else x[i - 1]; z[i] = if i > 0 and x[i - 1] == 2 then 1 else 0;");
  r.tensor("x", {4}, {1, 2, 3, 4}).output("y", {4}).output("z", {4});
  EXPECT_EQ(r.run(), (Doubles{0, 1, 2, 3}));
  EXPECT_EQ(r.run("z"), (Doubles{0, 0, 1, 0}));
}

TEST(Reference, IntegersFloorAndFloatsDoNot) {
  Reference r("y[i] = (i - 3) / 2; z[i] = x[i] / 2; w[i] = (i - 3) % 2;");
  r.tensor("x", {4}, {1, 2, 3, 4}).output("y", {4}).output("z", {4}).output("w", {4});
  EXPECT_EQ(r.run(), (Doubles{-2, -1, -1, 0}));
  EXPECT_EQ(r.run("z"), (Doubles{0.5, 1, 1.5, 2}));
  EXPECT_EQ(r.run("w"), (Doubles{1, 0, 1, 0}));
}

TEST(Reference, ComplementOfATruthIsItsOpposite) {
  Reference r("h[i] = x[i] > 2; y[i] = ~h[i]; z[i] = ~(b[i] ^ (i == 0)); w[i] = ~(h[i] + 0);");
  r.tensor("x", {3}, {1, 2, 3}).tensor("b", {3}, {0, 1, 1}, ElemType::Bool);
  r.output("y", {3}).output("z", {3}).output("w", {3});
  EXPECT_EQ(r.run(), (Doubles{1, 1, 0}));
  EXPECT_EQ(r.run("z"), (Doubles{0, 0, 0}));
  EXPECT_EQ(r.run("w"), (Doubles{-1, -1, -2}));
}

TEST(Reference, ExtremaOfNumbersBeyond32BitsAreTheirs) {
  Reference r(
      "y[i] = min(j in 0..2, 4294967296 + j); z[i] = max(j in 0..2, j - 4294967296); e[i] = min(j in 0..0, j);");
  r.output("y", {1}).output("z", {1}).output("e", {1});
  EXPECT_EQ(r.run(), (Doubles{4294967296}));
  EXPECT_EQ(r.run("z"), (Doubles{-4294967295}));
  EXPECT_EQ(r.run("e"), (Doubles{2147483647}));
}

TEST(Reference, ShiftsOfNumbersThatAreCutTo32BitsAreOf32) {
  Reference r("h[i] = (x[i] + 2147483648) % 4294967296 - 2147483648; y[i] = h[i] << 1; z[i] = -2147483648 << 1;");
  r.tensor("x", {2}, {1, 2147483647}, ElemType::I32).output("y", {2}).output("z", {1});
  EXPECT_EQ(r.run(), (Doubles{2, -2}));
  EXPECT_EQ(r.run("z"), (Doubles{0}));
}

TEST(Reference, IntermediatesGiveRangesAndIntegerTensorsIndex) {
  Reference r("g[i, d] = x[p[i], d] * 2; y[i] = sum(d, g[i, d]);");
  r.tensor("x", {3, 2}, {1, 2, 3, 4, 5, 6}).tensor("p", {4}, {2, 0, 1, 2}, ElemType::I32).output("y", {4});
  EXPECT_EQ(r.run(), (Doubles{22, 6, 14, 22}));
}

TEST(Reference, RangesMayBeCalledByTheNameOfANumber) {
  Reference r("T = U / 2; U = N + 3; g[t in 0..T] = p[t]; y = sum(t, g[t]);");
  r.tensor("p", {4}, {2, 0, 1, 2}).symbol("N", 4).output("y", {});
  EXPECT_EQ(r.run(), (Doubles{3}));
  Reference computed("T[i] = i; g[t in 0..T[2]] = t; y = sum(i in 0..3, T[i]) + sum(t, g[t]);");
  EXPECT_EQ(computed.output("y", {}).complaint(),
            "the range of an index is needed before `T` is computed: dims, constants and inputs may stand in it");
  EXPECT_EQ(Reference("T = T + 1; y[i in 0..T] = i;").output("y", {1}).complaint(),
            "`T` is computed from its own value");
}

TEST(Reference, BoundsOfASumMayDependOnTheIndex) {
  Reference r("y[i] = sum(j in 0..i + 1, x[j]); m[i] = max(j in 0..i, x[j]);");
  r.tensor("x", {4}, {1, 5, 3, 4}).output("y", {4}).output("m", {4});
  EXPECT_EQ(r.run(), (Doubles{1, 6, 9, 13}));
  EXPECT_EQ(r.run("m"), (Doubles{-INFINITY, 1, 5, 5}));
}

TEST(Reference, LargerOfTwoWhereTheNameMeansSomething) {
  Reference r("y[i] = max(i, 2); z = max(i, x[i]);");
  r.tensor("x", {4}, {1, 5, NAN, 4}).output("y", {4}).output("z", {});
  EXPECT_EQ(r.run(), (Doubles{2, 2, 2, 3}));
  EXPECT_EQ(r.run("z"), (Doubles{5}));
}

TEST(Reference, RecursionForwardsOverRows) {
  Reference r("S[t, d] = if t == 0 then u[t, d] else a[t] * S[t - 1, d] + u[t, d]; y[t, d] = S[t, d];");
  r.tensor("a", {3}, {2, 2, 3}).tensor("u", {3, 2}, {1, 1, 1, 2, 1, 3}).output("y", {3, 2});
  EXPECT_EQ(r.run(), (Doubles{1, 1, 3, 4, 10, 15}));
}

TEST(Reference, RecursionBackwardsAlongARowIsAsDeepAsItNeeds) {
  const int64_t n = 20000;
  Reference r("S[t] = if t == N - 1 then x[t] else S[t + 1] + x[t]; y[t] = S[t];");
  r.tensor("x", {n}, Doubles(n, 1)).output("y", {n}).symbol("N", n);
  EXPECT_EQ(r.run().front(), n);
}

TEST(Reference, TwoIntermediatesMayAskForEachOther) {
  Reference r("e[t] = if t == 0 then 1 else o[t - 1]; o[t in 0..5] = if t == 0 then 0 else e[t - 1]; y[t] = e[t];");
  r.output("y", {5});
  EXPECT_EQ(r.run(), (Doubles{1, 0, 1, 0, 1}));
}

TEST(Reference, AnIntermediateHasTheRangeOverWhichItIsAskedFor) {
  Reference r("s[b, j] = 10 * b + j; y[b] = sum(j in 0..n[b], s[b, j]);");
  r.tensor("n", {3}, {2, 0, 3}, ElemType::I32).output("y", {3});
  EXPECT_EQ(r.run(), (Doubles{1, 0, 63}));
}

TEST(Reference, CastsRound) {
  Reference r("y[i] = bf16(x[i]);");
  r.tensor("x", {1}, {1.00390625}).output("y", {1});
  EXPECT_EQ(r.run(), (Doubles{1}));
}

TEST(Reference, PhiloxIsTheGeneratorOfItsAuthors) {
  Reference r("y[i] = philox(0, i, 0);");
  r.output("y", {1});
  EXPECT_EQ(r.run(), (Doubles{(0x6627e8d5 >> 8) * 0x1p-24}));
}

TEST(Reference, AbsentTensorsAreNotTouched) {
  Reference r("y[i] = if bias != none then x[i] + bias[i] else x[i];");
  r.tensor("x", {2}, {1, 2}).output("y", {2});
  r.input.absent = {"bias"};
  EXPECT_EQ(r.run(), (Doubles{1, 2}));
}

TEST(Reference, RecursionOnItselfIsACycle) {
  Reference r("s[t] = s[t] + x[t]; y[t] = s[t];");
  r.tensor("x", {2}, {1, 2}).output("y", {2});
  EXPECT_EQ(r.complaint(), "`s` is computed from its own value");
}

TEST(Reference, ReportsAnIndexOutsideATensorWhereItIsAskedFor) {
  Reference lazy("s[i in 0..2] = x[i + 1]; y[i] = if i < 1 then s[i] else 0;");
  lazy.tensor("x", {2}, {1, 2}).output("y", {2});
  EXPECT_EQ(lazy.run(), (Doubles{2, 0}));
  Reference eager("s[i in 0..2] = x[i + 1]; y[i] = s[i];");
  eager.tensor("x", {2}, {1, 2}).output("y", {2});
  EXPECT_EQ(eager.complaint(), "index 2 is outside dim 1 of `x`, which has 2 elements");
}

TEST(Reference, RangesMustAgree) {
  Reference r("y[i] = sum(j, a[j] * b[j]);");
  r.tensor("a", {2}, {1, 2}).tensor("b", {3}, {1, 2, 3}).output("y", {1});
  EXPECT_EQ(r.complaint(), "index `j` runs over 0..3 here and over 0..2 elsewhere");
}

TEST(Reference, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(Reference("y = zz;").output("y", {}).complaint(), "nothing here is called `zz`");
  EXPECT_EQ(Reference("y = sum(k, 2);").output("y", {}).complaint(),
            "index `k` stands alone in no dim: write its range, as in `k in 0..N`");
  EXPECT_EQ(Reference("y = exp(1, 2);").output("y", {}).complaint(), "`exp` takes 1 arguments, not 2");
  EXPECT_EQ(Reference("y = 1.5 % 2;").output("y", {}).complaint(), "this must be an integer");
  EXPECT_EQ(Reference("y = ~1.5;").output("y", {}).complaint(), "this must be an integer");
  EXPECT_EQ(Reference("y = x[0, 0];").tensor("x", {1}, {1}).output("y", {}).complaint(),
            "`x` has 1 dims, and 2 indices stand here");
  EXPECT_EQ(Reference("z = 1;").output("y", {}).complaint(), "the reference does not say what `y` is");
  EXPECT_EQ(Reference("y = none;").output("y", {}).complaint(), "this cannot be used in index notation");
  EXPECT_EQ(Reference("s[i in 0..1000000, j in 0..1000000] = 1; y = s[0, 0];").output("y", {}).complaint(),
            "`s` would have too many elements to be kept");
}

TEST(Reference, CallsFunctions) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  const ast::File file = parse(sources.addBuffer("f.tk", "fn f(a, b) { let c = a + b; return c * c; }"
                                                         "fn g(x) = f(x, x) + f(x, x);"
                                                         "fn h(x) = g(g(g(g(g(g(x))))));"),
                               diagnostics);
  std::map<std::string, const ast::FnDecl *> functions;
  for (const ast::Decl *decl : file.decls)
    functions[decl->name.text] = static_cast<const ast::FnDecl *>(decl);
  Reference r("y[i] = f(x[i], i) + g(1);");
  r.tensor("x", {2}, {1, 2}).output("y", {2});
  r.input.functions = &functions;
  EXPECT_EQ(r.run(), (Doubles{9, 17}));
  // Every level multiplies: refused, not computed.
  Reference huge("y[i] = h(h(h(x[i])));");
  huge.tensor("x", {2}, {1, 2}).output("y", {2});
  huge.input.functions = &functions;
  evaluateReference(huge.input, huge.diagnostics);
  ASSERT_TRUE(huge.diagnostics.hasErrors());
  EXPECT_EQ(huge.diagnostics.all()[0].message, "the equation of `y` is too long once its functions are inlined");
}

TEST(Reference, CountsIndices) {
  std::string text = "y = 0";
  for (int i = 0; i < 70; ++i)
    text += " + sum(i" + std::to_string(i) + " in 0..1, 1)";
  EXPECT_EQ(Reference(text + ";").output("y", {}).complaint(), "6 messages");
}

TEST(Reference, BoundsTheErrorOfAKernel) {
  Reference r("y[i] = sum(k, a[k] * b[k]); z[i] = a[i];");
  r.tensor("a", {2}, {1000, -1000}).tensor("b", {2}, {1, 1}).output("y", {2}).output("z", {2});
  ErrorModel model;
  std::map<std::string, Tensor> errors;
  evaluateReference(r.input, r.diagnostics, &model, &errors);
  // The sum cancels, its error does not: two products and two additions of 1000 each.
  EXPECT_GT(errors["y"].data[0], 2000 * 0x1p-24);
  EXPECT_LT(errors["y"].data[0], 20000 * 0x1p-24);
  EXPECT_EQ(errors["z"].data[0], 0);
}

TEST(Reference, BelowTheSmallestNormalNumberRoundingsErrByAsMuchAsThere) {
  Reference r("h[i] = a[i] * b[i]; y[i] = h[i] * b[i]; z[i] = a[i] / b[i];");
  r.tensor("a", {1}, {0x1p-100}).tensor("b", {1}, {0x1p-40}).output("y", {1}).output("z", {1});
  ErrorModel model;
  std::map<std::string, Tensor> errors;
  evaluateReference(r.input, r.diagnostics, &model, &errors);
  EXPECT_GE(errors["y"].data[0], 0x1p-150);
  EXPECT_LT(errors["z"].data[0], 0x1p-80);
}

TEST(Reference, InfiniteFactorsLeaveNoErrorBehind) {
  Reference r("y[i] = max(a[i] * b[i], 1); z[i] = max(a[i] * b[i] * b[i], 1);");
  r.tensor("a", {1}, {-INFINITY}).tensor("b", {1}, {3}).output("y", {1}).output("z", {1});
  ErrorModel model;
  std::map<std::string, Tensor> errors;
  evaluateReference(r.input, r.diagnostics, &model, &errors);
  EXPECT_EQ(errors["y"].data[0], 0);
  EXPECT_EQ(errors["z"].data[0], 0);
}

TEST(Reference, SumsOfSumsThatCancelErrByTheirTerms) {
  Reference r("y[i] = sum(j in 0..64, sum(k, a[k])); z[i] = sum(k, sum(j in 0..64, a[k]));");
  r.tensor("a", {2}, {1000, -1000}).output("y", {1}).output("z", {1});
  ErrorModel model;
  std::map<std::string, Tensor> errors;
  evaluateReference(r.input, r.diagnostics, &model, &errors);
  EXPECT_GT(errors["y"].data[0], 64 * 128000 * 0x1p-24);
  EXPECT_LT(errors["z"].data[0], 2 * errors["y"].data[0]);
  EXPECT_LT(errors["y"].data[0], 2 * errors["z"].data[0]);
}

TEST(Reference, FactorsThatHardwareTakesAsZeroErrByTheWholeProduct) {
  Reference r("y[i] = sum(k, a[k] * b[k]); z[i] = a[i] * b[i];");
  r.tensor("a", {2}, {0x1p-15, 1}).tensor("b", {2}, {4, 0x1p-14}).output("y", {2}).output("z", {2});
  ErrorModel model;
  model.flushed = 0x1p-14;
  std::map<std::string, Tensor> errors;
  evaluateReference(r.input, r.diagnostics, &model, &errors);
  EXPECT_GE(errors["y"].data[0], 0x1p-13);
  EXPECT_LT(errors["y"].data[0], 0x1.01p-13);
  EXPECT_LT(errors["z"].data[0], 0x1p-30);
}

TEST(Reference, ErrorsOfSumsOfSumsAskNoBoundOutsideItsRange) {
  Reference r("y[i] = sum(e in 1..1, sum(m in o[e - 1]..o[e], a[m]));");
  r.tensor("o", {4}, {0, 2, 4, 6}, ElemType::I32).tensor("a", {6}, {1, 2, 3, 4, 5, 6}).output("y", {1});
  ErrorModel model;
  std::map<std::string, Tensor> errors;
  evaluateReference(r.input, r.diagnostics, &model, &errors);
  EXPECT_TRUE(r.diagnostics.all().empty());
  EXPECT_EQ(errors["y"].data[0], 0);
}

TEST(Reference, SumsOfSumsMayRoundAsOneSumOfAllTerms) {
  Reference r("y[i] = sum(j in 0..64, sum(k in 0..64, a[i])); z[i] = sum(j in 0..4096, a[i]);");
  r.tensor("a", {1}, {1}).output("y", {1}).output("z", {1});
  ErrorModel model;
  std::map<std::string, Tensor> errors;
  evaluateReference(r.input, r.diagnostics, &model, &errors);
  EXPECT_GT(errors["y"].data[0], 0.9 * errors["z"].data[0]);
  EXPECT_LT(errors["y"].data[0], 1.2 * errors["z"].data[0]);
}

/// The bound of the error of an element of `y`.
double errorOf(Reference &r, const ErrorModel &model = {}, int element = 0) {
  std::map<std::string, Tensor> errors;
  evaluateReference(r.input, r.diagnostics, &model, &errors);
  EXPECT_TRUE(r.diagnostics.all().empty());
  return errors["y"].data[element];
}

TEST(Reference, EqualTermsRoundAlike) {
  Doubles different(1024);
  for (int i = 0; i < 1024; ++i)
    different[i] = 1 + (i * 37 % 64) / 1024.0;
  const auto bound = [&](const std::string &equations) {
    Reference r(equations);
    r.tensor("a", {2}, {1, 1}).tensor("x", {1024}, different).output("y", {2});
    return errorOf(r) / (1024 * 0x1p-24);
  };
  // Relative to the sum: √n where terms differ, n / 2 where none does, √(n · 8) where eight in a row are the same.
  EXPECT_LT(bound("y[i] = sum(k in 0..1024, x[k]);"), 2 * 34);
  EXPECT_NEAR(bound("y[i] = sum(k in 0..1024, a[i]);"), 514, 2);
  EXPECT_NEAR(bound("h[k in 0..1024, i] = a[i] * 1; y[i] = sum(k in 0..1024, h[k, i]);"), 515, 2);
  EXPECT_NEAR(bound("y[i] = sum(j in 0..32, sum(k in 0..32, a[i]));"), 532, 2);
  EXPECT_NEAR(bound("h[k in 0..1024] = x[k / 8] * 1; y[i] = sum(k in 0..1024, h[k]);"), 92, 10);
  EXPECT_NEAR(bound("h[k] = x[k] * 1; y[i] = sum(j in 0..8, sum(k in 0..128, h[k]));"), 108, 8);
  // Zeros between them change nothing.
  EXPECT_NEAR(bound("h[k in 0..1024, i] = a[i] * 1; y[i] = sum(k in 0..2048, if k % 2 == 0 then h[k / 2, i] else 0);"),
              515, 2);
  // Half of the sum is of terms that differ, and half of equal ones, which find it three quarters as large.
  EXPECT_NEAR(bound("h[k in 0..2048] = if k < 1024 then x[k % 64] else 1.03; y[i] = sum(k in 0..2048, h[k]);") * 0.5 /
                  1.03,
              1024 * std::sqrt(1 - 0.75 * 0.5), 60);
}

TEST(Reference, EqualTermsOfManyElementsAreCountedInEach) {
  Doubles numbers(1024);
  for (int i = 0; i < 1024; ++i)
    numbers[i] = 1 + i / 1024.0;
  // Sixteen elements of y are computed at once. Returns the bound of the last, relative to its sum of about `size`.
  const auto bound = [&](const std::string &terms, double size) {
    Reference r("y[i] = sum(k in 0..1024, " + terms + ");");
    r.tensor("a", {16}, Doubles(16, 1)).tensor("x", {1024}, numbers).output("y", {16});
    return errorOf(r, {}, 15) / (size * 0x1p-24);
  };
  EXPECT_NEAR(bound("a[i] * x[k]", 1536), 35, 0.5);                               // none are equal
  EXPECT_NEAR(bound("a[i] * x[max(k, 7)]", 1536), 35, 0.5);                       // eight are
  EXPECT_NEAR(bound("a[i] * x[min(k, 7)]", 1031), 510, 8);                        // nearly all are
  EXPECT_NEAR(bound("a[i] * x[k / 8]", 1088), 92, 2);                             // eight in a row each
  EXPECT_NEAR(bound("if k % 2 == 0 then a[i] * 1.5 else a[i] * 0", 768), 257, 3); // zeros between them change nothing
}

TEST(Reference, AConstantIsTheNearestNumberThatTheKernelHas) {
  const auto bound = [](const std::string &equation, const ErrorModel &model = {}) {
    Reference r(equation);
    r.tensor("x", {1}, {-0.5}).output("y", {1});
    return errorOf(r, model);
  };
  EXPECT_NEAR(bound("y[i] = LN2;"), std::fabs(std::log(2.0) - static_cast<float>(std::log(2.0))), 1e-15);
  EXPECT_GT(bound("y[i] = x[i] + 0.3;"), 0.01 * 0x1p-24);
  EXPECT_EQ(bound("y[i] = 0.25;"), 0);
  EXPECT_EQ(bound("y[i] = 1e300;"), 0);
  EXPECT_EQ(bound("y[i] = f32(LN2);"), 0);
  EXPECT_EQ(bound("y[i] = LN2;", {0x1p-53, 0x1p-53}), 0);
}

} // namespace
