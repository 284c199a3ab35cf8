// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instrumented plans: records of when each role begins to wait, to copy, to multiply, to compute.
#pragma once

#include "ir/plan/PlanIR.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tkc {
class SourceManager;
}

namespace tkc::planner {

/// Which waits have a record of their own.
enum class Instrumentation : uint8_t {
  None,
  /// In a loop where vector work stands beside products that go on meanwhile, no waits for products, nor that work:
  /// compilers move it to where it overlaps best, and a record would hold it in its place.
  Light,
  EveryWait,
};

/// Puts a Record before waits of every role, and where the role begins something else. What only keeps the books
/// (arrivals, cursors, scalars) belongs to what was before it.
void instrument(plan::Plan &plan, Instrumentation how);

/// What a Record of a plan stands for.
struct RecordedEvent {
  int id = 0;
  std::string role;
  plan::Activity activity = plan::Activity::Compute;
  std::string name;      ///< "wait k.full", or the source line's text
  unsigned line = 0;     ///< of the file asked for, from 1; 0: none, or of another
  unsigned lastLine = 0; ///< of the stretch up to the next record
};
std::vector<RecordedEvent> recordedEvents(const plan::Plan &plan, const SourceManager &sources, uint32_t file);

} // namespace tkc::planner
