// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy engine: boxes of tensors and runs of bytes between global and shared memory. Source: PTX ISA,
// "cp.async.bulk.tensor", "cp.async.bulk", "Swizzling Modes".
#include "emulator/Formats.h"
#include "emulator/GlobalAccess.h"
#include "emulator/TensorMap.h"
#include "emulator/models/AtomicUpdate.h"
#include "emulator/models/Barriers.h"

#include <fmt/core.h>

#include <array>
#include <bit>

namespace tkc::emulator {
namespace {

/// Where byte `address` of a swizzled box really lies: its 16-byte chunk number within the span is XORed with the
/// number of the 128 bytes that it lies in.
uint32_t swizzled(uint32_t address, uint32_t span) {
  return span == 0 ? address : address ^ ((address >> 7 & (span / 16 - 1)) << 4);
}

/// A copy on its way: what its issuer knew, and who it is for the checks.
struct Copy {
  Cluster &cluster;
  Thread &by;
  SiteId site;
  Knowledge knows; ///< of the issuing thread at the time

  Copy(Thread &thread, SiteId site) : cluster(thread.block->cluster), by(thread), site(site) {
    release(thread, knows); // what the thread does from here on is not ordered before the copy
  }

  char *shared(uint32_t address, uint32_t size, AccessKind kind, Epoch epoch) const {
    checkedAsyncAccess(cluster, address, size, kind, {knows, epoch, true, site}, by);
    return reinterpret_cast<char *>(static_cast<uint64_t>(address));
  }

  /// `data`: what it is going to write; null for reads and atomic updates.
  char *global(uint64_t address, uint64_t size, AccessKind kind, Epoch epoch, const void *data) const {
    checkAsyncGlobal(cluster, address, size, kind, {knows, epoch, true, site}, data);
    return reinterpret_cast<char *>(address);
  }
};

// ---- boxes

struct Box {
  TensorMap map;
  std::array<int32_t, 5> at;
  uint32_t address; ///< in shared memory

  uint32_t rowBytes() const { return static_cast<uint32_t>(map.box[0] * map.elementBytes()); }
  /// What a load brings, and its mbarrier counts: without padding.
  uint32_t loadedBytes() const { return rows() * static_cast<uint32_t>(map.box[0] * map.elementBits() / 8); }
  /// Bytes from one row to the next in shared memory.
  uint32_t pitch() const { return map.swizzle ? map.swizzle : rowBytes(); }
  uint32_t rows() const {
    uint32_t count = 1;
    for (int d = 1; d < map.rank; ++d)
      count *= map.box[d];
    return count;
  }
};

/// A box begins a multiple of 16 bytes after the tensor's rows do, inside of it or not, and of 6-bit elements a
/// multiple of 128 of them. An H100 faults else ("an illegal instruction was encountered"), for loads and stores, in
/// elements of one, two and four bytes; the PTX ISA says it of 6-bit elements alone.
void checkInnermost(const BoundInstruction &instruction, const Box &box) {
  const int elements = box.map.isPadded() ? 128 : 16 / box.map.elementBytes();
  if (box.at[0] % elements != 0)
    reportError(instruction.site, fmt::format("misaligned: a box whose innermost coordinate is {}, no multiple of {}",
                                              box.at[0], elements));
}

Box makeBox(const BoundInstruction &instruction, const uint64_t *slots, size_t mapOperand, uint32_t address) {
  const BoundInstruction::Operand &operand = instruction.operands[mapOperand];
  if (slots[operand.first] % 64 != 0)
    reportError(instruction.site, "misaligned: a tensor map at an address that is no multiple of 64");
  Box box{};
  std::memcpy(&box.map, reinterpret_cast<const void *>(slots[operand.first]), sizeof box.map);
  if (box.map.magic != TensorMap::valid)
    reportError(instruction.site, "the tensor map is none that cuTensorMapEncodeTiled made");
  if (operand.count != box.map.rank + 1u)
    reportError(instruction.site,
                fmt::format("{} coordinates for a tensor map of {} dims", operand.count - 1, box.map.rank));
  for (uint32_t d = 0; d + 1 < operand.count; ++d) {
    box.at[d] = static_cast<int32_t>(slots[operand.first + 1 + d]);
    if (box.map.elementStrides[d] != 1)
      reportError(instruction.site, "a tensor map with element strides has no model");
  }
  checkInnermost(instruction, box);
  if (address % 128 != 0)
    reportError(instruction.site, fmt::format("misaligned: a box at byte {} of shared memory, which is no multiple of "
                                              "128",
                                              address - current().block->shared.begin()));
  box.address = address;
  return box;
}

/// The part of row `row` of a box that exists in the tensor: elements [begin, end) of the box, at `global`.
struct BoxRow {
  int64_t begin = 0, end = 0;
  uint64_t global = 0;
};
BoxRow rowOf(const Box &box, uint32_t row) {
  uint64_t global = box.map.base;
  for (int d = 1; d < box.map.rank; ++d) {
    const int64_t index = box.at[static_cast<size_t>(d)] + int64_t(row % box.map.box[d]);
    row /= box.map.box[d];
    if (index < 0 || index >= box.map.dims[d])
      return {};
    global += static_cast<uint64_t>(index) * box.map.strides[d - 1];
  }
  BoxRow result;
  result.begin = std::clamp<int64_t>(-int64_t(box.at[0]), 0, box.map.box[0]);
  result.end = std::clamp<int64_t>(int64_t(box.map.dims[0]) - box.at[0], result.begin, box.map.box[0]);
  result.global = global + static_cast<uint64_t>((box.at[0] + result.begin) * box.map.elementBits() / 8);
  return result;
}

/// What lies outside reads as zero, or as NaN.
void fill(char *to, uint32_t bytes, const TensorMap &map) { std::memset(to, map.fillsNaN ? 0xff : 0, bytes); }

constexpr uint32_t chunk = 16;

/// Of 6-bit elements a chunk has 12 bytes; what stands in its padding then, nobody wrote.
void loadRow(const Copy &copy, const Box &box, uint32_t row, Epoch epoch) {
  const BoxRow part = rowOf(box, row);
  const int64_t bits = box.map.elementBits();
  const uint32_t filled = box.map.isPadded() ? 12 : chunk, chunks = box.rowBytes() / chunk;
  std::vector<char> bytes(chunks * filled);
  fill(bytes.data(), chunks * filled, box.map);
  if (part.end > part.begin) {
    const auto count = static_cast<uint64_t>((part.end - part.begin) * bits / 8);
    std::memcpy(bytes.data() + part.begin * bits / 8, copy.global(part.global, count, AccessKind::Read, epoch, nullptr),
                count);
  }
  for (uint32_t i = 0; i < chunks; ++i)
    std::memcpy(copy.shared(swizzled(box.address + row * box.pitch() + i * chunk, box.map.swizzle), filled,
                            AccessKind::Write, epoch),
                bytes.data() + i * filled, filled);
}

/// The bytes of a load have come.
void complete(Cluster &cluster, Mbarrier &barrier, uint32_t copyNumber, uint32_t bytes) {
  barrier.bytes -= bytes;
  barrier.gathering.happened.raise(barrier.component, copyNumber);
  completePhaseIfDue(cluster, barrier);
}

/// Starts a load to `address` that completes on the mbarrier at `barrierAddress`; `body` gets what it writes as.
void startLoad(Thread &thread, SiteId site, uint32_t barrierAddress, uint32_t bytes,
               std::function<void(const Copy &, Epoch)> body) {
  Mbarrier &barrier = mbarrierAt(thread, barrierAddress, site);
  checkPublished(barrier, site);
  const Epoch epoch{barrier.component, ++barrier.copies};
  thread.block->cluster.start([copy = Copy(thread, site), &barrier, epoch, bytes, body = std::move(body)] {
    body(copy, epoch);
    complete(copy.cluster, barrier, epoch.time, bytes);
  });
}

/// The mbarrier is in the block of the destination; with `.cta_group::2` in that or the other of its pair, and a load
/// for several blocks then counts in each pair at the block of the same parity.
uint32_t barrierOfLoad(const BoundInstruction &instruction, const Block &own, uint32_t destination, uint32_t barrier) {
  const Block *to = blockOfShared(own.cluster, destination, 1), *at = blockOfShared(own.cluster, barrier, 8);
  if (!to || !at || to == at)
    return barrier;
  if (!instruction.has("cta_group::2") || (to->rank ^ at->rank) != 1)
    reportError(
        instruction.site,
        fmt::format("a copy to block {} of the cluster that counts at an mbarrier of block {}", to->rank, at->rank));
  return barrier;
}

/// `[destination], [map, {coordinates}], [mbarrier]{, mask}`
void loadBox(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  const auto destination = static_cast<uint32_t>(slots[0]);
  const auto barrier = static_cast<uint32_t>(slots[instruction.operands[2].first]);
  const bool multicast = instruction.has("multicast::cluster");
  const Block &own = *thread.block;
  const uint64_t mask = multicast ? slots[instruction.operands[3].first] & 0xffff : 1ull << own.rank;
  if (mask >> own.cluster.blocks.size() != 0)
    reportError(instruction.site,
                fmt::format("a copy to the blocks {:#x} of a cluster of {}", mask, own.cluster.blocks.size()));
  for (const Block &block : own.cluster.blocks) {
    if (!(mask >> block.rank & 1))
      continue;
    // Without multicast the address may be another block's of the cluster, by itself.
    const uint32_t shift = multicast ? block.shared.begin() - own.shared.begin() : 0;
    const Box box = makeBox(instruction, slots, 1, destination + shift);
    startLoad(thread, instruction.site, barrierOfLoad(instruction, own, destination + shift, barrier + shift),
              box.loadedBytes(), [box](const Copy &copy, Epoch epoch) {
                for (uint32_t row = 0; row < box.rows(); ++row)
                  loadRow(copy, box, row, epoch);
              });
  }
}

// ---- cluster launch control: the answer comes as a copy of 16 bytes does, and lies in the lower eight: bit 63 says
// that there is a cluster, below it are blockIdx.z, y and x of its first block. The hardware's form is not published.

constexpr uint64_t isCancelled = 1ull << 63;

uint64_t takeCluster(Launch &launch) {
  const uint64_t number = launch.nextCluster++;
  if (number >= launch.numClusters())
    return 0;
  const Dim3 block = launch.firstBlock(number);
  return isCancelled | uint64_t(block.z) << 48 | uint64_t(block.y) << 32 | block.x;
}

/// `[response], [mbarrier]`
void cancelLaunch(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  const auto to = static_cast<uint32_t>(slots[0]), barrier = static_cast<uint32_t>(slots[1]);
  if (to % 16 != 0)
    reportError(instruction.site, "misaligned: the answer's place is no multiple of 16");
  const Block &own = *thread.block;
  const auto answer = std::make_shared<std::optional<uint64_t>>();
  for (const Block &block : own.cluster.blocks) {
    if (!instruction.has("multicast::cluster::all") && &block != &own)
      continue;
    const uint32_t shift = block.shared.begin() - own.shared.begin();
    startLoad(thread, instruction.site, barrier + shift, 16, [to = to + shift, answer](const Copy &copy, Epoch epoch) {
      if (!*answer)
        *answer = takeCluster(copy.cluster.launch);
      const uint64_t words[2] = {**answer, 0};
      std::memcpy(copy.shared(to, 16, AccessKind::Write, epoch), words, 16);
    });
  }
}

/// `p, response`
void queryCancelled(const BoundInstruction &instruction, uint64_t *slots) {
  slots[0] = (slots[instruction.operands[1].first] & isCancelled) != 0;
}

/// `{x, y, z, _}, response`
void queryFirstBlock(const BoundInstruction &instruction, uint64_t *slots) {
  const uint64_t answer = slots[instruction.operands[1].first];
  if (!(answer & isCancelled))
    reportError(instruction.site, "asks for the block of a cluster that was not cancelled");
  slots[0] = answer & 0xffffffff, slots[1] = answer >> 32 & 0xffff, slots[2] = answer >> 48 & 0x7fff, slots[3] = 0;
}

// ---- stores: groups of the issuing thread; first shared memory is read, later global memory written

void startStore(Thread &thread, SiteId site, const std::function<void(const Copy &, Epoch)> &read,
                const std::function<void(const Copy &, Epoch)> &write) {
  Cluster &cluster = thread.block->cluster;
  if (thread.bulkGroups.empty())
    thread.bulkGroups.emplace_back();
  if (thread.bulkComponent == 0)
    thread.bulkComponent = cluster.newComponent(), thread.bulkWriteComponent = cluster.newComponent();
  const auto copy = std::make_shared<Copy>(thread, site);
  const Epoch epoch{thread.bulkComponent, thread.bulkClosed + 1};
  const std::shared_ptr<Effect> reads = cluster.start([copy, read, epoch] { read(*copy, epoch); });
  const Epoch writeEpoch{thread.bulkWriteComponent, epoch.time};
  const std::shared_ptr<Effect> writes = cluster.start([copy, reads, write, writeEpoch] {
    reads->finish();
    write(*copy, writeEpoch);
  });
  thread.bulkGroups.back().reads.push_back(reads);
  thread.bulkGroups.back().writes.push_back(writes);
}

using Update = void (*)(const TensorMap &map, char *to, const char *from, size_t elements);

void overwrite(const TensorMap &map, char *to, const char *from, size_t elements) {
  std::memcpy(to, from, elements * static_cast<size_t>(map.elementBytes()));
}

/// `T`: the elements' type, `Bits` an integer of its size.
template <class T, class Bits> void addElements(char *to, const char *from, size_t elements) {
  for (size_t i = 0; i < elements; ++i) {
    T x;
    std::memcpy(&x, from + i * sizeof(T), sizeof(T));
    updateAtomically<Bits>(to + i * sizeof(T),
                           [&](Bits old) { return std::bit_cast<Bits>(static_cast<T>(std::bit_cast<T>(old) + x)); });
  }
}

void addNarrow(const NarrowFormat &format, char *to, const char *from, size_t elements) {
  for (size_t i = 0; i < elements; ++i) {
    uint16_t x;
    std::memcpy(&x, from + 2 * i, 2);
    updateAtomically<uint16_t>(to + 2 * i, [&](uint16_t old) {
      return static_cast<uint16_t>(encode(format, decode(format, old) + decode(format, x)));
    });
  }
}

void add(const TensorMap &map, char *to, const char *from, size_t elements) {
  switch (map.type) {
  case TensorType::F32:
  case TensorType::F32Flushed:
    return addElements<float, uint32_t>(to, from, elements);
  case TensorType::F64:
    return addElements<double, uint64_t>(to, from, elements);
  case TensorType::F16:
    return addNarrow(f16, to, from, elements);
  case TensorType::BF16:
    return addNarrow(bf16, to, from, elements);
  case TensorType::I32:
  case TensorType::U32:
    return addElements<uint32_t, uint32_t>(to, from, elements);
  case TensorType::I64:
  case TensorType::U64:
    return addElements<uint64_t, uint64_t>(to, from, elements);
  case TensorType::U8:
  case TensorType::U16:
  case TensorType::TF32:
  case TensorType::TF32Flushed:
  case TensorType::SixteenU4Align8:
  case TensorType::SixteenU4Align16:
  case TensorType::SixteenU6Align16:
    break;
  }
  reportError(current().site, "a tensor of this type cannot be added to");
}

/// `[map, {coordinates}], [source]`
template <Update U> void storeBox(const BoundInstruction &instruction, uint64_t *slots) {
  const Box box = makeBox(instruction, slots, 0, static_cast<uint32_t>(slots[instruction.operands[1].first]));
  if (box.map.isPadded())
    reportError(instruction.site, "a store of 6-bit elements has no model");
  if (box.map.dims[0] * static_cast<uint64_t>(box.map.elementBytes()) % chunk != 0)
    reportError(instruction.site, fmt::format("a store through a tensor map whose rows of {} elements end inside of 16 "
                                              "bytes, behind which an H200 was seen to write",
                                              box.map.dims[0]));
  const auto bytes = std::make_shared<std::vector<char>>(box.rows() * box.rowBytes());
  const auto read = [box, bytes](const Copy &copy, Epoch epoch) {
    for (uint32_t row = 0; row < box.rows(); ++row)
      for (uint32_t i = 0; i < box.rowBytes(); i += chunk)
        std::memcpy(
            bytes->data() + row * box.rowBytes() + i,
            copy.shared(swizzled(box.address + row * box.pitch() + i, box.map.swizzle), chunk, AccessKind::Read, epoch),
            chunk);
  };
  const auto write = [box, bytes](const Copy &copy, Epoch epoch) {
    for (uint32_t row = 0; row < box.rows(); ++row) {
      const BoxRow part = rowOf(box, row);
      const int64_t size = box.map.elementBytes();
      if (part.end <= part.begin)
        continue;
      const auto count = static_cast<uint64_t>((part.end - part.begin) * size);
      const char *from = bytes->data() + row * box.rowBytes() + part.begin * size;
      char *to = U == overwrite ? copy.global(part.global, count, AccessKind::Write, epoch, from)
                                : copy.global(part.global, count, AccessKind::Atomic, epoch, nullptr);
      U(box.map, to, from, static_cast<size_t>(part.end - part.begin));
    }
  };
  startStore(current(), instruction.site, read, write);
}

// ---- runs of bytes

void checkRun(const BoundInstruction &instruction, uint64_t a, uint64_t b, uint32_t bytes) {
  if (a % 16 != 0 || b % 16 != 0 || bytes % 16 != 0)
    reportError(instruction.site, fmt::format("misaligned: a bulk copy of {} bytes from {:#x} to {:#x}; all must be "
                                              "multiples of 16",
                                              bytes, b, a));
}

/// `[destination], [source], bytes, [mbarrier]`
void loadRun(const BoundInstruction &instruction, uint64_t *slots) {
  const auto to = static_cast<uint32_t>(slots[0]), bytes = static_cast<uint32_t>(slots[2]);
  const uint64_t from = slots[1];
  checkRun(instruction, to, from, bytes);
  startLoad(current(), instruction.site, static_cast<uint32_t>(slots[3]), bytes,
            [to, from, bytes](const Copy &copy, Epoch epoch) {
              std::memcpy(copy.shared(to, bytes, AccessKind::Write, epoch),
                          copy.global(from, bytes, AccessKind::Read, epoch, nullptr), bytes);
            });
}

/// `[destination], [source], bytes`
template <bool Adds> void storeRun(const BoundInstruction &instruction, uint64_t *slots) {
  const uint64_t to = slots[0];
  const auto from = static_cast<uint32_t>(slots[1]), bytes = static_cast<uint32_t>(slots[2]);
  checkRun(instruction, to, from, bytes);
  const auto data = std::make_shared<std::vector<char>>(bytes);
  startStore(
      current(), instruction.site,
      [from, bytes, data](const Copy &copy, Epoch epoch) {
        std::memcpy(data->data(), copy.shared(from, bytes, AccessKind::Read, epoch), bytes);
      },
      [to, bytes, data](const Copy &copy, Epoch epoch) {
        TensorMap floats{};
        floats.type = TensorType::F32;
        if constexpr (Adds)
          add(floats, copy.global(to, bytes, AccessKind::Atomic, epoch, nullptr), data->data(), bytes / 4);
        else
          std::memcpy(copy.global(to, bytes, AccessKind::Write, epoch, data->data()), data->data(), bytes);
      });
}

void commit(const BoundInstruction &, uint64_t *) {
  Thread &thread = current();
  if (thread.bulkGroups.empty())
    thread.bulkGroups.emplace_back();
  thread.bulkGroups.emplace_back();
  ++thread.bulkClosed;
}

/// All groups but the latest `slots[0]` have read their shared memory, and without `.read` written too.
void waitForGroups(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  const auto inFlight = static_cast<uint32_t>(slots[0]);
  if (thread.bulkClosed <= inFlight)
    return;
  const uint32_t finished = thread.bulkClosed - inFlight;
  for (uint32_t group = 0; group < finished; ++group) {
    for (const std::shared_ptr<Effect> &effect : thread.bulkGroups[group].reads)
      effect->finish();
    if (instruction.settings[0] == 0)
      for (const std::shared_ptr<Effect> &effect : thread.bulkGroups[group].writes)
        effect->finish();
  }
  thread.bulkRead = std::max(thread.bulkRead, finished);
  if (thread.bulkComponent != 0)
    thread.knows.happened.raise(thread.bulkComponent, finished);
  if (thread.bulkWriteComponent != 0 && instruction.settings[0] == 0)
    thread.knows.happened.raise(thread.bulkWriteComponent, finished);
}

bool decodeWait(BoundInstruction &instruction) {
  instruction.settings[0] = instruction.has("read");
  return true;
}

bool isTiledLoad(BoundInstruction &instruction) {
  if (instruction.has("cta_group::2") && instruction.has("multicast::cluster"))
    return false;
  return instruction.has("mbarrier::complete_tx::bytes") && !instruction.has("im2col");
}
bool isTiledStore(BoundInstruction &instruction) {
  return instruction.has("bulk_group") && !instruction.has("im2col_no_offs");
}
bool isTiledAdd(BoundInstruction &instruction) { return isTiledStore(instruction) && instruction.has("add"); }
bool isFloatAdd(BoundInstruction &instruction) { return instruction.has("add") && instruction.has("f32"); }

constexpr Model table[] = {
    {"cp.async.bulk.tensor.1d.shared*", loadBox, isTiledLoad},
    {"cp.async.bulk.tensor.1d.cta_group*", loadBox, isTiledLoad},
    {"cp.async.bulk.tensor.2d.shared*", loadBox, isTiledLoad},
    {"cp.async.bulk.tensor.2d.cta_group*", loadBox, isTiledLoad},
    {"cp.async.bulk.tensor.3d.shared*", loadBox, isTiledLoad},
    {"cp.async.bulk.tensor.3d.cta_group*", loadBox, isTiledLoad},
    {"cp.async.bulk.tensor.4d.shared*", loadBox, isTiledLoad},
    {"cp.async.bulk.tensor.4d.cta_group*", loadBox, isTiledLoad},
    {"cp.async.bulk.tensor.5d.shared*", loadBox, isTiledLoad},
    {"cp.async.bulk.tensor.5d.cta_group*", loadBox, isTiledLoad},
    {"cp.async.bulk.tensor.1d.global*", storeBox<overwrite>, isTiledStore},
    {"cp.async.bulk.tensor.2d.global*", storeBox<overwrite>, isTiledStore},
    {"cp.async.bulk.tensor.3d.global*", storeBox<overwrite>, isTiledStore},
    {"cp.async.bulk.tensor.4d.global*", storeBox<overwrite>, isTiledStore},
    {"cp.async.bulk.tensor.5d.global*", storeBox<overwrite>, isTiledStore},
    {"cp.reduce.async.bulk.tensor.*", storeBox<add>, isTiledAdd},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", loadRun},
    {"cp.async.bulk.global.shared::cta.bulk_group", storeRun<false>},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group*", storeRun<true>, isFloatAdd},
    {"clusterlaunchcontrol.try_cancel.async*", cancelLaunch},
    {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", queryCancelled},
    {"clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128", queryFirstBlock},
    {"cp.async.bulk.commit_group", commit},
    {"cp.async.bulk.wait_group*", waitForGroups, decodeWait},
};

} // namespace

std::span<const Model> tmaModels() { return table; }

} // namespace tkc::emulator
