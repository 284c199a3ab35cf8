// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Files.h"

#include <llvm/Support/Error.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/raw_ostream.h>

namespace tkc {
namespace {

constexpr size_t maxBytes = size_t(256) << 20;

std::optional<std::string> readAll(llvm::sys::fs::file_t file, std::string &error) {
  std::string text;
  size_t used = 0;
  while (true) {
    text.resize(used + (used < (1 << 16) ? (1 << 16) : used));
    llvm::Expected<size_t> count = llvm::sys::fs::readNativeFile(file, {text.data() + used, text.size() - used});
    if (!count) {
      error = llvm::toString(count.takeError());
      return std::nullopt;
    }
    if (*count == 0)
      break;
    used += *count;
    if (used > maxBytes) {
      error = "more than 256 MiB of text";
      return std::nullopt;
    }
  }
  text.resize(used);
  return text;
}

bool writeTo(int descriptor, bool close, std::string_view text, std::string &error) {
  llvm::raw_fd_ostream stream(descriptor, close);
  stream << text;
  stream.flush();
  if (!stream.has_error())
    return true;
  error = stream.error().message();
  stream.clear_error();
  return false;
}

/// In place, for devices, pipes and standard output.
bool writeDirectly(const std::string &path, std::string_view text, std::string &error) {
  if (path == "-")
    return writeTo(1, false, text, error);
  int descriptor;
  if (std::error_code code = llvm::sys::fs::openFileForWrite(path, descriptor)) {
    error = code.message();
    return false;
  }
  return writeTo(descriptor, true, text, error);
}

} // namespace

std::optional<std::string> readFile(const std::string &path, std::string &error) {
  if (path == "-")
    return readAll(llvm::sys::fs::getStdinHandle(), error);
  if (llvm::sys::fs::is_directory(path)) {
    error = std::make_error_code(std::errc::is_a_directory).message();
    return std::nullopt;
  }
  llvm::Expected<llvm::sys::fs::file_t> file = llvm::sys::fs::openNativeFileForRead(path);
  if (!file) {
    error = llvm::toString(file.takeError());
    return std::nullopt;
  }
  std::optional<std::string> text = readAll(*file, error);
  llvm::sys::fs::closeFile(*file);
  return text;
}

bool writeFile(const std::string &path, std::string_view text, std::string &error) {
  llvm::sys::fs::file_status status;
  bool exists = !llvm::sys::fs::status(path, status);
  if (path == "-" || (exists && status.type() != llvm::sys::fs::file_type::regular_file))
    return writeDirectly(path, text, error);
  llvm::Expected<llvm::sys::fs::TempFile> temporary = llvm::sys::fs::TempFile::create(path + ".%%%%%%.tmp");
  if (!temporary) {
    error = llvm::toString(temporary.takeError());
    return false;
  }
  if (!writeTo(temporary->FD, false, text, error)) {
    llvm::consumeError(temporary->discard());
    return false;
  }
  if (llvm::Error failure = temporary->keep(path)) {
    error = llvm::toString(std::move(failure));
    return false;
  }
  return true;
}

} // namespace tkc
