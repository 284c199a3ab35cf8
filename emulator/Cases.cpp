// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Cases.h"

#include "emulator/HostRuntime.h"
#include "tk/host/test.h" // with the `tk/host/api.h` and `random.h` of cases/

namespace tkc::emulator {
namespace {

const tk_tensor *tensor(const tk::test::case_data &data, const char *name) { return data.tensor(name); }
void scalar(const tk::test::case_data &data, const char *name, tk::test::scalar_value *to) { *to = data.scalar(name); }
void *workspace(const tk::test::case_data &data, int64_t size) { return data.workspace(size); }

int runCases(const tk::test::entry *entries, int count, int argc, char **argv, tk::test::filler fill) {
  tk::test::fill_random = fill;
  return tk::test::run(entries, count, argc, argv);
}

const Support functions[] = {
    {"tkc_case_tensor", address(tensor)},
    {"tkc_case_scalar", address(scalar)},
    {"tkc_case_workspace", address(workspace)},
    {"tkc_run_cases", address(runCases)},
};

} // namespace

std::span<const Support> caseFunctions() { return functions; }

} // namespace tkc::emulator
