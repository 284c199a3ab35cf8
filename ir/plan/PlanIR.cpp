// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/PlanIR.h"

#include "ir/plan/LaunchRegisters.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace tkc::plan {

std::string_view spelling(Swizzle swizzle) {
  constexpr std::array<std::string_view, 4> names{"none", "32B", "64B", "128B"};
  return names[static_cast<size_t>(swizzle)];
}

int64_t bytes(Swizzle swizzle) {
  constexpr std::array<int64_t, 4> spans{0, 32, 64, 128};
  return spans[static_cast<size_t>(swizzle)];
}

std::string_view spelling(Division division) {
  constexpr std::array<std::string_view, 3> names{"whole", "rows", "cols"};
  return names[static_cast<size_t>(division)];
}

std::string_view spelling(Activity activity) {
  constexpr std::array<std::string_view, 4> names{"compute", "product", "copy", "wait"};
  return names[static_cast<size_t>(activity)];
}

/// The barrier of a kind whose text has one.
template <class S> static BarrierRef *barrierOf(S &statement) {
  BarrierRef *found = nullptr;
  const auto look = [&]<class Piece>(const Piece &piece, const auto &self) {
    if constexpr (requires { piece.piece; })
      self(piece.piece, self);
    else if constexpr (std::is_same_v<Piece, BarrierPiece<S, BarrierRef>>)
      found = &(statement.*piece.field);
  };
  forEachPiece<S>([&](const auto &piece) { look(piece, look); });
  return found && !found->empty() ? found : nullptr;
}

Stmt::Stmt() = default;
Stmt::Stmt(const Stmt &) = default;
Stmt::Stmt(Stmt &&) noexcept = default;
Stmt &Stmt::operator=(const Stmt &) = default;
Stmt &Stmt::operator=(Stmt &&) noexcept = default;
Stmt::~Stmt() = default;

template <IsStatement S>
Stmt::Stmt(S statement, SourceLoc loc) : kind(S::kind), loc(loc), fields(std::move(statement)) {}
template Stmt::Stmt(Sync, SourceLoc);
template Stmt::Stmt(Stagger, SourceLoc);
template Stmt::Stmt(ClusterSync, SourceLoc);
template Stmt::Stmt(FenceProxy, SourceLoc);
template Stmt::Stmt(TensorFence, SourceLoc);
template Stmt::Stmt(ProductFence, SourceLoc);
template Stmt::Stmt(BulkCommit, SourceLoc);
template Stmt::Stmt(BulkWait, SourceLoc);
template Stmt::Stmt(CopyCommit, SourceLoc);
template Stmt::Stmt(CopyWait, SourceLoc);
template Stmt::Stmt(ProductCommit, SourceLoc);
template Stmt::Stmt(ProductWait, SourceLoc);
template Stmt::Stmt(Expect, SourceLoc);
template Stmt::Stmt(Wait, SourceLoc);
template Stmt::Stmt(Arrive, SourceLoc);
template Stmt::Stmt(Advance, SourceLoc);
template Stmt::Stmt(WaitForPrevious, SourceLoc);
template Stmt::Stmt(Record, SourceLoc);

BarrierRef *Stmt::barrier() {
  return std::visit(
      [&]<class S>(S &statement) -> BarrierRef * {
        if constexpr (std::is_same_v<S, std::monostate>)
          return completes.empty() ? nullptr : &completes;
        else
          return barrierOf(statement);
      },
      fields);
}

const BarrierRef *Stmt::barrier() const { return const_cast<Stmt *>(this)->barrier(); }

VarName cursorOf(const Stmt &stmt) {
  if (const auto *advance = stmt.getIf<Advance>())
    return advance->ring;
  const BarrierRef *barrier = stmt.barrier();
  return barrier ? barrier->cursor : stmt.turn;
}

bool reachesOtherBlocks(const Stmt &stmt) {
  return std::visit(
      [&](const auto &fields) {
        if constexpr (requires { fields.inCluster, fields.toFirst; })
          return fields.inCluster || fields.toFirst;
        else if constexpr (requires { fields.inCluster; })
          return fields.inCluster;
        else if constexpr (requires { fields.toFirst; })
          return fields.toFirst;
        else
          return stmt.inCluster || stmt.toFirst || stmt.multicast != Division::Whole || stmt.byPair;
      },
      stmt.fields);
}

std::optional<NamedBarrier> namedBarrier(const Stmt &stmt) {
  if (const auto *sync = stmt.getIf<Sync>())
    return NamedBarrier{sync->id, sync->threads};
  if (const auto *stagger = stmt.getIf<Stagger>())
    return NamedBarrier{0, stagger->threads};
  if (stmt.kind == StmtKind::Product && stmt.turns > 0)
    return NamedBarrier{0, stmt.meets.threads};
  if (stmt.kind == StmtKind::Compute && !stmt.ref.buffer.empty())
    return stmt.meets;
  return std::nullopt;
}

std::vector<BufferRef> operandRefs(const Stmt &stmt) {
  if (stmt.kind != StmtKind::Product)
    return {};
  std::vector<BufferRef> refs{stmt.ref};
  if (stmt.aShared)
    refs.push_back(stmt.aRef);
  refs.insert(refs.end(), stmt.scales.begin(), stmt.scales.end());
  return refs;
}

template <class... S> static bool isOneOf(StmtKind kind, const std::variant<std::monostate, S...> *) {
  return ((kind == S::kind) || ...);
}

Stmt &append(Body &body, StmtKind kind, SourceLoc loc) {
  assert(!isOneOf(kind, static_cast<StmtFields *>(nullptr)) && "a kind with a struct is made of one");
  Stmt stmt;
  stmt.kind = kind;
  stmt.loc = loc;
  body.push_back(std::move(stmt));
  return body.back();
}

Division heldPart(const VarType &type) {
  const bool isWhole = (type.kind == VarType::Row && type.division == Division::Rows) ||
                       (type.kind == VarType::Column && type.division == Division::Cols);
  return isWhole ? Division::Whole : type.division;
}

std::string_view spelling(StmtKind kind) {
  switch (kind) {
  case StmtKind::Compute:
    return "compute";
  case StmtKind::Move:
    return "move";
  case StmtKind::Spread:
    return "spread";
  case StmtKind::Load:
    return "load";
  case StmtKind::Store:
    return "store";
  case StmtKind::Atomic:
    return "atomic";
  case StmtKind::LoadShared:
    return "load_shared";
  case StmtKind::StoreShared:
    return "store_shared";
  case StmtKind::LookUp:
    return "look_up";
  case StmtKind::FenceProxy:
    return FenceProxy::keyword;
  case StmtKind::LoadTensor:
    return "load_tensor";
  case StmtKind::StoreTensor:
    return "store_tensor";
  case StmtKind::ScaleTensor:
    return "scale_tensor";
  case StmtKind::TensorFence:
    return TensorFence::keyword;
  case StmtKind::Sync:
    return Sync::keyword;
  case StmtKind::Expect:
    return Expect::keyword;
  case StmtKind::CopyIn:
    return "copy_in";
  case StmtKind::CopyOut:
    return "copy_out";
  case StmtKind::BulkCommit:
    return BulkCommit::keyword;
  case StmtKind::WaitForPrevious:
    return WaitForPrevious::keyword;
  case StmtKind::BulkWait:
    return BulkWait::keyword;
  case StmtKind::Fetch:
    return "fetch";
  case StmtKind::Place:
    return "place";
  case StmtKind::Stagger:
    return Stagger::keyword;
  case StmtKind::CopyCommit:
    return CopyCommit::keyword;
  case StmtKind::CopyWait:
    return CopyWait::keyword;
  case StmtKind::ProductFence:
    return ProductFence::keyword;
  case StmtKind::Product:
    return "product";
  case StmtKind::ProductCommit:
    return ProductCommit::keyword;
  case StmtKind::ProductWait:
    return ProductWait::keyword;
  case StmtKind::Wait:
    return Wait::keyword;
  case StmtKind::Arrive:
    return Arrive::keyword;
  case StmtKind::Advance:
    return Advance::keyword;
  case StmtKind::ClusterSync:
    return ClusterSync::keyword;
  case StmtKind::Claim:
    return "claim";
  case StmtKind::NextTile:
    return "next_tile";
  case StmtKind::Record:
    return Record::keyword;
  case StmtKind::For:
    return "for";
  case StmtKind::If:
    return "if";
  case StmtKind::Ahead:
    return "ahead";
  case StmtKind::Each:
    return "each";
  }
  return {};
}

template <class T> static const T *findNamed(const std::vector<T> &all, std::string_view name) {
  auto found = std::find_if(all.begin(), all.end(), [&](const T &each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

int Plan::blocksAtOnce(int64_t registers, int64_t sharedMemory) const {
  constexpr int64_t systemBytes = 1024; // of each block, besides its own (CUDA programming guide)
  constexpr int64_t unit = 8;           // registers are given to threads in eights
  int64_t asked = 0, setting = 0;       // registers, and the threads that ask for them
  for (const Role &role : roles)
    if (role.registers > 0) {
      asked += int64_t{role.registers} * role.totalWarps() * role.lanes;
      setting += int64_t{role.totalWarps()} * role.lanes;
    }
  const int64_t ofProduct = widestProduct(*this).registers;
  const auto haveRegisters = [&](int64_t blocks) {
    const int64_t each = registers / blocks / threads / unit * unit;
    return each * setting >= asked && each >= ofProduct;
  };
  int64_t blocks = std::max<int64_t>(sharedMemory / (sharedBytes + systemBytes), 1);
  while (blocks > 1 && !haveRegisters(blocks))
    --blocks;
  return static_cast<int>(blocks);
}

const Var *Role::findVar(std::string_view name) const { return findNamed(vars, name); }
int Plan::blocksAlong(std::string_view axis) const {
  if (axis.empty())
    return cluster;
  return axis == grid.clusterAxis ? cluster / grid.across : axis == grid.acrossAxis ? grid.across : 1;
}

int Plan::placeAlong(std::string_view axis, int rank) const {
  const int along = cluster / grid.across;
  if (axis.empty())
    return rank;
  return axis == grid.clusterAxis ? rank % along : axis == grid.acrossAxis ? rank / along : 0;
}

bool Plan::standAlong(std::string_view axis, int a, int b) const {
  if (axis.empty())
    return true;
  const std::string &other = axis == grid.clusterAxis ? grid.acrossAxis : grid.clusterAxis;
  return other.empty() || placeAlong(other, a) == placeAlong(other, b);
}

bool Plan::areMates(int a, int b) const {
  return standAlong(grid.clusterAxis, a, b) || standAlong(grid.acrossAxis, a, b);
}

int Plan::mates() const { return cluster / grid.across + grid.across - 1; }

std::string bufferOf(const ir::Param &local) { return "block." + local.name; }

const Buffer *Plan::findBuffer(std::string_view name) const { return findNamed(buffers, name); }
const TensorBuffer *Plan::findTensor(std::string_view name) const { return findNamed(tensors, name); }
const Barrier *Plan::findBarrier(std::string_view name) const { return findNamed(barriers, name); }
const TensorMap *Plan::findMap(std::string_view name) const { return findNamed(maps, name); }

const GridAxis *Plan::steppedAxis() const {
  const auto found =
      std::find_if(grid.axes.begin(), grid.axes.end(), [](const GridAxis &axis) { return axis.step > 0; });
  return found == grid.axes.end() ? nullptr : &*found;
}

} // namespace tkc::plan
