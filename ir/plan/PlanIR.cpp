// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/PlanIR.h"

#include <algorithm>
#include <array>

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

std::vector<BufferRef> operandRefs(const Stmt &stmt) {
  if (stmt.kind != StmtKind::Product)
    return {};
  std::vector<BufferRef> refs{stmt.ref};
  if (stmt.aShared)
    refs.push_back(stmt.aRef);
  refs.insert(refs.end(), stmt.scales.begin(), stmt.scales.end());
  return refs;
}

Stmt &append(Body &body, StmtKind kind, SourceLoc loc) {
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
  case StmtKind::FenceProxy:
    return "fence_proxy";
  case StmtKind::LoadTensor:
    return "load_tensor";
  case StmtKind::StoreTensor:
    return "store_tensor";
  case StmtKind::ScaleTensor:
    return "scale_tensor";
  case StmtKind::TensorFence:
    return "tensor_fence";
  case StmtKind::Sync:
    return "sync";
  case StmtKind::Expect:
    return "expect";
  case StmtKind::CopyIn:
    return "copy_in";
  case StmtKind::CopyOut:
    return "copy_out";
  case StmtKind::BulkCommit:
    return "bulk_commit";
  case StmtKind::WaitForPrevious:
    return "wait_for_previous";
  case StmtKind::BulkWait:
    return "bulk_wait";
  case StmtKind::Fetch:
    return "fetch";
  case StmtKind::Place:
    return "place";
  case StmtKind::Stagger:
    return "stagger";
  case StmtKind::CopyCommit:
    return "copy_commit";
  case StmtKind::CopyWait:
    return "copy_wait";
  case StmtKind::ProductFence:
    return "product_fence";
  case StmtKind::Product:
    return "product";
  case StmtKind::ProductCommit:
    return "product_commit";
  case StmtKind::ProductWait:
    return "product_wait";
  case StmtKind::Wait:
    return "wait";
  case StmtKind::Arrive:
    return "arrive";
  case StmtKind::Advance:
    return "advance";
  case StmtKind::ClusterSync:
    return "cluster_sync";
  case StmtKind::Claim:
    return "claim";
  case StmtKind::NextTile:
    return "next_tile";
  case StmtKind::Record:
    return "record";
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
  const auto haveRegisters = [&](int64_t blocks) {
    return registers / blocks / threads / unit * unit * setting >= asked;
  };
  int64_t blocks = std::max<int64_t>(sharedMemory / (sharedBytes + systemBytes), 1);
  while (blocks > 1 && !haveRegisters(blocks))
    --blocks;
  return static_cast<int>(blocks);
}

const Var *Role::findVar(std::string_view name) const { return findNamed(vars, name); }
const Buffer *Plan::findBuffer(std::string_view name) const { return findNamed(buffers, name); }
const TensorBuffer *Plan::findTensor(std::string_view name) const { return findNamed(tensors, name); }
const Barrier *Plan::findBarrier(std::string_view name) const { return findNamed(barriers, name); }
const TensorMap *Plan::findMap(std::string_view name) const { return findNamed(maps, name); }

} // namespace tkc::plan
