// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of a GPU as fibers of one thread of the host: each has a stack, and switching costs some ten instructions.
#pragma once

#include <cstddef>

namespace tkc::emulator {

/// Memory for the stacks of many fibers, each above a page that faults. Pages are taken as they are touched.
class FiberStacks {
public:
  static constexpr size_t bytesEach = 512 << 10;

  explicit FiberStacks(size_t count);
  ~FiberStacks();
  FiberStacks(const FiberStacks &) = delete;

  size_t count() const { return number; }
  char *begin(size_t i) const { return memory + i * bytesEach; }
  char *end(size_t i) const { return begin(i) + bytesEach; }

private:
  char *memory;
  size_t number;
};

class Fiber {
public:
  /// Will call `entry(argument)` on the stack that ends at `stackEnd` when it is first resumed. `entry` never returns.
  void start(char *stackEnd, void (*entry)(void *), void *argument);
  /// From the scheduler into the fiber, until it suspends itself.
  void resume();
  /// From the fiber back to the scheduler.
  void suspend();

private:
  void *own = nullptr;       ///< stack pointer while suspended
  void *scheduler = nullptr; ///< stack pointer of who resumed it
};

} // namespace tkc::emulator
