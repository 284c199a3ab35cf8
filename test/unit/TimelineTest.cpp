// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timelines as JSON and back, as a page, a picture, a trace and shares.
#include "support/Timeline.h"

#include <gtest/gtest.h>
#include <llvm/Support/JSON.h>

namespace tkc::timeline {
namespace {

/// Two blocks of which a consumer waits a quarter of its time, and a prediction.
Timeline example() {
  const Track producer{"producer", {{"wait k.empty", 0, 50, Kind::Wait, 2}, {"load <k>", 50, 100, Kind::Copy, 2}}};
  const Track consumer{"consumer 0",
                       {{"s = q @ k;", 0, 150, Kind::Product, 3},
                        {"wait products", 150, 250, Kind::Wait, 3},
                        {"p = exp(s);", 250, 400, Kind::Compute, 4, 6}}};
  return {"attn, N = 4096",
          "attn.tk",
          {"kernel attn {", "load <k>", "  s = q @ k;"},
          {{"time", "1.2 ms"}},
          {{"measured", {{7, 3, "", {producer, consumer}}, {66, -1, "", {producer}}}},
           {"predicted", {{0, -1, "", {consumer}}}}}};
}

bool same(const Span &a, const Span &b) {
  return a.name == b.name && a.begin == b.begin && a.end == b.end && a.kind == b.kind && a.line == b.line &&
         a.lastLine == b.lastLine;
}

TEST(Timeline, JsonAndBack) {
  const Timeline before = example();
  std::string error;
  const std::optional<Timeline> after = parseTimeline(toJson(before), error);
  ASSERT_TRUE(after) << error;
  EXPECT_EQ(after->title, before.title);
  EXPECT_EQ(after->file, before.file);
  EXPECT_EQ(after->source, before.source);
  EXPECT_EQ(after->facts, before.facts);
  ASSERT_EQ(after->sides.size(), 2u);
  ASSERT_EQ(after->sides[0].blocks.size(), 2u);
  EXPECT_EQ(after->sides[0].blocks[0].number, 7);
  EXPECT_EQ(after->sides[0].blocks[0].sm, 3);
  EXPECT_EQ(after->sides[0].blocks[1].sm, -1);
  const std::vector<Track> &tracks = after->sides[0].blocks[0].tracks;
  ASSERT_EQ(tracks.size(), 2u);
  ASSERT_EQ(tracks[1].spans.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(same(tracks[1].spans[i], before.sides[0].blocks[0].tracks[1].spans[i])) << i;
}

TEST(Timeline, WhatIsNone) {
  const auto errorOf = [](std::string_view text) {
    std::string error;
    EXPECT_FALSE(parseTimeline(text, error));
    return error;
  };
  EXPECT_NE(errorOf("{"), "");
  EXPECT_EQ(errorOf("[]"), "it is no object");
  EXPECT_EQ(errorOf(R"({"title": "t", "file": "f"})"), "`sides` is missing or no list");
  const std::string head =
      R"({"title": "t", "file": "f", "sides": [{"name": "s", "blocks": [{"number": 0, "tracks": [)";
  EXPECT_EQ(errorOf(head + R"({"name": "t", "spans": [{"name": "x", "begin": 2, "end": 1, "kind": "wait"}]}]}]}]})"),
            "`x` ends before it begins");
  EXPECT_EQ(errorOf(head + R"({"name": "t", "spans": [{"name": "x", "begin": 0, "end": 1, "kind": "nap"}]}]}]}]})"),
            "`kind` is none of `compute`, `product`, `copy`, `wait`");
}

/// A complete event for each span, in µs, in the process of its block and the thread of its track.
TEST(Timeline, Perfetto) {
  llvm::Expected<llvm::json::Value> trace = llvm::json::parse(toPerfetto(example()));
  ASSERT_TRUE(static_cast<bool>(trace));
  int spans = 0, names = 0;
  for (const llvm::json::Value &event : *trace->getAsObject()->getArray("traceEvents")) {
    const llvm::json::Object &object = *event.getAsObject();
    names += object.getString("ph") == "M";
    if (object.getString("ph") != "X")
      continue;
    ++spans;
    if (object.getString("name") == "p = exp(s);" && object.getInteger("pid") == 1) {
      EXPECT_EQ(object.getNumber("ts"), 0.25);
      EXPECT_EQ(object.getNumber("dur"), 0.15);
      EXPECT_EQ(object.getInteger("tid"), 2);
      EXPECT_EQ(object.getString("cat"), "compute");
      EXPECT_EQ(object.getObject("args")->getString("line"), "attn.tk:4");
    }
  }
  EXPECT_EQ(spans, 10);
  EXPECT_EQ(names, 7); // 3 blocks, 4 tracks
}

/// The page loads nothing, and its data cannot end the element that they stand in.
TEST(Timeline, Page) {
  const std::string page = toHtml(example());
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("load <k>"), std::string::npos);
  const size_t begin = page.find("application/json\">") + 18, end = page.find("</script>", begin);
  std::string error;
  const std::optional<Timeline> data = parseTimeline(page.substr(begin, end - begin), error);
  ASSERT_TRUE(data) << error;
  EXPECT_EQ(data->sides[0].blocks[0].tracks[0].spans[1].name, "load <k>");
}

/// What lies outside of the asked time is not drawn, what sticks out is cut; each side's first block only.
TEST(Timeline, Picture) {
  const std::string picture = toSvg(example(), 100, 200);
  EXPECT_EQ(picture.find("p = exp"), std::string::npos);
  EXPECT_NE(picture.find("s = q @ k;"), std::string::npos);
  EXPECT_NE(picture.find("predicted"), std::string::npos);
  EXPECT_EQ(picture.find("http", picture.find("viewBox")), std::string::npos);
}

TEST(Timeline, Shares) {
  EXPECT_EQ(formatShares(example()), R"(measured, 2 blocks
role         compute   product      copy      wait  for
producer       0.0 %     0.0 %    50.0 %    50.0 %  k.empty (line 2) 50.0 %
consumer 0    37.5 %    37.5 %     0.0 %    25.0 %  products (line 3) 25.0 %
predicted, 1 block
role         compute   product      copy      wait  for
consumer 0    37.5 %    37.5 %     0.0 %    25.0 %  products (line 3) 25.0 %
)");
}

} // namespace
} // namespace tkc::timeline
