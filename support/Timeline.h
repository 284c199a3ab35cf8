// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the roles of a kernel do over time, measured or predicted, and how it is shown: as a chart in one HTML file, as
// a still picture, as a trace for Perfetto, as shares of time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tkc::timeline {

/// What a role does meanwhile.
enum class Kind : uint8_t {
  Compute, ///< vector work
  Product, ///< issues (or, synchronous, does) matrix products; of a matrix engine: it is busy
  Copy,    ///< issues or does copies, loads, stores
  Wait,    ///< waits for a barrier, for products, for copies
};
std::string_view spelling(Kind kind);

struct Span {
  std::string name;          ///< "wait k.full", or the text of the first source line
  double begin = 0, end = 0; ///< ns from the start of the side's earliest block; end ≥ begin
  Kind kind = Kind::Compute;
  unsigned line = 0;     ///< of the .tk file, from 1; 0: none
  unsigned lastLine = 0; ///< of a stretch of several lines; else 0, or the same
};

/// A role's instance, one of its warps, or a unit of the multiprocessor. Spans in order, none begins before the one
/// before it ends.
struct Track {
  std::string name; ///< "producer", "consumer 1"
  std::vector<Span> spans;
};

struct Block {
  int64_t number = 0;
  int sm = -1;        ///< the multiprocessor; -1: not known
  std::string kernel; ///< empty where all blocks are of one
  std::vector<Track> tracks;
};

struct Side {
  std::string name; ///< "measured", "predicted"
  std::vector<Block> blocks;
};

struct Timeline {
  std::string title;                                      ///< the kernel, the case, the GPU
  std::string file;                                       ///< "attention.tk"
  std::vector<std::string> source;                        ///< its lines; empty: not shown
  std::vector<std::pair<std::string, std::string>> facts; ///< {"time", "1.23 ms"}
  std::vector<Side> sides;                                ///< shown below each other, on the same scale
};

/// A source's lines, for `Timeline::source`.
std::vector<std::string> linesOf(std::string_view text);

std::string toJson(const Timeline &timeline);
/// The other way; nothing, and `error` says why, where the text is no timeline.
std::optional<Timeline> parseTimeline(std::string_view json, std::string &error);

/// Chrome's trace events, which Perfetto reads: a process is a block, a thread a track.
std::string toPerfetto(const Timeline &timeline);
/// One file that needs no other and no network.
std::string toHtml(const Timeline &timeline);
/// The first block of each side, from `from` to `to` ns after it began.
std::string toSvg(const Timeline &timeline, double from, double to);

/// For each track, over all blocks: the shares of time in each kind, and what was waited for most, as a table.
std::string formatShares(const Timeline &timeline);

} // namespace tkc::timeline
