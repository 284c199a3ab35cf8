// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/common/Format.h"

#include "clang/Format/Format.h"
#include "clang/Tooling/Core/Replacement.h"

namespace tkc {

namespace {

clang::format::FormatStyle emittedStyle() {
  using clang::format::FormatStyle;
  FormatStyle style = clang::format::getLLVMStyle(FormatStyle::LK_Cpp);
  style.ColumnLimit = 120;
  style.AllowShortFunctionsOnASingleLine = FormatStyle::SFS_Inline;
  style.SortIncludes.Enabled = false;
  style.FixNamespaceComments = true;
  style.SpaceAfterTemplateKeyword = true;
  style.BreakTemplateDeclarations = FormatStyle::BTDS_MultiLine;
  return style;
}

} // namespace

std::string formatCpp(const std::string &code) {
  static const clang::format::FormatStyle style = emittedStyle();
  const clang::tooling::Range everything(0, code.size());
  const clang::tooling::Replacements replacements = clang::format::reformat(style, code, {everything}, "emitted.cu");
  auto formatted = clang::tooling::applyAllReplacements(code, replacements);
  if (!formatted) {
    llvm::consumeError(formatted.takeError());
    return code;
  }
  return *formatted;
}

} // namespace tkc
