// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When buffers of tensor memory are in use, noted while the roles are written: places are numbered as they come in the
// text, and what a loop carries is in use all through it.
#pragma once

#include "backends/plan/tensor/AllocateTensors.h"
#include "backends/plan/tensor/PlaceTensors.h"

#include <map>
#include <set>
#include <string>

namespace tkc::planner {

class TensorSpans {
public:
  /// The place in the text.
  int now() const { return place; }
  void step() { ++place; }
  /// What a statement here reads or writes; `overwrites`: it needs nothing that was there.
  void touch(const std::set<std::string> &buffers, bool overwrites = false);
  /// What a loop from `begin` on needs from before it, or from an iteration before, is in use all the time.
  void carry(const std::set<std::string> &buffers, int begin);
  /// From the start of the text to its end.
  void useAlways(const std::string &buffer) { all[buffer].spans = {{0, place + 1}}; }
  const std::map<std::string, TensorUse> &uses() const { return all; }

private:
  int place = 0;
  std::map<std::string, TensorUse> all;
};

/// Buffers of tensor memory whose first access in a loop's body takes what an iteration before left.
std::set<std::string> neededFromBefore(const plan::Body &body, const TensorHomes &homes);

} // namespace tkc::planner
