// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cost/Reuse.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tkc::cost {

using plan::Stmt;
using plan::StmtKind;

namespace {

/// Of L2, that holds what will be asked for again; the rest is on its way in or out.
constexpr double usefulCache = 0.6;
/// Multiprocessors side by side whose requests for the same bytes L2 serves together (docs/cost-model.md).
constexpr int64_t neighbours = 4;
/// Tiles that stand for all those that run side by side.
constexpr int64_t mostTiles = 264;

/// A statement that touches a tensor, with the loops around it.
struct Access {
  Node *node;
  std::vector<const Stmt *> loops;
  double executions = 0; ///< a tile, on average
  double distinct = 1;   ///< share of the tiles side by side that touch elements of their own
  double fresh = 1;      ///< share of the tiles after them that touch elements that these did not
  double apart = 1; ///< share of the tiles side by side that differ in what they touch from the others of their four
};

bool touches(const Stmt &stmt) {
  return stmt.kind == StmtKind::Load || stmt.kind == StmtKind::Fetch || stmt.kind == StmtKind::Store ||
         stmt.kind == StmtKind::Atomic || stmt.kind == StmtKind::CopyIn || stmt.kind == StmtKind::CopyOut;
}

void collect(std::vector<Node> &nodes, std::vector<const Stmt *> &loops, std::vector<Access> &out) {
  for (Node &node : nodes) {
    const bool isLoop = node.stmt->kind == StmtKind::For;
    if (node.traffic.bytes > 0 && touches(*node.stmt))
      out.push_back({&node, loops});
    if (isLoop)
      loops.push_back(node.stmt);
    for (auto *inner : {&node.prologue, &node.body, &node.epilogue, &node.orElse})
      collect(*inner, loops, out);
    if (isLoop)
      loops.pop_back();
  }
}

/// The scalars of a role that its loops do not change, and those of each loop's first trip.
void runScalars(const std::vector<Node> &nodes, plan::Scalars &scalars) {
  for (const Node &node : nodes) {
    const Stmt &stmt = *node.stmt;
    if (node.isScalar && (stmt.kind == StmtKind::Compute || stmt.kind == StmtKind::Move || stmt.kind == StmtKind::Load))
      scalars.run(stmt, node.destType, 0);
    if (stmt.kind == StmtKind::For || stmt.kind == StmtKind::Ahead) {
      const auto lo = plan::toInteger(scalars.get(stmt.operands[0]).value),
                 hi = plan::toInteger(scalars.get(stmt.operands[1]).value);
      scalars.set(stmt.dest, {static_cast<double>(lo), lo, std::min(lo + std::max<int64_t>(stmt.tileSize, 1), hi), 0});
    }
    for (const auto *inner : {&node.prologue, &node.body, &node.epilogue, &node.orElse})
      runScalars(*inner, scalars);
  }
}

double trips(const Stmt &loop, const plan::Scalars &scalars) {
  const auto lo = scalars.get(loop.operands[0]).value, hi = scalars.get(loop.operands[1]).value;
  return std::max(0.0, std::ceil((hi - lo) / static_cast<double>(std::max<int64_t>(loop.tileSize, 1))));
}

/// What the values of a role are made of.
class Origins {
public:
  explicit Origins(const std::vector<Node> &body) {
    walk(body, [&](const Node &node) {
      if (node.stmt->kind == StmtKind::Compute || node.stmt->kind == StmtKind::Move ||
          node.stmt->kind == StmtKind::Load)
        made.emplace(node.stmt->dest, &node);
    });
  }

  /// A tile of indices: it has no number that says what they are.
  bool isTile(const std::string &name) const {
    const auto found = made.find(name);
    return found != made.end() && !found->second->isScalar;
  }
  /// Everything that the values are made of, and they themselves.
  std::set<std::string> of(const std::vector<std::string> &names) const {
    std::set<std::string> all;
    std::vector<std::string> open = names;
    while (!open.empty()) {
      const std::string name = open.back();
      open.pop_back();
      if (!all.insert(name).second)
        continue;
      if (const auto found = made.find(name); found != made.end())
        open.insert(open.end(), found->second->stmt->operands.begin(), found->second->stmt->operands.end());
    }
    return all;
  }

private:
  std::map<std::string, const Node *> made;
};

/// What a statement touches apart from what its loops walk over, as numbers: where it gathers, those of which the
/// indices are made.
std::vector<double> coordinates(const Access &access, const Origins &origins, const plan::Scalars &scalars) {
  std::vector<double> result;
  const auto add = [&](const std::string &name) {
    if (std::any_of(access.loops.begin(), access.loops.end(), [&](const Stmt *loop) { return loop->dest == name; }))
      return;
    const plan::Scalar value = scalars.get(name);
    result.push_back(value.value);
    result.push_back(static_cast<double>(value.begin));
  };
  for (const ir::ViewIndex &index : access.node->stmt->view.indices)
    if (index.kind == ir::ViewIndex::Gather && origins.isTile(access.node->stmt->operands[index.operand]))
      for (const std::string &name : origins.of({access.node->stmt->operands[index.operand]}))
        add(name);
  for (const std::string &name : access.node->stmt->operands)
    add(name);
  return result;
}

/// What tiles with equal coordinates walk over, together and one by one.
struct Extent {
  double lo = HUGE_VAL, hi = -HUGE_VAL, sum = 0;

  void add(double from, double to) {
    lo = std::min(lo, from);
    hi = std::max(hi, to);
    sum += std::max(0.0, to - from);
  }
  double joined() const { return std::max(0.0, std::min(hi - lo, sum)); }
};

/// The outermost loop that decides what the statement touches, or null.
const Stmt *walkedLoop(const Access &access, const Origins &origins) {
  std::vector<std::string> indices;
  for (const ir::ViewIndex &index : access.node->stmt->view.indices)
    if (index.kind == ir::ViewIndex::Element || index.kind == ir::ViewIndex::Tiled ||
        index.kind == ir::ViewIndex::Gather)
      indices.push_back(access.node->stmt->operands[index.operand]);
  const std::set<std::string> names = origins.of(indices);
  const auto found = std::find_if(access.loops.begin(), access.loops.end(),
                                  [&](const Stmt *loop) { return names.count(loop->dest) != 0; });
  return found == access.loops.end() ? nullptr : *found;
}

class Reuse {
public:
  Reuse(Program &program, const Grid &grid, const CallShape &call, const arch::Description &arch, int64_t concurrent)
      : program(program), grid(grid), call(call),
        capacity(usefulCache * static_cast<double>(arch.l2Bytes) * arch.chiplets), concurrent(concurrent) {}

  void run() {
    for (RoleProgram &role : program.roles) {
      std::vector<const Stmt *> loops;
      std::vector<Access> own;
      collect(role.body, loops, own);
      measure(role, own);
      accesses.insert(accesses.end(), own.begin(), own.end());
    }
    decide();
  }

private:
  void measure(const RoleProgram &role, std::vector<Access> &own) {
    const int64_t window = std::min({mostTiles, concurrent, grid.size()});
    // The middle of the grid: neither end is typical.
    const int64_t first = std::max<int64_t>(0, std::min(grid.size() / 2, grid.size() - 2 * window));
    const int64_t second = std::max<int64_t>(0, std::min(window, grid.size() - first - window));
    using Seen = std::map<std::vector<double>, Extent>;
    std::vector<Seen> seen(own.size()), later(own.size());
    std::vector<std::set<std::vector<double>>> ofFour(own.size());
    std::vector<double> differing(own.size(), 0);
    const Origins origins(role.body);
    std::vector<const Stmt *> walked;
    for (const Access &access : own)
      walked.push_back(walkedLoop(access, origins));
    for (int64_t i = 0; i < window + second; ++i) {
      plan::Scalars scalars = grid.scalars(grid.tile(first + i));
      runScalars(role.body, scalars);
      for (size_t each = 0; each < own.size(); ++each) {
        const Stmt *loop = walked[each];
        const double lo = loop ? scalars.get(loop->operands[0]).value : 0;
        const double hi = loop ? scalars.get(loop->operands[1]).value : 1;
        const std::vector<double> at = coordinates(own[each], origins, scalars);
        (i < window ? seen : later)[each][at].add(lo, hi);
        if (i % neighbours == 0)
          ofFour[each].clear();
        differing[each] += i < window && ofFour[each].insert(at).second;
        double count = 1;
        for (const Stmt *loop : own[each].loops)
          count *= trips(*loop, scalars);
        own[each].executions += count / static_cast<double>(window + second);
      }
    }
    for (size_t each = 0; each < own.size(); ++each) {
      double joined = 0, sum = 0, fresh = 0, laterSum = 0;
      for (const auto &[key, extent] : seen[each])
        joined += extent.joined(), sum += extent.sum;
      for (const auto &[key, extent] : later[each]) {
        fresh += seen[each].count(key) == 0 ? extent.joined() : 0;
        laterSum += extent.sum;
      }
      own[each].distinct = sum > 0 ? joined / sum : 1;
      own[each].apart = differing[each] / static_cast<double>(window);
      own[each].fresh = laterSum > 0 ? fresh / laterSum : own[each].distinct;
      if (!walked[each] && own[each].executions > 1) {
        own[each].distinct /= own[each].executions;
        own[each].fresh /= own[each].executions;
      }
    }
  }

  void decide() {
    double footprint = 0, sideBySide = 0;
    std::set<std::string> tensors;
    for (const Access &access : accesses) {
      if (tensors.insert(access.node->stmt->view.tensor).second)
        footprint += tensorBytes(access);
      sideBySide += bytesPerTile(access) * access.distinct * static_cast<double>(concurrent);
    }
    std::set<std::string> before;
    for (Access &access : accesses) {
      const double asked = bytesPerTile(access) * static_cast<double>(grid.size());
      const double least = asked > 0 ? std::min(1.0, tensorBytes(access) / asked) : 1;
      double missing = access.distinct;
      if (footprint <= capacity)
        missing = least;
      else if (sideBySide <= capacity)
        missing = std::max(access.fresh, least);
      // A second look at what the tile has read already.
      if (sideBySide <= capacity && !access.node->traffic.toMemory &&
          !before.insert(access.node->stmt->view.tensor).second && access.executions > 0 && isRepeated(access))
        missing = 0;
      access.node->traffic.missing = std::min(1.0, missing);
      access.node->traffic.joined = access.node->traffic.toMemory ? 0 : 1 - access.apart;
    }
  }

  /// Whether an earlier loop of the same role reads the same elements, and is not its clone for the last tiles.
  bool isRepeated(const Access &access) const {
    for (const Access &other : accesses) {
      if (&other == &access)
        return false;
      if (other.node->stmt->view.tensor == access.node->stmt->view.tensor &&
          other.node->stmt->kind == access.node->stmt->kind && other.node->stmt->loc != access.node->stmt->loc &&
          other.executions >= access.executions && !access.loops.empty())
        return true;
    }
    return false;
  }

  double bytesPerTile(const Access &access) const { return access.node->traffic.bytes * access.executions; }

  double tensorBytes(const Access &access) const {
    for (const ir::Param &param : program.plan->params)
      if (param.name == access.node->stmt->view.tensor)
        return elementsOf(param, call) * bitWidth(param.elem) / 8;
    return 0;
  }

  Program &program;
  const Grid &grid;
  const CallShape &call;
  const double capacity;
  const int64_t concurrent;
  std::vector<Access> accesses;
};

} // namespace

void findReuse(Program &program, const Grid &grid, const CallShape &call, const arch::Description &arch,
               int64_t concurrent) {
  Reuse(program, grid, call, arch, std::max<int64_t>(concurrent, 1)).run();
}

Trips::Trips(const Program &program, const Grid &grid)
    : role(program.roles[program.computing]), grid(grid), axisNames(program.plan->grid.axes) {
  std::set<std::string> names;
  for (const Node &node : role.body)
    if (node.stmt->kind == StmtKind::For)
      names.insert(node.stmt->operands.begin(), node.stmt->operands.begin() + 2);
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    walk(role.body, [&](const Node &node) {
      if (node.isScalar && names.count(node.stmt->dest))
        names.insert(node.stmt->operands.begin(), node.stmt->operands.end());
    });
  }
  for (size_t i = 0; i < axisNames.size(); ++i)
    if (names.count(axisNames[i].name))
      axes.push_back(i);
}

double Trips::of(const Tile &tile) {
  std::vector<int64_t> key;
  for (size_t axis : axes)
    key.push_back(tile[axis].begin);
  auto [found, isNew] = known.emplace(std::move(key), 0);
  if (!isNew)
    return found->second;
  plan::Scalars scalars = grid.scalars(tile);
  runScalars(role.body, scalars);
  for (const Node &node : role.body)
    if (node.stmt->kind == StmtKind::For)
      found->second += trips(*node.stmt, scalars);
  return found->second;
}

} // namespace tkc::cost
