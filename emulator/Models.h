// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions and the functions that do what the hardware does. Every instruction of an asm statement is bound to a
// row of one table when the kernel is compiled; what no row serves is an error that names it.
#pragma once

#include "emulator/Machine.h"

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tkc::emulator {

struct BoundInstruction;

/// `slots` holds the values of all operands, in order, 8 bytes each, narrower ones in the low bytes; results go to the
/// slots of the first operand.
using Run = void (*)(const BoundInstruction &instruction, uint64_t *slots);

struct Model {
  const char *opcode; ///< the start of the opcode, up to a `*`; without one, all of it
  Run run;
  /// Reads the modifiers into `settings`, once; false: this form has no model. Null: nothing to read.
  bool (*decode)(BoundInstruction &instruction) = nullptr;
};

struct BoundInstruction {
  struct Operand {
    uint32_t first, count; ///< slots
    bool isAddress;
    int64_t offset; ///< of an address
  };

  std::string opcode;
  std::vector<Operand> operands;
  const Model *model = nullptr;
  SiteId site = 0;
  int settings[8] = {}; ///< of the model

  /// The parts of the opcode between dots.
  std::vector<std::string_view> parts() const;
  bool has(std::string_view part) const;
};

/// The row that serves the opcode, or null.
const Model *findModel(std::string_view opcode);

// One table a file of models/.
std::span<const Model> scalarModels();
std::span<const Model> memoryModels();
std::span<const Model> barrierModels();
std::span<const Model> warpModels();
std::span<const Model> tmaModels();
std::span<const Model> copyModels();
std::span<const Model> mmaModels();
std::span<const Model> wgmmaModels();
std::span<const Model> tensorMemoryModels();
std::span<const Model> tcgen05Models();
std::span<const Model> tensorScaleModels();
std::span<const Model> controlModels();

/// The symbol that an intrinsic of LLVM's NVPTX target is bound to: a C function of its type.
struct IntrinsicModel {
  const char *name; ///< "llvm.nvvm.shfl.sync.idx.i32"
  void *function;
};
std::span<const IntrinsicModel> intrinsicModels();

/// Functions that the lowered code calls besides; names as JIT symbols.
struct Support {
  const char *name;
  void *function;
};
std::span<const Support> supportFunctions();

/// Special registers by PTX name, without `%`; -1: none of this name.
int specialRegister(std::string_view name);
uint64_t readSpecialRegister(const Thread &thread, int number);

// Results of products in flight: models/Wgmma.cpp. Until a product has been waited for, a number that stands for its
// result takes the place of the result.
/// What an empty asm statement gives for a register's `bits`: the result that they stand for, if it was waited for;
/// else the bits.
uint32_t resolvePending(Thread &thread, uint32_t bits, bool isFloat);
/// The same for a value that is about to be used; an error if its product was not waited for.
uint32_t useValue(Thread &thread, uint32_t bits, bool isFloat, SiteId site);

// The same for what tcgen05.ld brings: models/TensorMemory.cpp.
bool standsForLoad(const Thread &thread, uint32_t bits);
uint32_t resolveLoad(Thread &thread, uint32_t bits);
uint32_t useLoad(Thread &thread, uint32_t bits, SiteId site);

/// An error if the thread may not end: it has not waited for its loads and stores of tensor memory, or not committed
/// its products; or it is the block's last and there is tensor memory left.
void checkTensorAtEnd(Thread &thread);

/// The MatrixType of a PTX name; false for others.
bool readMatrixType(std::string_view name, int &type);

// Slots as values.
inline float asFloat(uint64_t slot) { return std::bit_cast<float>(static_cast<uint32_t>(slot)); }
inline double asDouble(uint64_t slot) { return std::bit_cast<double>(slot); }
inline uint64_t fromFloat(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t fromDouble(double x) { return std::bit_cast<uint64_t>(x); }

} // namespace tkc::emulator
