// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cuda/Standalone.h"

#include "backends/cuda/RuntimeHeaders.h"

#include <algorithm>
#include <set>

namespace tkc::cuda {

namespace {

constexpr std::string_view includeTk = "#include \"tk/";

class Inliner {
public:
  std::string text;

  void add(std::string_view code) {
    while (!code.empty()) {
      const size_t end = std::min(code.find('\n'), code.size() - 1);
      addLine(code.substr(0, end + 1));
      code.remove_prefix(end + 1);
    }
  }

private:
  void addLine(std::string_view line) {
    if (line.substr(0, includeTk.size()) == includeTk) {
      const size_t begin = line.find('"') + 1;
      include(line.substr(begin, line.rfind('"') - begin));
    } else if (line != "#pragma once\n") {
      text += line;
    }
  }

  void include(std::string_view name) {
    if (!seen.insert(std::string(name)).second)
      return;
    for (const RuntimeHeader &header : runtimeHeaders())
      if (header.name == name) {
        text += "// ---- " + std::string(name) + "\n";
        add(header.text);
      }
  }

  std::set<std::string> seen;
};

} // namespace

std::string inlineRuntime(std::string_view code) {
  Inliner inliner;
  inliner.add(code);
  return std::move(inliner.text);
}

} // namespace tkc::cuda
