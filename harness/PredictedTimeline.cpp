// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/PredictedTimeline.h"

#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/core.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Path.h>

namespace tkc::harness {
namespace {

timeline::Kind kindOf(cost::Span::Kind kind) {
  switch (kind) {
  case cost::Span::Compute:
    return timeline::Kind::Compute;
  case cost::Span::Product:
    return timeline::Kind::Product;
  case cost::Span::Copy:
    return timeline::Kind::Copy;
  case cost::Span::Wait:
    return timeline::Kind::Wait;
  }
  return timeline::Kind::Compute;
}

/// What a span of the simulation is to readers; the lines of `into.source` are those of `mainBuffer`.
timeline::Span spanOf(const cost::Span &span, double start, const timeline::Timeline &into,
                      const SourceManager &sources, uint32_t mainBuffer) {
  timeline::Span result;
  result.begin = start + span.begin;
  result.end = start + span.end;
  result.kind = kindOf(span.kind);
  if (span.loc.isValid() && span.loc.buffer == mainBuffer) {
    result.line = sources.lineColumn(span.loc).line;
    if (result.line <= into.source.size())
      result.name = llvm::StringRef(into.source[result.line - 1]).trim().str();
  }
  if (!span.name.empty())
    result.name = span.name;
  return result;
}

} // namespace

timeline::Timeline timelineOf(const Prediction &prediction, const std::string &title, const SourceManager &sources,
                              uint32_t mainBuffer) {
  timeline::Timeline result;
  result.title = title;
  result.file = llvm::sys::path::filename(llvm::StringRef(sources.name(mainBuffer))).str();
  result.source = timeline::linesOf(sources.text(mainBuffer));
  result.facts.emplace_back("predicted time", fmt::format("{:.2f} µs", prediction.seconds * 1e6));
  timeline::Side side{"predicted", {}};
  double start = 0;
  for (const PredictedStep &step : prediction.steps) {
    if (!step.plan)
      continue;
    timeline::Block block;
    block.kernel = prediction.steps.size() > 1 ? step.name : "";
    double end = start;
    for (const cost::Track &track : step.estimate.timeline) {
      timeline::Track shown{track.name, {}};
      for (const cost::Span &span : track.spans) {
        shown.spans.push_back(spanOf(span, start, result, sources, mainBuffer));
        end = std::max(end, shown.spans.back().end);
      }
      block.tracks.push_back(std::move(shown));
    }
    start = end;
    side.blocks.push_back(std::move(block));
  }
  result.sides.push_back(std::move(side));
  return result;
}

} // namespace tkc::harness
