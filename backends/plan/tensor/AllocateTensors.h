// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which columns of tensor memory each buffer has. Buffers that are in use at different times may share some.
#pragma once

#include "ir/plan/PlanIR.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

/// When a buffer of tensor memory is in use: from what overwrites it to the last that needs that, as places in the text
/// of the computing role.
struct TensorUse {
  struct Span {
    int first, last;
  };
  std::vector<Span> spans;

  bool meets(const TensorUse &other) const;
};

/// Which buffers may share columns.
enum class Sharing : uint8_t {
  Any,
  Alike,   ///< of the same size, so that each instance has the same ones in both
  Widened, ///< the same, and what instructions make lies as far apart in small ones as in larger ones
};

/// What is given up for products to fit tensor memory.
struct Way {
  int accumulatorStages;
  Sharing sharing = Sharing::Alike;
  bool meets = false; ///< all instances meet before each product, as they may have each other's columns afterwards
  std::set<std::string> meetsBefore{}; ///< and before stores to these buffers, where they store to each other's columns
};

/// Gives buffers their columns: first fit, by when they are in use (`uses`, by name). Returns how many the block needs.
int64_t allocateTensors(std::vector<plan::TensorBuffer> &buffers, const std::map<std::string, TensorUse> &uses,
                        Sharing sharing);

} // namespace tkc::planner
