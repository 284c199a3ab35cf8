// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that each block has of its own: a buffer of its size that nothing else is done with, in kernels whose blocks
// take one tile, by threads alone.
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::plan {
namespace {

bool suits(const ir::Param &param, const Buffer &buffer) {
  int64_t elements = 1;
  for (const ir::DimExpr &dim : param.dims)
    elements *= dim.isConst() ? dim.value : 0;
  return elements > 0 && buffer.elem == param.elem && buffer.rows * buffer.cols == elements && buffer.stages == 1 &&
         buffer.instances == 1 && buffer.aliasOf.empty() && buffer.swizzle == Swizzle::None;
}

bool uses(const Stmt &stmt, const std::string &buffer) {
  const std::vector<BufferRef> operands = operandRefs(stmt);
  return stmt.ref.buffer == buffer || stmt.aRef.buffer == buffer ||
         std::any_of(operands.begin(), operands.end(), [&](const BufferRef &ref) { return ref.buffer == buffer; });
}

bool isByThreads(const Stmt &stmt) { return stmt.kind == StmtKind::Load || stmt.kind == StmtKind::Store; }

} // namespace

void checkOwnMemory(const Plan &plan, Report &report) {
  const auto forEachStatement = [&](const auto &visit) {
    for (const Role &role : plan.roles) {
      walk(role.body, visit);
      walk(role.finish, visit);
    }
  };
  for (const ir::Param &param : plan.params) {
    if (!param.isLocal)
      continue;
    const std::string name = bufferOf(param);
    const Buffer *buffer = plan.findBuffer(name);
    if (!buffer || !suits(param, *buffer)) {
      report.add(plan.loc, fmt::format("`{}` has no buffer `{}` of its own, of its type and size", param.name, name));
      continue;
    }
    if (plan.grid.persistent)
      report.add(plan.loc, fmt::format("`{}`: a block that takes several tiles would find there what the tile before "
                                       "left, or overwrite what that is yet to read",
                                       param.name));
    for (const Buffer &other : plan.buffers)
      if (other.aliasOf == name)
        report.add(plan.loc, fmt::format("`{}` shares the memory of `{}`, which is read and written at any time",
                                         other.name, param.name));
    forEachStatement([&](const Stmt &stmt) {
      if (uses(stmt, name))
        report.add(stmt.loc, fmt::format("`{}`: `{}` is the memory of `{}`", print(stmt), name, param.name));
      if (stmt.view.tensor == param.name && !isByThreads(stmt))
        report.add(stmt.loc, fmt::format("`{}`: threads alone load and store `{}`", print(stmt), param.name));
    });
  }
}

} // namespace tkc::plan
