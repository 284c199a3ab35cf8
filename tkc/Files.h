// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of the folders in which programs for a GPU are built and run.
#pragma once

#include <string>
#include <string_view>

namespace tkc::driver {

std::string inFolder(std::string_view folder, std::string_view name);
/// Of any size; empty where it cannot be read, as before a program has written it.
std::string readIfThere(const std::string &path);
/// In PATH or where the CUDA toolkit is usually installed; empty: there is none.
std::string findNvcc();

} // namespace tkc::driver
