// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions in source text. Light on purpose: every header may include it, and none of LLVM comes along.
#pragma once

#include <cstdint>

namespace tkc {

/// A place in one of the buffers that a SourceManager holds. `buffer` 0 means "nowhere".
struct SourceLoc {
  uint32_t buffer = 0;
  uint32_t offset = 0; ///< in bytes from the buffer's start

  bool isValid() const { return buffer != 0; }
  friend bool operator==(SourceLoc, SourceLoc) = default;
};

/// Half-open: `end` is the first byte after the text.
struct SourceRange {
  SourceLoc begin;
  SourceLoc end;

  bool isValid() const { return begin.isValid(); }
};

} // namespace tkc
