// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/tensor/RematerializeScalars.h"

#include "backends/plan/tensor/PlaceTensors.h"

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;
using Names = std::set<std::string>;

bool isControl(const plan::Stmt &stmt) { return stmt.kind == Kind::For || stmt.kind == Kind::If; }

Names findScalars(const plan::Role &role) {
  Names scalars;
  plan::walk(role.body, [&](const plan::Stmt &stmt) {
    if ((stmt.kind == Kind::For || (stmt.kind == Kind::If && stmt.map.empty())) && hasTensorProduct(stmt))
      scalars.insert(stmt.operands.begin(), stmt.operands.end());
  });
  for (size_t before = 0; before != scalars.size();) {
    before = scalars.size();
    plan::walk(role.body, [&](const plan::Stmt &stmt) {
      if (!isControl(stmt) && scalars.count(stmt.dest))
        scalars.insert(stmt.operands.begin(), stmt.operands.end());
    });
  }
  return scalars;
}

bool isWritten(const plan::Role &role, const std::string &tensor) {
  return plan::any(role.body, [&](const plan::Stmt &stmt) {
    const bool writes = stmt.kind == Kind::Store || stmt.kind == Kind::Atomic || stmt.kind == Kind::CopyOut;
    return writes && stmt.view.tensor == tensor;
  });
}

/// Whether what is inside assigns one of them, and no loop does as its index.
bool assigns(const plan::Stmt &stmt, const Names &scalars) {
  return plan::any(stmt, [&](const plan::Stmt &inner) {
    return inner.kind != Kind::For && !inner.dest.empty() && scalars.count(inner.dest) != 0;
  });
}

} // namespace

std::set<std::string> scalarsOfProducts(const plan::Role &role, std::vector<Unsupported> &unsupported) {
  const Names scalars = findScalars(role);
  plan::walk(role.body, [&](const plan::Stmt &stmt) {
    if (stmt.kind == Kind::For || !scalars.count(stmt.dest))
      return;
    const bool isScalarWork = stmt.kind == Kind::Compute || stmt.kind == Kind::Move || stmt.kind == Kind::Load;
    if (!isScalarWork || !isScalar(role, stmt.dest))
      unsupported.push_back({stmt.loc, "a loop of products whose bounds come from tiles"});
    else if (stmt.kind == Kind::Load && isWritten(role, stmt.view.tensor))
      unsupported.push_back({stmt.loc, "a loop of products whose bounds come from a tensor that the kernel writes"});
  });
  // What holds no product the other role does not do.
  plan::walk(role.body, [&](const plan::Stmt &stmt) {
    if (isControl(stmt) && !hasTensorProduct(stmt) && assigns(stmt, scalars))
      unsupported.push_back({stmt.loc, "a loop or branch of products that hangs on what another computes"});
  });
  return scalars;
}

} // namespace tkc::planner
