// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asynchronous products of a warpgroup. A product is issued when all its threads have come to it, and done when one of
// them waits for it: as late as can be. Until then its accumulator's registers hold numbers that stand for the results.
// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
#include "emulator/MatrixArithmetic.h"
#include "emulator/Models.h"
#include "emulator/models/MatrixOperands.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace tkc::emulator {

constexpr uint32_t groupThreads = 128;

struct Product {
  const BoundInstruction *instruction = nullptr;
  uint32_t number = 0;
  uint32_t registers = 0; ///< of the accumulator, a thread
  bool isFloat = true;
  bool accumulates = false;
  bool mnMajorA = false, mnMajorB = false;
  uint64_t a = 0, b = 0;                           ///< descriptors
  std::vector<uint32_t> accumulators;              ///< [thread][register]: operands, then results
  std::vector<std::array<uint32_t, 4>> aRegisters; ///< [thread]
  uint32_t arrived = 0;
  bool executed = false;
  uint32_t taken = 0; ///< results that were asked for; after all of them it is forgotten
  uint32_t group = 0;
  Knowledge knows;
  SiteId site = 0;
  const Thread *by = nullptr;

  uint32_t &accumulator(uint32_t thread, uint32_t i) { return accumulators[thread * registers + i]; }
};

namespace {

enum Setting { Width, Depth, TypeA, TypeB, IsInteger, AFromRegisters };

MatrixType typeA(const BoundInstruction &instruction) { return static_cast<MatrixType>(instruction.settings[TypeA]); }
MatrixType typeB(const BoundInstruction &instruction) { return static_cast<MatrixType>(instruction.settings[TypeB]); }

/// `wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16`
bool decodeProduct(BoundInstruction &instruction) {
  const std::vector<std::string_view> parts = instruction.parts();
  if (parts.size() != 8 || !parts[4].starts_with("m64n"))
    return false;
  const std::string_view shape = parts[4];
  const size_t k = shape.find('k');
  instruction.settings[Width] = std::atoi(shape.data() + 4);
  instruction.settings[Depth] = k == std::string_view::npos ? 0 : std::atoi(shape.data() + k + 1);
  instruction.settings[IsInteger] = parts[5] == "s32";
  if ((parts[5] != "f32" && parts[5] != "s32") || !readMatrixType(parts[6], instruction.settings[TypeA]) ||
      !readMatrixType(parts[7], instruction.settings[TypeB]))
    return false;
  instruction.settings[AFromRegisters] = instruction.operands[1].count == 4;
  const uint32_t bytes = bytesOf(typeA(instruction));
  return instruction.settings[Width] % 8 == 0 && instruction.settings[Width] >= 8 &&
         instruction.settings[Width] <= 256 && instruction.settings[Depth] * static_cast<int>(bytes) == 32 &&
         instruction.operands[0].count == static_cast<uint32_t>(instruction.settings[Width]) / 2;
}

// ---- numbers that stand for results: in an f32 a signalling NaN, in an i32 a number near the smallest, with the
// product's number, 1 to 32767, and the register's in the low 22 bits.

constexpr uint32_t floatMark = 0xff800000, integerMark = 0x80000000, markBits = 0xffc00000;
constexpr uint32_t numbers = 0x7fff;

/// Of the n-th product of a warpgroup.
uint32_t numberOf(uint32_t n) { return 1 + n % numbers; }

uint32_t pendingBits(const Product &product, uint32_t i) {
  return (product.isFloat ? floatMark : integerMark) | product.number << 7 | i;
}

/// The product that a number stands for, or null.
Product *productOf(Warpgroup &group, uint32_t bits, bool isFloat) {
  if ((bits & markBits) != (isFloat ? floatMark : integerMark) || (bits & ~markBits) < 1 << 7)
    return nullptr;
  const auto found = group.products.find((bits & ~markBits) >> 7);
  return found != group.products.end() && found->second->isFloat == isFloat ? found->second.get() : nullptr;
}

uint32_t take(Warpgroup &group, Product &product, uint32_t thread, uint32_t bits) {
  const uint32_t result = product.accumulator(thread, bits & 127);
  if (++product.taken == groupThreads * product.registers)
    group.products.erase(product.number);
  return result;
}

// ---- operands

std::vector<Factor> readShared(const Product &product, Block &block, uint64_t bits, uint32_t count, MatrixType type,
                               bool mnMajor, const Agent &agent) {
  const MatrixDescriptor descriptor = MatrixDescriptor::decode(bits);
  const uint32_t size = bytesOf(type), depth = 32 / size;
  const uint32_t base = block.shared.begin() - SharedMemory::reserved;
  std::vector<Factor> result(static_cast<size_t>(count) * depth);
  const uint32_t perChunk = 16 / size;
  const uint32_t stepMn = mnMajor ? perChunk : 1, stepK = mnMajor ? 1 : perChunk;
  for (uint32_t mn = 0; mn < count; mn += stepMn)
    for (uint32_t k = 0; k < depth; k += stepK) { // a chunk of 16 bytes lies together in every layout
      const uint32_t address = base + descriptor.offset(mn, k, size, mnMajor);
      checkedAsyncAccess(block.cluster, address, 16, AccessKind::Read, agent, *product.by);
      for (uint32_t i = 0; i < perChunk; ++i) {
        uint32_t element = 0;
        std::memcpy(&element, reinterpret_cast<const char *>(static_cast<uint64_t>(address)) + i * size, size);
        result[(mn + (mnMajor ? i : 0)) * depth + k + (mnMajor ? 0 : i)] = decodeFactor(type, element);
      }
    }
  return result;
}

std::vector<Factor> readRegisters(const Product &product, MatrixType type) {
  const uint32_t size = bytesOf(type), depth = 32 / size;
  std::vector<Factor> result(size_t(64) * depth);
  for (uint32_t thread = 0; thread < groupThreads; ++thread)
    for (uint32_t i = 0; i < 16 / size; ++i) {
      const Place place = operandPlace(thread, i, size);
      uint32_t element = 0;
      std::memcpy(&element, reinterpret_cast<const char *>(product.aRegisters[thread].data()) + i * size, size);
      result[place.row * depth + place.col] = decodeFactor(type, element);
    }
  return result;
}

void execute(Product &product, Block &block, Warpgroup &group) {
  const BoundInstruction &instruction = *product.instruction;
  const Agent agent{product.knows, {group.component, product.group}, true, product.site};
  const auto width = static_cast<uint32_t>(instruction.settings[Width]);
  const std::vector<Factor> a =
      instruction.settings[AFromRegisters]
          ? readRegisters(product, typeA(instruction))
          : readShared(product, block, product.a, 64, typeA(instruction), product.mnMajorA, agent);
  const std::vector<Factor> b =
      readShared(product, block, product.b, width, typeB(instruction), product.mnMajorB, agent);
  const auto depth = static_cast<uint32_t>(instruction.settings[Depth]);
  const Summation summation = wgmmaSummation(typeA(instruction));
  if (block.cluster.counters)
    block.cluster.counters->product(uint64_t(64) * width * depth);
  for (uint32_t thread = 0; thread < groupThreads; ++thread)
    for (uint32_t i = 0; i < product.registers; ++i) {
      uint32_t &accumulator = product.accumulator(thread, i);
      if (Product *source = productOf(group, accumulator, product.isFloat))
        accumulator = take(group, *source, thread, accumulator);
      const Place place = accumulatorPlace(thread, i);
      const Factor *row = a.data() + place.row * depth, *col = b.data() + place.col * depth;
      const uint32_t start = product.accumulates ? accumulator : 0;
      if (product.isFloat) {
        accumulator = std::bit_cast<uint32_t>(sumOfProducts(row, col, depth, std::bit_cast<float>(start), summation));
      } else {
        uint32_t sum = start;
        for (uint32_t k = 0; k < depth; ++k)
          sum += static_cast<uint32_t>(row[k].mantissa * col[k].mantissa);
        accumulator = sum;
      }
    }
  product.executed = true;
}

/// In the order of issue, up to the n-th.
void executeUpTo(Thread &thread, uint32_t n) {
  Block &block = *thread.block;
  Warpgroup &group = block.warpgroups[thread.index / groupThreads];
  while (group.executed < n) {
    const std::shared_ptr<Product> product = group.products.at(numberOf(group.executed));
    if (product->arrived < groupThreads) {
      block.cluster.wait(group.waiting,
                         [] { return std::string("the other threads of its warpgroup to issue a product"); });
      continue;
    }
    ++group.executed;
    execute(*product, block, group);
  }
}

void checkDescriptor(const BoundInstruction &instruction, uint64_t bits) {
  const MatrixDescriptor descriptor = MatrixDescriptor::decode(bits);
  if (descriptor.base != 0)
    reportError(instruction.site,
                fmt::format("a matrix descriptor ({:#018x}) with a base offset, which has no model", bits));
  if (!descriptor.beginsInAtom())
    reportError(instruction.site, fmt::format("misaligned: an operand at byte {} of shared memory, in the middle of a "
                                              "swizzle atom of {} bytes",
                                              descriptor.start, 8 * descriptor.swizzle));
}

// ---- instructions

void checkRegistersFenced(const Thread &thread, const BoundInstruction &instruction) {
  if (!thread.registersFenced)
    reportError(instruction.site, "a product whose registers were touched without a `wgmma.fence` since");
}

/// `{accumulators}, a, b, accumulate, scaleA, scaleB, transposeA, transposeB`
void issue(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  Block &block = *thread.block;
  Warpgroup &group = block.warpgroups[thread.index / groupThreads];
  const uint32_t number = numberOf(thread.productsIssued);
  const bool fromRegisters = instruction.settings[AFromRegisters] != 0;
  std::shared_ptr<Product> &product = group.products[number];
  if (!product || product->executed) {
    product = std::make_shared<Product>();
    product->instruction = &instruction;
    product->number = number;
    product->registers = instruction.operands[0].count;
    product->isFloat = !instruction.settings[IsInteger];
    product->accumulators.resize(static_cast<size_t>(groupThreads) * product->registers);
    product->aRegisters.resize(groupThreads);
    product->group = static_cast<uint32_t>(thread.productGroups.size()) + 1;
    product->site = instruction.site;
    product->by = &thread;
    product->a = slots[instruction.operands[1].first];
    product->b = slots[instruction.operands[2].first];
    product->accumulates = slots[instruction.operands[3].first] != 0;
    const auto flag = [&](size_t operand) {
      return operand < instruction.operands.size() && slots[instruction.operands[operand].first] != 0;
    };
    product->mnMajorA = !fromRegisters && flag(6);
    product->mnMajorB = flag(fromRegisters ? 6 : 7);
    checkDescriptor(instruction, product->b);
    if (!fromRegisters)
      checkDescriptor(instruction, product->a);
  }
  if (product->instruction != &instruction || product->b != slots[instruction.operands[2].first] ||
      (!fromRegisters && product->a != slots[instruction.operands[1].first]) ||
      product->accumulates != (slots[instruction.operands[3].first] != 0))
    reportError(instruction.site, "the threads of a warpgroup issue different products");
  for (size_t i = 4; i < std::min<size_t>(instruction.operands.size(), 6); ++i)
    if (static_cast<int64_t>(slots[instruction.operands[i].first]) != 1)
      reportError(instruction.site, "a product with a negated operand has no model");
  const uint32_t index = thread.index % groupThreads;
  bool touched = fromRegisters;
  for (uint32_t i = 0; i < product->registers; ++i) {
    product->accumulator(index, i) = static_cast<uint32_t>(slots[i]);
    touched |= product->accumulates && !productOf(group, static_cast<uint32_t>(slots[i]), product->isFloat);
    slots[i] = pendingBits(*product, i);
  }
  if (touched)
    checkRegistersFenced(thread, instruction);
  for (size_t i = 0; fromRegisters && i < 4; ++i)
    product->aRegisters[index][i] = static_cast<uint32_t>(slots[instruction.operands[1].first + i]);
  release(thread, product->knows);
  ++thread.productsIssued;
  if (++product->arrived == groupThreads)
    block.cluster.wake(group.waiting);
}

void fence(const BoundInstruction &, uint64_t *) { current().registersFenced = true; }

void commit(const BoundInstruction &, uint64_t *) {
  Thread &thread = current();
  thread.productGroups.push_back(thread.productsIssued);
}

void waitForGroups(const BoundInstruction &, uint64_t *slots) {
  Thread &thread = current();
  const auto inFlight = static_cast<size_t>(slots[0]);
  if (thread.productGroups.size() <= inFlight)
    return;
  const size_t finished = thread.productGroups.size() - inFlight;
  executeUpTo(thread, thread.productGroups[finished - 1]);
  thread.productsWaited = std::max(thread.productsWaited, thread.productGroups[finished - 1]);
  thread.knows.happened.raise(thread.block->warpgroups[thread.index / groupThreads].component,
                              static_cast<uint32_t>(finished));
}

constexpr Model table[] = {
    {"wgmma.mma_async.sync.aligned.*", issue, decodeProduct},
    {"wgmma.fence.sync.aligned", fence},
    {"wgmma.commit_group.sync.aligned", commit},
    {"wgmma.wait_group.sync.aligned", waitForGroups},
};

/// Whether the thread has waited for the product.
bool isWaitedFor(const Thread &thread, const Product &product) {
  // Numbers come round; the latest products are meant.
  const uint32_t back = (numberOf(thread.productsIssued) + numbers - product.number) % numbers;
  return product.executed && thread.productsIssued - back < thread.productsWaited;
}

} // namespace

std::span<const Model> wgmmaModels() { return table; }

uint32_t resolvePending(Thread &thread, uint32_t bits, bool isFloat) {
  if (standsForLoad(thread, bits))
    return resolveLoad(thread, bits);
  Warpgroup &group = thread.block->warpgroups[thread.index / groupThreads];
  Product *product = productOf(group, bits, isFloat);
  if (product && !isWaitedFor(thread, *product))
    return bits;
  thread.registersFenced = false; // an ordinary value from here on
  return product ? take(group, *product, thread.index % groupThreads, bits) : bits;
}

uint32_t useValue(Thread &thread, uint32_t bits, bool isFloat, SiteId site) {
  if (standsForLoad(thread, bits))
    return useLoad(thread, bits, site);
  Warpgroup &group = thread.block->warpgroups[thread.index / groupThreads];
  Product *product = productOf(group, bits, isFloat);
  if (!product)
    return bits;
  if (!isWaitedFor(thread, *product))
    reportError(site, fmt::format("uses an accumulator before its product was waited for, which was issued at {}",
                                  thread.block->cluster.launch.sites->describe(product->site)));
  return product->accumulator(thread.index % groupThreads, bits & 127);
}

} // namespace tkc::emulator
