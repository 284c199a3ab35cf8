// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where every value lives. From the products backwards: what is loaded and only multiplied goes to shared memory
// through a ring; a computed left operand stays in registers where the instruction takes it from there; other computed
// operands are staged through shared memory; all else is in registers of the layout that the kernel's products impose.
#pragma once

#include "backends/plan/analysis/Nest.h"
#include "backends/schedule/Schedule.h"
#include "backends/targets/Description.h"
#include "ir/plan/PlanIR.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

/// How one operand of a product is fed.
struct Operand {
  enum Kind : uint8_t { Register, Ring, Staged } kind = Register;
  const ir::Value *value = nullptr; ///< Register, Staged: the computed value; Ring: the load's result
  bool transposed = false;          ///< the product wants the transpose of what the buffer holds
  std::string buffer;               ///< Ring, Staged
  bool storesTransposed = false;    ///< Staged: the buffer holds the transpose of the value
  std::string_view why;             ///< why so
};

/// How one Dot is done.
struct ProductPlacement {
  Operand a, b;
  bool byThreads = false; ///< no matrix instruction for these types
  bool byWarps = false;   ///< each warp multiplies by itself, synchronously
  bool inTensor = false;  ///< issued by one thread, into tensor memory
  plan::VarType made;     ///< rows and columns of whole instructions, of which the result is a part
  /// Of operands that are computed, as the product reads them: A in registers, or what is stored to a staging buffer.
  plan::VarType aFed, bFed;
  /// Block scales of a and b, in rings, k contiguous as stored; without, their buffers have no name.
  Operand scales[2];

  bool isScaled() const { return !scales[0].buffer.empty(); }
  std::vector<const Operand *> operands() const { return {&a, &b, &scales[0], &scales[1]}; }
};

/// One load into shared memory. Clones of a loop share it.
struct RingMember {
  std::string key; ///< same for clones of the load
  std::string buffer;
  const ir::Op *load;       ///< the first clone
  bool byEngine = true;     ///< the copy engine can do it, as far as can be known when compiling
  bool transposing = false; ///< stored transposed: the instruction wants the other axis contiguous
  plan::Division multicast = plan::Division::Whole; ///< else: which shares of it the blocks of a cluster load for all …
  std::string along;                                ///< … that stand along this axis, where a cluster has two
  bool isVector = false;                            ///< read by threads, not by products
  bool isReadByThreads = false;                     ///< a tile that vector work reads as well
};

/// Buffers that are filled and drained together: one full and one empty barrier.
struct RingPlacement {
  std::string name;
  int depth = 0; ///< of loops around its loads, inside the tile; 0: once a tile
  std::vector<RingMember> members;
  int stages = 1;
  bool multipliedByWarps = false; ///< its products are issued by each warp for itself
  bool isCopiedAgain = false;     ///< loaded once a tile, and copied where loops multiply out of it (LateCopies.h)

  /// Whether warps read it, or threads: then each warp says for itself that it is done with a stage.
  bool isDrainedByWarps() const;
  std::string cursor() const { return name + "_at"; }
  std::string fillCursor() const { return name + "_fill"; } ///< of a role that fills for itself
  std::string full() const { return name + ".full"; }
  std::string empty() const { return name + ".empty"; }
  /// Other blocks of the cluster write to it.
  bool isShared() const;
};

/// A store, or an addition, through shared memory: by the copy engine, in pieces of some columns, or, without a map, by
/// the threads, whole.
struct StorePlacement {
  std::string buffer, map;
  int64_t pieceCols = 0;
  int stages = 1;       ///< pieces that may be on their way out at once
  bool isLast = false;  ///< no product of the tile comes after it
  bool isApart = false; ///< a role of its own hands the pieces to the copy engine (BulkReduceRole.h)

  std::string cursor() const { return buffer + "_at"; }
  /// Of a store apart: that a piece is staged, and that it has left.
  std::string full() const { return buffer + ".full"; }
  std::string empty() const { return buffer + ".empty"; }
};

/// What the roles of a plan share: the variables of the prelude and of the grid.
struct SharedNames {
  ir::ValueMap<std::string> of; ///< visible in every role
  std::set<std::string> taken;  ///< these, and those that only the grid reads: no role has one like them
};

struct Placement {
  bool hasProducts = false;
  int64_t alignment = 1024; ///< of buffers in shared memory: suits every swizzle
  bool copiesItself =
      false; ///< one role computes and fills the rings (AsyncCopyPipeline.h); else a producer fills them
  bool throughRegisters = false; ///< its copies go through registers; else they are asynchronous
  bool directLoads = false;      ///< they are loads straight to shared memory, which waits count (PlaceDirectLoads.h)
  bool copiesLate = false;       ///< a loop's tiles are copied right before their first use (LateCopies.h)
  bool hasPlainLoop = false;     ///< one loop of products alone, whose addresses take no memory
  bool loadsAlways = false;      ///< also of tiles beyond the loop's last: no branch stands between products
  int turns = 0;                ///< parts of k that two halves of the waves load and multiply in turns (WaveSchedule.h)
  bool interleaves = false;     ///< the product's reads are spread between its instructions
  bool hasNamedBarriers = true; ///< besides the block's
  int warpSize = 32;
  int maxRegistersPerThread = 255; ///< as the architecture's description has it
  int boxAlignment = 0;            ///< likewise
  bool aligned = false;            ///< for calls whose tensors all suit the copy engine, as the schedule says
  int instances = 1;               ///< of the computing role: warpgroups, or groups of warps below each other
  bool packs = false;              ///< buffers without a swizzle lie close together, as memory is short
  bool byCols = false;             ///< instances share every product by columns
  bool byPairs = false; ///< products are those of pairs of blocks, and rings hold a block's share of right operands
  plan::Layout layout;  ///< of products; `Tensor`: of those whose instances have 128 rows, others are `Mma`
  /// What threads access in the order of the program (MemoryDependence.h), and which of its stores come last.
  ir::OpSet contested, lastWrites;
  ir::OpMap<ProductPlacement> products;
  std::vector<RingPlacement> rings;
  ir::OpMap<std::string> loadKeys;   ///< every load that a ring serves (clones too) → member key
  ir::OpMap<ir::Quotient> quotients; ///< of divisions of integers
  ir::OpSet registerLoads;           ///< loads whose values vector work uses: loaded to registers (as well)
  /// Loads and stores that the copy engine takes where their tile begins at a multiple of `boxStep` columns, which
  /// their role finds out, and threads elsewhere.
  ir::OpSet asksStart;
  std::map<std::pair<const ir::Value *, bool>, std::string, ir::InOrder>
      staged; ///< computed operands, whether transposed → buffer
  ir::OpMap<StorePlacement> stores;
  ir::ValueMap<plan::VarType> types; ///< register homes of tile and vector values
  std::vector<plan::Buffer> buffers;
  std::vector<plan::TensorMap> maps;
  std::vector<plan::Note> notes; ///< why all this

  /// Loads straight to shared memory by which each thread fills a stage of `buffer`; 0: they do not come out even.
  int directLoadsOf(const plan::Buffer &buffer) const;
  /// Each warp issues products for itself, and has their results when the statement is over.
  bool multipliesByWarps() const { return layout.kind == plan::Layout::WarpMma; }
  /// Whether products go to tensor memory: a role of their own issues them (MatrixRole.h).
  bool usesTensorMemory() const;
  /// Whether the buffer holds block scales.
  bool isScales(const std::string &buffer) const;
  /// Whether nothing reads the value itself: products read what it transposes, where that lies in shared memory.
  bool onlyFeedsProducts(const ir::Value *value) const;
  /// Loads to rings whose rows the value picks, if it does nothing else: no computing thread needs it for them.
  std::optional<ir::OpSet> rowsPickedBy(const ir::Value &value) const;
  /// The layout of tiles of so many rows that instances share like that.
  plan::Layout layoutOf(int64_t rows, plan::Division division) const;
  const RingPlacement *findRing(const std::string &key) const;
  const RingMember *findMember(const std::string &key) const;
  plan::Buffer *findBuffer(const std::string &name);
  const plan::Buffer *findBuffer(const std::string &name) const;
  /// Whether the producer's threads copy some of a ring, whatever the launcher finds: then each of them arrives.
  bool isFilledByThreads(const RingPlacement &ring) const;
  bool copiesByThreads() const;
  /// Whether some load is done by the copy engine or by the producer's threads as its tile begins.
  bool asksStartOfLoads() const;
  bool asksStartOf(const RingMember &member) const;
  /// Enters a note; clones of a loop say the same.
  void note(plan::Note::Topic topic, SourceLoc loc, std::string text);
  /// `base`, or `base` with a number, that no buffer has yet.
  std::string uniqueBuffer(const std::string &base) const;
};

} // namespace tkc::planner
