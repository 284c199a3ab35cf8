// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/verify/Sizes.h"

#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

namespace tkc::plan {
namespace {

constexpr int randomRuns = 96;

/// Which dims a variable depends on, and over what tiles loops go whose bounds depend on a dim.
class Dependences {
public:
  explicit Dependences(const Plan &plan) {
    // Names are joined over all roles: more dependences than there are do no harm.
    for (bool changed = true; changed;) {
      changed = false;
      forAll(plan, [&](const Stmt &stmt) { changed |= flow(stmt); });
      for (const GridAxis &axis : plan.grid.axes)
        for (const std::string &bound : {axis.lo, axis.hi})
          changed |= add(axis.name, dimsOf[bound]);
    }
    for (const GridAxis &axis : plan.grid.axes)
      over(axis.tileSize, {axis.lo, axis.hi});
    forAll(plan, [&](const Stmt &stmt) {
      if (stmt.kind == StmtKind::For)
        over(stmt.tileSize, stmt.operands);
    });
  }

  std::map<std::string, std::set<int64_t>> tileSizes;       ///< by dim
  std::map<std::string, std::set<int64_t>> scalarTileSizes; ///< by parameter on which bounds of loops depend

private:
  template <class Visit> static void forAll(const Plan &plan, Visit visit) {
    walk(plan.prelude, visit);
    for (const GridAxis &axis : plan.grid.axes)
      walk(axis.bounds, visit);
    for (const Role &role : plan.roles)
      for (const Body *body : {&role.body, &role.finish})
        walk(*body, visit);
  }
  bool add(const std::string &name, const std::set<std::string> &dims) {
    std::set<std::string> &all = dimsOf[name];
    size_t before = all.size();
    all.insert(dims.begin(), dims.end());
    return all.size() != before;
  }
  bool flow(const Stmt &stmt) {
    if (stmt.dest.empty())
      return false;
    if (stmt.kind == StmtKind::Compute && stmt.op == ir::OpKind::Dim) {
      tileSizes[stmt.name];
      return add(stmt.dest, {stmt.name});
    }
    if (stmt.kind == StmtKind::Compute && stmt.op == ir::OpKind::Param) {
      scalars.insert(stmt.name);
      return add(stmt.dest, {stmt.name});
    }
    bool changed = false;
    for (const std::string &operand : stmt.operands)
      changed |= add(stmt.dest, std::set<std::string>(dimsOf[operand]));
    return changed;
  }
  void over(int64_t tileSize, const std::vector<std::string> &bounds) {
    for (const std::string &bound : bounds)
      for (const std::string &dim : dimsOf[bound])
        (scalars.count(dim) ? scalarTileSizes : tileSizes)[dim].insert(std::max<int64_t>(tileSize, 1));
  }

  std::map<std::string, std::set<std::string>> dimsOf; ///< and parameters
  std::set<std::string> scalars;
};

/// A dim's value for `count` tiles, the last of them sometimes cut short: differences of dims then meet tiles of loops
/// between them off their edges.
int64_t sizeFor(const std::set<int64_t> &tiles, uint64_t which, int64_t count, Effort effort) {
  if (effort == Effort::FewLong && count > 2 && which / 64 % 4 != 0)
    count = 2;
  if (tiles.empty())
    return count;
  const size_t number = effort == Effort::All ? which % tiles.size() : 0;
  int64_t tile = *std::next(tiles.begin(), static_cast<std::ptrdiff_t>(number));
  int64_t missing[] = {0, 0, 0, tile / 2, 1, tile - 1};
  return std::max<int64_t>(0, count * tile - missing[which / 8 % std::size(missing)]);
}

} // namespace

std::vector<Inputs> chooseInputs(const Plan &plan, Effort effort) {
  const Dependences dependences(plan);
  const std::map<std::string, std::set<int64_t>> &dims = dependences.tileSizes;
  int64_t stages = 1;
  for (const Barrier &barrier : plan.barriers)
    stages = std::max<int64_t>(stages, std::min(barrier.stages, 8));
  for (const Buffer &buffer : plan.buffers)
    stages = std::max<int64_t>(stages, std::min(buffer.stages, 8));
  // Where blocks of a cluster share out a loop, as many times that.
  const bool shares = std::any_of(plan.grid.axes.begin(), plan.grid.axes.end(), [&](const GridAxis &axis) {
    return axis.name == plan.grid.clusterAxis && axis.tileSize == 0;
  });
  const int64_t each = shares ? plan.cluster : 1;
  const int64_t counts[] = {1, 0, 2, (stages + 1) * each, (2 * stages + 1) * each};

  std::vector<Inputs> all;
  auto add = [&](int tiles, int fit, auto countOf) {
    Inputs inputs;
    inputs.seed = mix(all.size(), 7);
    inputs.tiles = tiles;
    if (effort >= Effort::SomeTrips) {
      const bool least = effort == Effort::LeastTrips;
      inputs.manyTrips = effort == Effort::OneTrip ? 1 : least ? counts[3] : counts[4];
      inputs.fewTrips = effort == Effort::SomeTrips ? 2 : 1;
    }
    uint64_t hash = inputs.seed;
    for (auto &[dim, sizes] : dims) {
      hash = mix(hash, 1);
      inputs.dims[dim] = sizeFor(sizes, hash >> 8, countOf(hash), effort);
    }
    for (const ir::Param &param : plan.params)
      if (!param.isTensor) {
        hash = mix(hash, 2);
        inputs.params[param.name] = param.elem == ElemType::Bool ? hash % 2 : static_cast<double>(hash % 3);
        // As dims, every other time: bounds that lie by so much apart then have whole tiles between them.
        const auto bound = dependences.scalarTileSizes.find(param.name);
        if (bound != dependences.scalarTileSizes.end() && param.elem == ElemType::I32 && (hash >> 8) % 2 == 0)
          inputs.params[param.name] =
              static_cast<double>(sizeFor(bound->second, hash >> 16, countOf(hash >> 4), effort));
      }
    for (const TensorMap &map : plan.maps) {
      hash = mix(hash, 3);
      inputs.mapsFit[map.name] = fit == 0 || (fit == 2 && hash % 2 == 0);
    }
    all.push_back(std::move(inputs));
  };
  for (int64_t count : counts)
    for (int tiles : {1, 3})
      for (int fit : {0, 1})
        add(tiles, fit, [&](uint64_t) { return count; });
  for (int i = 0; i < randomRuns; ++i)
    add(i % 4, i % 3, [&](uint64_t hash) { return counts[(hash >> 20) % std::size(counts)]; });
  return all;
}

std::string describe(const Plan &plan, const Inputs &inputs) {
  std::string text;
  for (auto &[dim, value] : inputs.dims)
    text += fmt::format("{}{} = {}", text.empty() ? " (with " : ", ", dim, value);
  if (plan.grid.persistent)
    text += fmt::format("{}{} tiles", text.empty() ? " (with " : ", ", inputs.tiles);
  return text.empty() ? text : text + ")";
}

} // namespace tkc::plan
