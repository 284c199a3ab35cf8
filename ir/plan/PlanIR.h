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

/// Bytes of a row of the shared-memory swizzle atom (PTX ISA, "Shared memory matrix layout"); None is plain row-major.
/// A buffer whose rows are longer than the atom's is stored in panels of that width, each of all rows, one after
/// another.
enum class Swizzle : uint8_t { None, B32, B64, B128 };
std::string_view spelling(Swizzle swizzle);
int64_t bytes(Swizzle swizzle); ///< 0, 32, 64, 128

/// How the elements of a register tile are spread over the threads of a role.
struct Layout {
  enum Kind : uint8_t {
    Mma,     ///< the wgmma accumulator: slabs of 64 rows a warpgroup
    Operand, ///< a left operand of wgmma, of a type that is not 16 bits wide: Mma but for the order within a row
    Rows,    ///< vectors of `vec` elements, a row over `threadsPerRow` consecutive ones of the role's `threads` threads
    WarpMma, ///< the mma.sync accumulator, 16 rows a warp: slabs of `threads` / 2 rows
    Tensor,  ///< the accumulator of a product of 128 rows in tensor memory, as quads of threads read it: slabs of 128
             ///< rows a warpgroup, 32 neighbouring ones a warp
    Mfma,    ///< the MFMA accumulator, transposed, by waves below each other: blocks of 64 / `threadsPerRow` rows and
             ///< columns, of whose rows a lane has runs of `vec` neighbours
  } kind = Mma;
  int threads = 128;
  int threadsPerRow = 4;
  int vec = 2;
  /// Rows, a row at a time: vectors begin as many columns before the tile as the role's `lead` says, and the first ones
  /// hold the tile's last columns in place of those before it (tk/led_rows.h).
  bool led = false;
  friend bool operator==(const Layout &, const Layout &) = default;
};
std::string print(const Layout &layout);
/// Elements of a chunk of 16 bytes: by so many more than a tile in a led layout has, a copy of it in shared memory has
/// both chunks of memory that its turned one is made of.
inline int64_t ledChunk(ElemType elem) { return 128 / bitWidth(elem); }
/// Bits of an element in shared memory: those of six bits lie there as matrix instructions read them, 16 in 16 bytes
/// (tk/padded.h), which copies fill but for four.
inline int sharedBits(ElemType elem) { return isFloat6(elem) ? 8 : bitWidth(elem); }
inline int64_t sharedBytes(ElemType elem, int64_t count) { return count * sharedBits(elem) / 8; }
/// Columns of a copy engine's box of such elements, and what it begins at a multiple of. CUDA Driver API,
/// cuTensorMapEncodeTiled, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B.
constexpr int64_t float6BoxCols = 128;
/// Rows of a slab of an accumulator: those of all its warps.
constexpr int slabRows(const Layout &layout) {
  return layout.kind == Layout::Tensor ? layout.threads
         : layout.kind == Layout::Mfma ? layout.threads / layout.threadsPerRow
                                       : layout.threads / 2;
}
/// Rows and columns of a block of an accumulator in Layout::Mfma.
constexpr int blockSide(const Layout &layout) { return 64 / layout.threadsPerRow; }

/// Neighbours in a row that a thread holds.
constexpr int runOf(const Layout &layout) {
  return layout.kind == Layout::Rows || layout.kind == Layout::Mfma ? layout.vec : 2;
}

/// Which part of a tile each instance (warpgroup) of a role owns.
enum class Division : uint8_t {
  Whole, ///< every instance holds a copy of everything; the only one for Layout::Rows
  Rows,  ///< instance w of n holds rows [w·R/n, (w + 1)·R/n)
  Cols,  ///< and likewise for columns
};
std::string_view spelling(Division division);

/// Type of a variable of a role. Shapes are the whole tile's, padded to what the layout needs.
struct VarType {
  enum Kind : uint8_t {
    Scalar,
    TileIndex,
    Fragment,
    Column,
    Row,
    Cursor,
    Share, ///< what each thread copies of a stage, `rows` × `cols` as stored, in Layout::Rows
  } kind = Scalar;
  ElemType elem = ElemType::F32;
  int64_t rows = 1; ///< Fragment, Column; TileIndex: the tile's size; Cursor: stages of its ring
  int64_t cols = 1; ///< Fragment, Row
  Layout layout;
  Division division = Division::Whole;
  friend bool operator==(const VarType &, const VarType &) = default;
};
std::string print(const VarType &type);
/// Which part of the variable's own rows or columns an instance holds: a row that is divided by rows is whole.
Division heldPart(const VarType &type);

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
  int stages = 1;
  int instances = 1;   ///< more than 1: instance i of whatever role uses its own: each stage is so many tiles
  int64_t offset = 0;  ///< bytes from the 1024-byte aligned start of shared memory
  std::string aliasOf; ///< empty, or the buffer whose memory it reuses once that one is dead
  SourceLoc loc;

  int64_t stageBytes() const { return sharedBytes(elem, rows * cols); }
  int64_t copiedBytes() const { return bytesOf(elem, rows * cols); } ///< of a stage: without padding
  int64_t totalBytes() const { return stageBytes() * stages * instances; }
};

/// Tensor memory: `stages` tiles of results or left operands of products, side by side in its columns of 32 bits.
/// Slabs of `slab` rows, what one instruction makes or takes, lie side by side, and so do the columns of each.
struct TensorBuffer : Buffer {
  int slab = 128;     ///< 64 or 128 rows; of 64, every quarter of the 128 lanes has 16
  int64_t stride = 0; ///< columns from slab to slab, where that is more than a slab has; 0: side by side

  /// Columns of tensor memory; `offset` counts them too.
  int64_t slabColumns() const { return cols * bitWidth(elem) / 32; }
  int64_t stageColumns() const { return rows / slab * (stride > 0 ? stride : slabColumns()); }
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
  int fetched = 256; ///< bytes along a row that L2 takes from memory at once: 128 or 256
};

/// A stage of a buffer, by a cursor or stage 0.
struct BufferRef {
  std::string buffer;
  std::string cursor;               ///< empty: stage 0
  bool transposed = false;          ///< rows of the tile run along the buffer's columns
  Division slice = Division::Whole; ///< each instance uses its own rows or columns of the (untransposed-back) tile
};

/// What a role does from a Record on, for who looks at its time. Events have numbers of 16 bits.
constexpr int maxEvent = 65535;
enum class Activity : uint8_t { Compute, Product, Copy, Wait };
std::string_view spelling(Activity activity);

struct Stmt;
using Body = std::vector<Stmt>;

enum class StmtKind : uint8_t {
  // vector work on variables. A reduction that crosses warps has a scratch buffer in `ref`, and `id`, `threads` of the
  // named
  // barrier that orders its accesses.
  Compute, ///< dest = tile op `op` (with its attributes) of operands
  Move,    ///< dest = operands[0]
  Spread, ///< dest = operands[0] in the shape and layout of dest: a row goes to every row and a column to every column;
          ///< a row is taken from a tile whose rows are alike, a column is column 0. What lies from row `rowHi` or
          ///< column `colHi` on is zero (0: nothing)
  // global memory, by the threads of the role
  Load,   ///< dest = view[operands] (else the last operand)
  Store,  ///< view[operands but the last] = last operand; elements that exist only
  Atomic, ///< the same, atomically combined
  // shared memory, by the threads of the role
  LoadShared,  ///< dest = ref
  StoreShared, ///< ref = operands[0]
  FenceProxy,  ///< fence.proxy.async: this thread's shared stores become visible to the copy and matrix engines
  // tensor memory, by the threads of an instance: each warp its own lanes
  LoadTensor,  ///< dest = ref
  StoreTensor, ///< ref = operands[0]
  ScaleTensor, ///< ref *= operands[0], a column or a scalar
  TensorFence, ///< orders accesses to tensor memory with a barrier's: those before it, or, `inverted`, those after it
  Sync, ///< named barrier `id` over `threads` threads; fewer than the role has: each instance its own, id + instance.
        ///< 0:
        ///< the whole block's
  Stagger, ///< the whole block's barrier, for the second half of the role's instances, or, `inverted`, the first: from
           ///< then on one half runs a barrier behind the other, until the other kind makes up for it
  // copy engine
  Expect,     ///< barrier at cursor: an arrival of each thread, or of `one`, and `bytes` to come
  CopyIn,     ///< ref ← map at view[operands]; completes its bytes on barrier at cursor. Becomes the role's own copies
              ///< where
              ///< the launcher finds that the tensor does not suit the copy engine, or where `map` is empty.
              ///< Without a barrier: the role's threads copy asynchronously; joins each thread's open copy group.
  CopyOut,    ///< map at view[operands] ← ref (`reduce` adds); joins the issuing thread's current bulk group. Without a
              ///< map: by the role's threads, whole rows at a time.
  BulkCommit, ///< closes the bulk group
  BulkWait,   ///< until at most `count` bulk groups are still reading shared memory
  Fetch,      ///< dest = what each thread copies of view[operands] to a stage of `ref`, zeros where there is nothing
  Place,      ///< ref = operands[0], by the threads that fetched it
  CopyCommit, ///< closes each thread's copy group, which may be empty
  CopyWait,   ///< until at most `count` of each thread's copy groups are under way, or, with `byLoads`, of its loads
  // matrix engine
  ProductFence,  ///< wgmma.fence: earlier register accesses come before the next product's
  Product,       ///< dest (+)= a · b, asynchronously; with `destRef`, in tensor memory, by one thread
  ProductCommit, ///< closes the product group; with a barrier: arrives there once all products before are over
  ProductWait,   ///< until at most `count` groups are in flight
  // mbarriers
  Wait,        ///< until the phase of barrier at cursor completes; `inverted`: the phase before (a producer's wait for
               ///< "empty")
  Arrive,      ///< one arrival an instance, on barrier at cursor; `inCluster`: on that of every block of the cluster;
               ///< `byWarps`: one a warp, each for its own threads
  Advance,     ///< cursor to the next stage; flips its phase at the ring's end
  ClusterSync, ///< until all threads of the cluster that have not exited are here
  // tiles that a block takes over from blocks that have not started
  Claim,    ///< asks for one; the answer comes to `ref` asynchronously, `inCluster` in every block, and completes its
            ///< bytes on barrier at cursor
  NextTile, ///< the role goes on with the tile that `ref` names, or, where there was none, ends after this body
  // profiles
  Record, ///< of an instrumented plan: notes the time, and that the role begins `activity`, as event `id`; a wait says
          ///< in `name` for what. Orders nothing
  // launches
  WaitForPrevious, ///< lets the next kernel of the stream begin, then waits until the one before has ended and its
                   ///< writes are seen
  // control
  For, ///< dest from operands[0] to operands[1] by tiles of tileSize (0: integers). With `prologue` or `epilogue` (a
       ///< pipelined loop): if there is an iteration, `prologue` runs with the first, `body` with each of the others,
       ///< `epilogue` at the end, and if there is none, `orElse`. With operands[2], where the loops just before began
       ///< that ran up to operands[0], they and this one are one pipeline: this one's `prologue` runs if those had no
       ///< iteration, and its `epilogue`, the only one, if any had one
  If,  ///< operands[0], or, with `map` set: whether the launcher found that the map's tensor suits the copy engine, or,
       ///< with `cursor` set: whether that stands at the number of the instance, so that instances take turns
  Ahead, ///< body with dest, if there is that tile: number `count` of those from operands[0] to operands[1], or with
         ///< operands[2], the variable of a loop over the same, `count` after it; with `always`, if there is none as
         ///< well: what it copies is then zeros, or elements of tiles that are not asked for
  Each,  ///< of a serial role: body for one instance after the other
};
std::string_view spelling(StmtKind kind);

/// One statement. Fields mean something for the kinds that name them.
struct Stmt {
  StmtKind kind = StmtKind::Compute;
  SourceLoc loc;
  std::string dest;                  ///< the variable written; For: the induction variable
  std::vector<std::string> operands; ///< variables read

  // Compute: the tile op and its attributes
  ir::OpKind op = ir::OpKind::Add;
  double constant = 0;
  std::string name; ///< Dim, Param, ExternCall; Record of a wait
  int axis = 0;
  ir::ReduceKind reduce = ir::ReduceKind::Sum;

  // Load, Store, Atomic, CopyIn, CopyOut
  ir::View view; ///< operand positions refer to `operands`
  bool hasElse = false;
  ir::AtomicKind atomic = ir::AtomicKind::Add;
  std::string map;       ///< CopyIn, CopyOut
  bool reducing = false; ///< CopyOut: adds in global memory

  /// LoadShared: of the block of the cluster with this rank, which is not its own; 0: the block's own.
  int fromBlock = 0;
  BufferRef ref;                 ///< LoadShared, StoreShared, CopyIn, CopyOut; Product: b
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

  std::string barrier, cursor; ///< Expect, CopyIn, Wait, Arrive; Advance: cursor
  bool inverted = false;
  bool inCluster = false; ///< Arrive, ProductCommit: at the barrier of every block of the cluster
  /// Arrive, Expect: at the barrier of the cluster's first block, for what this block does. CopyIn: its bytes count
  /// there, and `multicast` is a share that this block alone has.
  bool toFirst = false;
  bool inFirst = false; ///< executed in the first block of the cluster only
  /// Product: by two blocks, for both: each has its rows of a and of the result, and half of b's columns.
  bool byPair = false;
  bool byWarps = false; ///< Arrive, not in the cluster: one a warp. Product: each warp's own instructions, synchronous
  /// CopyIn: not Whole: this block copies its share of the stage's rows or columns, by its place in the cluster, into
  /// every block of the cluster; each block's barrier counts the bytes of all shares.
  Division multicast = Division::Whole;
  int64_t bytes = 0; ///< Expect
  /// BulkWait, ProductWait, CopyWait, Ahead; Product by warps: steps of k in a loop, 0: all. Compute of exp2: of 16
  /// elements those that a polynomial gives instead of the special function unit.
  int count = 0;
  int degree = 0;                        ///< of that polynomial
  int id = 0, threads = 0;               ///< Sync; Stagger and Product in turns: threads; Record: id
  Activity activity = Activity::Compute; ///< Record
  bool byLoads = false;     ///< CopyWait: loads to shared memory of each thread are counted, not groups of them
  bool always = false;      ///< Ahead
  bool lastInCache = false; ///< Load: L2 is to evict it last, as blocks that come much later read it again
  /// Product by warps: in so many turns, each a part of k: operands to registers, a barrier of the block, products, and
  /// but for the last a barrier, so that staggered halves of the role load and multiply at different times; 0: at once.
  int turns = 0;
  /// Product by warps: its reads of shared memory are spread between its instructions; else as the compiler likes.
  bool interleaved = false;
  /// CopyIn by the threads: each brings its share by so many loads straight to shared memory, which a wait counts; 0:
  /// by copies that are counted in groups.
  int loads = 0;
  /// Load: by those threads only that store what several hold (a column, a row, a scalar, a tile that every instance
  /// has); the others have zeros, which nothing is made of.
  bool own = false;
  /// Sync: what the threads have read and written in global memory comes before what they do there afterwards. Others
  /// order shared memory alone.
  bool global = false;
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
  bool isThreadCopy() const { return kind == StmtKind::CopyIn && barrier.empty(); }
};

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
  /// The same warps are all instances: what depends on the instance stands in Each, and no variable but a scalar comes
  /// into one of these or out of it.
  bool serial = false;
  /// Of a role with tiles in led layouts: the beginning of a row of memory, as long as a line of the caches, as an
  /// index of one element or tile a dim but for the last, on axes of the grid. How far it lies after a multiple of its
  /// size is how far the vectors of tiles begin before them. Empty: none.
  ir::View lead;
  std::vector<std::string> leadOperands; ///< of `lead`
  std::vector<Var> vars; ///< cursors among them: they start at stage 0, phase 0, and go on from tile to tile
  Body body;             ///< run for every tile of the grid that the block takes
  Body finish;           ///< run once after the last

  bool isLed() const { return !lead.tensor.empty(); }
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
  Body bounds; ///< ragged grids: computes lo and hi from the axes to the left; their variables are in preludeVars
};

/// How blocks find their tiles.
struct Grid {
  std::vector<GridAxis> axes;
  bool persistent = false; ///< a block takes tile after tile: block, block + blocks, …
  bool claimed = false; ///< persistent: its own, then those that it claims; as many blocks as tiles, unless `counted`
  bool counted = false; ///< claimed by a counter in global memory: as many blocks as run at once
  static constexpr size_t mostCountedAxes = 3; ///< the answer says where the tile is on as many
  int rasterGroup = 0; ///< > 0: tiles in super-rows of so many rows, walked down first; the last axis' are columns
  int rasterAxes = 1;  ///< with super-rows: so many axes before the last number their rows
  int chiplets = 1;    ///< blocks go around so many dies; each die gets tiles that follow each other
  bool ragged = false; ///< an inner axis' range depends on outer ones: found on the device
  std::vector<std::string> reversed; ///< axes walked from the last tile (longest first)
  /// With clusters: the axis of tiles along which the blocks of a cluster take neighbours. It is rounded up to whole
  /// clusters: a tile beyond its end begins at or after it, and ends where the axis ends.
  std::string clusterAxis;
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

  const Buffer *findBuffer(std::string_view name) const; ///< in shared memory
  const TensorBuffer *findTensor(std::string_view name) const;
  const Barrier *findBarrier(std::string_view name) const;
  const TensorMap *findMap(std::string_view name) const;
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
  int maxCluster = 8;
  int maxRegisters = 255;       ///< a thread
  int tensorColumns = 0;        ///< 0: no tensor memory
  bool claimsTiles = false;     ///< a block can take over the work of blocks that have not started
  int64_t sharedSpan = 128;     ///< Plan::sharedSpan
  bool transposesBytes = false; ///< as it reads shared memory: waves take 8-bit operands that lie either way
  int chiplets = 1;             ///< dies that blocks go around
  int directLoadBytes = 0;      ///< that a load to shared memory brings each thread
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
