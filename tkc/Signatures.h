// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program that calls kernels has to know of them, as JSON: docs/cli.md has its fields.
#pragma once

#include <string>

namespace tkc {
struct Module;
class SourceManager;
} // namespace tkc

namespace tkc::driver {

/// Of the kernels and programs that the main file declares.
std::string printSignatures(const Module &module, const SourceManager &sources);

} // namespace tkc::driver
