// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Online maxima that are only there to keep exponentials small, held until they have grown a lot (softmax: the
// accumulators are then seldom rescaled).
#pragma once

namespace tkc::ir {

class Function;

/// Where a loop carries m = max(m, rowmax(x)), and results do not depend on how near m is to the maximum, m stays as it
/// is until the maximum is more than `threshold` above it: in powers of two, whatever the exponentials' base. What is
/// stored is the same but for rounding. The number of loops changed.
int delayRescaling(Function &function, int threshold);

} // namespace tkc::ir
