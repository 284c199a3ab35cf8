// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the place of tk/host/test.h, where the emulator runs the cases: it has that header as a part of itself, and no
// program has to compile it.
#pragma once

#include "tk/host/case_entry.h"
#include "tk/host/random.h"

extern "C" {
const tk_tensor *tkc_case_tensor(const tk::test::case_data &, const char *name);
void tkc_case_scalar(const tk::test::case_data &, const char *name, tk::test::scalar_value *to);
void *tkc_case_workspace(const tk::test::case_data &, int64_t size);
int tkc_run_cases(const tk::test::entry *entries, int count, int argc, char **argv,
                  tk::api::error (*fill)(void *data, unsigned type, tk::u64 count, tk::u64 seed));
}

namespace tk::test {

/// Lies in the emulator.
class case_data {
public:
  scalar_value scalar(const char *name) const {
    scalar_value value;
    tkc_case_scalar(*this, name, &value);
    return value;
  }
  const tk_tensor *tensor(const char *name) const { return tkc_case_tensor(*this, name); }
  void *workspace(int64_t size) const { return tkc_case_workspace(*this, size); }
};

template <int Count> int run(const entry (&entries)[Count], int argc, char **argv) {
  return tkc_run_cases(entries, Count, argc, argv, fill_random);
}

} // namespace tk::test
