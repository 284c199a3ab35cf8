// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates as text for people, and as JSON for programs.
#pragma once

#include "backends/cost/Cost.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tkc::cost {

struct Report {
  std::string name;        ///< of the kernel or program
  std::string description; ///< of the case
  double seconds = 0;
  double operations = 0; ///< 0: none, or not counted
  double bytes = 0;
  struct Step {
    std::string name;
    Estimate estimate;
    /// "BM = 256" and the seconds of the launch with it; not set: nobody looked.
    std::optional<std::vector<std::pair<std::string, double>>> advice;
  };
  std::vector<Step> steps;
};

/// What stands above the reports: the GPU, and whether the model was checked on it.
std::string heading(const arch::Description &arch);
std::string format(const Report &report, const arch::Description &arch);
/// The same of all reports as one object.
std::string formatJson(const std::vector<Report> &reports, const arch::Description &arch);

/// What keeps a launch from being faster, in a sentence.
std::string limitOf(const Estimate &estimate, const arch::Description &arch);

} // namespace tkc::cost
