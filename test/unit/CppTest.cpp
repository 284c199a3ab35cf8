// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpp/Cpp.h"
#include "backends/cpp/Format.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tkc::cpp;

namespace {

const Expr a = name("a"), b = name("b"), c = name("c");

TEST(Cpp, ParenthesesComeFromPrecedence) {
  EXPECT_EQ(print(binary("*", binary("+", a, b), c)), "(a + b) * c");
  EXPECT_EQ(print(binary("+", binary("*", a, b), c)), "a * b + c");
  EXPECT_EQ(print(binary("-", a, binary("-", b, c))), "a - (b - c)");
  EXPECT_EQ(print(binary("-", binary("-", a, b), c)), "a - b - c");
  EXPECT_EQ(print(unary("-", binary("+", a, b))), "-(a + b)");
  EXPECT_EQ(print(unary("-", unary("-", a))), "-(-a)");
  EXPECT_EQ(print(method(binary("+", a, b), "T")), "(a + b).T()");
  EXPECT_EQ(print(conditional(binary("<", a, b), a, conditional(c, a, b))), "a < b ? a : c ? a : b");
  EXPECT_EQ(print(binary("=", a, conditional(c, a, b))), "a = c ? a : b");
}

TEST(Cpp, ParenthesesWhereCompilersWarn) {
  EXPECT_EQ(print(binary("||", a, binary("&&", b, c))), "a || (b && c)");
  EXPECT_EQ(print(binary("<<", a, binary("+", b, c))), "a << (b + c)");
  EXPECT_EQ(print(binary("<", binary(">>", a, b), c)), "(a >> b) < c");
  EXPECT_EQ(print(call("f", {integer(-2147483648)})), "f(-2147483647 - 1)");
  EXPECT_EQ(print(binary("&", a, binary("==", b, c))), "a & (b == c)");
}

TEST(Cpp, KnownNumbersAreFolded) {
  EXPECT_EQ(print(binary("+", binary("*", a, integer(1)), integer(0))), "a");
  EXPECT_EQ(print(binary("*", integer(4), integer(64))), "256");
  EXPECT_EQ(print(binary("+", a, integer(-3))), "a - 3");
  EXPECT_EQ(print(integer(1ll << 40)), "1099511627776LL");
}

TEST(Cpp, FloatsReadBack) {
  EXPECT_EQ(print(floating(1, false)), "1.0f");
  EXPECT_EQ(print(floating(0.1f, false)), "0.1f");
  EXPECT_EQ(print(floating(0.1, true)), "0.1");
  EXPECT_EQ(print(floating(1e30, true)), "1e+30");
  EXPECT_EQ(print(floating(-INFINITY, false)), "-tk::inf");
  EXPECT_EQ(print(floating(-INFINITY, true)), "double(-tk::inf)");
}

TEST(Cpp, NamesClashNeither) {
  NameScope names;
  names.reserve("g");
  EXPECT_EQ(names.take("acc"), "acc");
  EXPECT_EQ(names.take("acc"), "acc2");
  EXPECT_EQ(names.take("g"), "g2");
  EXPECT_EQ(names.take("register"), "register2");
}

TEST(Cpp, StatementsAreLaidOut) {
  const Body body = {Stmt::comment("one\ntwo"), Stmt::declaration("const int", "x", integer(1)),
                     Stmt::ifThen(a, {Stmt::ret(b)}, {Stmt::ifThen(b, {Stmt::assign(a, b)}, {Stmt::ret({})})})};
  EXPECT_EQ(print(body, 2), "  // one\n  // two\n  const int x = 1;\n"
                            "  if (a) {\n    return b;\n  } else if (b)\n    a = b;\n  else\n    return;\n");
}

TEST(Format, BreaksAtTheColumnLimit) {
  const std::string x(60, 'x'), y(50, 'y');
  EXPECT_EQ(tkc::formatCpp("int z = f(" + x + ",\n" + y + ");\n"), "int z =\n    f(" + x + ", " + y + ");\n");
  EXPECT_EQ(tkc::formatCpp("void f( ){if(a){b();}}\n"), "void f() {\n  if (a) {\n    b();\n  }\n}\n");
}

TEST(Cpp, LongLinesBreakAsInTheWholeText) {
  const std::string x(70, 'x'), y(70, 'y');
  const std::string code = "namespace {\n\n/// " + x + " " + y + "\nvoid f(int " + x + ", int " + y +
                           ") {\n  const auto a = g(" + x + ", " + y + ", " + y + ");\n  for (int i = " + x + "; i < " +
                           y + "; ++i) {\n    if (" + x + " && " + y + ") {\n      h(" + x + "(" + y +
                           "));\n    }\n    for (const auto i : " + x + "(" + y + "))\n      h();\n  }\n}\n\n" +
                           "} // namespace\n";
  EXPECT_NE(tkc::breakLongLines(code), code);
  EXPECT_EQ(tkc::breakLongLines(code), tkc::formatCpp(code));
}

TEST(Cpp, LongHeadsBreakAsInTheWholeText) {
  const std::string x(130, 'x');
  for (const std::string head : {"struct ", "struct __align__(128) ", "void f(int ", "extern \"C\" int "}) {
    const std::string tail = head.starts_with("void") ? ") {" : head.starts_with("extern") ? "() {" : " {";
    const std::string code = head + x + tail + "\n  int a;\n" + (head.starts_with("struct") ? "};\n" : "}\n");
    EXPECT_EQ(tkc::breakLongLines(code), tkc::formatCpp(code));
  }
}

} // namespace
