// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic updates of an element of memory, by whatever instruction: clusters run at the same time, and a copy that adds
// meets threads that add.
#pragma once

#include <bit>
#include <cstdint>

namespace tkc::emulator {

/// The element at `at`, of as many bits as `Bits`, becomes `change(its value)`, and no other atomic update comes
/// between. Gives what it was.
template <class Bits, class Change> Bits updateAtomically(char *at, Change change) {
  auto *element = reinterpret_cast<Bits *>(at);
  Bits old = __atomic_load_n(element, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(element, &old, static_cast<Bits>(change(old)), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  return old;
}

} // namespace tkc::emulator
