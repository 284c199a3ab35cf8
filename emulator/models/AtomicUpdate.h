// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic updates of an element of memory, by whatever instruction: clusters run at the same time, and a copy that adds
// meets threads that add.
#pragma once

#include <atomic>

namespace tkc::emulator {

/// The element at `at`, of as many bits as `Bits`, becomes `change(its value)`, and no other atomic update comes
/// between. Gives what it was.
template <class Bits, class Change> Bits updateAtomically(void *at, Change change) {
  std::atomic_ref<Bits> element(*static_cast<Bits *>(at));
  Bits old = element.load();
  while (!element.compare_exchange_weak(old, static_cast<Bits>(change(old)))) {
  }
  return old;
}

} // namespace tkc::emulator
