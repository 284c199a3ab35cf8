// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files read whole and written whole.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tkc {

/// The text of a file; "-" is standard input. On failure nothing, and `error` says why in the system's words ("Is a
/// directory", "No such file or directory"). At most 256 MiB are read, so that a device that never ends is an error.
std::optional<std::string> readFile(const std::string &path, std::string &error);

/// Writes beside `path` and renames, so that no reader ever sees half a file and a failure leaves the old one; what is
/// no regular file (a device, a pipe) is written directly, and "-" is standard output. False on failure, with `error`
/// set.
bool writeFile(const std::string &path, std::string_view text, std::string &error);

} // namespace tkc
