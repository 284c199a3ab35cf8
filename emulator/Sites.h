// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places in the .cu file, and from its comments in the .tk file, for reports.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tkc::emulator {

/// Number of a place; 0 is none.
using SiteId = uint32_t;

struct Frame {
  uint32_t file; ///< as Sites numbers them
  unsigned line;
};

class Sites {
public:
  /// Lines of `text`, the .cu file, are searched for comments `// NAME.tk:LINE …`.
  void setSource(const std::string &path, const std::string &text);

  uint32_t file(const std::string &path);
  /// From the innermost inlined function out to the kernel; `what` is the instruction.
  SiteId add(std::vector<Frame> frames, std::string what);
  /// "test.cu:123 (gemm.tk:9), in barrier.h:42, `bar.sync`"
  std::string describe(SiteId site) const;
  /// "gemm.tk:9", or nothing.
  std::string tkLine(SiteId site) const;

private:
  struct Site {
    std::vector<Frame> frames;
    std::string what;
  };
  mutable std::mutex mutex;
  std::vector<std::string> files;   ///< names without folders; the first is the .cu file
  std::vector<std::string> tkLines; ///< by line of the .cu file
  std::vector<Site> sites{{}};
};

} // namespace tkc::emulator
