// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which schedules of a specialisation to measure next, and what is known of those that were. The state of a search is
// the log: it goes on from whatever was measured, here or elsewhere.
#pragma once

#include "harness/tune/Candidates.h"
#include "harness/tune/Log.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tkc::tune {

/// Times nearer than this, as a share, are not told apart.
inline constexpr double noise = 0.005;

/// A candidate with its code.
struct Built {
  Settings settings;
  std::string code, source;
};

/// A candidate and what came of it at a shape.
struct Timed {
  const Built *candidate;
  const Measurement *measured;
};

class Search {
public:
  Search(const Module &module, const Work &work, const planner::PlanOptions &plans, const SourceManager &sources,
         const Log &log);

  /// Takes the file's own schedules, and the candidates that the log knows.
  void adopt();
  const Work &subject() const { return work; }
  /// The code of the file's own schedules; `source` is empty where they have no plan.
  const Built &standard() const { return ownSchedules; }

  /// What to measure next, at most so many. None: every neighbour of the best is known. Plans as it looks;
  /// `isOver` says when to stop looking.
  std::vector<const Built *> next(size_t most, const std::string &gpu, const std::function<bool()> &isOver);

  /// Whether every shape was measured.
  bool isKnown(const Built &candidate, const std::string &gpu) const;
  /// Of a shape, the right ones, the fastest first. The default by itself is not among them.
  std::vector<Timed> timed(size_t shape, const std::string &gpu) const;
  /// The fastest, or of those that are as fast but for noise the one that says least; null where none was measured.
  const Built *best(size_t shape, const std::string &gpu) const;
  const Measurement *find(const Built &candidate, size_t shape, const std::string &gpu) const;

  /// Those that failed at some shape, each once.
  std::vector<Timed> failed(const std::string &gpu) const;

  /// It is predicted to be so slow that it is never built.
  bool isHopeless(const Candidate &candidate) const;
  /// Everything that was looked at, in order.
  const std::vector<const Candidate *> &looked() const { return seen; }

private:
  const Candidate &look(const Settings &settings);
  std::vector<const Built *> bestOfShapes(const std::string &gpu) const;
  const Built &build(const Candidate &candidate);
  std::vector<Settings> around(const std::string &gpu) const;
  void descend();
  std::vector<const Candidate *> byPrediction(size_t shape) const;
  std::vector<const Candidate *> inOrder(const std::string &gpu) const;
  double predicted(const Candidate &candidate) const;

  const Work &work;
  const Log &log;
  Candidates candidates;
  const arch::Description &arch;
  std::vector<double> standardSeconds; ///< of each shape, predicted of the best of the file's schedules
  Built ownSchedules;
  std::vector<Axis> axes;
  std::vector<const Candidate *> seen;
  std::set<const Candidate *> descended; ///< those whose neighbours were looked at for their predicted times
  std::map<const Candidate *, Built> built;
};

} // namespace tkc::tune
