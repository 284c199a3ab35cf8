// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Profile.h"

#include "backends/emit/Names.h"
#include "backends/emit/kernel/KernelPrinter.h"
#include "ir/plan/Instrument.h"
#include "support/Diagnostics.h"

#include "llvm/Support/JSON.h"

#include <algorithm>
#include <fmt/core.h>
#include <limits>
#include <llvm/Support/FormatVariadic.h>
#include <map>
#include <utility>

namespace tkc::harness {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;
using timeline::Kind;

Object describe(const plan::Role &role) {
  return Object{
      {"name", role.name}, {"firstWarp", role.firstWarp}, {"warps", role.warps}, {"instances", role.processes()}};
}

Object describe(const planner::RecordedEvent &event) {
  return Object{{"id", event.id},
                {"activity", llvm::StringRef(spelling(event.activity))},
                {"name", llvm::json::fixUTF8(event.name)},
                {"line", event.line},
                {"lastLine", event.lastLine}};
}

// ---- reading -------------------------------------------------------------------------------------------------------

/// A kernel of the events' text.
struct Kernel {
  struct Role {
    std::string name;
    int firstWarp, warps, instances;
  };
  std::vector<Role> roles;
  std::map<int64_t, timeline::Span> events; ///< without times
};

/// A warp's records, as they are in the trace.
struct Ring {
  int64_t block, warp, multiprocessor;
  int64_t cycles[2], time[2]; ///< at its start and at its end; time in units of the launch
  std::vector<std::pair<int64_t, uint32_t>> records;
};

struct Launch {
  std::string kernel;
  double timeUnit = 1; ///< ns
  std::vector<Ring> rings;

  /// ns a cycle, over all rings: the global clock may have coarse steps.
  double rate() const {
    double cycles = 0, time = 0;
    for (const Ring &ring : rings) {
      cycles += static_cast<double>(ring.cycles[1] - ring.cycles[0]);
      time += static_cast<double>(ring.time[1] - ring.time[0]) * timeUnit;
    }
    return cycles > 0 && time > 0 ? time / cycles : 1;
  }
};

class Reader {
public:
  std::optional<Profile> run(std::string_view events, std::string_view trace, std::string &error) {
    readEvents(events);
    std::vector<Launch> launches = readTrace(trace);
    if (why.empty())
      arrange(launches);
    error = why;
    return why.empty() ? std::optional(std::move(profile)) : std::nullopt;
  }

private:
  void fail(std::string what) {
    if (why.empty())
      why = std::move(what);
  }

  std::optional<Value> parse(std::string_view text, const char *what) {
    llvm::Expected<Value> value = llvm::json::parse(llvm::StringRef(text.data(), text.size()));
    if (value && value->getAsObject())
      return std::move(*value);
    fail(fmt::format("the {} are no JSON object{}", what, value ? "" : ": " + llvm::toString(value.takeError())));
    return std::nullopt;
  }

  int64_t number(const Object &object, llvm::StringRef key) {
    if (const auto value = object.getInteger(key))
      return *value;
    fail(fmt::format("`{}` is missing", key.str()));
    return 0;
  }
  std::string text(const Object &object, llvm::StringRef key) {
    if (const auto value = object.getString(key))
      return value->str();
    fail(fmt::format("`{}` is missing", key.str()));
    return "";
  }
  template <class Visit> void forEach(const Object &object, llvm::StringRef key, Visit visit) {
    const Array *list = object.getArray(key);
    if (!list)
      return fail(fmt::format("`{}` is missing", key.str()));
    for (const Value &value : *list)
      if (const Object *each = value.getAsObject())
        visit(*each);
      else
        fail(fmt::format("`{}` holds something else than objects", key.str()));
  }

  void readEvents(std::string_view events) {
    const std::optional<Value> value = parse(events, "events");
    if (!value)
      return;
    const Object &object = *value->getAsObject();
    timeline::Timeline &result = profile.timeline;
    result.title = text(object, "title");
    result.file = text(object, "file");
    if (const Array *source = object.getArray("source"))
      for (const Value &line : *source)
        result.source.push_back(line.getAsString().value_or("").str());
    forEach(object, "kernels", [&](const Object &each) {
      Kernel &kernel = kernels[text(each, "name")];
      forEach(each, "roles", [&](const Object &role) {
        kernel.roles.push_back({text(role, "name"), static_cast<int>(number(role, "firstWarp")),
                                static_cast<int>(number(role, "warps")), static_cast<int>(number(role, "instances"))});
      });
      forEach(each, "events", [&](const Object &event) {
        kernel.events[number(event, "id")] = {text(event, "name"),
                                              0,
                                              0,
                                              kindOf(text(event, "activity")),
                                              static_cast<unsigned>(number(event, "line")),
                                              static_cast<unsigned>(number(event, "lastLine"))};
      });
    });
  }

  Kind kindOf(const std::string &activity) {
    for (Kind kind : {Kind::Compute, Kind::Product, Kind::Copy, Kind::Wait})
      if (spelling(kind) == activity)
        return kind;
    fail(fmt::format("`{}` is no activity", activity));
    return Kind::Compute;
  }

  /// The first line is about the whole call.
  std::vector<Launch> readTrace(std::string_view trace) {
    std::vector<Launch> launches;
    bool isFirst = true;
    while (!trace.empty() && why.empty()) {
      const size_t end = std::min(trace.find('\n'), trace.size());
      const std::optional<Value> value = parse(trace.substr(0, end), "records");
      trace.remove_prefix(std::min(end + 1, trace.size()));
      if (!value)
        break;
      if (std::exchange(isFirst, false))
        readTimes(*value->getAsObject());
      else
        launches.push_back(readLaunch(*value->getAsObject()));
    }
    return launches;
  }

  void readTimes(const Object &object) {
    profile.isTimed = object.getNumber("plain").has_value();
    profile.plainSeconds = object.getNumber("plain").value_or(0);
    profile.instrumentedSeconds = object.getNumber("instrumented").value_or(0);
    const auto three = [&](llvm::StringRef key, std::array<double, 3> &into) {
      const Array *list = object.getArray(key);
      for (size_t i = 0; list && i < std::min<size_t>(list->size(), 3); ++i)
        into[i] = (*list)[i].getAsNumber().value_or(0);
    };
    three("ratio", profile.ratio);
    three("allRatio", profile.ratioOfAll);
  }

  Launch readLaunch(const Object &object) {
    Launch launch{text(object, "kernel"), object.getNumber("timeUnit").value_or(1), {}};
    forEach(object, "rings", [&](const Object &each) {
      Ring ring{number(each, "block"), number(each, "warp"), number(each, "multiprocessor"), {}, {}, {}};
      pair(each, "cycles", ring.cycles);
      pair(each, "time", ring.time);
      if (const Array *records = each.getArray("records"))
        for (const Value &record : *records) {
          const Array *two = record.getAsArray();
          if (two && two->size() == 2)
            ring.records.emplace_back((*two)[0].getAsInteger().value_or(-1),
                                      static_cast<uint32_t>((*two)[1].getAsInteger().value_or(0)));
        }
      launch.rings.push_back(std::move(ring));
    });
    return launch;
  }

  void pair(const Object &object, llvm::StringRef key, int64_t (&into)[2]) {
    const Array *list = object.getArray(key);
    for (size_t i = 0; i < 2; ++i)
      if (const auto value = list && list->size() == 2 ? (*list)[i].getAsInteger() : std::nullopt)
        into[i] = *value;
      else
        fail(fmt::format("`{}` is no pair of integers", key.str()));
  }

  // ---- times -------------------------------------------------------------------------------------------------------

  void arrange(const std::vector<Launch> &launches) {
    timeline::Side side{"measured", {}};
    for (const Launch &launch : launches) {
      const auto kernel = kernels.find(launch.kernel);
      if (kernel == kernels.end())
        return fail(fmt::format("the kernel `{}` has no events", launch.kernel));
      std::map<int64_t, std::vector<const Ring *>> blocks;
      for (const Ring &ring : launch.rings)
        blocks[ring.block].push_back(&ring);
      for (const auto &[number, rings] : blocks)
        side.blocks.push_back(arrangeBlock(kernel->second, launch, rings));
      if (launches.size() > 1)
        for (size_t i = side.blocks.size() - blocks.size(); i < side.blocks.size(); ++i)
          side.blocks[i].kernel = launch.kernel;
    }
    startAtZero(side);
    profile.timeline.sides.push_back(std::move(side));
  }

  /// The warps of a block have one clock, whose place in the global time is the mean of what they say.
  timeline::Block arrangeBlock(const Kernel &kernel, const Launch &launch, const std::vector<const Ring *> &rings) {
    const double rate = launch.rate();
    const int64_t first = rings.front()->cycles[0], start = launch.rings.front().time[0];
    const auto sinceFirst = [&](int64_t cycles) { return static_cast<double>(cycles - first) * rate; };
    double offset = 0;
    for (const Ring *ring : rings)
      for (int end : {0, 1})
        offset += (static_cast<double>(ring->time[end] - start) * launch.timeUnit - sinceFirst(ring->cycles[end])) /
                  static_cast<double>(2 * rings.size());
    const double epoch = static_cast<double>(start - epochOf(launch)) * launch.timeUnit;
    timeline::Block block{rings.front()->block, static_cast<int>(rings.front()->multiprocessor), "", {}};
    for (const Ring *ring : rings) {
      timeline::Track track{trackName(kernel, ring->warp), {}};
      int64_t cycles = ring->cycles[0];
      for (const auto &[event, low] : ring->records) {
        cycles += static_cast<uint32_t>(low - static_cast<uint32_t>(cycles)); // the low half has come around
        const double at = epoch + offset + sinceFirst(cycles);
        if (!track.spans.empty())
          track.spans.back().end = at;
        const auto known = kernel.events.find(event);
        if (known == kernel.events.end()) {
          fail(fmt::format("event {} of `{}` is not known", event, launch.kernel));
          return block;
        }
        track.spans.push_back(known->second);
        track.spans.back().begin = at;
      }
      if (!track.spans.empty())
        track.spans.back().end = epoch + offset + sinceFirst(std::max(ring->cycles[1], cycles));
      block.tracks.push_back(std::move(track));
    }
    return block;
  }

  /// All launches of a call share the global time.
  int64_t epochOf(const Launch &launch) {
    if (!epoch)
      epoch = launch.rings.front().time[0];
    return *epoch;
  }

  static std::string trackName(const Kernel &kernel, int64_t warp) {
    for (const Kernel::Role &role : kernel.roles) {
      if (warp < role.firstWarp || warp >= role.firstWarp + role.warps * role.instances)
        continue;
      return role.instances == 1 ? role.name : fmt::format("{} {}", role.name, (warp - role.firstWarp) / role.warps);
    }
    return fmt::format("warp {}", warp);
  }

  static void startAtZero(timeline::Side &side) {
    double first = std::numeric_limits<double>::infinity();
    for (const timeline::Block &block : side.blocks)
      for (const timeline::Track &track : block.tracks)
        if (!track.spans.empty())
          first = std::min(first, track.spans.front().begin);
    for (timeline::Block &block : side.blocks)
      for (timeline::Track &track : block.tracks)
        for (timeline::Span &span : track.spans)
          span.begin -= first, span.end -= first;
  }

  Profile profile;
  std::map<std::string, Kernel> kernels;
  std::optional<int64_t> epoch;
  std::string why;
};

} // namespace

std::string describeEvents(const std::string &title, const std::vector<planner::PlannedKernel> &kernels,
                           const SourceManager &sources, uint32_t file) {
  Array all;
  const cuda::KernelNames names = cuda::kernelNames(kernels);
  for (const planner::PlannedKernel &kernel : kernels) {
    Array roles, events;
    for (const plan::Role &role : kernel.plan->roles)
      roles.push_back(describe(role));
    for (const planner::RecordedEvent &event : planner::recordedEvents(*kernel.plan, sources, file))
      events.push_back(describe(event));
    all.push_back(
        Object{{"name", names.at(kernel.plan.get())}, {"roles", std::move(roles)}, {"events", std::move(events)}});
  }
  Array lines;
  for (const std::string &line : timeline::linesOf(sources.text(file)))
    lines.push_back(llvm::json::fixUTF8(line));
  const std::string_view path = sources.name(file);
  Value value = Object{{"title", title},
                       {"file", llvm::StringRef(path.substr(path.find_last_of('/') + 1))},
                       {"source", std::move(lines)},
                       {"kernels", std::move(all)}};
  return llvm::formatv("{0:1}\n", value).str();
}

std::optional<Profile> readProfile(std::string_view events, std::string_view trace, std::string &error) {
  return Reader().run(events, trace, error);
}

} // namespace tkc::harness
