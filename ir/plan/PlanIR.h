// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plan IR: the operations of tile IR placed on a machine. Everything that makes a kernel fast or wrong stands here in
// text: buffers with a swizzle, a stage count and an offset; register variables with a layout; roles with warps and
// registers; asynchronous copies and products with the barriers that they complete; every wait, arrive, fence and
// phase.
//
// Unlike tile IR it is imperative: a role is a list of statements on mutable variables, in the order in which they run.
// Each role has variables of its own; what roles share is shared memory, and barriers.
#pragma once

#include "ir/TileIR.h"
#include "ir/plan/Statements.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tkc {
class DiagnosticEngine;
class SourceManager;
} // namespace tkc

namespace tkc::plan {

/// A register variable; referred to by name, unique in its role.
struct Var {
  std::string name;
  VarType type;
};

/// A shared-memory array of `stages` tiles. A product reads it through a descriptor, the copy engine through a tensor
/// map.
struct Buffer {
  std::string name;
  ElemType elem = ElemType::BF16;
  int64_t rows = 0; ///< of one stage, as stored: rows of `cols` contiguous elements
  int64_t cols = 0;
  Swizzle swizzle = Swizzle::B128;
  int grain = 16; ///< bytes of a row that the swizzle keeps together: 16, or where waves read, 8 or 4
  int stages = 1;
  int instances = 1;   ///< more than 1: instance i of whatever role uses its own: each stage is so many tiles
  int64_t offset = 0;  ///< bytes from the 1024-byte aligned start of shared memory
  std::string aliasOf; ///< empty, or the buffer whose memory it reuses once that one is dead
  SourceLoc loc;

  int64_t stageBytes() const { return sharedBytes(elem, rows * cols); }
  int64_t copiedBytes() const { return bytesOf(elem, rows * cols); } ///< of a stage: without padding
  int64_t totalBytes() const { return stageBytes() * stages * instances; }
};

/// The name of the buffer that is a parameter which each block has of its own.
std::string bufferOf(const ir::Param &local);

/// Tensor memory: `stages` tiles of results or left operands of products, side by side in its columns of 32 bits.
/// One instruction makes or takes `instructionRows` rows (`slab` in plans). The columns of these lie side by side, and
/// those of the next rows lie beside them.
struct TensorBuffer : Buffer {
  int instructionRows = 128; ///< 64 or 128 rows; of 64, every quarter of the 128 lanes has 16
  int64_t stride = 0; ///< columns from the rows of one instruction to those of the next; 0: as many as those have

  /// Columns of tensor memory that the rows of one instruction take; `offset` counts such columns, too.
  int64_t instructionColumns() const { return cols * bitWidth(elem) / 32; }
  int64_t stageColumns() const { return rows / instructionRows * (stride > 0 ? stride : instructionColumns()); }
  int64_t totalColumns() const { return stageColumns() * stages; }
};

/// An array of mbarriers, one a stage, or one a stage for each instance of a role.
struct Barrier {
  std::string name;
  int stages = 1;
  int arrivals = 1;  ///< arrivals that complete a phase, that of Expect included
  int instances = 1; ///< more than 1: instance i of whatever role uses its own stages
};

/// One use of the copy engine on a tensor: which box of which parameter, for the launcher to encode.
struct TensorMap {
  std::string name;   ///< "a_map"
  std::string tensor; ///< the parameter
  std::string buffer; ///< a stage of which one or more boxes fill, as they do of other buffers that are like it
  /// Which dims of the tensor the box's rows and columns run along (positions in Param::dims); columns: the last dim.
  int rowDim = 0; ///< -1: a vector, rows = 1
  int colDim = 0;
  int64_t boxRows = 0; ///< ≤ 256
  int64_t boxCols = 0; ///< boxCols · element bytes ≤ the swizzle's span, where there is one
  Swizzle swizzle = Swizzle::B128;
  int fetched = 256; ///< the most bytes of a row that L2 takes from memory at once: 128 or 256
  /// Of stores: the axis of the grid with a `step` whose tiles the columns are: a box ends where its tile does.
  std::string tiledBy;
};

struct Stmt;
using Body = std::vector<Stmt>;

/// A named barrier, 1..15, or 0 for that of the whole block, and how many threads meet there.
struct NamedBarrier {
  int id = 0, threads = 0;
};

/// One statement. Fields mean something for the kinds that name them; kinds with a struct of their own have it in
/// `fields`.
struct Stmt {
  StmtKind kind = StmtKind::Compute;
  SourceLoc loc;
  StmtFields fields;

  // Out of line, as hundreds of sources have statements, and code for all these fields is long.
  Stmt();
  Stmt(const Stmt &);
  Stmt(Stmt &&) noexcept;
  Stmt &operator=(const Stmt &);
  Stmt &operator=(Stmt &&) noexcept;
  ~Stmt();
  template <IsStatement S> Stmt(S statement, SourceLoc loc);
  template <IsStatement S> const S &as() const { return std::get<S>(fields); }
  template <IsStatement S> S &as() { return std::get<S>(fields); }
  /// Null for another kind.
  template <IsStatement S> const S *getIf() const { return std::get_if<S>(&fields); }
  template <IsStatement S> S *getIf() { return std::get_if<S>(&fields); }
  /// The barrier that it waits for, arrives at or completes; null where there is none.
  const BarrierRef *barrier() const;
  BarrierRef *barrier();

  std::string dest;                  ///< the variable written; For: the induction variable
  std::vector<std::string> operands; ///< variables read

  // Compute: the tile op and its attributes
  ir::OpKind op = ir::OpKind::Add;
  double constant = 0;
  std::string name; ///< Dim, Param, ExternCall
  int axis = 0;
  ir::ReduceKind reduce = ir::ReduceKind::Sum;
  ir::Quotient quotient = ir::Quotient::Any; ///< Div, Mod of integers

  // Load, Store, Atomic, CopyIn, CopyOut
  ir::View view; ///< operand positions refer to `operands`
  bool hasElse = false;
  ir::AtomicKind atomic = ir::AtomicKind::Add;
  std::string map;       ///< CopyIn, CopyOut
  bool reducing = false; ///< CopyOut: adds in global memory

  /// LoadShared: of the block that comes so many after the block itself, going around the cluster; 0: its own.
  int fromBlock = 0;
  /// LoadShared: `Cols`: of the stage's columns, as many shares as there are blocks, that of the block's rank.
  Division share = Division::Whole;
  BufferRef ref;                 ///< LoadShared, StoreShared, LookUp, CopyIn, CopyOut; Product: b
  std::vector<BufferRef> scales; ///< Product: block scales of a and b, in shared memory; empty: none
  bool aShared = false;          ///< Product: a is aRef, in shared or tensor memory, else the variable operands[0]
  BufferRef aRef;
  BufferRef destRef;      ///< Product: the result in tensor memory; then there is no `dest`
  bool accumulate = true; ///< Product: false: dest = a · b
  /// Product: multiply-adds by the threads, synchronous. Compute: sums of rows in parts.
  bool byThreads = false;
  int64_t colLo = 0, colHi = 0; ///< StoreShared, CopyOut: these columns of the (undivided) tile; 0, 0: all
  int64_t rowHi = 0;            ///< Spread, with colHi
  bool firstInstance = false;   ///< Store, Atomic, StoreShared of what every instance holds: by the first only

  BarrierRef completes;   ///< CopyIn, Claim
  std::string turn;       ///< If: a cursor; whether it stands at the number of the instance
  bool inCluster = false; ///< Claim: at the barrier of every block of the cluster
  /// CopyIn: its bytes count in the cluster's first block, and `multicast` is a share that this block alone has.
  bool toFirst = false;
  bool inFirst = false; ///< executed in the first block of the cluster only
  /// Product: by two blocks, for both: each has its rows of a and of the result, and half of b's columns.
  bool byPair = false;
  bool byWarps = false; ///< Product: each warp's own instructions, synchronous
  /// CopyIn: not Whole: this block copies its share of the stage's rows or columns, by its place in the cluster, into
  /// every block of the cluster; each block's barrier counts the bytes of all shares.
  Division multicast = Division::Whole;
  /// With `multicast`, in a cluster along two axes: the one along which those blocks stand; empty: all of the cluster.
  std::string along;
  /// Ahead. LookUp: elements of the table. Product by warps: steps of k in a loop, 0: all. Compute of exp2: of 16
  /// elements those that a polynomial gives instead of the special function unit.
  int count = 0;
  int degree = 0;           ///< of that polynomial
  NamedBarrier meets;       ///< Compute with a scratch buffer, Product in turns: where the threads meet meanwhile
  bool always = false;      ///< Ahead
  bool lastInCache = false; ///< Load: L2 is to evict it last, as blocks that come much later read it again
  /// Product by warps: in so many turns, each a part of k: operands to registers, a barrier of the block, products, and
  /// but for the last a barrier, so that staggered halves of the role load and multiply at different times; 0: at once.
  /// For: so many instances take the iterations in turns (Turns.h); 0: each has all.
  int turns = 0;
  /// Product by warps: its reads of shared memory are spread between its instructions; else as the compiler likes.
  bool interleaved = false;
  /// CopyIn by the threads: each brings its share by so many loads straight to shared memory, which a wait counts; 0:
  /// by copies that are counted in groups.
  int loads = 0;
  /// Load: by those threads only that store what several hold (a column, a row, a scalar, a tile that every instance
  /// has); the others have zeros, which nothing is made of.
  bool own = false;
  bool one = false; ///< executed by one elected thread of the role's instance only
  /// For, Ahead. Compute of Begin, End: of the so many rows of the tile that an instance has, at least one; 0: of all.
  int64_t tileSize = 0;

  Body body;               ///< For, If, Ahead, Each
  Body prologue, epilogue; ///< For
  Body orElse;             ///< If, Ahead; For with `prologue` or `epilogue`

  /// In the order in which they run.
  std::array<Body *, 4> bodies() { return {&prologue, &body, &epilogue, &orElse}; }
  std::array<const Body *, 4> bodies() const { return {&prologue, &body, &epilogue, &orElse}; }
  /// A product that is over when the statement is.
  bool isSynchronous() const { return byThreads || byWarps; }
  /// A product into tensor memory.
  bool isTensorProduct() const { return kind == StmtKind::Product && !destRef.buffer.empty(); }
  /// A copy in that joins the copy groups of the role's threads.
  bool isThreadCopy() const { return kind == StmtKind::CopyIn && completes.empty(); }
};

/// The one at which a statement's threads meet: of a Sync or a Stagger, of a reduction that crosses warps, of a product
/// in turns.
std::optional<NamedBarrier> namedBarrier(const Stmt &stmt);

/// The cursor of its barrier, the one that it moves, or the one whose turn it asks for; empty where there is none.
VarName cursorOf(const Stmt &stmt);

/// Whether it arrives at barriers of other blocks of the cluster, or brings something to them.
bool reachesOtherBlocks(const Stmt &stmt);

/// What a product reads in shared or tensor memory: a, where it is no variable, b, block scales; nothing of others.
std::vector<BufferRef> operandRefs(const Stmt &stmt);

/// Calls `visit` on every statement of a body, outer first, or on a statement and every one inside it.
template <class Visit> void walk(const Body &body, const Visit &visit);
template <class Visit> void walk(Body &body, const Visit &visit);
template <class Visit> void walk(const Stmt &stmt, const Visit &visit) {
  visit(stmt);
  for (const Body *inner : stmt.bodies())
    walk(*inner, visit);
}
template <class Visit> void walk(Stmt &stmt, const Visit &visit) {
  visit(stmt);
  for (Body *inner : stmt.bodies())
    walk(*inner, visit);
}
template <class Visit> void walk(const Body &body, const Visit &visit) {
  for (const Stmt &stmt : body)
    walk(stmt, visit);
}
template <class Visit> void walk(Body &body, const Visit &visit) {
  for (Stmt &stmt : body)
    walk(stmt, visit);
}

/// Calls `visit(statement, depth)` on every statement of a body, outer first; depth counts the loops around it.
template <class AnyBody, class Visit> void walkLoops(AnyBody &body, const Visit &visit, int depth = 0) {
  for (auto &stmt : body) {
    visit(stmt, depth);
    for (AnyBody *inner : stmt.bodies())
      walkLoops(*inner, visit, depth + (stmt.kind == StmtKind::For ? 1 : 0));
  }
}

/// Whether `is` holds of a statement of a body, or of a statement or one inside it.
template <class Where, class Predicate> bool any(const Where &where, const Predicate &is) {
  bool found = false;
  walk(where, [&](const Stmt &stmt) { found = found || is(stmt); });
  return found;
}

/// A new last statement of `body`; valid until the next one.
Stmt &append(Body &body, StmtKind kind, SourceLoc loc);
template <IsStatement S> Stmt &append(Body &body, S statement, SourceLoc loc) {
  return body.emplace_back(std::move(statement), loc);
}

/// A group of warps that run one list of statements. Where nothing in it is for the threads of a warp together, one
/// thread of each instance runs it.
struct Role {
  std::string name; ///< "producer", "consumer"
  int firstWarp = 0;
  int warps = 4;        ///< of one instance
  int instances = 1;    ///< warpgroups that run the same body, each on its slice (Division)
  int lanes = 32;       ///< threads of a warp
  int registers = 0;    ///< setmaxnreg at the start; 0: none
  bool inFirst = false; ///< its statements are executed in the first block of the cluster only
  int headStart = 0;    ///< iterations of its loop that are asked for before the block meets (HeadStart.h)
  /// The same warps are all instances: what depends on the instance stands in Each, and no variable but a scalar comes
  /// into one of these or out of it.
  bool serial = false;
  /// Of a role with tiles in aligned layouts (`led by` in plans): the beginning of a row of memory, as long as a line
  /// of the caches, as an index of one element or tile a dim but for the last, on axes of the grid. How far it lies
  /// after a multiple of its size is how far the vectors of tiles begin before them. Empty: none.
  ir::View alignedBy;
  std::vector<std::string> alignedByOperands; ///< of `alignedBy`
  std::vector<Var> vars; ///< cursors among them: they start at stage 0, phase 0, and go on from tile to tile
  Body body;             ///< run for every tile of the grid that the block takes
  Body finish;           ///< run once after the last

  bool isAligned() const { return !alignedBy.tensor.empty(); }
  const Var *findVar(std::string_view name) const;
  /// Groups of `warps` warps that run the body.
  int processes() const { return serial ? 1 : instances; }
  int totalWarps() const { return warps * processes(); }
};

/// Whether one thread runs each instance of the role: nothing in it is for the threads of a warp together. The
/// verifier's proof and the printed code both rest on this one answer.
bool runsOnOneThread(const Role &role);
/// Whether the role has a Record.
bool isInstrumented(const Role &role);

/// One axis of the grid, outermost first.
struct GridAxis {
  std::string name;     ///< the variable that every role has: a scalar or a tile index
  std::string lo, hi;   ///< scalar variables of the prelude
  int64_t tileSize = 0; ///< 0: integers
  /// More than 0: the launcher chooses how many elements tiles have: a multiple of so many, more than half of the tile
  /// size, and at most that. They are the columns that products make. The axis begins at 0.
  int64_t step = 0;
  Body bounds; ///< ragged grids: computes lo and hi from the axes to the left; their variables are in preludeVars
};

/// How the blocks of a launch that has no counter take counted tiles (tk/tile_order.h): one each; as many blocks as run
/// at once, one after the other in turns; or in pairs of a long and a short one.
enum class Uncounted : uint8_t { Apart, Turns, Pairs };

/// How blocks find their tiles.
struct Grid {
  std::vector<GridAxis> axes;
  bool persistent = false; ///< a block takes tile after tile: block, block + blocks, …
  /// Persistent: after its own a block takes whichever tile is left (`claimed` in plans). As many blocks are launched
  /// as there are tiles, unless they are `counted`.
  bool dynamic = false;
  bool counted = false;                        ///< dynamic by a counter in global memory: as many blocks as run at once
  Uncounted uncounted = Uncounted::Apart;      ///< `counted`, where a launch has no counter, as captured ones
  static constexpr size_t mostCountedAxes = 3; ///< the answer says where the tile is on as many
  int rasterGroup = 0; ///< > 0: tiles in raster groups of so many rows, walked down first; the last axis' are columns
  int rasterAxes = 1;  ///< with raster groups: so many axes before the last number their rows
  int chiplets = 1;    ///< blocks go around so many dies; each die gets tiles that follow each other
  bool ragged = false; ///< an inner axis' range depends on outer ones: found on the device
  std::vector<std::string> reversed; ///< axes walked from the last tile (longest first)

  /// Whether a raster group has rows of all axes but the last, so that tiles are numbered as tk::raster does.
  bool rastersAll() const { return rasterGroup > 0 && rasterAxes + 1 == static_cast<int>(axes.size()); }
  /// With clusters: the axis of tiles along which the blocks of a cluster take neighbours. It is rounded up to whole
  /// clusters: a tile beyond its end begins at or after it, and ends where the axis ends.
  std::string clusterAxis;
  /// Another such axis, of a cluster in two directions, with so many of its blocks along it: rank 5 of a cluster of
  /// 2 × 4 has place 1 along `clusterAxis` and place 2 across.
  std::string acrossAxis;
  int across = 1;
};

/// What the planner decided and why, in a sentence, written down where it was decided. Not a part of the text form.
struct Note {
  enum Topic : uint8_t { Roles, Operands, Copies, Stages, Overlap, Loops, Cluster, Grid, Fit } topic;
  std::string text;
  SourceLoc loc; ///< the line that it is about; invalid: the kernel
};

struct Plan {
  std::string kernel;
  std::string arch;
  std::string doc;
  SourceLoc loc;
  std::vector<std::pair<std::string, int64_t>> constants;
  std::vector<std::pair<std::string, ElemType>> typeArgs;
  std::vector<ir::Param> params;
  std::vector<std::pair<ir::DimExpr, ir::DimExpr>> multiples; ///< ir::Function::multiples
  /// What the planner chose, for the header comment: "stages", "4".
  std::vector<std::pair<std::string, std::string>> decisions;
  std::vector<Note> notes; ///< for `--explain-plan`

  int threads = 384;
  bool aligned = false; ///< launched only where the copy engine can take every tensor that has a map: else one of the
                        ///< roles that copy has a slow path, and stores by the engine are in branches
  int cluster = 1;      ///< blocks that are launched together and reach each other's shared memory
  int64_t sharedBytes = 0;
  int64_t sharedSpan = 128; ///< bytes of shared memory that its banks serve at once; swizzles repeat after a sixteenth
                            ///< of as many rows
  std::vector<Var> preludeVars;
  Body prelude; ///< scalar work that needs no block: the grid's bounds; for host and device alike
  Grid grid;
  std::vector<TensorMap> maps;
  std::vector<Buffer> buffers;
  int tensorColumns = 0; ///< of tensor memory that the block allocates, and frees when all its roles have ended
  std::vector<TensorBuffer> tensors;
  std::vector<Barrier> barriers;
  std::vector<Role> roles;

  /// Bytes of which the place and the stages of a buffer with this swizzle are multiples.
  int64_t swizzleAtom(Swizzle swizzle) const {
    return swizzle == Swizzle::None ? 16 : sharedSpan / 16 * bytes(swizzle);
  }

  /// Blocks at once of a plan whose roles set their registers, on a multiprocessor with so many registers and bytes of
  /// shared memory; at least 1.
  int blocksAtOnce(int64_t registers, int64_t sharedMemory) const;

  /// How many blocks of a cluster stand along an axis of the grid, 1 where it has none; along "" all of them.
  int blocksAlong(std::string_view axis) const;
  /// How many of those stand before block `rank`.
  int placeAlong(std::string_view axis, int rank) const;
  /// Whether two blocks of a cluster differ in nothing but their places along an axis.
  bool standAlong(std::string_view axis, int a, int b) const;
  /// Whether two blocks differ along one axis of the cluster at most, so that they may load for each other.
  bool areMates(int a, int b) const;
  /// How many blocks those are for each block, itself among them.
  int mates() const;

  const Buffer *findBuffer(std::string_view name) const; ///< in shared memory
  const TensorBuffer *findTensor(std::string_view name) const;
  const Barrier *findBarrier(std::string_view name) const;
  const TensorMap *findMap(std::string_view name) const;
  const GridAxis *steppedAxis() const; ///< the one with a `step`; null where there is none
};

/// The text form; parses back to the same plan, source lines apart. With `sources`, a statement that starts another
/// source line than the one before it says so in a comment at its end.
std::string print(const Plan &plan, const SourceManager *sources = nullptr);
/// One statement on one line, without the bodies of a loop or branch: for messages.
std::string print(const Stmt &stmt);
/// Every plan of the buffer that has no errors; errors are reported. Statements have their place in the text as `loc`.
std::vector<std::unique_ptr<Plan>> parsePlan(uint32_t buffer, DiagnosticEngine &diagnostics);

/// The compute capability of the devices that run a kernel.
struct Capability {
  int major = 0, minor = 0;
  bool exactly = false; ///< else that and later ones
};

/// What a machine allows, as far as the verifier asks.
struct Budget {
  int64_t sharedBytes = 232448; ///< dynamic shared memory a block may have
  int registersPerBlock = 65536;
  int maxThreads = 1024;
  int namedBarriers = 16;
  int maxBoxDim = 256;
  int boxAlignment = 16; ///< bytes of which a box's place along the rows of its tensor is a multiple
  int maxCluster = 8;
  int maxRegisters = 255;               ///< a thread
  int tensorColumns = 0;                ///< 0: no tensor memory
  bool hasClusterLaunchControl = false; ///< a block can take over the work of blocks that have not started
  int64_t sharedSpan = 128;             ///< Plan::sharedSpan
  int sharedGrain = 16;                 ///< the least Buffer::grain
  bool transposesBytes = false;         ///< as it reads shared memory: waves take 8-bit operands that lie either way
  int chiplets = 1;                     ///< dies that blocks go around
  int directLoadBytes = 0;              ///< that a load to shared memory brings each thread
};

/// One reason why a plan is refused. `loc` is the .tk line of the statement.
struct Violation {
  SourceLoc loc;
  std::string message;
  /// The plan asks for more than the machine has, or than can be checked; another schedule may fit. All other
  /// violations are bugs of whoever made the plan.
  bool overBudget = false;
};
std::vector<Violation> verify(const Plan &plan, const Budget &budget);

} // namespace tkc::plan
