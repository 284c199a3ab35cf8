// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Timeline.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>
#include <functional>
#include <map>

namespace tkc::timeline {
namespace {

constexpr std::array kinds{Kind::Compute, Kind::Product, Kind::Copy, Kind::Wait};

std::optional<Kind> parseKind(std::string_view text) {
  for (Kind kind : kinds)
    if (spelling(kind) == text)
      return kind;
  return std::nullopt;
}

/// Tenths of a nanosecond say enough.
double rounded(double ns) { return std::round(ns * 10) / 10; }

std::string written(const std::function<void(llvm::json::OStream &)> &write) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  write(json);
  return text;
}

/// Text that may be no UTF-8, as of a source file, made so.
std::string utf8(const std::string &text) { return llvm::json::fixUTF8(text); }

void writeSpan(llvm::json::OStream &json, const Span &span) {
  json.object([&] {
    json.attribute("name", utf8(span.name));
    json.attribute("begin", rounded(span.begin));
    json.attribute("end", rounded(span.end));
    json.attribute("kind", llvm::StringRef(spelling(span.kind)));
    if (span.line > 0)
      json.attribute("line", span.line);
    if (span.lastLine > span.line)
      json.attribute("lastLine", span.lastLine);
  });
}

/// A list of what has a name and a list of its own.
template <class Owner, class Each>
void writeNamed(llvm::json::OStream &json, const char *key, const std::vector<Owner> &owners, const char *innerKey,
                std::vector<Each> Owner::*inner, void (*write)(llvm::json::OStream &, const Each &)) {
  json.attributeArray(key, [&] {
    for (const Owner &owner : owners)
      json.object([&] {
        json.attribute("name", utf8(owner.name));
        json.attributeArray(innerKey, [&] {
          for (const Each &each : owner.*inner)
            write(json, each);
        });
      });
  });
}

void writeBlock(llvm::json::OStream &json, const Block &block) {
  json.object([&] {
    json.attribute("number", block.number);
    if (block.sm >= 0)
      json.attribute("sm", block.sm);
    if (!block.kernel.empty())
      json.attribute("kernel", utf8(block.kernel));
    writeNamed(json, "tracks", block.tracks, "spans", &Track::spans, writeSpan);
  });
}

/// Reads what toJson wrote; after a failure the rest is skipped.
class Reader {
public:
  std::string error;

  Timeline timeline(const llvm::json::Object &object) {
    Timeline result;
    result.title = text(object, "title");
    result.file = text(object, "file");
    for (const llvm::json::Value &line : list(object, "source", false))
      result.source.push_back(line.getAsString().value_or("").str());
    for (const llvm::json::Value &fact : list(object, "facts", false)) {
      const llvm::json::Array *pair = fact.getAsArray();
      if (!pair || pair->size() != 2 || !(*pair)[0].getAsString() || !(*pair)[1].getAsString())
        fail("a fact is no pair of texts");
      else
        result.facts.emplace_back((*pair)[0].getAsString()->str(), (*pair)[1].getAsString()->str());
    }
    for (const llvm::json::Object *side : objects(object, "sides")) {
      result.sides.push_back({text(*side, "name"), {}});
      for (const llvm::json::Object *block : objects(*side, "blocks"))
        result.sides.back().blocks.push_back(this->block(*block));
    }
    return result;
  }

private:
  void fail(std::string what) {
    if (error.empty())
      error = std::move(what);
  }

  std::string text(const llvm::json::Object &object, llvm::StringRef key, bool needed = true) {
    const auto value = object.getString(key);
    if (!value && (needed || object.get(key)))
      fail(fmt::format("`{}` is missing or no text", key.str()));
    return value.value_or("").str();
  }
  double number(const llvm::json::Object &object, llvm::StringRef key, std::optional<double> otherwise = {}) {
    const auto value = object.getNumber(key);
    if (!value && (!otherwise || object.get(key)))
      fail(fmt::format("`{}` is missing or no number", key.str()));
    return value.value_or(otherwise.value_or(0));
  }
  const llvm::json::Array &list(const llvm::json::Object &object, llvm::StringRef key, bool needed = true) {
    static const llvm::json::Array none;
    const llvm::json::Array *array = object.getArray(key);
    if (!array && (needed || object.get(key)))
      fail(fmt::format("`{}` is missing or no list", key.str()));
    return array ? *array : none;
  }
  std::vector<const llvm::json::Object *> objects(const llvm::json::Object &object, llvm::StringRef key) {
    std::vector<const llvm::json::Object *> result;
    for (const llvm::json::Value &value : list(object, key)) {
      if (value.getAsObject())
        result.push_back(value.getAsObject());
      else
        fail(fmt::format("`{}` holds something else than objects", key.str()));
    }
    return result;
  }

  Block block(const llvm::json::Object &object) {
    Block result{static_cast<int64_t>(number(object, "number")),
                 static_cast<int>(number(object, "sm", -1)),
                 text(object, "kernel", false),
                 {}};
    for (const llvm::json::Object *track : objects(object, "tracks")) {
      result.tracks.push_back({text(*track, "name"), {}});
      for (const llvm::json::Object *span : objects(*track, "spans"))
        result.tracks.back().spans.push_back(this->span(*span));
    }
    return result;
  }

  Span span(const llvm::json::Object &object) {
    const std::optional<Kind> kind = parseKind(text(object, "kind"));
    if (!kind)
      fail("`kind` is none of `compute`, `product`, `copy`, `wait`");
    Span result{text(object, "name"),
                number(object, "begin"),
                number(object, "end"),
                kind.value_or(Kind::Compute),
                static_cast<unsigned>(std::max(0.0, number(object, "line", 0))),
                static_cast<unsigned>(std::max(0.0, number(object, "lastLine", 0)))};
    if (result.end < result.begin)
      fail(fmt::format("`{}` ends before it begins", result.name));
    return result;
  }
};

std::string nameOf(const Side &side, const Block &block, bool withSide) {
  return fmt::format("{}{}block {}{}", withSide ? side.name + ", " : "",
                     block.kernel.empty() ? "" : block.kernel + ", ", block.number,
                     block.sm >= 0 ? fmt::format(" on multiprocessor {}", block.sm) : "");
}

// ---- shares --------------------------------------------------------------------------------------------------------

/// The time of tracks of one name.
struct Shares {
  double all = 0;
  std::array<double, kinds.size()> byKind{};
  std::map<std::string, double> byWait; ///< with the line
};

std::string percent(double part, double all) { return fmt::format("{:.1f} %", all > 0 ? 100 * part / all : 0.0); }

void addTrack(Shares &shares, const Track &track) {
  if (track.spans.empty())
    return;
  shares.all += track.spans.back().end - track.spans.front().begin;
  for (const Span &span : track.spans) {
    shares.byKind[static_cast<size_t>(span.kind)] += span.end - span.begin;
    if (span.kind == Kind::Wait)
      shares.byWait[span.name.starts_with("wait ")
                        ? fmt::format("{}{}", span.name.substr(5),
                                      span.line > 0 ? fmt::format(" (line {})", span.line) : "")
                        : span.name] += span.end - span.begin;
  }
}

/// Those that matter, the longest first.
std::string waitsOf(const Shares &shares) {
  std::vector<std::pair<double, std::string>> waits;
  for (const auto &[name, time] : shares.byWait)
    if (time >= 0.005 * shares.all)
      waits.emplace_back(time, name);
  std::stable_sort(waits.begin(), waits.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
  std::string text;
  for (const auto &[time, name] : waits)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, percent(time, shares.all));
  return text;
}

std::string formatSide(const Side &side) {
  std::map<std::string, Shares> byName;
  std::vector<std::string> order;
  size_t width = 4;
  for (const Block &block : side.blocks)
    for (const Track &track : block.tracks) {
      const std::string name = block.kernel.empty() ? track.name : block.kernel + " " + track.name;
      if (!byName.count(name))
        order.push_back(name);
      addTrack(byName[name], track);
      width = std::max(width, name.size());
    }
  std::string text =
      fmt::format("{}, {} block{}\n{:<{}}  {:>8}  {:>8}  {:>8}  {:>8}  {}\n", side.name, side.blocks.size(),
                  side.blocks.size() == 1 ? "" : "s", "role", width, "compute", "product", "copy", "wait", "for");
  for (const std::string &name : order) {
    const Shares &shares = byName[name];
    const auto &kind = shares.byKind;
    text += fmt::format("{:<{}}  {:>8}  {:>8}  {:>8}  {:>8}  {}\n", name, width, percent(kind[0], shares.all),
                        percent(kind[1], shares.all), percent(kind[2], shares.all), percent(kind[3], shares.all),
                        waitsOf(shares));
  }
  return text;
}

} // namespace

std::string_view spelling(Kind kind) {
  constexpr std::array<std::string_view, kinds.size()> names{"compute", "product", "copy", "wait"};
  return names[static_cast<size_t>(kind)];
}

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    lines.emplace_back(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return lines;
}

std::string toJson(const Timeline &timeline) {
  return written([&](llvm::json::OStream &json) {
           json.object([&] {
             json.attribute("title", utf8(timeline.title));
             json.attribute("file", utf8(timeline.file));
             json.attributeArray("source", [&] {
               for (const std::string &line : timeline.source)
                 json.value(utf8(line));
             });
             json.attributeArray("facts", [&] {
               for (const auto &[what, value] : timeline.facts)
                 json.array([&] {
                   json.value(utf8(what));
                   json.value(utf8(value));
                 });
             });
             writeNamed(json, "sides", timeline.sides, "blocks", &Side::blocks, writeBlock);
           });
         }) +
         "\n";
}

std::optional<Timeline> parseTimeline(std::string_view json, std::string &error) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(llvm::StringRef(json.data(), json.size()));
  if (!value) {
    error = llvm::toString(value.takeError());
    return std::nullopt;
  }
  if (!value->getAsObject()) {
    error = "it is no object";
    return std::nullopt;
  }
  Reader reader;
  Timeline result = reader.timeline(*value->getAsObject());
  error = reader.error;
  return error.empty() ? std::optional(std::move(result)) : std::nullopt;
}

std::string toPerfetto(const Timeline &timeline) {
  return written([&](llvm::json::OStream &json) {
    const auto name = [&](const char *what, int process, int thread, const std::string &name) {
      json.object([&] {
        json.attribute("ph", "M");
        json.attribute("name", what);
        json.attribute("pid", process);
        json.attribute("tid", thread);
        json.attributeObject("args", [&] { json.attribute("name", utf8(name)); });
      });
    };
    const auto event = [&](const Span &span, int process, int thread) {
      json.object([&] {
        json.attribute("ph", "X");
        json.attribute("name", utf8(span.name));
        json.attribute("cat", llvm::StringRef(spelling(span.kind)));
        json.attribute("ts", rounded(span.begin) / 1000); // µs
        json.attribute("dur", rounded(span.end - span.begin) / 1000);
        json.attribute("pid", process);
        json.attribute("tid", thread);
        if (span.line > 0)
          json.attributeObject("args", [&] {
            json.attribute("line", utf8(fmt::format("{}:{}", timeline.file, span.line)));
            if (span.line <= timeline.source.size())
              json.attribute("source", utf8(timeline.source[span.line - 1]));
          });
      });
    };
    json.object([&] {
      json.attribute("displayTimeUnit", "ns");
      json.attributeArray("traceEvents", [&] {
        int process = 0;
        for (const Side &side : timeline.sides)
          for (const Block &block : side.blocks) {
            name("process_name", ++process, 0, nameOf(side, block, timeline.sides.size() > 1));
            int thread = 0;
            for (const Track &track : block.tracks) {
              name("thread_name", process, ++thread, track.name);
              for (const Span &span : track.spans)
                event(span, process, thread);
            }
          }
      });
    });
  });
}

std::string formatShares(const Timeline &timeline) {
  std::string text;
  for (const Side &side : timeline.sides)
    text += formatSide(side);
  return text;
}

} // namespace tkc::timeline
