// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products and copies that one thread issues to the tensor cores: done in order, when a commit of them is asked for.
#pragma once

#include "emulator/models/TensorMemory.h"

namespace tkc::emulator {

/// What an operation knows of others, for the checks.
struct TensorOperation {
  const Thread *by;
  SiteId site;
  Epoch epoch;
  Knowledge knows; ///< of the issuing thread at the time
  Clock order;     ///< accesses of tensor memory that are over before it

  TensorAgent tensorAgent() const { return {order, epoch, site}; }
  Agent sharedAgent() const { return {knows, epoch, true, site}; }
};

struct TensorQueue {
  explicit TensorQueue(uint32_t component) : component(component) {}

  uint32_t component;
  uint32_t issued = 0, executed = 0, committed = 0;
  std::deque<std::function<void()>> operations; ///< not executed yet
  std::shared_ptr<Effect> lastCommit;
  Knowledge knows; ///< of the latest operation
  SiteId site = 0; ///< its place

  void executeUpTo(uint32_t n) {
    for (; executed < n; ++executed) {
      const std::function<void()> operation = std::move(operations.front());
      operations.pop_front();
      operation();
    }
  }
};

TensorQueue &queueOf(Thread &thread);
/// The thread's next operation, which `run` then does.
TensorOperation nextOperation(Thread &thread, SiteId site);
void enqueue(Thread &thread, const TensorOperation &operation, std::function<void()> run);

} // namespace tkc::emulator
