// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a role does, with its control flow resolved: control flow never depends on how roles interleave, so for given
// inputs each role is a straight line of events. Cursors are resolved to stages and parities, names to numbers.
#pragma once

#include "ir/plan/verify/Scalars.h"
#include "ir/plan/verify/Verify.h"

#include <memory>
#include <optional>
#include <vector>

namespace tkc::plan {

/// Rows [rowLo, rowHi) and columns [colLo, colHi) of a stage, as stored.
struct Rect {
  int64_t rowLo = 0, rowHi = 0, colLo = 0, colHi = 0;
  int64_t area() const { return (rowHi - rowLo) * (colHi - colLo); }
  bool meets(const Rect &other) const {
    return rowLo < other.rowHi && other.rowLo < rowHi && colLo < other.colHi && other.colLo < colHi;
  }
  bool covers(const Rect &other) const {
    return rowLo <= other.rowLo && rowHi >= other.rowHi && colLo <= other.colLo && colHi >= other.colHi;
  }
  friend bool operator==(const Rect &, const Rect &) = default;
};

/// A stage of a buffer that an event touches; `slice` says which part of it an instance has.
struct Touched {
  const Buffer *buffer = nullptr;
  int64_t step = -1; ///< how often the cursor that names the stage had advanced; -1: there is none
  int slot = -1;     ///< stage of a buffer, counted through all buffers of a block; -1: nothing
  Division slice = Division::Whole;
  bool transposed = false;
  bool isSurplus = false; ///< of a tile that does not exist: nobody need read it
  friend bool operator==(const Touched &, const Touched &) = default;
};

struct GlobalTouch; // GlobalOrder.h
struct RoleSummary; // RoleSummary.h

struct Event {
  enum Kind : uint8_t {
    Wait,
    Arrive,
    Expect,
    CopyIn,
    CopyOut,
    BulkCommit,
    BulkWait,
    ThreadCopy, ///< a share of a copy by each thread
    CopyCommit,
    CopyWait,
    LoadShared,
    StoreShared,
    FenceProxy,
    LoadTensor,
    StoreTensor, ///< in place, too
    TensorFence,
    Sync,
    Product,
    ProductFence,
    ProductCommit,
    ProductWait,
    ClusterSync,
    Global,    ///< threads access global memory
    Registers, ///< vector work that touches registers of products
  } kind;
  bool parity = false; ///< Wait
  const Stmt *stmt;
  int barrier = -1;       ///< stage of a barrier, counted through all barriers of a block
  int instance = -1;      ///< of a serial role: which; -1: that of the process
  Touched a, b;           ///< copies, loads and stores: a; Product: a (if not in registers) and b
  Touched dest;           ///< Product into tensor memory
  Touched scales[2] = {}; ///< Product: block scales of a and b
  /// Global, copies: what of a tensor that the block both reads and writes; null: nothing.
  std::shared_ptr<const GlobalTouch> global = nullptr;

  friend bool operator==(const Event &one, const Event &other);
};

/// Where along the rows of its tensor the box of a copy by the engine begins.
struct BoxStart {
  const Stmt *stmt;
  int64_t column;
};

struct Trace {
  std::vector<Event> events;
  std::vector<BoxStart> boxes;
};

/// Numbers for stages of buffers and barriers: those of the cluster's first block, then of the second …
struct Numbering {
  explicit Numbering(const Plan &plan);
  /// By name: the number of stage 0 in the first block.
  int slotOf(const std::string &buffer) const;
  int barrierOf(const std::string &barrier) const;

  int slotIn(int block, int slot) const { return block * static_cast<int>(slots.size()) / blocks + slot; }
  /// `slot` is the number of a stage of instance 0 in the first block.
  int slotIn(int block, int slot, int instance) const {
    const Slot &it = slots[static_cast<size_t>(slot)];
    return slotIn(block, slot) + (it.buffer->instances > 1 ? instance * it.buffer->stages : 0);
  }
  /// `barrier` is the number of a stage of instance 0 in the first block.
  int barrierIn(int block, int barrier, int instance) const {
    const Barrier &it = *barriers[static_cast<size_t>(barrier)].barrier;
    const int own = it.instances > 1 ? instance * it.stages : 0;
    return block * static_cast<int>(barriers.size()) / blocks + barrier + own;
  }

  struct Slot {
    const Buffer *buffer;
    int stage, block, instance;
    bool isTensor;
    /// Of stages of all instances, in the order in which they lie in memory.
    int place() const { return stage * buffer->instances + instance; }
  };
  struct BarrierStage {
    const Barrier *barrier;
    int stage, block, instance;
  };
  /// Whether the slot is in tensor memory.
  bool isTensor(int slot) const { return slots[static_cast<size_t>(slot)].isTensor; }

  int blocks; ///< of a cluster
  std::vector<Slot> slots;
  std::vector<std::vector<int>> overlapping; ///< by slot: slots of other buffers with bytes in common
  std::vector<BarrierStage> barriers;

private:
  void findOverlaps();
};

/// What a run showed of divisions of which the plan says more than that they are of integers.
struct Quotients {
  const Stmt *wrong = nullptr; ///< one of which that is not true
  bool isPromised = true;      ///< callers may ask for such a run: what it reads by indices exists
};

/// One tile of the grid: a value for each axis.
using Tile = std::vector<Scalar>;

/// The tiles that block `block` of a cluster takes in a run, in order.
std::vector<Tile> chooseTiles(const Plan &plan, const Inputs &inputs, int block);

/// Events of an instance of a role; of its first if they are the same for all. Takes its statements from `left`, and
/// returns nullopt where these do not suffice.
std::optional<Trace> trace(const Plan &plan, const RoleSummary &role, const Inputs &inputs,
                           const std::vector<Tile> &tiles, int instance, size_t &left, Quotients &quotients,
                           Facts *facts);

} // namespace tkc::plan
