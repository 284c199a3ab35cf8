// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runner of `tkc tune`: checks and times schedules of kernels, each a shared object, and appends a JSON line for
// each and each shape to a log. What the log has is not measured again.
//
// A job is lines of fields that tabs separate:
//   group      KERNEL  DEFAULT                  the kernel, and the code that everything is compared with
//   check      FILE    DESCRIPTION              a case with what should come out
//   shape      FILE    DESCRIPTION  ROUNDOFF    a call to be timed
//   candidate  CODE    SCHEDULE                 CODE.so beside the job; the default is one, too
#pragma once

#include "tk/host/candidate.h"
#include "tk/host/tune_compare.h"

#include <csignal>
#include <fstream>
#include <set>
#include <sstream>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tk::tune {

struct shape {
  std::string file, description;
  double roundoff = 0; ///< of what the kernel rounds on its way, and of its sums
};

struct candidate {
  std::string code, schedule;
  tk_status (*call)(const arguments &, CUstream_st *) = nullptr;
  bool failed = false;
};

struct group {
  std::string kernel, default_code;
  std::vector<shape> checks, shapes;
  std::vector<candidate> candidates;
};

inline std::vector<group> read_job(const std::string &path) {
  std::vector<group> groups;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, '\t');)
      fields.push_back(field);
    fields.resize(4);
    if (fields[0] == "group")
      groups.push_back({fields[1], fields[2], {}, {}, {}});
    else if (groups.empty())
      continue;
    else if (fields[0] == "check")
      groups.back().checks.push_back({fields[1], fields[2]});
    else if (fields[0] == "shape")
      groups.back().shapes.push_back({fields[1], fields[2], std::atof(fields[3].c_str())});
    else if (fields[0] == "candidate")
      groups.back().candidates.push_back({fields[1], fields[2]});
  }
  return groups;
}

struct result {
  std::string failure;                              ///< empty: it is right
  double seconds = 0, ratio = 0, low = 0, high = 0; ///< ratio: the default's time over this one's, and its deciles
  int rounds = 0;
};

/// What was measured, by the beginnings of its lines, which say what of.
class log_file {
public:
  explicit log_file(std::string path) : path(std::move(path)) {
    std::ifstream file(this->path);
    for (std::string line; std::getline(file, line); is_cut_off = file.eof())
      if (const size_t end = line.find(", \"schedule\": "); end != std::string::npos && line.back() == '}')
        known.insert(line.substr(0, end));
  }

  bool has(const std::string &gpu, const group &g, const shape &s, const candidate &c) const {
    return known.count(key(gpu, g, s, c)) != 0;
  }

  /// The line is written at once: whoever is interrupted loses nothing.
  void add(const std::string &gpu, const group &g, const shape &s, const candidate &c, const result &r) {
    const std::string begin = key(gpu, g, s, c);
    if (!known.insert(begin).second)
      return;
    char numbers[256];
    std::snprintf(numbers, sizeof numbers,
                  ", \"passed\": %s, \"seconds\": %.6g, \"ratio\": %.5g, \"low\": %.5g, \"high\": %.5g, \"rounds\": %d",
                  r.failure.empty() ? "true" : "false", r.seconds, r.ratio, r.low, r.high, r.rounds);
    const std::string line = (is_cut_off ? "\n" : "") + begin + ", \"schedule\": " + test::quoted(c.schedule) +
                             numbers + ", \"message\": " + test::quoted(r.failure) + "}\n";
    if (std::FILE *file = std::fopen(path.c_str(), "a")) {
      std::fwrite(line.data(), 1, line.size(), file);
      std::fclose(file);
    }
    is_cut_off = false;
  }

private:
  static std::string key(const std::string &gpu, const group &g, const shape &s, const candidate &c) {
    return "{\"gpu\": " + test::quoted(gpu) + ", \"kernel\": " + test::quoted(g.kernel) +
           ", \"case\": " + test::quoted(s.description) + ", \"default\": " + test::quoted(g.default_code) +
           ", \"code\": " + test::quoted(c.code);
  }

  std::string path;
  std::set<std::string> known;
  bool is_cut_off = false; ///< the last line, as by an interrupt
};

/// What a case's data is to a candidate.
class case_arguments final : public arguments {
public:
  explicit case_arguments(const test::case_data &data) : data(data) {}
  const tk_tensor *tensor(const char *name) const override { return data.tensor(name); }
  double scalar(const char *name) const override { return data.scalar(name); }

private:
  const test::case_data &data;
};

/// Where the process that measures is, for the one that watches it.
struct progress {
  volatile int group = -1, candidate = -1;
  volatile long long steps = 0; ///< goes up all the time
  char gpu[256] = "";
};

/// One process's measurements. A kernel that breaks the device ends it; what is left, another process measures.
class session {
public:
  session(std::vector<group> &groups, std::string folder, log_file &log, progress &at)
      : groups(groups), folder(std::move(folder)), log(log), at(at) {}

  /// 0: done. 3: a candidate broke the device, and is in the log.
  int run() {
    cudaDeviceProp device;
    test::check(cudaGetDeviceProperties(&device, 0), "device");
    std::snprintf(at.gpu, sizeof at.gpu, "%s", device.name);
    test::check(api::create(from), "event");
    test::check(api::create(to), "event");
    test::check(api::allocate(other, l2_bytes), "allocation");
    for (group &g : groups)
      if (!finished(g))
        measure(g);
    return 0;
  }

private:
  static constexpr size_t l2_bytes = size_t(256) << 20; // several times what any GPU has

  bool finished(const group &g) const {
    for (const shape &s : g.shapes)
      for (const candidate &c : g.candidates)
        if (!log.has(at.gpu, g, s, c))
          return false;
    return true;
  }

  void measure(group &g) {
    at.group = int(&g - groups.data());
    for (candidate &c : g.candidates)
      load(g, c);
    const auto standard = std::find_if(g.candidates.begin(), g.candidates.end(),
                                       [&](const candidate &c) { return c.code == g.default_code; });
    if (standard == g.candidates.end()) {
      std::fprintf(stderr, "%s: the job has no default\n", g.kernel.c_str());
      return;
    }
    for (const shape &s : g.checks) {
      test::case_data data(folder + "/" + s.file);
      for (candidate &c : g.candidates)
        if (!c.failed)
          check(g, c, data);
    }
    if (standard->failed) {
      std::fprintf(stderr, "%s: the default fails: see the log\n", g.kernel.c_str());
      return;
    }
    for (const shape &s : g.shapes)
      measure(g, s, *standard);
    at.candidate = -1;
  }

  void load(const group &g, candidate &c) {
    const bool is_default = c.code == g.default_code;
    bool known = !is_default;
    for (const shape &s : g.shapes)
      known &= log.has(at.gpu, g, s, c);
    if (known) { // nothing left to do for it
      c.failed = true;
      return;
    }
    void *library = dlopen((folder + "/" + c.code + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "tk_candidate") : nullptr;
    if (symbol)
      c.call = reinterpret_cast<decltype(c.call)>(symbol);
    else
      fail(g, c, "it was not built: see " + c.code + ".log");
  }

  /// Of all shapes: a schedule that is wrong somewhere is wrong.
  void fail(const group &g, candidate &c, const std::string &why) {
    c.failed = true;
    for (const shape &s : g.shapes)
      log.add(at.gpu, g, s, c, {why});
  }

  /// The call's error, if it has one. The device may be lost then, and this process with it.
  std::string call(const group &g, candidate &c, const test::case_data &data) {
    at.candidate = int(&c - g.candidates.data());
    at.steps = at.steps + 1;
    const tk_status status = c.call(case_arguments(data), nullptr);
    const api::error error = api::synchronize();
    at.steps = at.steps + 1;
    if (status.code != TK_OK)
      return status.message;
    if (error == api::success)
      return "";
    fail(g, c, api::text_of(error));
    std::_Exit(3);
  }

  void check(const group &g, candidate &c, test::case_data &data) {
    data.upload();
    std::string message = call(g, c, data);
    if (message.empty())
      message = data.compare().message;
    if (!message.empty())
      fail(g, c, message);
  }

  // ---- a shape -----------------------------------------------------------------------------------------------------

  struct entry {
    candidate *of;
    std::vector<double> seconds, ratios;
    double ratio() const { return quantile(ratios, 0.5); }
  };

  void measure(const group &g, const shape &s, candidate &standard) {
    test::case_data data(folder + "/" + s.file);
    const std::vector<void *> wanted = outputs_of(g, standard, data);
    std::vector<entry> entries;
    for (candidate &c : const_cast<group &>(g).candidates) {
      if (c.failed || log.has(at.gpu, g, s, c))
        continue;
      const std::string message = compare(g, s, c, data, wanted);
      if (message.empty())
        entries.push_back({&c, {}, {}});
      else
        log.add(at.gpu, g, s, c, {message});
    }
    for (void *block : wanted)
      api::release(block);
    for (const entry &e : timed(std::move(entries), standard, data))
      log.add(at.gpu, g, s, *e.of,
              {"", quantile(e.seconds, 0.5), e.ratio(), quantile(e.ratios, 0.1), quantile(e.ratios, 0.9),
               int(e.ratios.size())});
  }

  /// Copies of what the default leaves in the outputs; none where the case says what should come out.
  std::vector<void *> outputs_of(const group &g, candidate &standard, test::case_data &data) {
    std::vector<void *> copies;
    data.upload();
    if (const std::string message = call(g, standard, data); !message.empty()) {
      std::fprintf(stderr, "%s: the default fails: %s\n", g.kernel.c_str(), message.c_str());
      std::exit(2);
    }
    for (const test::tensor &t : data.tensors) {
      copies.push_back(nullptr);
      if (!is_output(t) || !t.expected.empty())
        continue;
      test::check(api::allocate(copies.back(), t.size), "allocation");
      test::check(cudaMemcpy(copies.back(), t.view.data, t.size, cudaMemcpyDeviceToDevice), "copy");
    }
    return copies;
  }

  static bool is_output(const test::tensor &t) { return t.as == test::role::out || t.as == test::role::inout; }

  std::string compare(const group &g, const shape &s, candidate &c, test::case_data &data,
                      const std::vector<void *> &wanted) {
    data.upload();
    if (std::string message = call(g, c, data); !message.empty())
      return message;
    if (std::string message = data.compare().message; !message.empty())
      return message;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i])
        continue;
      const test::tensor &t = data.tensors[i];
      const difference found = tune::compare(t, t.view.data, wanted[i], s.roundoff);
      if (found.wrong)
        return "`" + t.name + "`: " + std::to_string(found.wrong) +
               " elements are not as the default has them, the first " + std::to_string(found.first);
    }
    return "";
  }

  /// Rounds of all, then of those that are not far behind, then of the best few: to tell these apart takes many.
  std::vector<entry> timed(std::vector<entry> entries, candidate &standard, const test::case_data &data) {
    struct stage {
      int rounds;
      double near; ///< of the best ratio
      size_t most;
    };
    constexpr stage stages[] = {{3, 0, SIZE_MAX}, {6, 0.85, SIZE_MAX}, {22, 0.95, 8}};
    for (const stage &now : stages) {
      std::vector<double> ratios;
      for (const entry &e : entries)
        ratios.push_back(e.ratios.empty() ? 0 : e.ratio());
      std::sort(ratios.rbegin(), ratios.rend());
      const double least =
          ratios.empty() ? 0 : std::max(ratios.front() * now.near, ratios[std::min(now.most, ratios.size()) - 1]);
      std::vector<entry *> live;
      for (entry &e : entries)
        if (e.ratios.empty() || e.ratio() >= least)
          live.push_back(&e);
      for (int round = 0; round < now.rounds; ++round)
        for (entry *e : live)
          time_pair(*e, standard, data, round % 2 == 0);
    }
    return entries;
  }

  /// The default and the candidate one after the other, in turns which comes first.
  void time_pair(entry &e, candidate &standard, const test::case_data &data, bool default_first) {
    at.candidate = int(e.of - groups[size_t(at.group)].candidates.data());
    if (e.seconds.empty()) { // to warm up
      time(standard, data);
      time(*e.of, data);
    }
    double of_default = default_first ? time(standard, data) : 0;
    const double own = time(*e.of, data);
    if (!default_first)
      of_default = time(standard, data);
    e.seconds.push_back(own);
    e.ratios.push_back(of_default / own);
  }

  /// Seconds, with other data in L2.
  double time(candidate &c, const test::case_data &data) {
    at.steps = at.steps + 1;
    test::check(api::set_bytes_async(other, int(at.steps & 0xff), l2_bytes, nullptr), "setting bytes");
    test::check(api::record(from, nullptr), "event");
    c.call(case_arguments(data), nullptr);
    test::check(api::record(to, nullptr), "event");
    if (const api::error error = api::wait_for(to); error != api::success) {
      fail(groups[size_t(at.group)], c, api::text_of(error));
      std::_Exit(3);
    }
    float ms = 0;
    test::check(api::milliseconds(ms, from, to), "event");
    return ms * 1e-3;
  }

  static double quantile(std::vector<double> values, double q) {
    if (values.empty())
      return 0;
    std::sort(values.begin(), values.end());
    return values[size_t(q * double(values.size() - 1) + 0.5)];
  }

  std::vector<group> &groups;
  std::string folder;
  log_file &log;
  progress &at;
  api::event from{}, to{};
  void *other = nullptr;
};

/// What ended the process that measures: its exit code, or why it is a candidate's fault.
struct ending {
  int code = 0;
  std::string fault;
};

/// Waits for it; a kernel that does not end is ended with its process.
inline ending watch(pid_t child, const progress &at, int patience_seconds) {
  long long seen = -1;
  int quiet = 0;
  for (int status = 0;;) {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child && WIFEXITED(status))
      return {WEXITSTATUS(status), ""};
    if (done == child)
      return {3, std::string("it ended the process: ") + strsignal(WTERMSIG(status))};
    usleep(20000);
    quiet = at.steps == seen ? quiet + 1 : 0;
    seen = at.steps;
    if (quiet < patience_seconds * 50)
      continue;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return {3, "it did not end within " + std::to_string(patience_seconds) + " seconds"};
  }
}

/// `program JOB LOG`. 0: everything is in the log. 2: it could not run; standard error says why.
inline int run(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s JOB LOG\n", argv[0]);
    return 2;
  }
  const std::string job = argv[1], path = argv[2];
  const std::string folder = job.find('/') == std::string::npos ? "." : job.substr(0, job.rfind('/'));
  std::vector<group> groups = read_job(job);
  size_t most = 1;
  for (const group &g : groups)
    most += g.candidates.size();
  void *shared = mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    std::perror("mmap");
    return 2;
  }
  for (size_t attempt = 0; attempt < most; ++attempt) {
    progress &at = *new (shared) progress;
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      log_file log(path);
      std::_Exit(session(groups, folder, log, at).run());
    }
    const ending end = watch(child, at, 20);
    if (end.code != 3)
      return end.code;
    if (!end.fault.empty()) {
      if (at.group < 0 || at.candidate < 0) {
        std::fprintf(stderr, "%s\n", end.fault.c_str());
        return 2;
      }
      log_file log(path);
      const group &g = groups[size_t(at.group)];
      for (const shape &s : g.shapes)
        log.add(at.gpu, g, s, g.candidates[size_t(at.candidate)], {end.fault});
    }
  }
  return 2;
}

} // namespace tk::tune
