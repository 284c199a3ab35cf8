// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of statements of a plan, each with the fields that it has and, in `text`, how it reads.
#pragma once

#include "ir/plan/Syntax.h"
#include "ir/plan/Types.h"

#include <concepts>
#include <string>
#include <variant>

namespace tkc::plan {

/// Names of what a plan declares.
using VarName = std::string;
using BarrierName = std::string;
using BufferName = std::string;

/// A stage of a buffer, by a cursor or stage 0.
struct BufferRef {
  BufferName buffer;
  VarName cursor;                   ///< empty: stage 0
  bool transposed = false;          ///< rows of the tile run along the buffer's columns
  Division slice = Division::Whole; ///< each instance uses its own rows or columns of the (untransposed-back) tile
  friend bool operator==(const BufferRef &, const BufferRef &) = default;
};

/// A stage of an array of barriers, by a cursor or stage 0.
struct BarrierRef {
  BarrierName barrier;
  VarName cursor; ///< empty: stage 0
  bool empty() const { return barrier.empty(); }
  friend bool operator==(const BarrierRef &, const BarrierRef &) = default;
};

/// What a role does from a Record on, for who looks at its time. Events have numbers of 16 bits.
constexpr int maxEvent = 65535;
enum class Activity : uint8_t { Compute, Product, Copy, Wait };
std::string_view spelling(Activity activity);

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
  LookUp, ///< dest = of the first `count` elements of ref, a row, those that operands[0] names; where it names none of
          ///< them, what stands after `else`, or zero
  FenceProxy, ///< fence.proxy.async: this thread's shared stores become visible to the copy and matrix engines
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
              ///< map: by the threads that have the slice, rows in vectors of 16 bytes wherever they begin in memory.
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

// ---- barriers of threads

/// Named barrier `id` over `threads` threads; fewer than the role has: each instance its own, id + instance. 0: the
/// whole block's.
struct Sync {
  static constexpr StmtKind kind = StmtKind::Sync;
  static constexpr std::string_view keyword = "sync";
  int id = 0, threads = 0;
  /// What the threads have read and written in global memory comes before what they do there afterwards. Others order
  /// shared memory alone.
  bool global = false;
  static constexpr auto text(const auto &use) {
    return use(number(&Sync::id), word("threads"), number(&Sync::threads), flag("global", &Sync::global));
  }
};

/// The whole block's barrier, for one half of the role's instances: from then on one half runs a barrier behind the
/// other, until a barrier for the other half makes up for it.
struct Stagger {
  static constexpr StmtKind kind = StmtKind::Stagger;
  static constexpr std::string_view keyword = "stagger";
  bool firstHalf = false;
  int threads = 0;
  static constexpr auto text(const auto &use) {
    return use(either("first", "second", &Stagger::firstHalf), word("threads"), number(&Stagger::threads));
  }
};

/// Until all threads of the cluster that have not exited are here.
struct ClusterSync {
  static constexpr StmtKind kind = StmtKind::ClusterSync;
  static constexpr std::string_view keyword = "cluster_sync";
  static constexpr auto text(const auto &use) { return use(); }
};

// ---- fences

/// fence.proxy.async: this thread's shared stores become visible to the copy and matrix engines.
struct FenceProxy {
  static constexpr StmtKind kind = StmtKind::FenceProxy;
  static constexpr std::string_view keyword = "fence_proxy";
  static constexpr auto text(const auto &use) { return use(); }
};

/// Orders accesses to tensor memory with a barrier: those before the barrier, which follows, or those after it.
struct TensorFence {
  static constexpr StmtKind kind = StmtKind::TensorFence;
  static constexpr std::string_view keyword = "tensor_fence";
  bool afterBarrier = false;
  static constexpr auto text(const auto &use) { return use(either("after", "before", &TensorFence::afterBarrier)); }
};

/// wgmma.fence: earlier register accesses come before the next product's.
struct ProductFence {
  static constexpr StmtKind kind = StmtKind::ProductFence;
  static constexpr std::string_view keyword = "product_fence";
  static constexpr auto text(const auto &use) { return use(); }
};

// ---- groups of asynchronous work

/// Closes the bulk group of copies out.
struct BulkCommit {
  static constexpr StmtKind kind = StmtKind::BulkCommit;
  static constexpr std::string_view keyword = "bulk_commit";
  static constexpr auto text(const auto &use) { return use(); }
};

/// Until at most `left` bulk groups are still reading shared memory.
struct BulkWait {
  static constexpr StmtKind kind = StmtKind::BulkWait;
  static constexpr std::string_view keyword = "bulk_wait";
  int left = 0;
  static constexpr auto text(const auto &use) { return use(number(&BulkWait::left)); }
};

/// Closes each thread's copy group, which may be empty.
struct CopyCommit {
  static constexpr StmtKind kind = StmtKind::CopyCommit;
  static constexpr std::string_view keyword = "copy_commit";
  static constexpr auto text(const auto &use) { return use(); }
};

/// Until at most `left` of each thread's copy groups are under way, or, with `byLoads`, of its loads to shared memory.
struct CopyWait {
  static constexpr StmtKind kind = StmtKind::CopyWait;
  static constexpr std::string_view keyword = "copy_wait";
  bool byLoads = false;
  int left = 0;
  static constexpr auto text(const auto &use) {
    return use(flag("loads", &CopyWait::byLoads), number(&CopyWait::left));
  }
};

/// Closes the product group; with a barrier, on Blackwell: arrives there once all products before are over.
struct ProductCommit {
  static constexpr StmtKind kind = StmtKind::ProductCommit;
  static constexpr std::string_view keyword = "product_commit";
  BarrierRef completes;
  bool inCluster = false; ///< at the barrier of every block of the cluster
  static constexpr auto text(const auto &use) {
    return use(option("completes", barrier(&ProductCommit::completes)), flag("in cluster", &ProductCommit::inCluster));
  }
};

/// Until at most `left` product groups are in flight.
struct ProductWait {
  static constexpr StmtKind kind = StmtKind::ProductWait;
  static constexpr std::string_view keyword = "product_wait";
  int left = 0;
  static constexpr auto text(const auto &use) { return use(number(&ProductWait::left)); }
};

// ---- barriers in shared memory (mbarrier)

/// An arrival of each thread, or of one, which says that so many bytes are to come.
struct Expect {
  static constexpr StmtKind kind = StmtKind::Expect;
  static constexpr std::string_view keyword = "expect";
  BarrierRef at;
  int64_t bytes = 0;
  bool toFirst = false; ///< at the barrier of the cluster's first block, for what this block does
  static constexpr auto text(const auto &use) {
    return use(barrier(&Expect::at), word("bytes"), number(&Expect::bytes), flag("of first", &Expect::toFirst));
  }
};

/// Until the phase of the barrier at the cursor completes; `inverted`: the phase before, as a producer waits for room.
struct Wait {
  static constexpr StmtKind kind = StmtKind::Wait;
  static constexpr std::string_view keyword = "wait";
  BarrierRef at;
  bool inverted = false;
  static constexpr auto text(const auto &use) { return use(barrier(&Wait::at), flag("inverted", &Wait::inverted)); }
};

/// One arrival an instance.
struct Arrive {
  static constexpr StmtKind kind = StmtKind::Arrive;
  static constexpr std::string_view keyword = "arrive";
  BarrierRef at;
  bool toFirst = false;   ///< at the barrier of the cluster's first block, for what this block does
  bool byWarps = false;   ///< one a warp, each for its own threads; not in the cluster
  bool inCluster = false; ///< at the barrier of every block of the cluster
  static constexpr auto text(const auto &use) {
    return use(barrier(&Arrive::at), flag("of first", &Arrive::toFirst), flag("by warps", &Arrive::byWarps),
               flag("in cluster", &Arrive::inCluster));
  }
};

/// The cursor goes on to the next stage; its phase flips at the ring's end.
struct Advance {
  static constexpr StmtKind kind = StmtKind::Advance;
  static constexpr std::string_view keyword = "advance";
  VarName ring;
  bool own = false; ///< to the stage of the instance's number, where instances take turns (Turns.h)
  int turns = 0;    ///< by so many stages, past those of the others; 0: by one
  static constexpr auto text(const auto &use) {
    return use(cursor(&Advance::ring), flag("own", &Advance::own), option("turns", number(&Advance::turns)));
  }
};

// ---- the launch, and profiles

/// Lets the next kernel of the stream begin, then waits until the one before has ended and its writes are seen.
struct WaitForPrevious {
  static constexpr StmtKind kind = StmtKind::WaitForPrevious;
  static constexpr std::string_view keyword = "wait_for_previous";
  static constexpr auto text(const auto &use) { return use(); }
};

/// Of an instrumented plan: notes the time, and that the role begins `activity`, as event `id`; a wait says for what.
/// Orders nothing.
struct Record {
  static constexpr StmtKind kind = StmtKind::Record;
  static constexpr std::string_view keyword = "record";
  int id = 0;
  Activity activity = Activity::Compute;
  std::string awaited;
  static constexpr auto text(const auto &use) {
    return use(number(&Record::id), choice(&Record::activity), option("on", label(&Record::awaited)));
  }
};

template <class S>
concept IsStatement = requires {
  { S::kind } -> std::convertible_to<StmtKind>;
};

/// Every kind that has a struct of its own. The first stands for the others.
using StmtFields = std::variant<std::monostate, Sync, Stagger, ClusterSync, FenceProxy, TensorFence, ProductFence,
                                BulkCommit, BulkWait, CopyCommit, CopyWait, ProductCommit, ProductWait, Expect, Wait,
                                Arrive, Advance, WaitForPrevious, Record>;

/// Calls `visit(piece)` on each piece of the text of a kind of statement.
template <IsStatement S, class Visit> void forEachPiece(const Visit &visit) {
  static_assert(hasAllFields<S>, "the text of a statement speaks of each of its fields");
  S::text([&](const auto &...pieces) { (visit(pieces), ...); });
}

} // namespace tkc::plan
