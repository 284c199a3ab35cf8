// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of data-centre Blackwell. What one thread issues is done in order, when a commit of it is asked for: as late
// as can be. (The ISA promises that order for products of one shape and accumulator; public kernels rely on more.)
// Source: PTX ISA, "tcgen05.mma", "tcgen05.commit".
#include "emulator/Formats.h"
#include "emulator/MatrixArithmetic.h"
#include "emulator/models/Barriers.h"
#include "emulator/models/TensorOperands.h"
#include "emulator/models/TensorScales.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace tkc::emulator {

TensorQueue &queueOf(Thread &thread) {
  if (!thread.tensorQueue)
    thread.tensorQueue = std::make_shared<TensorQueue>(thread.block->cluster.newComponent());
  return *thread.tensorQueue;
}

TensorOperation nextOperation(Thread &thread, SiteId site) {
  TensorQueue &queue = queueOf(thread);
  TensorOperation operation{&thread, site, {queue.component, queue.issued + 1}, {}, thread.tensorOrder};
  release(thread, operation.knows);
  return operation;
}

void enqueue(Thread &thread, const TensorOperation &operation, std::function<void()> run) {
  TensorQueue &queue = queueOf(thread);
  queue.knows = operation.knows;
  queue.site = operation.site;
  ++queue.issued;
  queue.operations.push_back(std::move(run));
}

namespace {

enum Setting { Blocks, Kind, LeftInTensor, DisableLanes, Enable, ScaleInput, ScalesPerRow };

constexpr std::array<std::pair<std::string_view, TensorKind>, 7> kinds{{{"kind::f16", TensorKind::F16},
                                                                        {"kind::tf32", TensorKind::TF32},
                                                                        {"kind::f8f6f4", TensorKind::F8F6F4},
                                                                        {"kind::i8", TensorKind::I8},
                                                                        {"kind::mxf8f6f4", TensorKind::MXF8F6F4},
                                                                        {"kind::mxf4", TensorKind::MXF4},
                                                                        {"kind::mxf4nvf4", TensorKind::MXF4NVF4}}};

/// Of `.block_scale` with or without what follows it: how many scale factors a row has along k; 0: no such form.
int readScalesPerRow(TensorKind kind, std::string_view size) {
  if (kind == TensorKind::MXF8F6F4)
    return size.empty() || size == "scale_vec::1X" || size == "block32" ? 1 : 0;
  if (size == "scale_vec::2X" || size == "block32" || (size.empty() && kind == TensorKind::MXF4))
    return 2;
  return kind == TensorKind::MXF4NVF4 && (size == "scale_vec::4X" || size == "block16") ? 4 : 0;
}

/// `tcgen05.mma.cta_group::1.kind::f16 [d], a, b, instruction{, {disabled lanes}}, enable{, scale of d}`, and
/// `….kind::mxf4.block_scale [d], a, b, instruction, [scales of a], [scales of b], enable`; a may be `[a]`, in tensor
/// memory.
bool decodeProduct(BoundInstruction &instruction) {
  const std::vector<std::string_view> parts = instruction.parts();
  instruction.settings[Blocks] = readBlocksTogether(instruction);
  const auto *found = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const auto &kind) { return parts.size() > 3 && parts[3] == kind.first; });
  const size_t count = instruction.operands.size();
  if (instruction.settings[Blocks] == 0 || found == kinds.end() || count < 5)
    return false;
  const TensorKind kind = found->second;
  instruction.settings[Kind] = static_cast<int>(kind);
  instruction.settings[LeftInTensor] = instruction.operands[1].isAddress;
  instruction.settings[DisableLanes] = instruction.settings[ScaleInput] = -1;
  if (isBlockScaled(kind)) {
    if (parts.size() < 5 || parts.size() > 6 || parts[4] != "block_scale" || count != 7)
      return false;
    instruction.settings[Enable] = 6;
    instruction.settings[ScalesPerRow] = readScalesPerRow(kind, parts.size() == 6 ? parts[5] : "");
    return instruction.settings[ScalesPerRow] != 0;
  }
  const bool disables = instruction.operands[4].count > 1;
  instruction.settings[DisableLanes] = disables ? 4 : -1;
  const size_t enable = disables ? 5 : 4;
  instruction.settings[Enable] = static_cast<int>(enable);
  instruction.settings[ScaleInput] = count == enable + 2 ? static_cast<int>(enable) + 1 : -1;
  return parts.size() == 4 && (count == enable + 1 || count == enable + 2);
}

std::optional<MatrixType> operandType(TensorKind kind, uint32_t code) {
  switch (kind) {
  case TensorKind::F16:
    return code == 0 ? MatrixType::F16 : MatrixType::BF16;
  case TensorKind::TF32:
    return MatrixType::TF32;
  case TensorKind::I8:
    return code == 0 ? MatrixType::U8 : MatrixType::I8;
  case TensorKind::F8F6F4:
  case TensorKind::MXF8F6F4:
    return code == 0   ? std::optional(MatrixType::F8E4M3)
           : code == 1 ? std::optional(MatrixType::F8E5M2)
           : code == 3 ? std::optional(MatrixType::F6E2M3)
           : code == 4 ? std::optional(MatrixType::F6E3M2)
                       : std::nullopt;
  case TensorKind::MXF4:
  case TensorKind::MXF4NVF4:
    return MatrixType::F4E2M1;
  }
  return std::nullopt;
}

/// `bits` bits from bit `first` on.
uint32_t fieldOf(const uint8_t *bytes, uint32_t first, uint32_t bits) {
  uint64_t word = 0;
  std::memcpy(&word, bytes + first / 8, bits > 8 ? 4 : 2);
  return static_cast<uint32_t>(word >> first % 8 & ((1ull << bits) - 1));
}

/// One product, as it was issued.
struct TensorProduct {
  TensorKind kind;
  TensorInstruction shape;
  MatrixType typeA, typeB;
  std::vector<Block *> blocks;
  uint64_t a, b; ///< descriptors, or a's address in tensor memory
  bool leftInTensor;
  TensorAddress d;
  bool accumulates;
  int inputScale; ///< the accumulator is divided by so many powers of two
  std::array<uint32_t, 8> disabled;
  TensorScales scalesA, scalesB; ///< of block-scaled kinds
  TensorOperation operation;

  uint32_t depth() const { return depthOf(kind); }
  uint32_t rows() const { return shape.m / static_cast<uint32_t>(blocks.size()); } ///< of a block
  DataPath path() const { return dataPath(rows(), static_cast<uint32_t>(blocks.size())); }
  TensorAgent tensorAgent() const { return operation.tensorAgent(); }

  /// [mn][k] of `count` rows that a block has in shared memory, added to `result`. Two elements of 4 bits are a byte;
  /// 16 of 6 bits are 12 of a chunk's 16 bytes.
  void readShared(Block &block, uint64_t descriptorBits, uint32_t count, MatrixType type, bool mnMajor,
                  std::vector<Factor> &result) const {
    const TensorDescriptor descriptor = TensorDescriptor::decode(descriptorBits);
    const uint32_t bits = operandBits(kind), perChunk = 128 / bits, stored = isFloat6(type) ? 6 : bits;
    const uint32_t base = block.shared.begin() - SharedMemory::reserved;
    const size_t first = result.size();
    result.resize(first + size_t(count) * depth());
    const uint32_t stepMn = mnMajor ? perChunk : 1, stepK = mnMajor ? 1 : perChunk;
    for (uint32_t mn = 0; mn < count; mn += stepMn)
      for (uint32_t k = 0; k < depth(); k += stepK) { // a chunk of 16 bytes lies together in every layout
        const uint32_t address =
            base + descriptor.offset(mn, bits < 8 ? k * bits / 8 : k, std::max(bits / 8, 1u), mnMajor);
        const uint32_t bytes = perChunk * stored / 8;
        checkedAsyncAccess(block.cluster, address, bytes, AccessKind::Read, operation.sharedAgent(), *operation.by);
        uint8_t chunk[17] = {}; // fields of a byte or less are read with the byte after them
        std::memcpy(chunk, reinterpret_cast<const void *>(static_cast<uint64_t>(address)), bytes);
        for (uint32_t i = 0; i < perChunk && mn + (mnMajor ? i : 0) < count; ++i)
          result[first + (mn + (mnMajor ? i : 0)) * depth() + k + (mnMajor ? 0 : i)] =
              decodeFactor(type, fieldOf(chunk, i * stored, stored));
      }
  }

  std::vector<Factor> readLeftFromTensor(Block &block) const {
    const TensorAddress at(a);
    const uint32_t bits = operandBits(kind), mask = bits == 32 ? ~0u : (1u << bits) - 1;
    forEachGroup(at.lane, [&](uint32_t group) {
      checkTensorAccess(block, group, at.column, depth() * bits / 32, 0xffff, AccessKind::Read, tensorAgent());
    });
    std::vector<Factor> result(size_t(rows()) * depth());
    for (uint32_t row = 0; row < rows(); ++row)
      for (uint32_t k = 0; k < depth(); ++k) {
        const TensorPlace place = leftOperandPlace(path(), row, k, bits);
        const uint32_t word = block.tensor.word((at.lane + place.lane) % TensorMemory::lanes, at.column + place.column);
        result[row * depth() + k] = decodeFactor(typeA, word >> place.bit & mask);
      }
    return result;
  }

  /// Calls f(group) for the groups of 16 lanes that the rows of a block lie in, from `lane` on.
  template <class F> void forEachGroup(uint32_t lane, F f) const {
    const uint32_t step = path() == DataPath::Quarters ? 2 : 1;
    for (uint32_t group = lane / TensorMemory::groupLanes; group < TensorMemory::groups; group += step)
      f(group);
  }

  bool isDisabled(uint32_t lane, uint32_t block) const { return disabled[block * 4 + lane / 32] >> (lane % 32) & 1; }

  void checkAccumulator(Block &block, uint32_t number) const {
    const uint32_t width = path() == DataPath::Folded ? shape.n / 2 : shape.n;
    forEachGroup(d.lane, [&](uint32_t group) {
      const uint32_t mask = ~(disabled[number * 4 + group / 2] >> (group % 2 * TensorMemory::groupLanes)) & 0xffff;
      if (mask == 0)
        return;
      if (accumulates)
        checkTensorAccess(block, group, d.column, width, mask, AccessKind::Read, tensorAgent());
      checkTensorAccess(block, group, d.column, width, mask, AccessKind::Write, tensorAgent());
    });
  }

  uint32_t element(const Factor *row, const Factor *col, uint32_t before) const {
    if (kind == TensorKind::I8) {
      int64_t sum = accumulates ? static_cast<int32_t>(before) : 0;
      for (uint32_t k = 0; k < depth(); ++k)
        sum += int64_t(row[k].mantissa) * col[k].mantissa;
      if (shape.saturates)
        sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      return static_cast<uint32_t>(sum);
    }
    const bool isHalf = shape.typeD == 0;
    float start = 0;
    if (accumulates)
      start = isHalf ? static_cast<float>(decode(f16, before & 0xffff)) : std::bit_cast<float>(before);
    if (inputScale != 0)
      start = std::ldexp(start, -inputScale);
    const float sum = sumOfProducts(row, col, depth(), start, tensorSummation());
    return isHalf ? encode(f16, sum) : std::bit_cast<uint32_t>(sum);
  }

  void execute() const {
    std::vector<Factor> right;
    const auto count = static_cast<uint32_t>(blocks.size());
    for (Block *block : blocks)
      readShared(*block, b, shape.n / count, typeB, shape.mnMajorB, right);
    negate(right, shape.negateB);
    if (std::optional<ClusterCounters> &counters = blocks.front()->cluster.counters)
      counters->product(uint64_t(shape.m) * shape.n * depth());
    for (uint32_t number = 0; number < count; ++number) {
      Block &block = *blocks[number];
      std::vector<Factor> left;
      if (leftInTensor)
        left = readLeftFromTensor(block);
      else
        readShared(block, a, rows(), typeA, shape.mnMajorA, left);
      negate(left, shape.negateA);
      std::vector<Factor> scaledRight;
      if (isBlockScaled(kind)) {
        applyScales(block, scalesA, rows(), depth(), operation, left);
        scaledRight = right;
        applyScales(block, scalesB, shape.n, depth(), operation, scaledRight);
      }
      const Factor *columns = isBlockScaled(kind) ? scaledRight.data() : right.data();
      checkAccumulator(block, number);
      for (uint32_t row = 0; row < rows(); ++row)
        for (uint32_t col = 0; col < shape.n; ++col) {
          const TensorPlace place = accumulatorPlace(path(), shape.n, row, col);
          const uint32_t lane = (d.lane + place.lane) % TensorMemory::lanes;
          if (isDisabled(lane, number))
            continue;
          uint32_t &word = block.tensor.word(lane, d.column + place.column);
          word = element(left.data() + row * depth(), columns + col * depth(), word);
        }
    }
  }

  static void negate(std::vector<Factor> &factors, bool negates) {
    if (!negates)
      return;
    for (Factor &factor : factors)
      factor.mantissa = -factor.mantissa, factor.value = -factor.value;
  }
};

void checkLanes(const TensorProduct &product, TensorAddress at, const char *what) {
  const bool quarters = product.path() == DataPath::Quarters;
  if (at.lane != 0 && !(quarters && at.lane == 16))
    reportError(product.operation.site, fmt::format("misaligned: {} at lane {} of tensor memory", what, at.lane));
}

void checkScales(const TensorProduct &product, int perRow) {
  for (const TensorScales *scales : {&product.scalesA, &product.scalesB}) {
    if (scales->address.lane != 0)
      reportError(product.operation.site,
                  fmt::format("misaligned: scale factors at lane {} of tensor memory", scales->address.lane));
    if (scales->firstByte % static_cast<uint32_t>(perRow) != 0)
      reportError(product.operation.site, fmt::format("an instruction descriptor with scale factors from byte {} of a "
                                                      "column on, of which a row has {}",
                                                      scales->firstByte, perRow));
    if (!scales->isPowerOfTwo && perRow != 4)
      reportError(product.operation.site, "scale factors of type ue4m3, which only `mxf4nvf4` in blocks of 16 has");
  }
}

void issue(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  const auto blocks = static_cast<uint32_t>(instruction.settings[Blocks]);
  const auto kind = static_cast<TensorKind>(instruction.settings[Kind]);
  const auto slot = [&](int operand) { return slots[instruction.operands[static_cast<size_t>(operand)].first]; };
  const auto address = [&](int operand) {
    return slot(operand) + static_cast<uint64_t>(instruction.operands[static_cast<size_t>(operand)].offset);
  };
  checkBlocksTogether(thread, instruction.settings[Blocks], instruction.site);
  if (thread.block->cluster.launch.options->architecture == 103 && kind == TensorKind::I8)
    reportError(instruction.site, "a product of `kind::i8`, which sm_103a does not have");
  const auto bits = static_cast<uint32_t>(slot(3));
  if (const std::string fault = TensorInstruction::fault(bits, kind, blocks); !fault.empty())
    reportError(instruction.site, fault);
  const TensorInstruction shape = TensorInstruction::decode(bits, kind);
  if (isBlockScaled(kind) && shape.m < 128 * blocks)
    reportError(instruction.site, "a block-scaled product of 64 rows in each block of a pair, which has no model");
  const bool leftInTensor = instruction.settings[LeftInTensor] != 0;
  if (!leftInTensor)
    if (const std::string fault = TensorDescriptor::fault(slot(1), shape.mnMajorA); !fault.empty())
      reportError(instruction.site, fault);
  if (const std::string fault = TensorDescriptor::fault(slot(2), shape.mnMajorB); !fault.empty())
    reportError(instruction.site, fault);
  const std::optional<MatrixType> typeA = operandType(kind, shape.typeA), typeB = operandType(kind, shape.typeB);
  if (!typeA || !typeB)
    reportError(instruction.site, "a product of 4-bit elements by this kind has no model");
  const auto scales = [&](int operand, uint32_t firstByte) {
    return TensorScales{TensorAddress(address(operand) & 0x3fffffff), // the upper bits are the byte again
                        static_cast<uint32_t>(instruction.settings[ScalesPerRow]), firstByte, shape.scaleType == 1};
  };
  const bool scaled = isBlockScaled(kind);
  auto product = std::make_shared<TensorProduct>(
      TensorProduct{kind,
                    shape,
                    *typeA,
                    *typeB,
                    blocksTogether(thread, instruction.settings[Blocks], instruction.site),
                    leftInTensor ? address(1) : slot(1),
                    slot(2),
                    leftInTensor,
                    TensorAddress(address(0)),
                    slot(instruction.settings[Enable]) != 0,
                    0,
                    {},
                    scales(scaled ? 4 : 0, shape.scaleA),
                    scales(scaled ? 5 : 0, shape.scaleB),
                    nextOperation(thread, instruction.site)});
  if (scaled)
    checkScales(*product, instruction.settings[ScalesPerRow]);
  if (instruction.settings[ScaleInput] >= 0)
    product->inputScale = static_cast<int>(slot(instruction.settings[ScaleInput]));
  if (instruction.settings[DisableLanes] >= 0) {
    const BoundInstruction::Operand &mask = instruction.operands[4];
    for (uint32_t i = 0; i < std::min(mask.count, 8u); ++i)
      product->disabled[i] = static_cast<uint32_t>(slots[mask.first + i]);
  }
  checkLanes(*product, product->d, "an accumulator");
  if (leftInTensor)
    checkLanes(*product, TensorAddress(product->a), "a left operand");
  enqueue(thread, product->operation, [product] { product->execute(); });
}

// ---- commits

/// `tcgen05.commit… [mbarrier]{, mask}`
void commit(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  Cluster &cluster = thread.block->cluster;
  checkBlocksTogether(thread, instruction.settings[0], instruction.site);
  TensorQueue &queue = queueOf(thread);
  const auto address = static_cast<uint32_t>(slots[0] + static_cast<uint64_t>(instruction.operands[0].offset));
  std::vector<uint32_t> addresses;
  if (instruction.operands.size() > 1) {
    for (const Block &block : cluster.blocks)
      if (slots[1] >> block.rank & 1)
        addresses.push_back(address + block.shared.begin() - thread.block->shared.begin());
  } else {
    addresses.push_back(address);
  }
  for (const uint32_t at : addresses)
    checkPublished(mbarrierAt(thread, at, instruction.site), instruction.site);
  queue.committed = queue.issued;
  // The arrival cannot come before the instruction, also where no product is on its way.
  Knowledge knows = queue.knows;
  release(thread, knows);
  knows.happened.raise(queue.component, queue.issued);
  knows.tensor.join(thread.tensorOrder);
  knows.tensor.raise(queue.component, queue.issued);
  const auto arrive = [&cluster, &queue, n = queue.issued, before = queue.lastCommit, &thread, addresses,
                       knows = std::move(knows), site = instruction.site]() mutable {
    if (before)
      before->finish();
    before.reset();
    queue.executeUpTo(n);
    for (const uint32_t at : addresses) {
      Mbarrier &barrier = mbarrierAt(thread, at, site);
      if (barrier.pending < 1)
        reportError(site, fmt::format("more arrivals at an mbarrier than the {} of its phase", barrier.count));
      barrier.gathering.join(knows);
      --barrier.pending;
      completePhaseIfDue(cluster, barrier);
    }
  };
  queue.lastCommit = cluster.start(arrive);
}

bool decodeCommit(BoundInstruction &instruction) {
  instruction.settings[0] = readBlocksTogether(instruction);
  return instruction.settings[0] != 0 && instruction.has("mbarrier::arrive::one") &&
         instruction.has("multicast::cluster") == (instruction.operands.size() == 2);
}

constexpr Model table[] = {
    {"tcgen05.mma.*", issue, decodeProduct},
    {"tcgen05.commit.*", commit, decodeCommit},
};

} // namespace

std::span<const Model> tcgen05Models() { return table; }

void checkTensorAtEnd(Thread &thread) {
  checkMovesAtEnd(thread);
  if (thread.tensorQueue && thread.tensorQueue->committed != thread.tensorQueue->issued)
    reportError(thread.tensorQueue->site, "the thread ends without a commit of its products, so that nobody can wait "
                                          "for them");
  const Block &block = *thread.block;
  if (block.running == 1 && !block.tensor.allocations().empty())
    reportError(block.tensor.allocations().front().site,
                fmt::format("the block ends with {} columns of tensor memory that it has not freed",
                            block.tensor.allocatedColumns()));
}

} // namespace tkc::emulator
