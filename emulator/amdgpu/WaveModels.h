// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intrinsics of LLVM's AMDGPU target and the functions that do what the hardware does. Every call is bound to a row of
// one table when the kernel is compiled; what no row serves is an error that names it.
#pragma once

#include "emulator/amdgpu/Wave.h"

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tkc::emulator {

struct WaveInstruction;

/// Of one lane, or of all lanes of a wave that came to it; the other is null. Operands and result lie in the lane's
/// slots.
struct WaveModel {
  const char *name; ///< of the intrinsic, without "llvm.amdgcn." and types; a `*` at the end stands for anything
  void (*lane)(const WaveInstruction &instruction, Thread &thread, std::byte *slots);
  void (*wave)(const WaveInstruction &instruction, WaveLanes &lanes) = nullptr;
  /// Reads name and operands into `settings`, once; false: this form has no model. Null: nothing to read.
  bool (*decode)(WaveInstruction &instruction) = nullptr;
};

struct WaveInstruction {
  struct Operand {
    uint32_t offset = 0; ///< in the slots
    uint32_t bytes = 0;
    uint32_t elementBits = 0;
    bool isFloat = false, isBfloat = false;
    std::optional<int64_t> constant;
  };

  std::string name;
  Operand result; ///< of 0 bytes if there is none
  std::vector<Operand> operands;
  const WaveModel *model = nullptr;
  SiteId site = 0;
  Cdna gpu = Cdna::None;
  int settings[8] = {}; ///< of the model

  /// The same operation with the same constants, perhaps elsewhere.
  bool isSameAs(const WaveInstruction &other) const;
  int64_t constant(size_t i) const { return operands[i].constant.value_or(0); }

  template <class T> T get(const std::byte *slots, size_t operand, size_t element = 0) const {
    T value;
    std::memcpy(&value, slots + operands[operand].offset + element * sizeof(T), sizeof(T));
    return value;
  }
  template <class T> void set(std::byte *slots, const T &value, size_t element = 0) const {
    std::memcpy(slots + result.offset + element * sizeof(T), &value, sizeof(T));
  }
};

/// What lowered code calls: the running lane executes the instruction.
void runWaveInstruction(const WaveInstruction *instruction, std::byte *slots);

/// The row that serves the intrinsic, or null.
const WaveModel *findWaveModel(std::string_view name);

// One table a file of models/.
std::span<const WaveModel> controlWaveModels();
std::span<const WaveModel> laneWaveModels();
std::span<const WaveModel> bufferWaveModels();
std::span<const WaveModel> mfmaWaveModels();
std::span<const WaveModel> scalarWaveModels();

/// What `s_waitcnt` waits for: counts that may be left, `none` of them where it does not matter.
struct WaitCounts {
  static constexpr uint32_t none = ~0u;
  uint32_t loads = none, lds = none;
  static WaitCounts decode(uint32_t bits);
  uint32_t encode() const;
};

} // namespace tkc::emulator
