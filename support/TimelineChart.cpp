// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timelines drawn: the page, and still pictures.
#include "support/Timeline.h"
#include "support/TimelinePage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>
#include <limits>

namespace tkc::timeline {
namespace {

/// A script element ends at the first `</`, whatever stands around it.
std::string inScript(const std::string &json) {
  std::string text;
  for (char c : json)
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text)
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

/// The same colours as the page's: work is cool, waits are warm.
constexpr std::array<std::string_view, 3> workColours{"#4e79a7", "#3f9b57", "#8a7fb8"};
constexpr std::array<std::string_view, 8> waitColours{"#e15759", "#f28e2b", "#edc948", "#d37295",
                                                      "#b07040", "#ff9d9a", "#c44e52", "#e6a15c"};

std::string timeText(double ns) {
  return ns >= 1e6   ? fmt::format("{:.4g} ms", ns / 1e6)
         : ns >= 1e3 ? fmt::format("{:.4g} µs", ns / 1e3)
                     : fmt::format("{:.4g} ns", ns);
}

class Picture {
public:
  Picture(const Timeline &timeline, double from, double to) : timeline(timeline), from(from), to(to) {}

  std::string run() {
    for (const Side &side : timeline.sides)
      if (!side.blocks.empty())
        block(side, side.blocks.front());
    axis();
    legend();
    return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" )"
                       R"(font-family="sans-serif" font-size="11"><rect width="{0}" height="{1}" fill="#fff"/>)"
                       "\n{2}</svg>\n",
                       width, y, grid + body);
  }

private:
  static constexpr int width = 1100, left = 90, rowHeight = 22;

  double x(double ns) const { return left + (ns - from) / (to - from) * (width - left - 10); }

  void text(double at, double baseline, std::string_view words, std::string_view colour) {
    body += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" fill="{}">{}</text>)"
                        "\n",
                        at, baseline, colour, escaped(words));
  }

  void block(const Side &side, const Block &block) {
    double begin = std::numeric_limits<double>::infinity();
    for (const Track &track : block.tracks)
      if (!track.spans.empty())
        begin = std::min(begin, track.spans.front().begin);
    if (timeline.sides.size() > 1) {
      text(4, y + 14, side.name, "#000");
      y += 20;
    }
    for (const Track &track : block.tracks) {
      text(4, y + 15, track.name, "#000");
      for (const Span &span : track.spans)
        this->span(span, begin);
      y += rowHeight;
    }
  }

  void span(const Span &span, double origin) {
    const double begin = std::max(span.begin - origin, from), end = std::min(span.end - origin, to);
    if (end <= begin)
      return;
    const std::string_view fill = colour(span);
    const double wide = x(end) - x(begin);
    body += fmt::format(R"(<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" fill="{}"/>)"
                        "\n",
                        x(begin), y + 2, std::max(wide - (wide > 3 ? 0.7 : 0), 0.3), rowHeight - 4, fill);
    constexpr double perLetter = 6.2;
    for (const std::string &label : {span.name, shortName(span)})
      if (!label.empty() && static_cast<double>(label.size()) * perLetter < wide - 6)
        return text(x(begin) + 3, y + 15, label, "#fff");
  }

  static std::string shortName(const Span &span) {
    if (span.kind == Kind::Wait)
      return span.name.starts_with("wait ") ? span.name.substr(5) : span.name;
    return span.line == 0              ? ""
           : span.lastLine > span.line ? fmt::format("{}-{}", span.line, span.lastLine)
                                       : fmt::format("{}", span.line);
  }

  std::string_view colour(const Span &span) {
    if (span.kind != Kind::Wait)
      return workColours[static_cast<size_t>(span.kind)];
    auto found = std::find(waits.begin(), waits.end(), span.name);
    if (found == waits.end())
      found = waits.insert(waits.end(), span.name);
    return waitColours[static_cast<size_t>(found - waits.begin()) % waitColours.size()];
  }

  void axis() {
    const double raw = (to - from) / 10, power = std::pow(10, std::floor(std::log10(raw)));
    double step = 10 * power;
    for (double each : {5.0, 2.0, 1.0})
      if (each * power >= raw)
        step = each * power;
    for (double ns = std::ceil(from / step) * step; ns <= to; ns += step) {
      grid += fmt::format(R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="0" y2="{1}" stroke="#ddd"/>)"
                          "\n",
                          x(ns), y + 4);
      if (x(ns) < width - 50)
        text(x(ns), y + 16, timeText(ns), "#555");
    }
    y += 24;
  }

  void legend() {
    double at = left;
    const auto entry = [&](std::string_view name, std::string_view fill) {
      const double wide = 26 + 6.5 * static_cast<double>(name.size());
      if (at + wide > width) {
        at = left;
        y += 18;
      }
      body += fmt::format(R"(<rect x="{:.1f}" y="{}" width="11" height="11" fill="{}"/>)"
                          "\n",
                          at, y + 2, fill);
      text(at + 15, y + 12, name, "#000");
      at += wide;
    };
    for (Kind kind : {Kind::Compute, Kind::Product, Kind::Copy})
      entry(spelling(kind), workColours[static_cast<size_t>(kind)]);
    for (size_t i = 0; i < waits.size(); ++i)
      entry(waits[i], waitColours[i % waitColours.size()]);
    y += 20;
  }

  const Timeline &timeline;
  const double from, to;
  int y = 4;
  std::string body, grid;
  std::vector<std::string> waits;
};

} // namespace

std::string toHtml(const Timeline &timeline) {
  return std::string(pageHead) + inScript(toJson(timeline)) + std::string(pageTail);
}

std::string toSvg(const Timeline &timeline, double from, double to) {
  return Picture(timeline, from, std::max(to, from + 1)).run();
}

} // namespace tkc::timeline
