// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register tiles to and from shared tiles by instructions that move whole matrices: there are none.
#pragma once

#include "tk/fragment.h"
#include "tk/shared.h"

namespace tk {

template <class X, class Tile> inline constexpr bool moves_by_matrices = false;

} // namespace tk
