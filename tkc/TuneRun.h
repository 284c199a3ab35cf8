// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes, builds and runs the jobs of `tkc tune`.
#pragma once

#include "harness/tune/Job.h"

#include <functional>
#include <string>

namespace tkc::driver {

/// While it lives, SIGINT and SIGTERM are taken note of instead of ending tkc.
class InterruptNote {
public:
  InterruptNote();
  ~InterruptNote();
  InterruptNote(const InterruptNote &) = delete;

  static bool isInterrupted();
  /// Ends tkc as the signal that came would have.
  [[noreturn]] static void obey();
};

/// Writes what is not there yet, or complains.
int writeJob(const tune::Job &job, const std::string &folder);

/// Called with what is done, of how much, and what it is.
using OnProgress = std::function<void(size_t, size_t, const std::string &)>;

/// With nvcc, so many at a time. Candidates that nvcc refuses have no shared object then, which the runner notes.
int buildJob(const tune::Job &job, const arch::Description &target, const std::string &folder,
             const std::string &sourceFolder, unsigned atATime, const OnProgress &onProgress);

/// Runs the runner, which adds to `log`; `onLines` is told how many lines were added.
int runJob(const std::string &folder, const std::string &log, const std::function<void(size_t)> &onLines);

} // namespace tkc::driver
