// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
#include "harness/PredictedTimeline.h"

#include "support/Diagnostics.h"

#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Path.h>

namespace tkc::harness {
namespace {

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    lines.emplace_back(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return lines;
}

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

} // namespace

timeline::Timeline timelineOf(const Prediction &prediction, const std::string &title, const SourceManager &sources,
                              uint32_t mainBuffer) {
  timeline::Timeline result;
  result.title = title;
  result.file = llvm::sys::path::filename(llvm::StringRef(sources.name(mainBuffer))).str();
  result.source = linesOf(sources.text(mainBuffer));
  result.facts.emplace_back("predicted time", fmt::format("{:.2f} µs", prediction.seconds * 1e6));
  timeline::Side side{"predicted", {}};
  double start = 0;
  for (const PredictedStep &step : prediction.steps) {
    if (!step.plan)
      continue;
    timeline::Block block;
    block.number = 0;
    block.sm = 0;
    block.kernel = prediction.steps.size() > 1 ? step.name : "";
    double end = start;
    for (const cost::Track &track : step.estimate.timeline) {
      timeline::Track shown{track.name, {}};
      for (const cost::Span &span : track.spans) {
        timeline::Span it;
        it.begin = start + span.begin;
        it.end = start + span.end;
        it.kind = kindOf(span.kind);
        if (span.loc.isValid() && span.loc.buffer == mainBuffer) {
          it.line = sources.lineColumn(span.loc).line;
          if (it.line <= result.source.size())
            it.name = llvm::StringRef(result.source[it.line - 1]).trim().str();
        }
        if (!span.name.empty())
          it.name = span.name;
        end = std::max(end, it.end);
        shown.spans.push_back(std::move(it));
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
