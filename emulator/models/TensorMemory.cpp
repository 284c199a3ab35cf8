// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor memory: its allocation, loads and stores by warps, and the fences that hand it from thread to thread. Loads
// and stores happen when they are waited for: as late as can be. Until then the registers of a load hold numbers that
// stand for what it brings. Source: PTX ISA, "tcgen05.alloc", "tcgen05.ld", "tcgen05.st", "tcgen05.wait",
// "tcgen05.fence", "Memory Consistency Model for 5th generation of TensorCore operations".
#include "emulator/models/TensorMemory.h"
#include "emulator/models/Barriers.h"
#include "emulator/models/TensorOperands.h"

#include <fmt/core.h>

#include <bit>
#include <charconv>

namespace tkc::emulator {

/// Loads and stores of a warp.
struct TensorMoves {
  struct Load {
    uint32_t registers = 0;
    std::vector<uint32_t> values; ///< [lane][register]
    SiteId site = 0;
    bool waited = false;
  };
  struct Side {
    uint32_t component = 0, issued = 0, waited = 0;
    std::vector<std::shared_ptr<Effect>> pending;
    SiteId site = 0; ///< of the latest
  };
  Side loads, stores;
  std::map<uint32_t, Load> results; ///< by number

  explicit TensorMoves(Cluster &cluster) {
    loads.component = cluster.newComponent();
    stores.component = cluster.newComponent();
  }
};

namespace {

TensorMoves &movesOf(Thread &thread) {
  std::shared_ptr<TensorMoves> &moves = thread.block->warps[thread.warp()].tensorMoves;
  if (!moves)
    moves = std::make_shared<TensorMoves>(thread.block->cluster);
  return *moves;
}

// ---- numbers that stand for what a load brings: signalling NaN, with the load's number, 1 to 32767, and the
// register's in the low 22 bits. Those of products have the other sign.

constexpr uint32_t loadMark = 0x7f800000, markBits = 0xffc00000, numbers = 0x7fff, kept = 512;

uint32_t numberOf(uint32_t n) { return 1 + n % numbers; }

TensorMoves::Load *loadOf(const Thread &thread, uint32_t bits) {
  if ((bits & markBits) != loadMark)
    return nullptr;
  const std::shared_ptr<TensorMoves> &moves = thread.block->warps[thread.warp()].tensorMoves;
  if (!moves)
    return nullptr;
  const auto found = moves->results.find((bits & ~markBits) >> 7);
  return found != moves->results.end() && (bits & 127) < found->second.registers ? &found->second : nullptr;
}

// ---- allocation

/// `tcgen05.alloc [destination], columns`
void allocate(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  Block &block = *thread.block;
  const auto count = static_cast<uint32_t>(slots[1]);
  const int together = instruction.settings[0];
  if (count < 32 || count > TensorMemory::columns || !std::has_single_bit(count))
    reportError(instruction.site,
                fmt::format("allocates {} columns of tensor memory; it takes a power of two from 32 to 512", count));
  checkBlocksTogether(thread, together, instruction.site);
  warpBarrier(thread, ~0u);
  if (thread.lane() == 0) {
    if (block.tensor.relinquished)
      reportError(instruction.site, "allocates tensor memory after the block gave up the right to");
    const std::vector<Block *> blocks = blocksTogether(thread, together, instruction.site);
    // The second block of a pair to come allocates for both.
    const bool last = block.cluster.launch.options->seed % 2 != 0;
    block.tensor.requested = count;
    const auto isReady = [&] {
      for (const Block *other : blocks)
        if (other->tensor.requested != count || !other->tensor.findFree(count, last))
          return false;
      return true;
    };
    while (block.tensor.requested != 0 && !isReady())
      block.cluster.wait(blocks.front()->waitingForTensor, [&block, count] {
        return fmt::format("{} columns of tensor memory, {} are allocated{}", count, block.tensor.allocatedColumns(),
                           block.tensor.findFree(count, false) ? ", and for the other block of its pair" : "");
      });
    if (block.tensor.requested != 0) {
      const uint32_t first = *block.tensor.findFree(count, last);
      for (Block *other : blocks) {
        other->tensor.allocate({first, count, instruction.site});
        other->tensor.requested = 0;
      }
      block.cluster.wake(blocks.front()->waitingForTensor);
    }
    const uint32_t address = block.tensor.allocations().back().first;
    std::memcpy(checkedAccess(thread, slots[0], 4, 4, AccessKind::Write, instruction.site), &address, 4);
  }
  warpBarrier(thread, ~0u);
}

/// `tcgen05.dealloc address, columns`: all accesses to them are over.
void deallocate(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  Block &block = *thread.block;
  const TensorAddress address(slots[0]);
  const auto count = static_cast<uint32_t>(slots[1]);
  checkBlocksTogether(thread, instruction.settings[0], instruction.site);
  warpBarrier(thread, ~0u);
  if (thread.lane() == 0) {
    Clock order = thread.tensorOrder;
    order.join(thread.knows.tensor); // it is no asynchronous operation that a fence would have to hold back
    if (address.lane == 0 && address.column + count <= TensorMemory::columns && !block.tensor.allocations().empty())
      for (uint32_t group = 0; group < TensorMemory::groups; ++group)
        checkTensorAccess(block, group, address.column, count, 0, AccessKind::Write,
                          {order, thread.epoch(), instruction.site});
    if (!block.tensor.release(address.column, count))
      reportError(instruction.site, fmt::format("frees {} columns of tensor memory from {} on, which nobody allocated "
                                                "together",
                                                count, address.column));
    block.cluster.wake(blocksTogether(thread, instruction.settings[0], instruction.site).front()->waitingForTensor);
  }
  warpBarrier(thread, ~0u);
}

void relinquish(const BoundInstruction &instruction, uint64_t *) {
  Thread &thread = current();
  checkBlocksTogether(thread, instruction.settings[0], instruction.site);
  warpBarrier(thread, ~0u);
  if (thread.lane() == 0)
    thread.block->tensor.relinquished = true;
}

bool decodeBlocks(BoundInstruction &instruction) {
  instruction.settings[0] = readBlocksTogether(instruction);
  return instruction.settings[0] != 0;
}

// ---- loads and stores

enum Setting { Shape, Packed, Registers, Vector, Split };

/// `tcgen05.ld.sync.aligned.32x32b.x16.pack::16b.b32 {registers}, [address]`; with 16x32bx2 a number follows the
/// address.
bool decodeMove(BoundInstruction &instruction) {
  const std::vector<std::string_view> parts = instruction.parts();
  const bool loads = parts[1] == "ld";
  const auto shape = parts.size() > 5 ? readMoveShape(parts[4]) : std::nullopt;
  if (!shape || parts[2] != "sync" || parts[3] != "aligned" || parts.back() != "b32" || parts[5][0] != 'x')
    return false;
  uint32_t times = 0;
  std::from_chars(parts[5].data() + 1, parts[5].data() + parts[5].size(), times);
  instruction.settings[Shape] = static_cast<int>(*shape);
  instruction.settings[Packed] = instruction.has(loads ? "pack::16b" : "unpack::16b");
  const size_t split = *shape == MoveShape::S16x32bx2 ? 1 : 0;
  if (parts.size() != (instruction.settings[Packed] ? 8u : 7u) || instruction.operands.size() != 2 + split)
    return false;
  instruction.settings[Vector] = loads ? 0 : static_cast<int>(1 + split);
  instruction.settings[Split] = split ? (loads ? 2 : 1) : -1;
  const auto registers = instruction.operands[static_cast<size_t>(instruction.settings[Vector])].count;
  instruction.settings[Registers] = static_cast<int>(registers);
  return std::has_single_bit(times) && registers == times * registersOf(*shape) && registers <= 128;
}

/// One load or store of a warp.
struct Move {
  MoveShape shape;
  bool packed;
  uint32_t split = 0, registers;
  TensorAddress address;
  Block *block;
  Clock order;
  Epoch epoch;
  SiteId site;

  uint32_t width() const {
    const uint32_t columns = shape == MoveShape::S16x256b   ? 8
                             : shape == MoveShape::S16x128b ? 4
                             : shape == MoveShape::S16x64b  ? 2
                                                            : 1;
    return registers / registersOf(shape) * columns * (packed ? 2 : 1);
  }

  void check(AccessKind kind) const {
    const TensorAgent agent{order, epoch, site};
    for (uint32_t lane = address.lane; lane < address.lane + lanesOf(shape); lane += TensorMemory::groupLanes) {
      checkTensorAccess(*block, lane / TensorMemory::groupLanes, address.column, width(), 0xffff, kind, agent);
      if (shape == MoveShape::S16x32bx2 && split != 0)
        checkTensorAccess(*block, lane / TensorMemory::groupLanes, address.column + split, width(), 0xffff, kind,
                          agent);
    }
  }

  /// Calls f(the word in tensor memory, shift of a half within it, register, shift of the half within it).
  template <class F> void forEachHalf(uint32_t lane, F f) const {
    for (uint32_t r = 0; r < registers; ++r)
      for (uint32_t h = 0; h < 2; ++h) {
        const TensorPlace place = movePlace(shape, packed, split, lane, r, h);
        f(block->tensor.word(address.lane + place.lane, address.column + place.column), place.bit, r, 16 * h);
      }
  }
};

/// Of all lanes together: the warp's access comes after what any of them learned to be over.
Move makeMove(const BoundInstruction &instruction, Collective &lanes, TensorMoves::Side &side) {
  Thread &thread = *lanes.threads[0];
  const size_t operand = instruction.settings[Vector] == 0 ? 1 : 0;
  const uint32_t slot = instruction.operands[operand].first;
  const auto address = static_cast<uint32_t>(lanes.slots[0][slot]);
  Move move{static_cast<MoveShape>(instruction.settings[Shape]),
            instruction.settings[Packed] != 0,
            0,
            static_cast<uint32_t>(instruction.settings[Registers]),
            TensorAddress(address + static_cast<uint64_t>(instruction.operands[operand].offset)),
            thread.block,
            {},
            {side.component, ++side.issued},
            instruction.site};
  if (instruction.settings[Split] >= 0)
    move.split = static_cast<uint32_t>(
        lanes.slots[0][instruction.operands[static_cast<size_t>(instruction.settings[Split])].first]);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if (static_cast<uint32_t>(lanes.slots[lane][slot]) != address)
      reportError(instruction.site, "the threads of a warp name different addresses of tensor memory");
    move.order.join(lanes.threads[lane]->tensorOrder);
  }
  const uint32_t own = thread.warp() % 4 * 32;
  if (move.address.lane != own && (move.address.lane != own + 16 || lanesOf(move.shape) != 16))
    reportError(instruction.site, fmt::format("warp {} accesses lane {} of tensor memory; it reaches lanes {} to {}",
                                              thread.warp(), move.address.lane, own, own + 31));
  side.site = instruction.site;
  return move;
}

void checkWholeWarp(const Thread &thread, SiteId site) {
  if (thread.block->warps[thread.warp()].existing != ~0u)
    reportError(site, "accesses tensor memory by a warp of less than 32 threads");
}

void load(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  checkWholeWarp(thread, instruction.site);
  meet(thread, &instruction, ~0u, slots, "tcgen05.ld", [&](Collective &lanes) {
    TensorMoves &moves = movesOf(thread);
    const auto move = std::make_shared<Move>(makeMove(instruction, lanes, moves.loads));
    const uint32_t number = numberOf(moves.loads.issued);
    if (moves.loads.issued > kept)
      moves.results.erase(numberOf(moves.loads.issued - kept)); // of which some registers are never used
    TensorMoves::Load &result = moves.results[number];
    result = {move->registers, std::vector<uint32_t>(32 * move->registers), instruction.site};
    moves.loads.pending.push_back(thread.block->cluster.start([move, &result] {
      move->check(AccessKind::Read);
      for (uint32_t lane = 0; lane < 32; ++lane)
        move->forEachHalf(lane, [&](uint32_t word, uint32_t from, uint32_t r, uint32_t to) {
          result.values[lane * move->registers + r] |= (word >> from & 0xffff) << to;
        });
    }));
    for (uint64_t *lane : lanes.slots)
      for (uint32_t r = 0; r < move->registers; ++r)
        lane[r] = loadMark | number << 7 | r;
  });
}

void store(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  checkWholeWarp(thread, instruction.site);
  meet(thread, &instruction, ~0u, slots, "tcgen05.st", [&](Collective &lanes) {
    TensorMoves &moves = movesOf(thread);
    const auto move = std::make_shared<Move>(makeMove(instruction, lanes, moves.stores));
    const uint32_t first = instruction.operands[static_cast<size_t>(instruction.settings[Vector])].first;
    auto values = std::make_shared<std::vector<uint32_t>>();
    for (const uint64_t *lane : lanes.slots)
      for (uint32_t r = 0; r < move->registers; ++r)
        values->push_back(static_cast<uint32_t>(lane[first + r]));
    moves.stores.pending.push_back(thread.block->cluster.start([move, values] {
      move->check(AccessKind::Write);
      for (uint32_t lane = 0; lane < 32; ++lane)
        move->forEachHalf(lane, [&](uint32_t &word, uint32_t to, uint32_t r, uint32_t from) {
          const uint32_t half = (*values)[lane * move->registers + r] >> from & 0xffff;
          word = move->packed ? half : (word & ~(0xffffu << to)) | half << to;
        });
    }));
  });
}

void finish(Collective &lanes, TensorMoves::Side &side) {
  for (const std::shared_ptr<Effect> &effect : side.pending)
    effect->finish();
  side.pending.clear();
  side.waited = side.issued;
  for (Thread *lane : lanes.threads)
    lane->tensorOrder.raise(side.component, side.issued);
}

void waitForLoads(const BoundInstruction &instruction, uint64_t *) {
  Thread &thread = current();
  meet(thread, &instruction, ~0u, nullptr, "tcgen05.wait::ld", [&](Collective &lanes) {
    TensorMoves &moves = movesOf(thread);
    finish(lanes, moves.loads);
    for (auto &[number, result] : moves.results)
      result.waited = true;
  });
}

void waitForStores(const BoundInstruction &instruction, uint64_t *) {
  Thread &thread = current();
  meet(thread, &instruction, ~0u, nullptr, "tcgen05.wait::st",
       [&](Collective &lanes) { finish(lanes, movesOf(thread).stores); });
}

// ---- fences

void fenceBefore(const BoundInstruction &, uint64_t *) {
  Thread &thread = current();
  thread.knows.tensor.join(thread.tensorOrder);
}

void fenceAfter(const BoundInstruction &, uint64_t *) {
  Thread &thread = current();
  thread.tensorOrder.join(thread.knows.tensor);
}

constexpr Model table[] = {
    {"tcgen05.alloc.*", allocate, decodeBlocks},
    {"tcgen05.dealloc.*", deallocate, decodeBlocks},
    {"tcgen05.relinquish_alloc_permit.*", relinquish, decodeBlocks},
    {"tcgen05.ld.*", load, decodeMove},
    {"tcgen05.st.*", store, decodeMove},
    {"tcgen05.wait::ld.sync.aligned", waitForLoads},
    {"tcgen05.wait::st.sync.aligned", waitForStores},
    {"tcgen05.fence::before_thread_sync", fenceBefore},
    {"tcgen05.fence::after_thread_sync", fenceAfter},
};

std::string describe(const TensorConflict &conflict, AccessKind kind, const std::string &other) {
  const std::string place = fmt::format("lane {}, column {} of tensor memory", conflict.lane, conflict.column);
  const char *verb = kind == AccessKind::Read ? "reads" : "writes";
  switch (conflict.kind) {
  case TensorConflict::Kind::NotAllocated:
    return fmt::format("out of bounds: {} {}, which is not allocated", verb, place);
  case TensorConflict::Kind::Uninitialised:
    return fmt::format("{} {}, which nobody has written", verb, place);
  case TensorConflict::Kind::ReadAfterWrite:
    return fmt::format("race: reads {} without waiting for, or fencing after, the write at {}", place, other);
  case TensorConflict::Kind::WriteAfterWrite:
    return fmt::format("race: writes {} without waiting for, or fencing after, the write at {}", place, other);
  case TensorConflict::Kind::WriteAfterRead:
    return fmt::format("race: writes {} without waiting for, or fencing after, the read at {}", place, other);
  }
  return {};
}

} // namespace

std::span<const Model> tensorMemoryModels() { return table; }

int readBlocksTogether(const BoundInstruction &instruction) {
  return instruction.has("cta_group::1") ? 1 : instruction.has("cta_group::2") ? 2 : 0;
}

void checkBlocksTogether(Thread &thread, int blocks, SiteId site) {
  int &known = thread.block->tensor.blocksTogether;
  if (known == 0)
    known = blocks;
  if (known != blocks)
    reportError(site, "a kernel that uses both `cta_group::1` and `cta_group::2`");
}

std::vector<Block *> blocksTogether(Thread &thread, int blocks, SiteId site) {
  if (blocks == 1)
    return {thread.block};
  std::deque<Block> &all = thread.block->cluster.blocks;
  const uint32_t even = thread.block->rank & ~1u;
  if (even + 1 >= all.size())
    reportError(site, "an instruction of `cta_group::2` in a block that has no other in its pair");
  return {&all[even], &all[even + 1]};
}

void checkTensorAccess(Block &block, uint32_t group, uint32_t column, uint32_t count, uint32_t mask, AccessKind kind,
                       const TensorAgent &agent) {
  for (uint32_t c = column; c < column + count; ++c)
    if (const std::optional<TensorConflict> conflict = kind == AccessKind::Read
                                                           ? block.tensor.read(group, c, mask, agent)
                                                           : block.tensor.write(group, c, mask, agent))
      reportError(agent.site, describe(*conflict, kind, block.cluster.launch.sites->describe(conflict->otherSite)));
}

void checkMovesAtEnd(Thread &thread) {
  const std::shared_ptr<TensorMoves> &moves = thread.block->warps[thread.warp()].tensorMoves;
  if (!moves)
    return;
  for (const TensorMoves::Side *side : {&moves->loads, &moves->stores})
    if (side->waited != side->issued)
      reportError(side->site, "the thread ends without having waited for its loads and stores of tensor memory");
}

bool standsForLoad(const Thread &thread, uint32_t bits) { return loadOf(thread, bits) != nullptr; }

uint32_t resolveLoad(Thread &thread, uint32_t bits) {
  TensorMoves::Load &load = *loadOf(thread, bits);
  if (!load.waited)
    return bits;
  return load.values[thread.lane() * load.registers + (bits & 127)];
}

uint32_t useLoad(Thread &thread, uint32_t bits, SiteId site) {
  const TensorMoves::Load &load = *loadOf(thread, bits);
  if (!load.waited)
    reportError(site, fmt::format("uses a register before its load from tensor memory was waited for, which was issued "
                                  "at {}",
                                  thread.block->cluster.launch.sites->describe(load.site)));
  return load.values[thread.lane() * load.registers + (bits & 127)];
}

} // namespace tkc::emulator
