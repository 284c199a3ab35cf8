// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pieces of instruction text chosen when compiling ("C" operands of asm: CUDA manual, "Inline PTX Assembly in CUDA",
// constant strings). An operand list of variable length is written out at its longest, its end put into a comment.
#pragma once

namespace tk::text {

template <bool Here> struct comment_opens {
  static constexpr char text[] = "";
};
template <> struct comment_opens<true> {
  static constexpr char text[] = "/*";
};
template <bool Here> struct comment_closes {
  static constexpr char text[] = "";
};
template <> struct comment_closes<true> {
  static constexpr char text[] = "*/";
};
template <int N> struct digit {
  static constexpr char text[] = {char('0' + N), 0};
};

} // namespace tk::text
