// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/kernel/DropUnused.h"
#include "backends/cpp/Identifiers.h"

#include <gtest/gtest.h>

using namespace tkc::cpp;

namespace {

Stmt declare(std::string type, std::string variable, std::string value) {
  return Stmt::declaration(std::move(type), std::move(variable), name(std::move(value)));
}

std::string without(Body body) {
  tkc::cuda::dropUnused(body);
  return print(body, 0);
}

TEST(DropUnused, WhatOnlyUnusedNamesReadVanishesToo) {
  EXPECT_EQ(without({declare("const auto", "tiles", "h"), declare("const auto", "k", "tiles[0]"),
                     Stmt::expression(call("use", {name("g.k")}))}),
            "use(g.k);\n");
  EXPECT_EQ(without({Stmt::declaration("float", "x"), Stmt::comment("x")}), "// x\n");
}

TEST(DropUnused, EffectsStay) {
  EXPECT_EQ(without({declare("const int", "x", "load(p)")}), "[[maybe_unused]] const int x = load(p);\n");
  EXPECT_EQ(without({declare("tk::recorder", "recorder", "trace")}),
            "[[maybe_unused]] tk::recorder recorder = trace;\n");
}

TEST(DropUnused, AStepOfAWalkStaysWhileTheWalkGoesOn) {
  const Stmt walk = Stmt::declaration("tk::grid_walk", "position", braces("", {name("block")}));
  const Stmt last = declare("const int", "i", "position.take(4)"),
             first = declare("const int", "h", "position.take(8)");
  EXPECT_EQ(without({walk, last, first, Stmt::expression(call("use", {name("h")}))}),
            "tk::grid_walk position{block};\n[[maybe_unused]] const int i = position.take(4);\n"
            "const int h = position.take(8);\nuse(h);\n");
  EXPECT_EQ(without({walk, last, first, Stmt::expression(call("use", {name("block")}))}), "use(block);\n");
  // The next iteration walks on.
  EXPECT_EQ(without({walk, Stmt::forLoop(";;", {first, last, Stmt::expression(call("use", {name("h")}))})}),
            "tk::grid_walk position{block};\nfor (;;) {\n  const int h = position.take(8);\n"
            "  [[maybe_unused]] const int i = position.take(4);\n  use(h);\n}\n");
}

TEST(DropUnused, LoopsThatCount) {
  EXPECT_EQ(without({Stmt::forLoop("const auto k : tk::tiles<64>{0, n}", {Stmt::expression(call("tick"))})}),
            "for ([[maybe_unused]] const auto k : tk::tiles<64>{0, n})\n  tick();\n");
  EXPECT_EQ(without({declare("const int", "n", "4"), Stmt::forLoop("const auto k : tk::tiles<64>{0, n}",
                                                                   {Stmt::expression(call("use", {name("k")}))})}),
            "const int n = 4;\nfor (const auto k : tk::tiles<64>{0, n})\n  use(k);\n");
  // The loop's variable is another one; what only dropped declarations of its body read vanishes.
  EXPECT_EQ(without({declare("const auto", "k", "tiles[0]"), declare("const auto", "m", "tiles[1]"),
                     Stmt::forLoop("int k = 0; k < 4; ++k",
                                   {declare("const auto", "x", "m"), Stmt::expression(call("use", {name("k")}))})}),
            "for (int k = 0; k < 4; ++k)\n  use(k);\n");
}

TEST(DropUnused, BranchesReadWhatIsDeclaredBefore) {
  EXPECT_EQ(without({declare("const int", "x", "1"), declare("const int", "y", "2"),
                     Stmt::ifThen(name("y"), {Stmt::expression(call("use", {name("x")}))})}),
            "const int x = 1;\nconst int y = 2;\nif (y)\n  use(x);\n");
  // The one inside hides the one outside.
  EXPECT_EQ(without({declare("const int", "x", "1"),
                     Stmt::block({declare("const int", "x", "2"), Stmt::expression(call("use", {name("x")}))})}),
            "{\n  const int x = 2;\n  use(x);\n}\n");
}

TEST(Identifiers, MembersStringsAndNumbersAreNone) {
  Identifiers names;
  addIdentifiers("a.b + c->d + tk::e(\"f\", 0x1g, {.h = i})", names);
  EXPECT_EQ(names, (Identifiers{"a", "c", "i", "tk"}));
  EXPECT_EQ(calleesOf("tk::f<g(1), 2>(x.h(3))"), (Identifiers{"tk::f", "g", "h"}));
}

TEST(Identifiers, RenamingEndsWhereTheNameIsDeclaredAgain) {
  Body body = {Stmt::forLoop("int i = g.lo; i < g.hi; ++i",
                             {Stmt::expression(member(name("g"), "g")), declare("const auto &", "g", "again(g)"),
                              Stmt::expression(name("g.x"))}),
               Stmt::expression(name("g.y"))};
  rename(body, "g", "arguments");
  EXPECT_EQ(print(body, 0), "for (int i = arguments.lo; i < arguments.hi; ++i) {\n  arguments.g;\n"
                            "  const auto &g = again(arguments);\n  g.x;\n}\narguments.y;\n");
}

} // namespace
