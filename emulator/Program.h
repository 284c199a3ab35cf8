// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A .cu file as a program that runs here: its host code on the CPU, its kernels on the emulated machine.
#pragma once

#include "emulator/Frontend.h"
#include "emulator/Machine.h"

#include <memory>
#include <string>
#include <vector>

namespace tkc::emulator {

class Program {
public:
  Program();
  ~Program();

  /// Empty, or what is wrong with the file. Kernels go on compiling afterwards, or begin to when launched.
  std::string load(const std::string &path, const FrontendOptions &options);

  /// Calls the file's `main`; its result, or an error.
  int run(const std::vector<std::string> &arguments, const Options &options, std::string &error);

  /// Of the file and its kernels.
  const Sites &sites() const;

  class Impl;

private:
  std::unique_ptr<Impl> impl;
};

} // namespace tkc::emulator
