// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where launchers of instrumented kernels learn where these record.
#pragma once

#include "tk/host/arguments.h"
#include "tk/trace.h"

namespace tk::host {

/// A launch of an instrumented kernel.
struct traced_launch {
  const char *kernel; ///< its name in the emitted file
  long long blocks;   ///< of a persistent kernel (`resident`) no more than run at once
  bool resident;
  int multiprocessors;
  int warps;
  u32 leaders; ///< bit w: warp w is the first of an instance of a role
};

/// Whoever wants to know what kernels record.
class trace_taker {
public:
  virtual trace take(const traced_launch &launch) = 0;

protected:
  ~trace_taker() = default;
};

/// Of the launches of this thread; null: nothing is recorded.
inline thread_local trace_taker *traces = nullptr;

inline trace trace_of(const traced_launch &launch) { return traces ? traces->take(launch) : trace{}; }

} // namespace tk::host
