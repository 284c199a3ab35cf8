// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of instrumented kernels as a timeline.
#include "harness/Profile.h"

#include <gtest/gtest.h>

namespace tkc::harness {
namespace {

constexpr std::string_view events = R"({"title": "k, N = 1", "file": "k.tk", "source": ["a"], "kernels": [{"name": "k",
  "roles": [{"name": "consumer", "firstWarp": 0, "warps": 4, "instances": 2},
            {"name": "producer", "firstWarp": 8, "warps": 4, "instances": 1}],
  "events": [{"id": 0, "activity": "wait", "name": "wait full", "line": 1, "lastLine": 1},
             {"id": 1, "activity": "compute", "name": "x = y", "line": 1, "lastLine": 3}]}]})";

/// 2 cycles a ns; the low half of the second warp's cycles comes around between its records.
constexpr std::string_view trace =
    R"({"plain": 1e-3, "instrumented": 1.01e-3, "ratio": [1.01, 1, 1.02], "allRatio": [1.1, 1, 1.2]}
{"kernel": "k", "timeUnit": 1, "rings": [{"block": 7, "warp": 0, "multiprocessor": 5, "cycles": [4294967000, 4294969000], "time": [100, 1100], "records": [[0, 4294967200], [1, 304]]}, {"block": 7, "warp": 4, "multiprocessor": 5, "cycles": [4294967000, 4294969000], "time": [100, 1100], "records": [[1, 4294967100]]}, {"block": 9, "warp": 8, "multiprocessor": 6, "cycles": [1000, 3000], "time": [600, 1600], "records": [[0, 1000], [1, 2000], [0, 2400]]}]}
)";

TEST(Profile, CyclesBecomeTime) {
  std::string error;
  const std::optional<Profile> profile = readProfile(events, trace, error);
  ASSERT_TRUE(profile) << error;
  EXPECT_TRUE(profile->isTimed);
  EXPECT_EQ(profile->ratio[0], 1.01);
  EXPECT_EQ(profile->ratioOfAll[2], 1.2);
  const std::vector<timeline::Block> &blocks = profile->timeline.sides.at(0).blocks;
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].number, 7);
  EXPECT_EQ(blocks[0].sm, 5);
  ASSERT_EQ(blocks[0].tracks.size(), 2u);
  EXPECT_EQ(blocks[0].tracks[0].name, "consumer 0");
  EXPECT_EQ(blocks[0].tracks[1].name, "consumer 1");
  EXPECT_EQ(blocks[1].tracks[0].name, "producer");

  // The first record of all, warp 4's, is at 0; it was 50 ns after the start at 100.
  const std::vector<timeline::Span> &first = blocks[0].tracks[0].spans;
  ASSERT_EQ(first.size(), 2u);
  EXPECT_NEAR(first[0].begin, 50, 1e-6);
  EXPECT_NEAR(first[0].end, 250, 1e-6); // 400 cycles later
  EXPECT_EQ(first[0].kind, timeline::Kind::Wait);
  EXPECT_NEAR(first[1].end, 950, 1e-6); // the warp's end, at 1100
  EXPECT_EQ(first[1].lastLine, 3u);
  EXPECT_NEAR(blocks[0].tracks[1].spans.at(0).begin, 0, 1e-6);

  // The other multiprocessor's cycles are others; the global time says where they belong.
  const std::vector<timeline::Span> &other = blocks[1].tracks[0].spans;
  ASSERT_EQ(other.size(), 3u);
  EXPECT_NEAR(other[0].begin, 450, 1e-6);
  EXPECT_NEAR(other[2].begin, 450 + 700, 1e-6);
}

TEST(Profile, WhatDoesNotBelongTogether) {
  const auto errorOf = [](std::string_view trace) {
    std::string error;
    EXPECT_FALSE(readProfile(events, trace, error));
    return error;
  };
  EXPECT_EQ(errorOf("{}\n{\"kernel\": \"other\", \"rings\": []}\n"), "the kernel `other` has no events");
  EXPECT_EQ(
      errorOf("{}\n{\"kernel\": \"k\", \"rings\": [{\"block\": 0, \"warp\": 0, \"multiprocessor\": 0, \"cycles\": "
              "[0, 9], \"time\": [0, 9], \"records\": [[5, 1]]}]}\n"),
      "event 5 of `k` is not known");
  EXPECT_EQ(errorOf("{}\n{\"rings\": []}\n"), "`kernel` is missing");
  EXPECT_NE(errorOf("{}\n{\n"), "");
}

} // namespace
} // namespace tkc::harness
