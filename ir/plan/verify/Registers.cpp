// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Liveness of the tiles of a role, and the registers that those alive together take. An estimate: addresses, counters
// and temporaries inside a statement come on top; indices and constants, which cost less to make again, are left out.
#include "ir/plan/ByElements.h"
#include "ir/plan/Excess.h"
#include "ir/plan/LaunchRegisters.h"
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace tkc::plan {
namespace {

using Names = std::set<std::string>;

/// 32-bit registers a thread.
int64_t registersOf(const VarType &type, int instances) {
  const Layout &layout = type.layout;
  int64_t threads = std::max(layout.threads, 1), across = std::max(layout.threadsPerRow, 1), count = 0;
  int64_t rows = type.division == Division::Rows ? type.rows / instances : type.rows;
  int64_t cols = type.division == Division::Cols ? type.cols / instances : type.cols;
  switch (type.kind) {
  case VarType::Fragment:
  case VarType::Share:
    count = rows * cols / threads;
    break;
  case VarType::Column:
    count = rows * across / threads;
    break;
  case VarType::Row:
    count = cols / across;
    break;
  case VarType::Scalar:
  case VarType::TileIndex:
  case VarType::Cursor:
    return 0;
  }
  if (type.elem == ElemType::Bool)
    return 0;
  return std::max<int64_t>(1, (count * bitWidth(type.elem) + 31) / 32);
}

class Liveness {
public:
  /// `onlyWhole`: only places count at which all elements of a tile have to be there.
  explicit Liveness(const Role &role, bool onlyWhole = false) : onlyWhole(onlyWhole) {
    for (const Var &var : role.vars)
      if (int64_t registers = registersOf(var.type, role.instances))
        sizes[var.name] = registers;
    for (const Body *body : {&role.body, &role.finish}) {
      walk(*body, [&](const Stmt &stmt) {
        if (isCheapToMake(stmt))
          sizes.erase(stmt.dest);
      });
      walk(*body, [&](const Stmt &stmt) { inFlight(stmt); });
    }
    findPassing(role, role.body, Accesses(role.body));
    before(role.body, {});
  }

  int64_t most = 0;
  Names alive;
  const Stmt *where = nullptr;
  std::map<std::string, int64_t> sizes;

private:
  static bool isCheapToMake(const Stmt &stmt) {
    return stmt.kind == StmtKind::Compute && (stmt.op == ir::OpKind::Elements || stmt.op == ir::OpKind::Iota);
  }

  /// Registers that a product reads are in use until the wait that covers it.
  void inFlight(const Stmt &stmt) {
    if (stmt.kind == StmtKind::Product && !stmt.isSynchronous() && !stmt.isTensorProduct())
      products.push_back(stmt.aShared || stmt.operands.empty() ? stmt.dest : stmt.operands[0]);
    if (stmt.kind != StmtKind::ProductWait)
      return;
    for (const std::string &name : products)
      if (sizes.count(name))
        usedBy[&stmt].insert(name);
    while (products.size() > static_cast<size_t>(stmt.as<ProductWait>().left))
      products.pop_front();
  }

  Names before(const Body &body, Names live) {
    for (auto at = body.rbegin(); at != body.rend(); ++at)
      live = before(*at, std::move(live));
    return live;
  }

  /// What runs of element-wise work outside of loops make and use up again: printed code has an element of it at a
  /// time.
  void findPassing(const Role &role, const Body &body, const Accesses &accesses) {
    const auto typeOf = [&](const std::string &name) {
      const Var *var = role.findVar(name);
      return var ? &var->type : nullptr;
    };
    const auto isScalar = [&](const Stmt &stmt) {
      return stmt.kind == StmtKind::Compute && typeOf(stmt.dest)->kind == VarType::Scalar;
    };
    for (size_t i = 0; i < body.size(); ++i) {
      const std::vector<const Stmt *> run = runByElements(body, i, accesses, typeOf, isScalar);
      for (size_t at = 0; at + 1 < run.size(); ++at)
        passing.insert(run[at]->dest);
      if (!run.empty())
        i = static_cast<size_t>(run.back() - body.data());
      else if (body[i].kind != StmtKind::For)
        for (const Body *inner : {&body[i].body, &body[i].orElse})
          findPassing(role, *inner, accesses);
    }
  }

  Names before(const Stmt &stmt, Names live) {
    if (stmt.kind == StmtKind::For)
      return beforeLoop(stmt, live);
    if (stmt.kind == StmtKind::Each)
      return before(stmt.body, std::move(live));
    if (stmt.kind == StmtKind::If || stmt.kind == StmtKind::Ahead) {
      Names otherwise = before(stmt.orElse, live);
      live = before(stmt.body, std::move(live));
      live.merge(otherwise);
      return live;
    }
    if (sizes.count(stmt.dest))
      live.insert(stmt.dest);
    note(stmt, live);
    if (stmt.kind != StmtKind::Product || !stmt.accumulate)
      live.erase(stmt.dest);
    for (const std::string &operand : stmt.operands)
      if (sizes.count(operand))
        live.insert(operand);
    if (auto used = usedBy.find(&stmt); used != usedBy.end())
      live.insert(used->second.begin(), used->second.end());
    return live;
  }

  Names beforeLoop(const Stmt &stmt, const Names &after) {
    bool pipelined = !stmt.prologue.empty() || !stmt.epilogue.empty();
    Names atEnd = before(stmt.epilogue, after), live = atEnd;
    for (size_t known = live.size() + 1; known != live.size();) {
      known = live.size();
      Names again = before(stmt.body, live);
      live.insert(again.begin(), again.end());
    }
    if (pipelined) {
      Names first = before(stmt.prologue, live);
      if (stmt.operands.size() > 2) // the loop before had iterations, or none
        live.merge(first);
      else
        live = std::move(first);
    }
    Names none = before(stmt.orElse, after);
    live.insert(none.begin(), none.end());
    return live;
  }

  static bool isElementwise(const Stmt &stmt) {
    return (stmt.kind == StmtKind::Compute && stmt.op != ir::OpKind::Reduce) || stmt.kind == StmtKind::Move ||
           stmt.kind == StmtKind::Spread || stmt.kind == StmtKind::Load || stmt.kind == StmtKind::LookUp;
  }

  void note(const Stmt &stmt, const Names &live) {
    if (onlyWhole && isElementwise(stmt))
      return;
    int64_t sum = 0;
    for (const std::string &name : live)
      sum += passing.count(name) != 0 ? 0 : sizes.at(name);
    if (sum <= most)
      return;
    most = sum;
    alive.clear();
    std::set_difference(live.begin(), live.end(), passing.begin(), passing.end(), std::inserter(alive, alive.end()));
    where = &stmt;
  }

  const bool onlyWhole;
  Names passing;                    ///< what takes no registers to speak of
  std::deque<std::string> products; ///< in flight at this place of the text, oldest first
  std::map<const Stmt *, Names> usedBy;
};

/// That a thread of the role has.
int registersOf(const Plan &plan, const Role &role, const Budget &budget) {
  return role.registers != 0 ? role.registers
                             : std::min(budget.maxRegisters, launchRegisters(plan, budget.registersPerBlock));
}

/// An instruction takes no more than a thread has at launch, nor than its role leaves it.
void checkWidestProduct(const Plan &plan, const Budget &budget, Report &report) {
  const WidestProduct widest = widestProduct(plan);
  const int atLaunch = std::min(budget.maxRegisters, launchRegisters(plan, budget.registersPerBlock));
  if (widest.registers == 0)
    return;
  if (widest.registers > atLaunch)
    report.addOverBudget(widest.product->loc,
                         fmt::format("`{}` takes {} registers a thread, and a block of {} threads is launched with {}: "
                                     "what setmaxnreg claims is not for one instruction",
                                     print(*widest.product), widest.registers, plan.threads, atLaunch));
  else if (const int has = widest.role->registers; has != 0 && widest.registers > has)
    report.addOverBudget(widest.product->loc,
                         fmt::format("`{}` takes {} registers a thread, role `{}` has {}", print(*widest.product),
                                     widest.registers, widest.role->name, has));
}

} // namespace

int64_t registersAlive(const Role &role) { return Liveness(role, /*onlyWhole=*/true).most; }

RegisterUse registerUse(const Plan &plan, const Role &role, const Budget &budget) {
  return {Liveness(role).most, registersOf(plan, role, budget)};
}

void checkRegisters(const Plan &plan, const Budget &budget, Report &report) {
  checkWidestProduct(plan, budget, report);
  for (const Role &role : plan.roles) {
    const Liveness liveness(role);
    const int has = registersOf(plan, role, budget);
    if (liveness.most <= has || !liveness.where)
      continue;
    std::vector<std::string> parts;
    for (const std::string &name : liveness.alive)
      parts.push_back(fmt::format("{}: {}", name, liveness.sizes.at(name)));
    // Statements that the planner adds have no place of their own.
    const SourceLoc loc = liveness.where->loc.isValid() ? liveness.where->loc : plan.loc;
    report.addOverBudget(loc,
                         fmt::format("tiles of role `{}` take {} registers a thread at `{}` ({}), it has {}", role.name,
                                     liveness.most, print(*liveness.where), fmt::join(parts, ", "), has));
  }
}

} // namespace tkc::plan
