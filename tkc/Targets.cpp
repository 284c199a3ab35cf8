// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/Targets.h"

#include "backends/targets/NativeGpus.h"
#include "support/NearestName.h"
#include "tkc/Driver.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/ranges.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>

namespace tkc::driver {
namespace {

using Targets = std::vector<const arch::Description *>;

std::vector<std::string> quotedNames(const Targets &targets) {
  std::vector<std::string> names;
  for (const arch::Description *gpu : targets)
    names.push_back("`" + gpu->name + "`");
  return names;
}

/// Every GPU that tkc compiles for.
Targets compiledFor(std::optional<arch::Language> language = std::nullopt) {
  Targets targets;
  for (const arch::Description *gpu : arch::all())
    if (gpu->hasBackend && (!language || gpu->language == *language))
      targets.push_back(gpu);
  return targets;
}

/// What suits the GPUs of this machine best.
Targets nativeTargets() {
  const std::vector<arch::NativeGpu> here = arch::nativeGpus();
  if (here.empty()) {
    complain("`--arch=native`: no GPU is found on this machine; name one, as `tkc arch` lists them");
    return {};
  }
  Targets targets;
  for (const arch::NativeGpu &gpu : here) {
    const arch::Description *best = arch::bestTarget(gpu);
    if (!best) {
      complain(fmt::format("`--arch=native`: tkc does not compile for the GPU of this machine, {}; it does for {}",
                           gpu.describe(), fmt::join(quotedNames(compiledFor()), ", ")));
      return {};
    }
    targets.push_back(best);
  }
  return targets;
}

/// What a name of letters and a number has in common with another, up to a digit at least: "sm_9" of "sm_91" and
/// "sm_90a"; else nothing.
size_t commonPrefix(std::string_view a, std::string_view b) {
  const auto length = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  return llvm::StringRef(a).take_front(length).find_first_of("0123456789") == llvm::StringRef::npos ? 0 : length;
}

/// The number that a name ends with, without letters behind it: 90 of "sm_90a".
int numberOf(llvm::StringRef name) {
  int number = 0;
  name.drop_until(llvm::isDigit).take_while(llvm::isDigit).getAsInteger(10, number);
  return number;
}

/// Of names with a number the one of the same generation, or of those the one of the nearest number; of others the one
/// of nearly the same letters.
std::optional<std::string> nearestArch(const std::string &name, const std::vector<std::string> &known) {
  const auto rank = [&](const std::string &other) {
    return std::pair(commonPrefix(name, other), -std::abs(numberOf(other) - numberOf(name)));
  };
  const auto best = std::max_element(known.begin(), known.end(),
                                     [&](const auto &one, const auto &other) { return rank(one) < rank(other); });
  return commonPrefix(name, *best) > 0 ? *best : nearestName(name, known);
}

} // namespace

const arch::Description *findArch(const std::string &name) {
  if (const arch::Description *gpu = arch::find(name))
    return gpu;
  std::vector<std::string> known = arch::allNames();
  known.insert(known.end(), {"all", "native"});
  if (std::optional<std::string> near = nearestArch(name, known))
    complain(fmt::format("no architecture is called `{}`; did you mean `{}`?", name, *near));
  else
    complain(fmt::format("no architecture is called `{}`; `tkc arch` lists them", name));
  return nullptr;
}

const arch::Description *findTarget(const std::string &name) {
  const arch::Description *gpu = findArch(name);
  if (!gpu || gpu->hasBackend)
    return gpu;
  complain(fmt::format("tkc does not compile for `{}` yet; it does for {}", gpu->name,
                       fmt::join(quotedNames(compiledFor()), ", ")));
  return nullptr;
}

std::vector<const arch::Description *> findTargets(const std::string &names, std::optional<arch::Language> language) {
  Targets result;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(names).split(parts, ',');
  for (const llvm::StringRef part : parts) {
    const std::string name = part.trim().str();
    Targets targets;
    if (name == "all")
      targets = compiledFor(language);
    else if (name == "native")
      targets = nativeTargets();
    else if (const arch::Description *gpu = findTarget(name))
      targets = {gpu};
    if (targets.empty()) {
      if (name == "all")
        complain("tkc compiles for no GPU whose code goes into such a file");
      return {};
    }
    for (const arch::Description *gpu : targets)
      if (std::find(result.begin(), result.end(), gpu) == result.end())
        result.push_back(gpu);
  }
  return result;
}

bool goIntoOneFile(const Targets &targets) {
  for (const arch::Description *gpu : targets)
    if (gpu->language != targets.front()->language) {
      complain(
          fmt::format("code for `{}` is CUDA and code for `{}` HIP, which do not go into one file: write two files",
                      (gpu->language == arch::Language::Cuda ? gpu : targets.front())->name,
                      (gpu->language == arch::Language::Cuda ? targets.front() : gpu)->name));
      return false;
    }
  return true;
}

} // namespace tkc::driver
