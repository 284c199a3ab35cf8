// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/HostSource.h"

#include <gtest/gtest.h>

namespace tkc::emulator {
namespace {

std::string blanked(std::string text) {
  blankKernelBodies(text);
  return text;
}

TEST(HostSource, BodiesOfKernelsAreBlankAndLinesStay) {
  EXPECT_EQ(
      blanked(
          "__global__ void __launch_bounds__(128, 2) k(const args g) {\n  if (a) { b(); }\n}\nint f() { return 1; }\n"),
      "__global__ void __launch_bounds__(128, 2) k(const args g) {\n                 \n}\nint f() { return 1; }\n");
}

TEST(HostSource, TwoKernelsOfOneFile) {
  EXPECT_EQ(blanked("template <class T> __global__ void k(T x) {a;} __global__ void l() {b;}"),
            "template <class T> __global__ void k(T x) {  } __global__ void l() {  }");
}

TEST(HostSource, BracesInLiteralsAndCommentsCountForNothing) {
  const std::string body = "/* } */ \"}\\\"}\"; '}'; R\"x(})x\"; 1'000; ",
                    after = "} // __global__\nint f() { return 1; }";
  EXPECT_EQ(blanked("__global__ void k() {" + body + after),
            "__global__ void k() {" + std::string(body.size(), ' ') + after);
}

TEST(HostSource, WhatIsNoDefinitionStays) {
  for (const char *text :
       {"__global__ void k(int x);\nint f() { return 1; }", "#define G __global__\nint f() { return 1; }",
        "// __global__\nint f() { return 1; }", "#define G \\\n  __global__ void k() { a; }\n"})
    EXPECT_EQ(blanked(text), text);
}

} // namespace
} // namespace tkc::emulator
