// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Models.h"

#include <algorithm>

namespace tkc::emulator {

std::vector<std::string_view> BoundInstruction::parts() const {
  std::vector<std::string_view> result;
  for (std::string_view rest = opcode; !rest.empty();) {
    result.push_back(rest.substr(0, rest.find('.')));
    rest.remove_prefix(std::min(result.back().size() + 1, rest.size()));
  }
  return result;
}

bool BoundInstruction::has(std::string_view part) const {
  const std::vector<std::string_view> all = parts();
  return std::find(all.begin(), all.end(), part) != all.end();
}

static bool serves(const Model &model, std::string_view opcode) {
  const std::string_view pattern = model.opcode;
  return pattern.ends_with("*") ? opcode.starts_with(pattern.substr(0, pattern.size() - 1)) : opcode == pattern;
}

const Model *findModel(std::string_view opcode) {
  for (const std::span<const Model> table :
       {scalarModels(), memoryModels(), barrierModels(), warpModels(), tmaModels(), copyModels(), mmaModels(),
        wgmmaModels(), tensorMemoryModels(), tcgen05Models(), tensorScaleModels(), controlModels()})
    for (const Model &model : table)
      if (serves(model, opcode))
        return &model;
  return nullptr;
}

} // namespace tkc::emulator
