// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descent along coordinates, from the file's own schedules: looks at all tiles near them and every change of one key,
// then at the neighbours of the best, predicted and measured, until there is none that was not measured. What is
// predicted to be fastest is measured first, what is predicted to be hopeless never.
#include "harness/tune/Search.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace tkc::tune {
namespace {

/// How many steps of tile sizes the first look goes, all tunes together.
constexpr int firstSteps = 4;
/// A candidate that is predicted to be so many times slower than the file's own schedules is not built.
constexpr double hopeless = 1.5;
/// How far a descent along predicted times goes at a time.
constexpr int mostDescents = 6;

} // namespace

Search::Search(const Module &module, const Work &work, const planner::PlanOptions &plans, const SourceManager &sources,
               const Log &log)
    : work(work), log(log), candidates(module, work, plans, sources), arch(*plans.arch),
      axes(axesOf(work.defaults, work.tuneOrder, work.fixed)) {
  ownSchedules.source = candidates.emitDefault();
  if (!ownSchedules.source.empty())
    ownSchedules.code = Candidates::codeOf(ownSchedules.source, arch);
  standardSeconds.assign(work.shapes.size(), HUGE_VAL);
  for (const Settings &start : work.starts) {
    const Candidate &candidate = look(start);
    for (size_t i = 0; i < candidate.predictedSeconds.size(); ++i)
      standardSeconds[i] = std::min(standardSeconds[i], candidate.predictedSeconds[i]);
  }
}

/// Those whose code has changed since are not known.
void Search::adopt() {
  for (const Candidate *candidate : seen)
    if (candidate->refusal.empty() && !candidate->sameAs)
      build(*candidate);
  std::set<std::string> shapes, adopted;
  for (const Shape &shape : work.shapes)
    shapes.insert(shape.prepared.description);
  for (const auto &[key, measured] : log.all())
    if (key.kernel == work.kernel->signature.name && key.standard == ownSchedules.code && shapes.count(key.shape) &&
        key.code != key.standard && adopted.insert(measured.schedule).second)
      if (const Candidate &candidate = look(parseSettings(measured.schedule)); candidate.refusal.empty())
        build(candidate.sameAs ? *candidate.sameAs : candidate);
}

const Candidate &Search::look(const Settings &settings) {
  const size_t before = candidates.numPlanned();
  const Candidate &candidate = candidates.plan(normalized(settings, work.defaults));
  if (candidates.numPlanned() > before)
    seen.push_back(&candidate);
  return candidate;
}

const Built &Search::build(const Candidate &candidate) {
  const auto [found, isNew] = built.try_emplace(&candidate);
  Built &result = found->second;
  if (isNew) {
    result.settings = candidate.settings;
    result.source = candidates.emit(candidate.settings);
    result.code = Candidates::codeOf(result.source, arch);
  }
  return result;
}

/// Where to look: around the file's schedules, and around the best of each shape.
std::vector<Settings> Search::around(const std::string &gpu) const {
  std::vector<Settings> result = work.starts;
  for (const Built *found : bestOfShapes(gpu))
    if (found)
      for (Settings &settings : neighbours(found->settings, axes))
        result.push_back(std::move(settings));
  for (const Settings &start : work.starts) {
    for (Settings &settings : neighbours(start, axes))
      result.push_back(std::move(settings));
  }
  for (const Settings &start : work.starts)
    for (Settings &settings : tilesAround(start, axes, firstSteps))
      result.push_back(std::move(settings));
  return result;
}

/// Over the time that is predicted of the best of the file's schedules, of the shape that the candidate suits best.
double Search::predicted(const Candidate &candidate) const {
  double least = HUGE_VAL;
  for (size_t i = 0; i < candidate.predictedSeconds.size(); ++i)
    least = std::min(least, candidate.predictedSeconds[i] / standardSeconds[i]);
  return least;
}

bool Search::isHopeless(const Candidate &candidate) const {
  return !candidate.predictedSeconds.empty() && predicted(candidate) > hopeless;
}

/// Looks at the neighbours of what is predicted to be best of each shape, again and again.
void Search::descend() {
  for (size_t shape = 0; shape < work.shapes.size(); ++shape)
    for (int step = 0; step < mostDescents; ++step) {
      const Candidate *best = nullptr;
      for (const Candidate *candidate : seen)
        if (!candidate->predictedSeconds.empty() &&
            (!best || candidate->predictedSeconds[shape] < best->predictedSeconds[shape]))
          best = candidate;
      if (!best || !descended.insert(best).second)
        break;
      for (const Settings &settings : neighbours(best->settings, axes))
        look(settings);
    }
}

std::vector<const Built *> Search::bestOfShapes(const std::string &gpu) const {
  std::vector<const Built *> result;
  for (size_t shape = 0; shape < work.shapes.size(); ++shape)
    result.push_back(best(shape, gpu));
  return result;
}

/// The hopeful ones, those first that are predicted to be fastest at a shape. Of those that are predicted alike, as far
/// as that goes, one comes first, and the others after all else.
std::vector<const Candidate *> Search::byPrediction(size_t shape) const {
  std::vector<const Candidate *> result;
  for (const Candidate *candidate : seen)
    if (!candidate->predictedSeconds.empty() && !isHopeless(*candidate))
      result.push_back(candidate);
  std::stable_sort(result.begin(), result.end(), [&](const Candidate *a, const Candidate *b) {
    return a->predictedSeconds[shape] < b->predictedSeconds[shape];
  });
  std::set<double> times;
  std::stable_partition(result.begin(), result.end(), [&](const Candidate *candidate) {
    return times.insert(candidate->predictedSeconds[shape]).second;
  });
  return result;
}

/// The file's schedules, then for each shape in turns what is predicted to be fastest and, where something was
/// measured, a neighbour of the best, whatever is predicted of it.
std::vector<const Candidate *> Search::inOrder(const std::string &gpu) const {
  std::vector<std::vector<const Candidate *>> lists;
  const std::vector<const Built *> bests = bestOfShapes(gpu);
  for (size_t shape = 0; shape < work.shapes.size(); ++shape) {
    lists.push_back(byPrediction(shape));
    if (!bests[shape])
      continue;
    std::set<Settings> near;
    for (const Settings &settings : neighbours(bests[shape]->settings, axes))
      near.insert(normalized(settings, work.defaults));
    std::vector<const Candidate *> nearest = lists.back();
    std::erase_if(nearest, [&](const Candidate *candidate) { return !near.count(candidate->settings); });
    lists.push_back(std::move(nearest));
  }
  const size_t starts = std::min(seen.size(), work.starts.size());
  std::vector<const Candidate *> order(seen.begin(), seen.begin() + static_cast<ptrdiff_t>(starts));
  for (size_t i = 0; i < seen.size(); ++i)
    for (const auto &list : lists)
      if (i < list.size())
        order.push_back(list[i]);
  return order;
}

std::vector<const Built *> Search::next(size_t most, const std::string &gpu, const std::function<bool()> &isOver) {
  for (const Settings &settings : around(gpu)) {
    if (isOver())
      return {};
    look(settings);
  }
  descend();
  std::vector<const Built *> batch;
  for (const Candidate *candidate : inOrder(gpu)) {
    if (batch.size() >= most || isOver())
      break;
    if (candidate->predictedSeconds.empty())
      continue; // refused, or the same as another
    const Built &one = build(*candidate);
    if (!one.source.empty() && !isKnown(one, gpu) && std::find(batch.begin(), batch.end(), &one) == batch.end())
      batch.push_back(&one);
  }
  return batch;
}

const Measurement *Search::find(const Built &candidate, size_t shape, const std::string &gpu) const {
  return log.find(
      {gpu, work.kernel->signature.name, work.shapes[shape].prepared.description, ownSchedules.code, candidate.code});
}

bool Search::isKnown(const Built &candidate, const std::string &gpu) const {
  for (size_t shape = 0; shape < work.shapes.size(); ++shape)
    if (!find(candidate, shape, gpu))
      return false;
  return true;
}

std::vector<Timed> Search::timed(size_t shape, const std::string &gpu) const {
  std::vector<Timed> result;
  for (const auto &[candidate, one] : built)
    if (const Measurement *measured = find(one, shape, gpu); measured && measured->passed && measured->ratio > 0)
      result.push_back({&one, measured});
  std::sort(result.begin(), result.end(), [](const Timed &a, const Timed &b) {
    return std::tie(b.measured->ratio, a.candidate->settings) < std::tie(a.measured->ratio, b.candidate->settings);
  });
  return result;
}

std::vector<Timed> Search::failed(const std::string &gpu) const {
  std::vector<Timed> result;
  for (const Candidate *candidate : seen) {
    const auto found = built.find(candidate);
    for (size_t shape = 0; found != built.end() && shape < work.shapes.size(); ++shape)
      if (const Measurement *measured = find(found->second, shape, gpu); measured && !measured->passed) {
        result.push_back({&found->second, measured});
        break;
      }
  }
  return result;
}

const Built *Search::best(size_t shape, const std::string &gpu) const {
  const std::vector<Timed> all = timed(shape, gpu);
  const Built *found = nullptr;
  for (const Timed &one : all)
    if (one.measured->ratio >= all.front().measured->ratio * (1 - noise) &&
        (!found || one.candidate->settings.size() < found->settings.size()))
      found = one.candidate;
  return found;
}

} // namespace tkc::tune
