// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads, stores and atomic updates by single threads. Source: PTX ISA, "ld", "st", "red", "atom", "createpolicy".
#include "emulator/Formats.h"
#include "emulator/GlobalAccess.h"
#include "emulator/Models.h"
#include "emulator/models/AtomicUpdate.h"

#include <algorithm>
#include <array>

namespace tkc::emulator {
namespace {

enum Setting { Bytes, Elements, Type, Operation };
enum ElementType { Unsigned, Signed, Float, Half, Brain };
enum UpdateOperation { Add, Min, Max, And, Or, Xor, Exchange, CompareAndSwap, Increment };

/// The element type's name is the last part: b8 … b128, u…, s…, f….
bool decodeType(BoundInstruction &instruction) {
  const std::vector<std::string_view> parts = instruction.parts();
  const std::string_view type = parts.back();
  instruction.settings[Elements] = instruction.has("v4") ? 4 : instruction.has("v2") ? 2 : 1;
  if (type == "bf16" || type == "f16") {
    instruction.settings[Type] = type == "bf16" ? Brain : Half;
    instruction.settings[Bytes] = 2;
    return true;
  }
  instruction.settings[Type] = type.starts_with("f") ? Float : type.starts_with("s") ? Signed : Unsigned;
  const std::string_view bits = type.substr(1);
  instruction.settings[Bytes] = bits == "8"     ? 1
                                : bits == "16"  ? 2
                                : bits == "32"  ? 4
                                : bits == "64"  ? 8
                                : bits == "128" ? 16
                                                : 0;
  return instruction.settings[Bytes] != 0;
}

uint64_t addressOf(const BoundInstruction &instruction, size_t operand, const uint64_t *slots) {
  const BoundInstruction::Operand &address = instruction.operands[operand];
  const uint64_t value = slots[address.first] + static_cast<uint64_t>(address.offset);
  return instruction.has("shared") || instruction.has("shared::cta") || instruction.has("shared::cluster")
             ? static_cast<uint32_t>(value)
             : value;
}

char *access(const BoundInstruction &instruction, uint64_t address, AccessKind kind) {
  const auto bytes = static_cast<uint64_t>(instruction.settings[Bytes] * instruction.settings[Elements]);
  return static_cast<char *>(checkedAccess(current(), address, bytes, bytes, kind, instruction.site));
}

bool isStrong(const BoundInstruction &instruction) {
  return instruction.has("relaxed") || instruction.has("acquire") || instruction.has("release") ||
         instruction.has("volatile") || instruction.has("mmio");
}

bool releases(const BoundInstruction &instruction) {
  return current().fencedForAll || instruction.has("release") || instruction.has("acq_rel");
}

void load(const BoundInstruction &instruction, uint64_t *slots) {
  const uint64_t address = addressOf(instruction, 1, slots);
  const char *from = access(instruction, address, isStrong(instruction) ? AccessKind::StrongRead : AccessKind::Read);
  for (int i = 0; i < instruction.settings[Elements]; ++i) {
    slots[i] = 0;
    // Of 128 bits a slot has the lower half, in which all lies that is read so: answers of cluster launch control.
    std::memcpy(slots + i, from + i * instruction.settings[Bytes],
                static_cast<size_t>(std::min(instruction.settings[Bytes], 8)));
  }
  if (isStrong(instruction))
    acquireFromOthers(current(), address);
}

void store(const BoundInstruction &instruction, uint64_t *slots) {
  const uint64_t address = addressOf(instruction, 0, slots);
  char *to = access(instruction, address, isStrong(instruction) ? AccessKind::StrongWrite : AccessKind::Write);
  if (isStrong(instruction) && releases(instruction))
    releaseToOthers(current(), address);
  const uint64_t *values = slots + instruction.operands[1].first;
  for (int i = 0; i < instruction.settings[Elements]; ++i)
    std::memcpy(to + i * instruction.settings[Bytes], values + i, static_cast<size_t>(instruction.settings[Bytes]));
}

bool decodeUpdate(BoundInstruction &instruction) {
  constexpr std::array<std::pair<std::string_view, int>, 9> names{{{"add", Add},
                                                                   {"min", Min},
                                                                   {"max", Max},
                                                                   {"and", And},
                                                                   {"or", Or},
                                                                   {"xor", Xor},
                                                                   {"exch", Exchange},
                                                                   {"cas", CompareAndSwap},
                                                                   {"inc", Increment}}};
  for (const auto &[name, operation] : names)
    if (instruction.has(name)) {
      instruction.settings[Operation] = operation;
      return decodeType(instruction);
    }
  return false;
}

template <class T> T combine(int operation, T old, T x, T compared) {
  switch (operation) {
  case Add:
    return static_cast<T>(old + x);
  case Min:
    return std::min(old, x);
  case Max:
    return std::max(old, x);
  case Exchange:
    return x;
  case CompareAndSwap:
    return old == compared ? x : old;
  default:
    break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (operation == And)
      return old & x;
    if (operation == Or)
      return old | x;
    if (operation == Xor)
      return old ^ x;
    return old >= x ? 0 : old + 1; // inc: PTX ISA, "atom"
  }
  return old;
}

template <class T> uint64_t updated(const BoundInstruction &instruction, uint64_t old, uint64_t x, uint64_t compared) {
  const auto as = [](uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  };
  const T result = combine<T>(instruction.settings[Operation], as(old), as(x), as(compared));
  uint64_t bits = 0;
  std::memcpy(&bits, &result, sizeof result);
  return bits;
}

uint64_t updateElement(const BoundInstruction &instruction, uint64_t old, uint64_t x, uint64_t compared) {
  const bool wide = instruction.settings[Bytes] == 8;
  switch (instruction.settings[Type]) {
  case Unsigned:
    return wide ? updated<uint64_t>(instruction, old, x, compared) : updated<uint32_t>(instruction, old, x, compared);
  case Signed:
    return wide ? updated<int64_t>(instruction, old, x, compared) : updated<int32_t>(instruction, old, x, compared);
  case Float:
    return wide ? updated<double>(instruction, old, x, compared) : updated<float>(instruction, old, x, compared);
  default: {
    const NarrowFormat &format = instruction.settings[Type] == Half ? f16 : bf16;
    const double sum = decode(format, old & 0xffff) + decode(format, x & 0xffff);
    return encode(format, sum);
  }
  }
}

/// The old value, of the last element. Each element of a vector is updated by itself.
template <class Bits>
uint64_t updateElements(const BoundInstruction &instruction, char *at, const uint64_t *values, uint64_t compared) {
  uint64_t old = 0;
  for (int i = 0; i < instruction.settings[Elements]; ++i)
    old = updateAtomically<Bits>(at + static_cast<size_t>(i) * sizeof(Bits), [&](Bits found) {
      return static_cast<Bits>(updateElement(instruction, found, values[i], compared));
    });
  return old;
}

uint64_t update(const BoundInstruction &instruction, char *at, const uint64_t *values, uint64_t compared) {
  switch (instruction.settings[Bytes]) {
  case 2:
    return updateElements<uint16_t>(instruction, at, values, compared);
  case 4:
    return updateElements<uint32_t>(instruction, at, values, compared);
  default:
    return updateElements<uint64_t>(instruction, at, values, compared);
  }
}

void reduce(const BoundInstruction &instruction, uint64_t *slots) {
  const uint64_t address = addressOf(instruction, 0, slots);
  char *at = access(instruction, address, AccessKind::Atomic);
  if (releases(instruction))
    releaseToOthers(current(), address);
  update(instruction, at, slots + instruction.operands[1].first, 0);
}

void atomic(const BoundInstruction &instruction, uint64_t *slots) {
  const uint64_t address = addressOf(instruction, 1, slots);
  char *at = access(instruction, address, AccessKind::Atomic);
  if (releases(instruction))
    releaseToOthers(current(), address);
  const bool compares = instruction.settings[Operation] == CompareAndSwap;
  const uint64_t compared = compares ? slots[instruction.operands[2].first] : 0;
  slots[0] = update(instruction, at, slots + instruction.operands[compares ? 3 : 2].first, compared);
  acquireFromOthers(current(), address);
}

/// Of which a cache may think what it likes.
void createPolicy(const BoundInstruction &, uint64_t *slots) { slots[0] = 0; }

constexpr Model table[] = {
    {"createpolicy.*", createPolicy}, {"ld.*", load, decodeType},       {"st.*", store, decodeType},
    {"red.*", reduce, decodeUpdate},  {"atom.*", atomic, decodeUpdate},
};

} // namespace

std::span<const Model> memoryModels() { return table; }

} // namespace tkc::emulator
