// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether an iteration of a loop whose mask hides every element may be skipped: it must leave every carried value alone
// and store nothing.
//
// The body is evaluated on terms, with the select's result replaced by what it gives where the mask is false:
//   s = -inf     max(m, -inf) = m     exp2(-inf - top) = 0     exp2(m - m) = 1     acc · 1 + 0 @ v = acc
// once with carried values that are unknown (those that start at -inf taken as finite: something was seen), and once
// with the constants they start from (nothing was seen yet). Where every yielded term is the carried one both times,
// the iteration does nothing. Relied on: what is loaded is finite; a row stays at -inf only while all of it is masked.
#pragma once

#include "ir/TileIR.h"

namespace tkc::ir {

/// `select` is an op of the body of `loop`. With `afterSomethingSeen`, only iterations are in question before which
/// every row has seen an element, so that the second evaluation falls away.
bool canSkipWhereMasked(const Op &loop, const Op &select, bool afterSomethingSeen);

} // namespace tkc::ir
