// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace tkc::timeline {

/// The page that draws a timeline, up to where its JSON stands, and from there on.
extern const std::string_view pageHead, pageTail;

} // namespace tkc::timeline
