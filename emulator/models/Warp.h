// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives of a warp, as instructions and LLVM's intrinsics both use them.
#pragma once

#include "emulator/Models.h"

namespace tkc::emulator {

enum class Shuffle : uint8_t { Index, Up, Down, Butterfly };
struct ShuffleResult {
  uint32_t value;
  bool isValid;
};
ShuffleResult shuffle(Shuffle mode, uint32_t mask, uint32_t x, uint32_t b, uint32_t c);

enum class Vote : uint8_t { All, Any, Ballot };
uint32_t vote(Vote kind, uint32_t mask, bool predicate);

} // namespace tkc::emulator
