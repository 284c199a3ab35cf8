// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/amdgpu/WaveModels.h"

namespace tkc::emulator {

static bool serves(const WaveModel &model, std::string_view name) {
  const std::string_view pattern = model.name;
  return pattern.ends_with("*") ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
}

const WaveModel *findWaveModel(std::string_view name) {
  for (const std::span<const WaveModel> table :
       {controlWaveModels(), laneWaveModels(), bufferWaveModels(), mfmaWaveModels(), scalarWaveModels()})
    for (const WaveModel &model : table)
      if (serves(model, name))
        return &model;
  return nullptr;
}

void runWaveInstruction(const WaveInstruction *instruction, std::byte *slots) {
  checkDoubtfulWrite();
  Thread &thread = current();
  thread.site = instruction->site;
  if (instruction->model->lane)
    instruction->model->lane(*instruction, thread, slots);
  else
    thread.block->waves->meet(*instruction, slots);
}

bool WaveInstruction::isSameAs(const WaveInstruction &other) const {
  if (this == &other)
    return true;
  if (model != other.model || name != other.name || operands.size() != other.operands.size())
    return false;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].constant != other.operands[i].constant || operands[i].bytes != other.operands[i].bytes)
      return false;
  return true;
}

} // namespace tkc::emulator
