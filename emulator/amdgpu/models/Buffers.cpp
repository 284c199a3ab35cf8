// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory through a descriptor that knows where it ends, and loads that go straight to LDS. Source: "AMD Instinct MI300
// ISA": "Buffer Addressing", "Range Checking", "Memory Buffer Load to LDS"; LLVM's IntrinsicsAMDGPU.td.
#include "emulator/Formats.h"
#include "emulator/amdgpu/WaveModels.h"
#include "emulator/models/AtomicUpdate.h"

#include <fmt/core.h>

#include <compare>
#include <mutex>
#include <set>

namespace tkc::emulator {
namespace {

/// A descriptor without stride; `bytes` is its number of records.
struct Descriptor {
  uint64_t base;
  uint64_t bytes;
  uint32_t stride;
  uint32_t flags;
  friend auto operator<=>(const Descriptor &, const Descriptor &) = default;
};

/// Descriptors live as long as the process: pointers of the hardware's 128 bits are addresses of these.
const Descriptor *intern(const Descriptor &descriptor) {
  static std::mutex mutex;
  static std::set<Descriptor> known;
  thread_local const Descriptor *latest = nullptr; // all lanes ask for the same one after another
  if (latest && *latest == descriptor)
    return latest;
  const std::lock_guard lock(mutex);
  return latest = &*known.insert(descriptor).first;
}

/// `base, stride, records, flags`
void makeDescriptor(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  const uint64_t records =
      instruction.operands[2].bytes == 8 ? instruction.get<uint64_t>(slots, 2) : instruction.get<uint32_t>(slots, 2);
  instruction.set(slots, intern({instruction.get<uint64_t>(slots, 0), records, instruction.get<uint16_t>(slots, 1),
                                 instruction.get<uint32_t>(slots, 3)}));
}

Descriptor fromWords(const uint32_t *words) {
  return {words[0] | uint64_t(words[1] & 0xffff) << 32, words[2], words[1] >> 16 & 0x3fff, words[3]};
}

void makeDescriptorOfBits(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  uint32_t words[4];
  std::memcpy(words, slots + instruction.operands[0].offset, sizeof words);
  instruction.set(slots, intern(fromWords(words)));
}

/// Operand `i`: the address of a descriptor, or its four words.
Descriptor descriptorOf(const WaveInstruction &instruction, const std::byte *slots, size_t i) {
  Descriptor descriptor;
  if (instruction.operands[i].bytes == 16) {
    uint32_t words[4];
    std::memcpy(words, slots + instruction.operands[i].offset, sizeof words);
    descriptor = fromWords(words);
  } else {
    const auto *at = instruction.get<const Descriptor *>(slots, i);
    if (!at)
      reportError(instruction.site, "a buffer without a descriptor");
    descriptor = *at;
  }
  if (descriptor.stride != 0)
    reportError(instruction.site, "a buffer whose descriptor has a stride, which has no model");
  return descriptor;
}

/// The bytes that an access finds, from offset `at`; null if it is out of range. Words are judged one by one.
void *inRange(const WaveInstruction &instruction, Thread &thread, const Descriptor &buffer, uint64_t at, uint32_t size,
              AccessKind kind) {
  if (at >= buffer.bytes)
    return nullptr;
  if (at + size > buffer.bytes)
    reportError(instruction.site,
                fmt::format("an access of {} bytes at byte {} of a buffer that ends at {}", size, at, buffer.bytes));
  return checkedAccess(thread, buffer.base + at, size, 1, kind, instruction.site);
}

uint64_t offsetOf(const WaveInstruction &instruction, const std::byte *slots, size_t vectorOffset) {
  return uint64_t(instruction.get<uint32_t>(slots, vectorOffset)) + instruction.get<uint32_t>(slots, vectorOffset + 1);
}

template <class F> void forEachWord(uint32_t bytes, F function) {
  for (uint32_t i = 0; i < bytes; i += 4)
    function(i, std::min(bytes - i, 4u));
}

/// `descriptor, vector offset, scalar offset, cache policy`
void load(const WaveInstruction &instruction, Thread &thread, std::byte *slots) {
  const Descriptor buffer = descriptorOf(instruction, slots, 0);
  const uint64_t at = offsetOf(instruction, slots, 1);
  std::byte *to = slots + instruction.result.offset;
  std::byte data[64] = {};
  forEachWord(instruction.result.bytes, [&](uint32_t i, uint32_t size) {
    if (const void *from = inRange(instruction, thread, buffer, at + i, size, AccessKind::Read))
      std::memcpy(data + i, from, size);
  });
  std::memcpy(to, data, instruction.result.bytes);
}

/// `data, descriptor, vector offset, scalar offset, cache policy`
void store(const WaveInstruction &instruction, Thread &thread, std::byte *slots) {
  const Descriptor buffer = descriptorOf(instruction, slots, 1);
  const uint64_t at = offsetOf(instruction, slots, 2);
  const std::byte *from = slots + instruction.operands[0].offset;
  forEachWord(instruction.operands[0].bytes, [&](uint32_t i, uint32_t size) {
    if (void *to = inRange(instruction, thread, buffer, at + i, size, AccessKind::Write))
      std::memcpy(to, from + i, size);
  });
}

bool isOfAtMost16Bytes(WaveInstruction &instruction) { return instruction.result.bytes <= 16; }

// ---- atomics

enum class Update : uint8_t { AddFloat, AddInteger, Exchange, MinSigned, MaxSigned, MinUnsigned, MaxUnsigned, And, Or };

bool decodeAtomic(WaveInstruction &instruction) {
  constexpr std::pair<std::string_view, Update> names[] = {
      {"fadd", Update::AddFloat},    {"add", Update::AddInteger}, {"swap", Update::Exchange},
      {"smin", Update::MinSigned},   {"smax", Update::MaxSigned}, {"umin", Update::MinUnsigned},
      {"umax", Update::MaxUnsigned}, {"and", Update::And},        {"or", Update::Or}};
  const std::string_view name = std::string_view(instruction.name).substr(instruction.name.rfind('.') + 1);
  for (const auto &[known, update] : names)
    if (known == name) {
      instruction.settings[0] = static_cast<int>(update);
      const uint32_t bytes = instruction.result.bytes;
      return bytes == 4 || bytes == 8;
    }
  return false;
}

uint32_t addHalves(uint32_t x, uint32_t y, const NarrowFormat &format) {
  uint32_t sum = 0;
  for (int shift : {0, 16})
    sum |= encode(format, decode(format, x >> shift & 0xffff) + decode(format, y >> shift & 0xffff)) << shift;
  return sum;
}

uint64_t addFloats(const WaveInstruction &instruction, uint64_t x, uint64_t y) {
  const uint32_t a = static_cast<uint32_t>(x), b = static_cast<uint32_t>(y);
  switch (instruction.result.elementBits) {
  case 64:
    return std::bit_cast<uint64_t>(std::bit_cast<double>(x) + std::bit_cast<double>(y));
  case 32:
    return std::bit_cast<uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
  default:
    return addHalves(a, b, instruction.result.isBfloat ? bf16 : f16);
  }
}

uint64_t updated(const WaveInstruction &instruction, uint64_t x, uint64_t y) {
  const bool isWide = instruction.result.bytes == 8;
  const auto sign = [isWide](uint64_t v) { return isWide ? static_cast<int64_t>(v) : static_cast<int32_t>(v); };
  switch (static_cast<Update>(instruction.settings[0])) {
  case Update::AddFloat:
    return addFloats(instruction, x, y);
  case Update::AddInteger:
    return x + y;
  case Update::Exchange:
    return y;
  case Update::MinSigned:
    return sign(x) < sign(y) ? x : y;
  case Update::MaxSigned:
    return sign(x) > sign(y) ? x : y;
  case Update::MinUnsigned:
    return std::min(x, y);
  case Update::MaxUnsigned:
    return std::max(x, y);
  case Update::And:
    return x & y;
  case Update::Or:
    return x | y;
  }
  return x;
}

template <class Word> Word update(const WaveInstruction &instruction, void *memory, Word operand) {
  return updateAtomically<Word>(memory, [&](Word old) { return updated(instruction, old, operand); });
}

/// `data, descriptor, vector offset, scalar offset, cache policy`; all of it is in range or nothing.
void atomicUpdate(const WaveInstruction &instruction, Thread &thread, std::byte *slots) {
  const Descriptor buffer = descriptorOf(instruction, slots, 1);
  const uint64_t at = offsetOf(instruction, slots, 2);
  const uint32_t bytes = instruction.result.bytes;
  void *memory =
      at + bytes > buffer.bytes ? nullptr : inRange(instruction, thread, buffer, at, bytes, AccessKind::Atomic);
  if (bytes == 4)
    instruction.set<uint32_t>(slots,
                              memory ? update<uint32_t>(instruction, memory, instruction.get<uint32_t>(slots, 0)) : 0);
  else
    instruction.set<uint64_t>(slots,
                              memory ? update<uint64_t>(instruction, memory, instruction.get<uint64_t>(slots, 0)) : 0);
}

// ---- loads to LDS

bool hasLoadSize(const WaveInstruction &instruction, size_t operand) {
  const int64_t size = instruction.constant(operand);
  return size == 4 || (size == 16 && instruction.gpu == Cdna::Cdna4);
}

bool decodeBufferToLds(WaveInstruction &instruction) { return hasLoadSize(instruction, 2); }
bool decodeGlobalToLds(WaveInstruction &instruction) { return hasLoadSize(instruction, 2); }

/// Lane i writes `size` bytes at `base` + i · size, when it can be late no longer. Null: zeros.
void startLoad(const WaveInstruction &instruction, Thread &thread, uint32_t base, uint32_t size,
               std::array<const void *, 4> words) {
  WaveBlock &waves = *thread.block->waves;
  uint32_t number = 0;
  WaveLoad &load = waves.load(instruction.site, base, number);
  const uint32_t to = base + WaveBlock::laneOf(thread) * size;
  if (to % 4 != 0)
    reportError(instruction.site,
                fmt::format("misaligned: a load to byte {} of LDS", to - thread.block->shared.begin()));
  const Epoch epoch{waves.waveOf(thread).component, number};
  const auto knows = std::make_shared<Knowledge>();
  release(thread, *knows);
  const auto run = [&thread, knows, epoch, to, size, words, site = instruction.site] {
    checkedAsyncAccess(thread.block->cluster, to, size, AccessKind::Write, {*knows, epoch, false, site}, thread);
    for (uint32_t i = 0; i < size / 4; ++i)
      if (words[i])
        std::memcpy(reinterpret_cast<void *>(uint64_t(to) + 4 * i), words[i], 4);
      else
        std::memset(reinterpret_cast<void *>(uint64_t(to) + 4 * i), 0, 4);
  };
  load.effects.push_back(thread.block->cluster.start(run));
}

/// `descriptor, LDS, size, vector offset, scalar offset, offset of both, cache policy`
void loadBufferToLds(const WaveInstruction &instruction, Thread &thread, std::byte *slots) {
  const Descriptor buffer = descriptorOf(instruction, slots, 0);
  const auto size = static_cast<uint32_t>(instruction.constant(2));
  const auto offset = static_cast<uint32_t>(instruction.constant(5));
  const uint64_t at = offsetOf(instruction, slots, 3) + offset;
  std::array<const void *, 4> words{};
  for (uint32_t i = 0; i < size / 4; ++i)
    words[i] = inRange(instruction, thread, buffer, at + 4 * i, 4, AccessKind::Read);
  startLoad(instruction, thread, instruction.get<uint32_t>(slots, 1) + offset, size, words);
}

/// `address, LDS, size, offset of both, cache policy`
void loadGlobalToLds(const WaveInstruction &instruction, Thread &thread, std::byte *slots) {
  const auto size = static_cast<uint32_t>(instruction.constant(2));
  const auto offset = static_cast<uint32_t>(instruction.constant(3));
  const char *from = static_cast<const char *>(
      checkedAccess(thread, instruction.get<uint64_t>(slots, 0) + offset, size, 4, AccessKind::Read, instruction.site));
  std::array<const void *, 4> words{};
  for (uint32_t i = 0; i < size / 4; ++i)
    words[i] = from + 4 * i;
  startLoad(instruction, thread, instruction.get<uint32_t>(slots, 1) + offset, size, words);
}

constexpr WaveModel table[] = {
    {"make.buffer.rsrc", makeDescriptor},
    {"make.buffer.rsrc.bits", makeDescriptorOfBits},
    {"raw.ptr.buffer.load", load, nullptr, isOfAtMost16Bytes},
    {"raw.buffer.load", load, nullptr, isOfAtMost16Bytes},
    {"raw.ptr.buffer.store", store},
    {"raw.buffer.store", store},
    {"raw.ptr.buffer.atomic.*", atomicUpdate, nullptr, decodeAtomic},
    {"raw.buffer.atomic.*", atomicUpdate, nullptr, decodeAtomic},
    {"raw.ptr.buffer.load.lds", loadBufferToLds, nullptr, decodeBufferToLds},
    {"raw.buffer.load.lds", loadBufferToLds, nullptr, decodeBufferToLds},
    {"global.load.lds", loadGlobalToLds, nullptr, decodeGlobalToLds},
    {"load.to.lds", loadGlobalToLds, nullptr, decodeGlobalToLds},
};

} // namespace

std::span<const WaveModel> bufferWaveModels() { return table; }

} // namespace tkc::emulator
