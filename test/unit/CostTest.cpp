// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost model on plans made by hand, whose times are known: pipelines that one of their units bounds.
#include "backends/cost/Cost.h"
#include "support/Diagnostics.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

using namespace tkc;

namespace {

/// A GPU of round numbers: one multiprocessor at 1 GHz; 1024 multiply-adds a clock; L2 and memory of so many bytes a
/// nanosecond; requests that take 100 ns.
arch::Description gpu(int bandwidthGBs, int64_t multiprocessors = 1) {
  arch::Description it = *arch::find("sm_90a");
  it.multiprocessors = static_cast<int>(multiprocessors);
  it.clockMHz = 1000;
  it.bandwidthGBs = bandwidthGBs;
  for (arch::MatrixInstruction &each : it.matrixInstructions)
    each.macsPerClock = 1024;
  it.rates = {};
  it.rates.l2GBs = 1000;
  it.rates.l2Ns = it.rates.memoryNs = 100;
  it.rates.memoryShare = 1;
  it.rates.launchNs = it.rates.blockNs = 0;
  it.rates.matrixDrop = it.rates.l2Drop = it.rates.memoryDrop = 0;
  return it;
}

/// A product of 64 × 64 tiles, 64 deep, with a ring of so many stages: 16 KiB and 256 clocks a trip.
std::string product(int stages) {
  return fmt::format(R"(plan @gemm for sm_90a {{T = bf16}} (a: bf16[M, K], b: bf16[K, N], out c: bf16[M, N]) {{
  threads 256 cluster 1 shared {1}
  prelude {{
    var zero: i32
    var M: i32
    var N: i32
    zero = const 0
    M = dim @M
    N = dim @N
  }}
  grid {{ m in tiles(zero, M, 64), n in tiles(zero, N, 64) }}
  map a_map = a box 64x64 dims 0, 1 swizzle 128B -> a
  map b_map = b box 64x64 dims 0, 1 swizzle 128B -> b
  buffer a: bf16[64x64] swizzle 128B stages {0} offset 0
  buffer b: bf16[64x64] swizzle 128B stages {0} offset {2}
  barrier full stages {0} arrivals 1
  barrier empty stages {0} arrivals 1
  role producer warps 4..8 instances 1 registers 56 {{
    var at: ring<{0}>
    var K: i32
    var k: index<64>
    K = dim @K
    for k in tiles(zero, K, 64) {{
      wait empty[at] inverted
      one expect full[at] bytes 16384
      one copy_in a[at] <- a_map a[m, k] completes full[at]
      one copy_in b[at] <- b_map b[k, n] completes full[at]
      advance at
    }}
  }}
  role consumer warps 0..4 instances 1 registers 240 {{
    var none: f32
    var acc: fragment<f32, 64x64, mma, whole>
    var K: i32
    var k: index<64>
    var at: ring<{0}>
    none = const 0
    acc = full (none)
    K = dim @K
    for k in tiles(zero, K, 64) {{
      wait full[at]
      product_fence
      product acc += a[at] * b[at]
      product_commit
      product_wait 0
      arrive empty[at]
      advance at
    }}
  }}
}}
)",
                     stages, 16384 * stages, 8192 * stages);
}

std::unique_ptr<plan::Plan> parse(const std::string &text) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  auto plans = plan::parsePlan(sources.addBuffer("test.tkplan", text), diagnostics);
  EXPECT_FALSE(diagnostics.hasErrors()) << (diagnostics.hasErrors() ? diagnostics.all().front().message : "");
  return plans.empty() ? nullptr : std::move(plans.front());
}

double nsOf(const std::string &text, const arch::Description &arch, int64_t n, int64_t k,
            const std::map<std::string, int64_t> &alignments = {}) {
  const auto plan = parse(text);
  cost::Options options;
  options.first = options.launch = false;
  const cost::Estimate result = cost::estimate(*plan, arch, {{{"M", 64}, {"N", n}, {"K", k}}, {}, alignments}, options);
  EXPECT_TRUE(result.assumptions.empty());
  return result.seconds * 1e9;
}

/// Matrix units that are never without work: 256 clocks a trip.
TEST(Cost, MatrixUnitsBoundADeepRing) {
  const double few = nsOf(product(4), gpu(1000), 64, 64 * 100), many = nsOf(product(4), gpu(1000), 64, 64 * 1100);
  // A wait for each product alone: its latency of 60 clocks and the waits' own come on top.
  EXPECT_NEAR((many - few) / 1000, 256 + 60, 60);
}

/// 16 KiB at 16 bytes a nanosecond are 1024 ns a trip, four times what products take.
TEST(Cost, MemoryBoundsIfItIsSlower) {
  const double few = nsOf(product(4), gpu(16), 64, 64 * 100), many = nsOf(product(4), gpu(16), 64, 64 * 1100);
  EXPECT_NEAR((many - few) / 1000, 1024, 1024 * 0.02);
}

TEST(Cost, HalfTheBandwidthTakesTwiceTheTime) {
  const double whole = nsOf(product(4), gpu(16), 64, 64 * 1000), half = nsOf(product(4), gpu(8), 64, 64 * 1000);
  EXPECT_NEAR(half / whole, 2, 0.02);
}

/// Rows that begin inside of a line of L2 ask it for more than they have.
TEST(Cost, RowsInsideOfLinesAskMoreOften) {
  arch::Description arch = gpu(1000);
  arch.rates.l2GBs = 10; // what bounds it
  const auto ns = [&](int64_t a, int64_t b) { return nsOf(product(4), arch, 64, 64 * 1000, {{"a", a}, {"b", b}}); };
  EXPECT_NEAR(ns(64, 64) / ns(128, 128), 1.5, 0.03);
  EXPECT_NEAR(ns(32, 32) / ns(128, 128), 1.75, 0.03);
  EXPECT_NEAR(ns(16, 16) / ns(128, 128), 2.62, 0.05);
  EXPECT_NEAR(ns(128, 16) / ns(128, 128), (1 + 2.62) / 2, 0.04);
  EXPECT_EQ(ns(128, 128), nsOf(product(4), arch, 64, 64 * 1000)); // dense
}

/// The same product by clusters of 2 × 2 blocks, each of which asks for half of either operand.
TEST(Cost, BlocksThatLoadForEachOtherAskLessOften) {
  std::string text = product(4);
  for (const auto &[from, to] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"cluster 1", "cluster 4"},
           {"grid {", "grid clusters along m across n by 2 {"},
           {"a box 64x64", "a box 32x64"},
           {"b box 64x64", "b box 32x64"},
           {"a[m, k] completes full[at]", "a[m, k] completes full[at] multicast rows along n"},
           {"b[k, n] completes full[at]", "b[k, n] completes full[at] multicast rows along m"},
           {"empty stages 4 arrivals 1", "empty stages 4 arrivals 3"},
           {"arrive empty[at]", "arrive empty[at] in cluster"}})
    text.replace(text.find(from), from.size(), to);
  arch::Description arch = gpu(1000, 4);
  arch.rates.l2GBs = 40; // what bounds it, as much for each block as above
  const auto ns = [&](int64_t each) { return nsOf(text, arch, 64, 64 * 1000, {{"a", each}, {"b", each}}); };
  EXPECT_NEAR(ns(16) / ns(128), 2.62 / 2, 0.05);
}

/// A plan of one role of four warps, which does the same for each tile of the grid.
std::string worker(const std::string &elem, const std::string &buffers, const std::string &body) {
  return fmt::format(R"(plan @worker for sm_90a {{}} (b: f32[K], out c: {0}[M, N]) {{
  threads 128 cluster 1 shared 8192
  prelude {{
    var zero: i32
    var M: i32
    var N: i32
    zero = const 0
    M = dim @M
    N = dim @N
  }}
  grid {{ m in tiles(zero, M, 64), n in tiles(zero, N, 64) }}
  {1}
  role worker warps 0..4 instances 1 registers 128 {{
    {2}
  }}
}}
)",
                     elem, buffers, body);
}

/// A tile of 64 × 64 numbers, as products leave them, stored for each of the grid.
std::string stores(const std::string &elem) {
  return worker(elem, "",
                fmt::format(R"(var none: {0}
    var acc: fragment<{0}, 64x64, mma, whole>
    none = const 0
    acc = full (none)
    store c[m, n] = acc)",
                            elem));
}

/// A tile's time, where N is so much less than a multiple of tiles: two blocks at once.
double storing(const std::string &elem, const arch::Description &arch, int64_t less) {
  const double few = nsOf(stores(elem), arch, 64 * 100 - less, 1), many = nsOf(stores(elem), arch, 64 * 1100 - less, 1);
  return (many - few) / 1000;
}

/// Rows of a warp's store are 16 bytes of bf16, half a sector: two requests for each. An odd N has rows aligned to two
/// bytes, stored by them, and of 16 places of 32 in which those 16 bytes begin they lie in two sectors at 7.
TEST(Cost, PartsOfSectorsAreStoredOneByOne) {
  arch::Description arch = gpu(1000);
  arch.rates.l2SectorGBs = 16;
  EXPECT_NEAR(storing("bf16", arch, 0), 2 * 8192 / 16, 20);
  EXPECT_NEAR(storing("bf16", arch, 1), 4 * (1 + 14.0 / 32) * 8192 / 16, 40);
}

/// The same from shared memory, row by row: 112 of 128 bytes by vectors, which lie in half a sector more, and two ends.
TEST(Cost, RowsThatBeginAnywhereAreWrittenInVectors) {
  arch::Description arch = gpu(1000);
  arch.rates.l2SectorGBs = 16;
  const std::string text =
      worker("bf16", "buffer s: bf16[64x64] swizzle 128B stages 1 offset 0", "copy_out c[m, n] <- s[0]");
  const double few = nsOf(text, arch, 64 * 100 - 1, 1), many = nsOf(text, arch, 64 * 1100 - 1, 1);
  EXPECT_NEAR((many - few) / 1000, (112.0 / 32 + 0.5 + 2) / 4 * 8192 / 16, 20);
}

TEST(Cost, WhatL2DoesNotHoldIsStoredAtARateOfItsOwn) {
  arch::Description arch = gpu(1000);
  arch.rates.l2FillGBs = 8;
  EXPECT_NEAR(storing("f32", arch, 0), 16384 / 8, 40);
}

/// A tile of 64 × 64 numbers of 16 bits for each of the grid, read transposed: a warp reads 32 rows of 128 bytes at
/// once.
double readingColumns(const std::string &swizzle, const arch::Description &arch) {
  const std::string text = worker("f32", fmt::format("buffer s: bf16[64x64] swizzle {} stages 1 offset 0", swizzle),
                                  R"(var x: fragment<bf16, 64x64, rows(128, 32, 1), whole>
    x = load_shared s[0].T)");
  return (nsOf(text, arch, 64 * 1100, 1) - nsOf(text, arch, 64 * 100, 1)) / 1000;
}

/// All 32 in one bank, or four in each of eight.
TEST(Cost, WordsOfOneBankComeOneByOne) {
  EXPECT_NEAR(readingColumns("none", gpu(1000)), 64 * 64 / 32 * 32, 64);
  EXPECT_NEAR(readingColumns("128B", gpu(1000)), 64 * 64 / 32 * 4, 64);
}

/// Clusters of two whose blocks read a tile of shared memory of 16 KiB for each tile of 64 rows, `from` a block.
double readingOf(const std::string &from, const arch::Description &arch) {
  const std::string text = fmt::format(R"(plan @worker for sm_90a {{}} (out c: f32[M, N]) {{
  threads 128 cluster 2 shared 16384
  prelude {{
    var zero: i32
    var two: i32
    var N: i32
    zero = const 0
    two = const 2
    N = dim @N
  }}
  grid clusters along part {{ n in tiles(zero, N, 64), part in zero..two }}
  buffer s: f32[64x64] swizzle 128B stages 1 offset 0
  role worker warps 0..4 instances 1 registers 128 {{
    var x: fragment<f32, 64x64, mma, whole>
    x = load_shared s[0]{}
  }}
}}
)",
                                       from);
  return (nsOf(text, arch, 64 * 1100, 1) - nsOf(text, arch, 64 * 100, 1)) / 1000;
}

TEST(Cost, SharedMemoryOfOtherBlocksIsSlower) {
  const arch::Description arch = gpu(1000, 2);
  EXPECT_NEAR(readingOf("", arch), 16384 / 128, 24);
  EXPECT_NEAR(readingOf(" of block 1 on", arch), 5 * 16384 / 128, 24);
}

/// Products read 16 KiB and copies write as much: at 64 bytes a clock, twice what either takes.
TEST(Cost, SharedMemoryServesProductsAndCopies) {
  arch::Description arch = gpu(1000);
  arch.sharedSpan = 64;
  const double few = nsOf(product(4), arch, 64, 64 * 100), many = nsOf(product(4), arch, 64, 64 * 1100);
  EXPECT_NEAR((many - few) / 1000, 512, 512 * 0.02);
}

/// Ten additions of a tile, 40960 at 0.8 of 128 a clock, begin with a product of 256 clocks: half of these are lost to
/// them.
TEST(Cost, WhatIsIssuedBesideProductsLosesSlots) {
  std::string text = product(4), sums;
  for (int i = 0; i < 10; ++i)
    sums += "      x = add (x, x)\n";
  text.replace(text.find("      product_wait 0\n"), 0, sums);
  text.replace(text.find("    none = const 0"), 0, "    var x: fragment<f32, 64x64, mma, whole>\n");
  text.replace(text.find("    acc = full (none)"), 0, "    x = full (none)\n");
  arch::Description shares = gpu(1000), loses = gpu(1000);
  loses.rates.multiplyAddsLost = 0.5;
  const auto trip = [&](const arch::Description &arch) {
    return (nsOf(text, arch, 64, 64 * 1100) - nsOf(text, arch, 64, 64 * 100)) / 1000;
  };
  EXPECT_NEAR(trip(loses) - trip(shares), 128, 15);
}

/// With one stage nothing overlaps: each trip waits for its copy, and then for its product.
TEST(Cost, OneStageAddsCopiesAndProducts) {
  const double few = nsOf(product(1), gpu(64), 64, 64 * 100), many = nsOf(product(1), gpu(64), 64, 64 * 1100);
  const double copy = 16384.0 / 64 + 100, matrix = 256 + 60;
  EXPECT_NEAR((many - few) / 1000, copy + matrix, 150);
  EXPECT_GT((many - few) / 1000, copy + matrix);
}

TEST(Cost, MoreStagesAreNeverSlower) {
  double before = 1e30;
  for (int stages : {1, 2, 3, 4, 6}) {
    const double now = nsOf(product(stages), gpu(64), 64, 64 * 1000);
    EXPECT_LE(now, before * 1.001) << stages;
    before = now;
  }
}

/// Trips beyond those that are run count as much as these.
TEST(Cost, LongLoopsAreLinear) {
  const double one = nsOf(product(4), gpu(64), 64, 64 * 1000), two = nsOf(product(4), gpu(64), 64, 64 * 2000);
  EXPECT_NEAR(two / one, 2, 0.01);
}

/// Eight tiles on four multiprocessors are two rounds, five as well.
TEST(Cost, TheLastRoundCountsInFull) {
  const std::string text = product(4);
  const arch::Description four = gpu(4000, 4);
  const double eight = nsOf(text, four, 64 * 8, 64 * 500), five = nsOf(text, four, 64 * 5, 64 * 500);
  EXPECT_NEAR(five / eight, 1, 0.02);
  EXPECT_NEAR(nsOf(text, four, 64 * 4, 64 * 500) / eight, 0.5, 0.02);
}

/// What a pipelined loop does instead, where it has no iteration, is done: else the other role would wait for ever.
TEST(Cost, AnEmptyLoopDoesWhatStandsForIt) {
  const char *text = R"(plan @signal for sm_90a {} (x: f32[M, N, K]) {
  threads 256 cluster 1 shared 0
  prelude {
    var zero: i32
    var M: i32
    zero = const 0
    M = dim @M
  }
  grid { m in tiles(zero, M, 64) }
  barrier over stages 1 arrivals 1
  role signals warps 0..4 instances 1 registers 56 {
    var K: i32
    var k: index<64>
    K = dim @K
    for k in tiles(zero, K, 64) {
      epilogue {
        one arrive over[0]
      }
    } else {
      one arrive over[0]
    }
  }
  role waits warps 4..8 instances 1 registers 56 {
    wait over[0]
  }
}
)";
  EXPECT_GT(nsOf(text, gpu(64), 64, 640), 0); // which checks that nothing had to be assumed
  EXPECT_GT(nsOf(text, gpu(64), 64, 0), 0);
}

TEST(Cost, AnEmptyGridTakesNoTime) { EXPECT_EQ(nsOf(product(4), gpu(64), 0, 64), 0); }

/// The timeline of a block has a track for each role's instance, in order of time.
TEST(Cost, TimelineIsInOrder) {
  const auto plan = parse(product(2));
  cost::Options options;
  options.timeline = true;
  const cost::Estimate result = cost::estimate(*plan, gpu(64), {{{"M", 64}, {"N", 64}, {"K", 640}}, {}, {}}, options);
  ASSERT_EQ(result.timeline.size(), 3u);
  EXPECT_EQ(result.timeline[0].name, "producer");
  EXPECT_EQ(result.timeline[2].name, "matrix engine");
  for (const cost::Track &track : result.timeline) {
    EXPECT_FALSE(track.spans.empty());
    double end = 0;
    for (const cost::Span &span : track.spans) {
      EXPECT_GE(span.begin, end - 1e-9);
      EXPECT_GT(span.end, span.begin);
      end = span.end;
    }
  }
}

} // namespace
