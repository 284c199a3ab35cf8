// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/Targets.h"

#include "frontend/Sema.h"
#include "tkc/Driver.h"

#include <fmt/ranges.h>

namespace tkc::driver {

const arch::Description *findArch(const std::string &name) {
  if (const arch::Description *gpu = arch::find(name))
    return gpu;
  if (std::optional<std::string> near = nearestName(name, arch::allNames()))
    complain(fmt::format("no architecture is called `{}`; did you mean `{}`?", name, *near));
  else
    complain(fmt::format("no architecture is called `{}`; `tkc arch` lists them", name));
  return nullptr;
}

const arch::Description *findTarget(const std::string &name) {
  const arch::Description *gpu = findArch(name);
  if (!gpu || gpu->hasBackend)
    return gpu;
  std::vector<std::string> compiled;
  for (const arch::Description *other : arch::all())
    if (other->hasBackend)
      compiled.push_back("`" + other->name + "`");
  complain(fmt::format("tkc does not compile for `{}` yet; it does for {}", gpu->name, fmt::join(compiled, ", ")));
  return nullptr;
}

} // namespace tkc::driver
