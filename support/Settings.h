// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What schedules and `--set` say, as it was written: the front end reads it, the backends know what it means.
#pragma once

#include "support/Source.h"

#include <map>
#include <string>

namespace tkc {

/// Schedule keys for an architecture: every `key = value` of a schedule. Values are numbers (bool as 0, 1) or names.
struct ScheduleValue {
  double number = 0;
  std::string name; ///< where a word was given (`producer = warp`)
  SourceRange range;
};
using ScheduleSettings = std::map<std::string, ScheduleValue>;

} // namespace tkc
