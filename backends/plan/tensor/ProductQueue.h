// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the roles of computing warps know, as far as they have come, of the products that another role issues.
#pragma once

#include "ir/plan/PlanIR.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

using Names = std::set<std::string>;

inline bool isTensorAccess(const plan::Stmt &stmt) {
  return stmt.kind == plan::StmtKind::LoadTensor || stmt.kind == plan::StmtKind::StoreTensor ||
         stmt.kind == plan::StmtKind::ScaleTensor;
}

/// Products that the computing role has not waited for.
struct ProductGroup {
  std::string site; ///< names their barriers
  Names writes;     ///< results
  Names reads;      ///< operands in tensor memory or staging buffers
  plan::Body *body; ///< of the matrix role, with the commit
  size_t commit;
  bool overwrites = false;
};

/// One of the roles of computing warps, as far as it has come.
struct ProductStream {
  plan::Body *out = nullptr;
  std::vector<ProductGroup> queue; ///< products that it has not waited for
  bool fenced = false;             ///< it has fenced since its last wait
  bool handed = false;             ///< it has fenced its accesses to tensor memory
  Names cursors;
};

inline bool conflicts(const plan::Stmt &stmt, const ProductGroup &group) {
  const std::string &buffer = stmt.ref.buffer;
  if (isTensorAccess(stmt))
    return group.writes.count(buffer) || (stmt.kind != plan::StmtKind::LoadTensor && group.reads.count(buffer));
  return stmt.kind == plan::StmtKind::StoreShared && group.reads.count(buffer);
}

inline size_t groupsBlocking(const ProductStream &stream, const plan::Stmt &stmt) {
  size_t blocking = 0;
  for (size_t i = 0; i < stream.queue.size(); ++i)
    if (conflicts(stmt, stream.queue[i]))
      blocking = i + 1;
  return blocking;
}

/// Up to the last one that waited at the same barrier.
inline size_t groupsOf(const ProductStream &stream, const std::string &site) {
  size_t count = 0;
  for (size_t i = 0; i < stream.queue.size(); ++i)
    if (stream.queue[i].site == site)
      count = i + 1;
  return count;
}

inline size_t groupsBlockingAny(const ProductStream &stream, const plan::Stmt &stmt) {
  size_t blocking = 0;
  plan::walk(stmt, [&](const plan::Stmt &inner) { blocking = std::max(blocking, groupsBlocking(stream, inner)); });
  return blocking;
}

} // namespace tkc::planner
