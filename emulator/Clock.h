// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks: what a thread can know to have happened. A component belongs to a thread, or to an agent that works
// asynchronously (the copies of one barrier, the bulk groups of one thread, the products of one warpgroup).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace tkc::emulator {

/// The n-th step of a component.
struct Epoch {
  uint32_t component = 0;
  uint32_t time = 0;
};

class Clock {
public:
  uint32_t operator[](uint32_t component) const { return component < times.size() ? times[component] : 0; }
  bool knows(Epoch epoch) const { return (*this)[epoch.component] >= epoch.time; }

  void raise(uint32_t component, uint32_t time) {
    if (component >= times.size())
      times.resize(component + 1);
    times[component] = std::max(times[component], time);
  }
  void join(const Clock &other) {
    if (other.times.size() > times.size())
      times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i)
      times[i] = std::max(times[i], other.times[i]);
  }
  void clear() { times.clear(); }

private:
  std::vector<uint32_t> times;
};

/// What is known to have happened in other clusters of the launch, by their numbers.
class OtherClusters {
public:
  void add(uint32_t cluster, const Clock &clock) { clocks[cluster].join(clock); }
  void join(const OtherClusters &other) {
    for (const auto &[cluster, clock] : other.clocks)
      add(cluster, clock);
  }
  bool knows(uint32_t cluster, Epoch epoch) const {
    const auto found = clocks.find(cluster);
    return found != clocks.end() && found->second.knows(epoch);
  }

private:
  std::map<uint32_t, Clock> clocks;
};

/// What is handed on from thread to thread: what happened, which writes were made visible to the asynchronous engines
/// by a proxy fence, and which accesses of tensor memory are over for whoever fences after it learned of them.
struct Knowledge {
  Clock happened, fenced, tensor;
  std::shared_ptr<const OtherClusters> others; ///< null: nothing; what it points to does not change

  void join(const Knowledge &other) {
    happened.join(other.happened);
    fenced.join(other.fenced);
    tensor.join(other.tensor);
    if (other.others && other.others != others) {
      const auto both = std::make_shared<OtherClusters>(*other.others);
      if (others)
        both->join(*others);
      others = both;
    }
  }
  void clear() {
    happened.clear();
    fenced.clear();
    tensor.clear();
    others.reset();
  }
};

} // namespace tkc::emulator
