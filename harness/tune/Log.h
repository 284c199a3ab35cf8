// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runners have measured: lines of JSON, to which `tk/host/tune.h` appends.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tkc::tune {

/// What a line is about.
struct LogKey {
  std::string gpu, kernel, shape;
  std::string standard, code; ///< of the default and of the candidate, as Candidates::codeOf names them
  friend auto operator<=>(const LogKey &, const LogKey &) = default;
};

struct Measurement {
  bool passed = false;
  std::string message;      ///< why not
  std::string schedule;     ///< "BM = 64; stages = 6;"
  double seconds = 0;       ///< median
  double ratio = 0;         ///< the default's time over this one's, in turns: the median over rounds
  double low = 0, high = 0; ///< its deciles
  int rounds = 0;
};

class Log {
public:
  /// Adds what the lines say. A line that is cut off, as by an interrupt, is no line; of two that are about the same
  /// the first counts.
  void read(std::string_view text);

  /// The GPU that was measured last; empty: none was.
  const std::string &lastGpu() const { return gpu; }
  const std::map<LogKey, Measurement> &all() const { return lines; }
  /// Null where it was not measured.
  const Measurement *find(const LogKey &key) const;

private:
  std::map<LogKey, Measurement> lines;
  std::string gpu;
};

} // namespace tkc::tune
