// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a shared object of `tkc tune` exports: one kernel, compiled with one schedule, called with arguments by name.
#pragma once

#include "tk/host/tensor.h"

namespace tk::tune {

class arguments {
public:
  /// Null where the call leaves it out.
  virtual const tk_tensor *tensor(const char *name) const = 0;
  virtual double scalar(const char *name) const = 0;

protected:
  ~arguments() = default;
};

} // namespace tk::tune

/// The one symbol that the runner looks up.
extern "C" tk_status tk_candidate(const tk::tune::arguments &data, CUstream_st *stream);
