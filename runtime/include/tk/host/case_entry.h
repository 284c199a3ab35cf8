// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a program of cases names them, for whoever runs them: tk/host/test.h, or the emulator.
#pragma once

#include "tk/host/api.h"
#include "tk/host/tensor.h"

namespace tk::test {

class case_data;

/// What a call converts to its parameter's type.
struct scalar_value {
  double floating = 0;
  int64_t integer = 0;
  bool is_integer = false;
  template <class T> operator T() const { return is_integer ? T(integer) : T(floating); }
};

/// One case and how it is called.
struct entry {
  int index;
  const char *kernel, *description;
  const char *file; ///< beside the program
  tk_status (*call)(const case_data &, api::stream);
  /// Instrumented, where it is to be profiled: in each of the ways that records can be stored (tk/trace.h).
  tk_status (*traced[2])(const case_data &, api::stream) = {};
};

} // namespace tk::test
