// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/Standalone.h"

#include "backends/emit/RuntimeHeaders.h"

#include <algorithm>
#include <set>

namespace tkc::cuda {

namespace {

constexpr std::string_view includeTk = "#include \"tk/";

class Inliner {
public:
  explicit Inliner(std::string_view overlay) : overlay(overlay) {}

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
    const RuntimeHeader *header = overlay.empty() ? nullptr : find(std::string(overlay) + std::string(name));
    header = header ? header : find(name);
    if (!header)
      return;
    text += "// ---- " + std::string(name) + "\n";
    add(header->text);
  }

  static const RuntimeHeader *find(std::string_view name) {
    const auto &all = runtimeHeaders();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const RuntimeHeader &header) { return header.name == name; });
    return found == all.end() ? nullptr : &*found;
  }

  const std::string_view overlay;

  std::set<std::string> seen;
};

} // namespace

std::string inlineRuntime(std::string_view code, const Dialect &dialect) {
  Inliner inliner(dialect.overlay);
  inliner.add(code);
  return std::move(inliner.text);
}

} // namespace tkc::cuda
