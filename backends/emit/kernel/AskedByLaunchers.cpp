// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What launchers ask about the kernel of a plan.
#include "backends/emit/kernel/KernelPrinter.h"

#include "backends/emit/kernel/AllRoles.h"
#include "ir/Views.h"

#include <algorithm>

namespace tkc::cuda {

using plan::Stmt;
using plan::StmtKind;

namespace {

void addSymbols(const ir::DimExpr &dim, std::vector<std::string> &symbols) {
  if (dim.kind == ir::DimExpr::Symbol) {
    if (std::find(symbols.begin(), symbols.end(), dim.symbol) == symbols.end())
      symbols.push_back(dim.symbol);
  } else if (dim.kind != ir::DimExpr::Const) {
    addSymbols(*dim.lhs, symbols);
    addSymbols(*dim.rhs, symbols);
  }
}

} // namespace

std::set<std::string> externFunctionsOf(const plan::Plan &plan) {
  std::set<std::string> names;
  const auto visit = [&](const Stmt &stmt) {
    if (stmt.kind == StmtKind::Compute && stmt.op == ir::OpKind::ExternCall)
      names.insert(stmt.name);
  };
  walk(plan, visit);
  walk(plan.prelude, visit);
  for (const plan::GridAxis &axis : plan.grid.axes)
    walk(axis.bounds, visit);
  return names;
}

bool isInstrumented(const plan::Plan &plan) {
  return std::any_of(plan.roles.begin(), plan.roles.end(),
                     [](const plan::Role &role) { return plan::isInstrumented(role); });
}

bool waitsForPrevious(const plan::Plan &plan) {
  return std::any_of(plan.prelude.begin(), plan.prelude.end(),
                     [](const Stmt &stmt) { return stmt.kind == StmtKind::WaitForPrevious; });
}

std::vector<std::pair<std::string, MapUse>> mapUses(const plan::Plan &plan) {
  std::vector<std::pair<std::string, MapUse>> list;
  for (const plan::TensorMap &map : plan.maps) {
    const bool loads =
        any(plan, [&](const Stmt &stmt) { return stmt.kind == StmtKind::CopyIn && stmt.map == map.name; });
    const bool isVector = plan.findBuffer(map.buffer)->rows == 1;
    list.emplace_back(map.name, !loads ? MapUse::Stores : isVector ? MapUse::LoadsVector : MapUse::LoadsTile);
  }
  return list;
}

std::set<Reach> reaches(const plan::Plan &plan) {
  std::set<Reach> all;
  walk(plan, [&](const Stmt &stmt) {
    if (stmt.kind != StmtKind::Fetch)
      return;
    const plan::Buffer &buffer = *plan.findBuffer(stmt.ref.buffer);
    const auto [rowDim, colDim] = ir::rangedDims(stmt.view);
    if (rowDim >= 0)
      all.insert({stmt.view.tensor, rowDim, stmt.ref.transposed ? buffer.cols : buffer.rows});
    all.insert({stmt.view.tensor, colDim, stmt.ref.transposed ? buffer.rows : buffer.cols});
  });
  return all;
}

std::vector<std::string> fitFlags(const plan::Plan &plan) {
  bool tiles = false, vectors = false;
  for (const auto &[map, use] : mapUses(plan)) {
    tiles |= use == MapUse::LoadsTile;
    vectors |= use == MapUse::LoadsVector;
  }
  std::vector<std::string> flags;
  if (plan.aligned)
    return flags;
  if (tiles)
    flags.emplace_back("loads_fit");
  if (vectors)
    flags.emplace_back("vectors_fit");
  return flags;
}

std::vector<std::string> runtimeSymbols(const plan::Plan &plan) {
  std::vector<std::string> symbols;
  for (const ir::Param &param : plan.params)
    for (const ir::DimExpr &dim : param.dims)
      addSymbols(dim, symbols);
  std::erase_if(symbols, [&](const std::string &symbol) {
    return std::any_of(plan.constants.begin(), plan.constants.end(),
                       [&](const auto &constant) { return constant.first == symbol; });
  });
  return symbols;
}

} // namespace tkc::cuda
