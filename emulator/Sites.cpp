// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Sites.h"

#include <fmt/core.h>

#include <algorithm>
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
  files = {path.substr(path.rfind('/') + 1)};
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

uint32_t Sites::file(const std::string &path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::lock_guard lock(mutex);
  const auto found = std::find(files.begin(), files.end(), name);
  if (found != files.end())
    return static_cast<uint32_t>(found - files.begin());
  files.push_back(name);
  return static_cast<uint32_t>(files.size() - 1);
}

SiteId Sites::add(std::vector<Frame> frames, std::string what) {
  const std::lock_guard lock(mutex);
  sites.push_back({std::move(frames), std::move(what)});
  return static_cast<SiteId>(sites.size() - 1);
}

std::string Sites::tkLine(SiteId id) const {
  const std::lock_guard lock(mutex);
  const std::vector<Frame> &frames = sites[id].frames;
  if (frames.empty() || frames.back().file != 0 || frames.back().line >= tkLines.size())
    return {};
  return tkLines[frames.back().line];
}

std::string Sites::describe(SiteId id) const {
  const std::lock_guard lock(mutex);
  const Site &site = sites[id];
  std::string text;
  for (size_t i = site.frames.size(); i-- > 0;) {
    const Frame &frame = site.frames[i];
    const bool isOutermost = i + 1 == site.frames.size();
    text += fmt::format("{}{}:{}", isOutermost ? "" : ", in ", files[frame.file], frame.line);
    if (isOutermost && frame.file == 0 && frame.line < tkLines.size() && !tkLines[frame.line].empty())
      text += fmt::format(" ({})", tkLines[frame.line]);
  }
  if (!site.what.empty())
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", site.what);
  return text.empty() ? "an unknown place" : text;
}

} // namespace tkc::emulator
