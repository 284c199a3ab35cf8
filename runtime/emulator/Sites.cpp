// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/Sites.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

namespace tkc::emulator {
namespace {

/// The "gemm.tk:9" of a comment line "// gemm.tk:9  for …"; empty if it is none.
std::string tkPosition(std::string_view line) {
  const size_t begin = line.find_first_not_of(" /");
  if (begin == std::string_view::npos || line.substr(0, begin).find("//") == std::string_view::npos)
    return {};
  line = line.substr(begin, line.find(' ', begin) - begin);
  const size_t suffix = line.find(".tk:");
  if (suffix == std::string_view::npos || suffix + 4 == line.size())
    return {};
  for (const char c : line.substr(suffix + 4))
    if (!std::isdigit(static_cast<unsigned char>(c)))
      return {};
  return std::string(line);
}

} // namespace

void Sites::setSource(const std::string &path, const std::string &text) {
  name = path.substr(path.rfind('/') + 1);
  tkLines.assign(1, {});
  std::string latest;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (std::string position = tkPosition(line); !position.empty())
      latest = std::move(position);
    else if (line.starts_with("}"))
      latest.clear();
    tkLines.push_back(latest);
  }
}

SiteId Sites::add(std::vector<unsigned> lines, std::string what) {
  const std::lock_guard lock(mutex);
  sites.push_back({std::move(lines), std::move(what)});
  return static_cast<SiteId>(sites.size() - 1);
}

std::string Sites::describe(SiteId id) const {
  const std::lock_guard lock(mutex);
  const Site &site = sites[id];
  if (site.lines.empty())
    return site.what.empty() ? "an unknown place" : fmt::format("`{}`", site.what);
  std::string text = fmt::format("{}:{}", name, site.lines.back());
  if (site.lines.back() < tkLines.size() && !tkLines[site.lines.back()].empty())
    text += fmt::format(" ({})", tkLines[site.lines.back()]);
  for (size_t i = site.lines.size() - 1; i-- > 0;)
    text += fmt::format("{}{}", i + 2 == site.lines.size() ? ", in the function at line " : " > ", site.lines[i]);
  if (!site.what.empty())
    text += fmt::format(", `{}`", site.what);
  return text;
}

} // namespace tkc::emulator
