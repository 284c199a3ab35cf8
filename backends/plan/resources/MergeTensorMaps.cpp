// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/resources/MergeTensorMaps.h"

#include <algorithm>
#include <map>
#include <set>

namespace tkc::planner {
namespace {

bool areAlike(const plan::Plan &plan, const plan::TensorMap &a, const plan::TensorMap &b) {
  const plan::Buffer &to = *plan.findBuffer(a.buffer), &other = *plan.findBuffer(b.buffer);
  return a.tensor == b.tensor && a.rowDim == b.rowDim && a.colDim == b.colDim && a.boxRows == b.boxRows &&
         a.boxCols == b.boxCols && a.swizzle == b.swizzle && a.fetched == b.fetched && to.elem == other.elem &&
         to.rows == other.rows && to.cols == other.cols && to.swizzle == other.swizzle;
}

} // namespace

void mergeTensorMaps(plan::Plan &plan) {
  // Those of stores stay apart, as the launcher asks other things of their tensors.
  std::set<std::string> stores;
  const auto findStores = [&](const plan::Stmt &stmt) {
    if (stmt.kind == plan::StmtKind::CopyOut)
      stores.insert(stmt.map);
  };
  for (const plan::Role &role : plan.roles)
    for (const plan::Body *body : {&role.body, &role.finish})
      plan::walk(*body, findStores);
  std::map<std::string, std::string> instead;
  std::vector<plan::TensorMap> kept;
  for (plan::TensorMap &map : plan.maps) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const plan::TensorMap &other) {
      return !stores.count(map.name) && !stores.count(other.name) && areAlike(plan, map, other);
    });
    if (same == kept.end())
      kept.push_back(std::move(map));
    else
      instead[map.name] = same->name;
  }
  plan.maps = std::move(kept);
  const auto rename = [&](plan::Stmt &stmt) {
    if (const auto found = instead.find(stmt.map); found != instead.end())
      stmt.map = found->second;
  };
  for (plan::Role &role : plan.roles)
    for (plan::Body *body : {&role.body, &role.finish})
      plan::walk(*body, rename);
}

} // namespace tkc::planner
