// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/tune/Report.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <set>

namespace tkc::tune {
namespace {

std::string microseconds(double seconds) { return fmt::format("{:.2f} µs", seconds * 1e6); }

/// "  12.30 µs, 45.60 µs predicted"
std::string predicted(const Candidate &candidate) {
  std::vector<std::string> times;
  for (const double seconds : candidate.predictedSeconds)
    times.push_back(microseconds(seconds));
  return times.empty() ? "" : fmt::format("   ({} predicted)", fmt::join(times, ", "));
}

const Candidate *candidateOf(const Search &search, const Built &built) {
  for (const Candidate *candidate : search.looked())
    if (candidate->settings == built.settings)
      return candidate;
  return nullptr;
}

} // namespace

std::string formatCandidates(const Search &search, const std::vector<const Built *> &first) {
  const Work &work = search.subject();
  std::string text = fmt::format("{}:\n", work.name());
  for (const Shape &shape : work.shapes)
    text += fmt::format("  shape    {}\n", shape.prepared.description);
  for (const Built *built : first)
    text += fmt::format("  build    {}{}\n", work.describe(built->settings), predicted(*candidateOf(search, *built)));
  size_t same = 0, refused = 0, later = 0, slow = 0;
  for (const Candidate *candidate : search.looked()) {
    if (!candidate->refusal.empty()) {
      text += fmt::format("  refused  {}   {}\n", work.describe(candidate->settings), candidate->refusal);
      ++refused;
    } else if (candidate->sameAs) {
      text += fmt::format("  same     {}   as {}\n", work.describe(candidate->settings),
                          work.describe(candidate->sameAs->settings));
      ++same;
    } else if (search.isHopeless(*candidate)) {
      text += fmt::format("  slow     {}{}\n", work.describe(candidate->settings), predicted(*candidate));
      ++slow;
    } else if (std::none_of(first.begin(), first.end(),
                            [&](const Built *built) { return built->settings == candidate->settings; })) {
      text += fmt::format("  later    {}{}\n", work.describe(candidate->settings), predicted(*candidate));
      ++later;
    }
  }
  return text + fmt::format("  {} looked at: {} to build first, {} later, {} the same as others, {} predicted to be "
                            "slow, {} refused\n",
                            search.looked().size(), first.size(), later, same, slow, refused);
}

std::string formatBest(const Search &search, const std::string &gpu) {
  const Work &work = search.subject();
  std::string text;
  for (size_t i = 0; i < work.shapes.size(); ++i) {
    const Measurement *standard = search.find(search.standard(), i, gpu);
    const Built *best = search.best(i, gpu);
    text += fmt::format("{}  {}\n", work.kernel->signature.name, work.shapes[i].prepared.description);
    if (standard && standard->passed)
      text += fmt::format("  as the file has it  {}\n", microseconds(standard->seconds));
    if (!best) {
      text += "  nothing was measured\n";
      continue;
    }
    const Measurement &measured = *search.find(*best, i, gpu);
    text += fmt::format("  best of {}  {}, {:.3f} × as fast [{:.3f}, {:.3f}]: {}\n", search.timed(i, gpu).size(),
                        microseconds(measured.seconds), measured.ratio, measured.low, measured.high,
                        work.describe(best->settings));
  }
  for (const Timed &one : search.failed(gpu))
    text += fmt::format("  failed  {}   {}\n", work.describe(one.candidate->settings), one.measured->message);
  return text;
}

std::pair<double, std::string> shortBest(const Search &search, const std::string &gpu) {
  const Work &work = search.subject();
  std::pair<double, std::string> most{0, ""};
  for (size_t i = 0; i < work.shapes.size(); ++i)
    if (const Built *best = search.best(i, gpu))
      if (const double ratio = search.find(*best, i, gpu)->ratio; ratio > most.first)
        most = {ratio, fmt::format("{:.3f} × {}: {}", ratio, work.name(), work.describe(best->settings))};
  return most;
}

} // namespace tkc::tune
