// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GPUs as the command line names them.
#pragma once

#include "backends/targets/Description.h"

#include <optional>
#include <string>
#include <vector>

namespace tkc::driver {

/// The GPU, or the family's first that tkc compiles for. Complains, with the nearest name, and returns null where there
/// is none.
const arch::Description *findArch(const std::string &name);

/// The same; complains as well where tkc does not compile for that GPU, and says for which it does.
const arch::Description *findTarget(const std::string &name);

/// "sm_80,hopper": each once, in order. `all`: every GPU that tkc compiles for, in this language where one is given;
/// `native`: those of this machine. Complains and returns none where one of them cannot be had.
std::vector<const arch::Description *> findTargets(const std::string &names,
                                                   std::optional<arch::Language> language = std::nullopt);

/// Whether one file can hold code for all of these; complains where it cannot.
bool goIntoOneFile(const std::vector<const arch::Description *> &targets);

} // namespace tkc::driver
