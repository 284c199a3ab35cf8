// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Diagnostics.h"

#include <gtest/gtest.h>

namespace tkc {
namespace {

SourceRange rangeOf(const SourceManager &sources, uint32_t buffer, std::string_view part) {
  auto at = static_cast<uint32_t>(sources.text(buffer).find(part));
  return {{buffer, at}, {buffer, at + static_cast<uint32_t>(part.size())}};
}

TEST(Diagnostics, caretRangesAndFixIt) {
  SourceManager sources;
  uint32_t buffer = sources.addBuffer("gemm.tk", "first\n  acc += a[m, k] @ b[n, k];\n");
  DiagnosticEngine engine(sources);
  SourceRange op = rangeOf(sources, buffer, "@");
  SourceLoc end = rangeOf(sources, buffer, ";").begin;
  engine.report(Diag::expected_token, op, "x", "y")
      .range(rangeOf(sources, buffer, "a[m, k]"))
      .range(rangeOf(sources, buffer, "b[n, k]"))
      .fixIt({end, end}, ".T");
  EXPECT_EQ(sources.render(engine.all()[0], false), "gemm.tk:2:18: error: expected x, found y\n"
                                                    "  acc += a[m, k] @ b[n, k];\n"
                                                    "         ~~~~~~~ ^ ~~~~~~~\n"
                                                    "                          .T\n");
}

TEST(Diagnostics, caretStandsUnderTextAfterTabsAndUtf8) {
  SourceManager sources;
  uint32_t buffer = sources.addBuffer("a.tk", "\tqᵀ $");
  DiagnosticEngine engine(sources);
  engine.report(Diag::unexpected_character, rangeOf(sources, buffer, "$"), "$");
  EXPECT_EQ(sources.render(engine.all()[0], false), "a.tk:1:7: error: unexpected character `$`\n"
                                                    "        qᵀ $\n"
                                                    "           ^\n");
}

TEST(Diagnostics, longLinesAndBinaryAreCutToWhatCanBeRead) {
  SourceManager sources;
  std::string line = std::string(100000, 'x') + "\xff\x01$" + std::string(100000, 'y');
  uint32_t buffer = sources.addBuffer("a.tk", line);
  DiagnosticEngine engine(sources);
  engine.report(Diag::unexpected_character, rangeOf(sources, buffer, "$"), "$");
  std::string text = sources.render(engine.all()[0], false);
  EXPECT_LT(text.size(), 500u);
  EXPECT_NE(text.find("xx??$yy"), std::string::npos);
}

TEST(Diagnostics, notesOfADroppedErrorGoWithIt) {
  SourceManager sources;
  uint32_t buffer = sources.addBuffer("a.tk", std::string(25, 'x'));
  DiagnosticEngine engine(sources);
  SourceRange where = rangeOf(sources, buffer, "x");
  for (int i = 0; i < 25; ++i, ++where.begin.offset, ++where.end.offset) {
    engine.report(Diag::comparison_chain, where);
    engine.report(Diag::note_write_and, where);
  }
  EXPECT_EQ(engine.numErrors(), 20u);
  EXPECT_EQ(engine.all().size(), 40u);
}

TEST(Diagnostics, whatIsSaidTwiceAtOnePlaceIsSaidOnceButCounted) {
  SourceManager sources;
  uint32_t buffer = sources.addBuffer("a.tk", "x");
  DiagnosticEngine engine(sources);
  SourceRange where = rangeOf(sources, buffer, "x");
  for (int i = 0; i < 2; ++i) {
    engine.report(Diag::comparison_chain, where);
    engine.report(Diag::note_write_and, where);
  }
  EXPECT_EQ(engine.numErrors(), 2u);
  EXPECT_EQ(engine.all().size(), 2u);
}

TEST(Diagnostics, whatHasNoPlaceIsSaidOnceButCounted) {
  SourceManager sources;
  DiagnosticEngine engine(sources);
  for (int i = 0; i < 25; ++i) {
    engine.report(Diag::comparison_chain, {});
    engine.report(Diag::note_write_and, {});
  }
  EXPECT_EQ(engine.numErrors(), 25u);
  EXPECT_EQ(engine.all().size(), 2u);
  EXPECT_FALSE(engine.limitReached());
}

} // namespace
} // namespace tkc
