// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs cases plain and instrumented, in turns, and writes down what the instrumented kernels recorded: what the
// programs of `tkc profile` are made of.
#pragma once

#include "tk/host/test.h"
#include "tk/host/trace.h"

namespace tk::test {

/// Of the places of records: there is more than one group in each.
constexpr int least_shift = 6;

/// Keeps the records of every launch of a call.
class tracer final : public host::trace_taker {
public:
  /// Blocks whose records are kept; empty: the first two, one from the middle, the last one.
  tracer(std::vector<int> blocks, bool all, int shift) : wanted(std::move(blocks)), all(all), shift(shift) {}
  tracer(const tracer &) = delete;
  ~tracer() {
    for (launched &each : launches) {
      api::release(each.memory);
      api::release(each.to.ends);
    }
  }

  /// The same launches follow again.
  void restart() { next = 0; }

  trace take(const host::traced_launch &launch) override {
    if (next == launches.size())
      add(launch);
    return launches[next++].to;
  }

  void print(std::FILE *file) const {
    for (const launched &each : launches)
      print(file, each);
  }

private:
  struct launched {
    std::string kernel;
    std::vector<int> blocks;         ///< empty: all
    long long rings = 0;             ///< warps that have a place for records
    unsigned char *memory = nullptr; ///< of the records
    trace to{};

    size_t ring_bytes() const { return sizeof(u64) << to.shift; }
    size_t end_bytes() const { return size_t(rings) * end_words * sizeof(u64); }
  };

  void add(const host::traced_launch &launch) {
    launched each;
    each.kernel = launch.kernel;
    const long long running = launch.resident && launch.multiprocessors > 0 && launch.blocks > launch.multiprocessors
                                  ? launch.multiprocessors
                                  : launch.blocks;
    std::vector<int> blocks = wanted;
    if (blocks.empty())
      blocks = {0, 1, int(running / 2), int(running - 1)};
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    blocks.erase(std::remove_if(blocks.begin(), blocks.end(), [&](int block) { return block >= launch.blocks; }),
                 blocks.end());
    blocks.resize(std::min<size_t>(blocks.size(), trace::most_blocks));
    each.to.count = all ? -1 : int(blocks.size());
    std::copy(blocks.begin(), blocks.end(), each.to.blocks);
    if (!all)
      each.blocks = std::move(blocks);
    each.rings = (all ? launch.blocks : each.to.count) * launch.warps;
    each.to.shift = u32(shift);
    constexpr long long most_records = 1 << 27; // 1 GiB
    while (each.to.shift > least_shift && (each.rings << each.to.shift) > most_records)
      --each.to.shift;
    each.to.leaders = launch.leaders;
    each.to.warps = launch.warps;
    check(api::allocate(each.memory, size_t(each.rings + 1) * each.ring_bytes()), "allocation");
    const size_t past = reinterpret_cast<size_t>(each.memory) % each.ring_bytes();
    each.to.records = reinterpret_cast<u64 *>(each.memory + (past ? each.ring_bytes() - past : 0));
    check(api::allocate(each.to.ends, each.end_bytes() + 1), "allocation");
    check(api::set_bytes(each.to.ends, 0, each.end_bytes()), "setting bytes");
    launches.push_back(std::move(each));
  }

  /// A line of JSON a launch: for each warp that ran [event, cycles] of its records.
  static void print(std::FILE *file, const launched &each) {
    std::vector<u64> ends(size_t(each.rings) * end_words);
    std::vector<u32> words(size_t(2) << each.to.shift);
    if (!ends.empty())
      check(api::copy_to_host(ends.data(), each.to.ends, each.end_bytes()), "download");
    std::fprintf(file, "{\"kernel\": %s, \"timeUnit\": %g, \"rings\": [", quoted(each.kernel).c_str(),
                 global_time_unit);
    bool first = true;
    for (size_t ring = 0; ring < size_t(each.rings); ++ring) {
      const u64 *end = &ends[ring * end_words];
      if (end[2] == 0) // nobody wrote
        continue;
      check(api::copy_to_host(words.data(), each.to.records + (ring << each.to.shift), words.size() * sizeof(u32)),
            "download");
      const size_t at = ring / size_t(each.to.warps);
      std::fprintf(file,
                   "%s{\"block\": %lld, \"warp\": %d, \"multiprocessor\": %d, \"cycles\": [%llu, %llu], "
                   "\"time\": [%llu, %llu], \"records\": [",
                   first ? "" : ", ", each.blocks.empty() ? (long long)at : (long long)each.blocks[at],
                   int(ring % size_t(each.to.warps)), int(u32(end[4])), end[0], end[2], end[1], end[3]);
      print(file, words, size_t(end[5]) / sizeof(u32), u32(end[4] >> 32));
      std::fprintf(file, "]}");
      first = false;
    }
    std::fprintf(file, "]}\n");
  }

  /// The records of a warp; tk::recorder has their form.
  static void print(std::FILE *file, const std::vector<u32> &words, size_t written, u32 unit) {
    u32 event = 0, count = 0;
    const char *between = "";
    for (size_t at = 0; at + unit <= written;) {
      if (words[at + 1] == words[at] - 1) {
        event = words[at] >> 16, count = words[at] & 0xffff;
        at += unit;
        continue;
      }
      for (u32 i = 0; i < count && at + i < written; ++i, between = ", ")
        std::fprintf(file, "%s[%u, %u]", between, event + i, words[at + i]);
      at += std::max(unit, (count + unit - 1) / unit * unit);
    }
  }

  const std::vector<int> wanted;
  const bool all;
  const int shift;
  std::vector<launched> launches;
  size_t next = 0;
};

/// Launches of this thread record through it.
class tracing {
public:
  explicit tracing(host::trace_taker &taker) { host::traces = &taker; }
  tracing(const tracing &) = delete;
  ~tracing() { host::traces = nullptr; }
};

struct profile_options {
  std::vector<int> blocks;
  int shift = 13;
  bool once = false; ///< nothing is timed
};

class profiled_case {
public:
  profiled_case(const entry &e, case_data &data, const profile_options &options)
      : e(e), data(data), options(options), chosen(options.blocks, false, options.shift), everything({}, true, 9) {}

  /// What is wrong with a result; empty: nothing.
  std::string run() {
    const std::string plain = once(nullptr);
    if (!plain.empty())
      return plain;
    const std::vector<std::vector<unsigned char>> results = outputs();
    for (way = ways - 1; way >= 0; --way) {
      const std::string traced = once(&chosen);
      if (!traced.empty())
        return traced;
      if (outputs() == results)
        continue;
      once(nullptr);
      same_twice = outputs() == results;
      return same_twice ? "the instrumented kernel gives other results" : "";
    }
    way = 0;
    return {};
  }

  /// Times the call plain, and in each way of storing records with the chosen blocks recording and with all, in turns.
  /// Then what it records is kept, in the way that costs least.
  void time() {
    constexpr size_t l2_bytes = size_t(256) << 20;
    void *other = nullptr;
    check(api::allocate(other, l2_bytes), "allocation");
    check(api::create(from), "event");
    check(api::create(to), "event");
    for (int round = -2; round < 21; ++round) {
      const double plain = timed(nullptr, other, l2_bytes);
      if (round >= 0)
        plain_times.push_back(plain);
      for (way = 0; way < ways; ++way) {
        const double some = timed(&chosen, other, l2_bytes), all = timed(&everything, other, l2_bytes);
        if (round < 0)
          continue;
        measured[way].some.push_back(some);
        measured[way].some_ratio.push_back(some / plain), measured[way].all_ratio.push_back(all / plain);
      }
    }
    way = part(measured[1].some_ratio, 5) < part(measured[0].some_ratio, 5) ? 1 : 0;
    api::release(other);
    api::destroy(from);
    api::destroy(to);
    call(&chosen);
    check(api::synchronize(), "recorded call");
  }

  /// A line of JSON with the times, in seconds, then one a launch.
  void write(const std::string &path) const {
    std::FILE *file = std::fopen(path.c_str(), "w");
    if (!file) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      std::exit(2);
    }
    const way_times &at = measured[way];
    if (plain_times.empty())
      std::fprintf(file, "{}\n");
    else
      std::fprintf(file,
                   "{\"plain\": %.9g, \"instrumented\": %.9g, \"ratio\": [%.5f, %.5f, %.5f], \"allRatio\": [%.5f, "
                   "%.5f, %.5f]}\n",
                   part(plain_times, 5) * 1e-3, part(at.some, 5) * 1e-3, part(at.some_ratio, 5), part(at.some_ratio, 1),
                   part(at.some_ratio, 9), part(at.all_ratio, 5), part(at.all_ratio, 1), part(at.all_ratio, 9));
    chosen.print(file);
    std::fclose(file);
  }

  bool same_twice = true;

private:
  tk_status call(tracer *with) {
    if (!with)
      return e.call(data, nullptr);
    const tracing on(*with);
    with->restart();
    return e.traced[way](data, nullptr);
  }

  std::string once(tracer *with) {
    data.upload();
    const tk_status status = call(with);
    const api::error error = api::synchronize();
    return status.code != TK_OK ? status.message : error != api::success ? api::text_of(error) : data.compare().message;
  }

  std::vector<std::vector<unsigned char>> outputs() const {
    std::vector<std::vector<unsigned char>> all;
    for (const tensor &t : data.tensors)
      if (t.as == role::out || t.as == role::inout) {
        all.emplace_back(t.size);
        check(api::copy_to_host(all.back().data(), t.block + tensor::guard, t.size), "download");
      }
    return all;
  }

  /// Milliseconds, after L2 was filled with other data.
  double timed(tracer *with, void *other, size_t bytes) {
    check(api::set_bytes_async(other, 1, bytes, nullptr), "setting bytes");
    check(api::record(from, nullptr), "event");
    call(with);
    check(api::record(to, nullptr), "event");
    check(api::wait_for(to), "timed call");
    float ms = 0;
    check(api::milliseconds(ms, from, to), "event");
    return ms;
  }

  /// The element that `tenths` of them are below.
  static double part(std::vector<double> values, size_t tenths) {
    std::sort(values.begin(), values.end());
    return values[values.size() * tenths / 10];
  }

  const entry &e;
  case_data &data;
  const profile_options &options;
  tracer chosen, everything;
  api::event from{}, to{};
  static constexpr int ways = 2;
  int way = 0; ///< of entry::traced
  struct way_times {
    std::vector<double> some, some_ratio, all_ratio;
  };
  way_times measured[ways];
  std::vector<double> plain_times;
};

/// "0,1,66"
inline std::vector<int> read_blocks(const char *text) {
  std::vector<int> blocks;
  for (char *end; *text; text = *end == ',' ? end + 1 : end) {
    blocks.push_back(int(std::strtol(text, &end, 10)));
    if (end == text)
      break;
  }
  return blocks;
}

/// `program [--once] [--blocks 0,1,66] [--records N]`: writes INDEX.trace beside itself for each case, and says in a
/// line of JSON whether the results are right. 0 if all are, 1 if not, 2 if it could not run.
template <int Count> int profile(const entry (&entries)[Count], int argc, char **argv) {
  std::string folder = argv[0];
  folder = folder.find('/') == std::string::npos ? "." : folder.substr(0, folder.rfind('/'));
  profile_options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--once")
      options.once = true;
    else if (option == "--blocks" && i + 1 < argc)
      options.blocks = read_blocks(argv[++i]);
    else if (option == "--records" && i + 1 < argc)
      for (options.shift = least_shift; options.shift < 24 && (1 << options.shift) < std::atoi(argv[i + 1]);)
        ++options.shift;
  }
  bool all_passed = true;
  for (const entry &e : entries) {
    case_data data(folder + "/" + e.file);
    profiled_case one(e, data, options);
    const std::string message = one.run();
    if (message.empty() && !options.once)
      one.time();
    if (message.empty())
      one.write(folder + "/" + std::to_string(e.index) + ".trace");
    all_passed &= message.empty();
    std::printf("{\"index\": %d, \"passed\": %s, \"message\": %s}\n", e.index, message.empty() ? "true" : "false",
                quoted(!message.empty() ? message
                       : one.same_twice ? ""
                                        : "the results vary from call to call, and were not compared")
                    .c_str());
    std::fflush(stdout);
  }
  return all_passed ? 0 : 1;
}

} // namespace tk::test
