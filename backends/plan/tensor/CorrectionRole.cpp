// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/tensor/CorrectionRole.h"

#include "backends/plan/tensor/PlaceTensors.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

constexpr int mostRescaled = 2; ///< warpgroups that one role rescales for
using VarKind = plan::VarType::Kind;

bool isAccess(const plan::Stmt &stmt) {
  return stmt.kind == Kind::LoadTensor || stmt.kind == Kind::StoreTensor || stmt.kind == Kind::ScaleTensor;
}

class Finder {
public:
  explicit Finder(const plan::Role &role) : role(role) {}

  Correction run() {
    findTensors();
    if (found.tensors.empty())
      return fail("no accumulator is rescaled in tensor memory");
    found.onlyRescales = role.instances > 1;
    if (found.onlyRescales)
      checkShares();
    else
      own();
    if (found.why.empty() && !found.onlyRescales) {
      checkStores();
      ownColumns();
    }
    if (found.why.empty())
      findInputs();
    return std::move(found);
  }

private:
  Correction fail(const std::string &why) {
    found.why = why;
    return std::move(found);
  }

  VarKind kindOf(const std::string &name) const {
    const plan::Var *var = role.findVar(name);
    return var ? var->type.kind : plan::VarType::Scalar; // of the grid
  }
  bool isScalar(const std::string &name) const {
    return kindOf(name) == plan::VarType::Scalar || kindOf(name) == plan::VarType::TileIndex;
  }

  void findTensors() {
    plan::walkLoops(role.body, [&](const plan::Stmt &stmt, int depth) {
      if (stmt.kind == Kind::ScaleTensor && depth > 0)
        found.tensors.insert(stmt.ref.buffer);
    });
  }

  /// Each instance sends the rows that it has.
  void checkShares() {
    plan::walk(role.body, [&](const plan::Stmt &stmt) {
      if (stmt.kind == Kind::ScaleTensor && stmt.ref.slice != plan::Division::Rows)
        found.why = fmt::format("warpgroups share the columns of `{}`, not its rows", stmt.ref.buffer);
    });
  }

  /// What is loaded from the accumulators, or stored to them, and all that is made of it.
  void own() {
    for (size_t before = found.vars.size() + 1; before != found.vars.size();) {
      before = found.vars.size();
      plan::walk(role.body, [&](const plan::Stmt &stmt) {
        if (stmt.kind == Kind::For || !found.does(stmt))
          return;
        if (!stmt.dest.empty())
          found.vars.insert(stmt.dest);
        if (stmt.kind == Kind::StoreTensor)
          found.vars.insert(stmt.operands[0]);
      });
    }
    plan::walkLoops(role.body, [&](const plan::Stmt &stmt, int depth) {
      const bool inBranch = stmt.kind == Kind::If && stmt.map.empty() && found.doesIn(stmt);
      if (inBranch || (depth > 0 && stmt.kind != Kind::For && found.does(stmt) && stmt.kind != Kind::ScaleTensor))
        found.why = fmt::format("a loop or branch does more with `{}` than multiply its rows", *found.tensors.begin());
    });
  }

  /// What is staged by one role is not handed to the copy engine by another: that is so where both are in one branch,
  /// as the ways of a store are, and not where the engine's is the only one.
  void checkStores() {
    for (const plan::Stmt &stmt : role.body)
      if (stmt.kind == Kind::StoreShared && found.does(stmt) && isHandedOver(stmt.ref.buffer))
        found.why =
            fmt::format("`{}` always goes to the copy engine (`when aligned`), and the computing warpgroup hands "
                        "it over",
                        stmt.ref.buffer);
  }

  bool isHandedOver(const std::string &buffer) const {
    return plan::any(role.body,
                     [&](const plan::Stmt &stmt) { return stmt.kind == Kind::CopyOut && stmt.ref.buffer == buffer; });
  }

  /// Columns that only this role reads, made where nothing is carried: it makes them itself.
  void ownColumns() {
    for (size_t before = found.vars.size() + 1; before != found.vars.size();) {
      before = found.vars.size();
      for (const plan::Var &var : role.vars)
        if (isOnlyRead(var.name))
          found.vars.insert(var.name);
    }
  }

  bool isOnlyRead(const std::string &name) const {
    if (kindOf(name) != plan::VarType::Column && kindOf(name) != plan::VarType::Row)
      return false;
    bool read = false, only = true;
    plan::walkLoops(role.body, [&](const plan::Stmt &stmt, int depth) {
      if (stmt.dest == name)
        only &= depth == 0 && stmt.kind == Kind::Compute && stmt.ref.buffer.empty();
      if (std::count(stmt.operands.begin(), stmt.operands.end(), name) == 0)
        return;
      read = true;
      only &= depth == 0 && found.does(stmt);
    });
    return read && only;
  }

  void findInputs() {
    plan::walk(role.body, [&](const plan::Stmt &stmt) {
      if (!found.does(stmt) && !(stmt.kind == Kind::For && found.doesIn(stmt)))
        return;
      for (const std::string &operand : stmt.operands)
        input(operand);
    });
    for (size_t before = found.scalars.size() + 1; before != found.scalars.size();) {
      before = found.scalars.size();
      plan::walk(role.body, [&](const plan::Stmt &stmt) {
        if (stmt.kind != Kind::For && !stmt.dest.empty() && found.scalars.count(stmt.dest))
          for (const std::string &operand : stmt.operands)
            input(operand);
      });
    }
  }

  void input(const std::string &name) {
    if (found.vars.count(name))
      return;
    if (isScalar(name)) {
      found.scalars.insert(name);
      return;
    }
    const plan::Var *var = role.findVar(name);
    if (var->type.kind != plan::VarType::Column || var->type.elem != ElemType::F32)
      found.why = fmt::format("`{}`, which is no column of f32, would have to be sent", name);
    found.received.insert(name);
  }

  const plan::Role &role;
  Correction found;
};

/// Work that others may change places with.
bool isPlain(const plan::Stmt &stmt) {
  return stmt.kind == Kind::Move || (stmt.kind == Kind::Compute && stmt.ref.buffer.empty());
}

/// The statement at `at` and what makes its operands, in front of all of `body` that they do not need.
void moveUp(plan::Body &body, size_t at) {
  std::set<std::string> needed(body[at].operands.begin(), body[at].operands.end()), made;
  plan::Body moved{std::move(body[at])}, passed;
  size_t first = at;
  for (; first > 0 && isPlain(body[first - 1]); --first) {
    plan::Stmt &stmt = body[first - 1];
    const bool changes = made.count(stmt.dest) || std::any_of(stmt.operands.begin(), stmt.operands.end(),
                                                              [&](const auto &it) { return made.count(it) != 0; });
    if (changes && !needed.count(stmt.dest))
      break;
    if (!needed.count(stmt.dest)) {
      passed.insert(passed.begin(), std::move(stmt));
      continue;
    }
    needed.insert(stmt.operands.begin(), stmt.operands.end());
    made.insert(stmt.dest);
    moved.insert(moved.begin(), std::move(stmt));
  }
  auto out = body.begin() + static_cast<std::ptrdiff_t>(first);
  out = std::move(moved.begin(), moved.end(), out);
  std::move(passed.begin(), passed.end(), out);
}

void rescaleEarly(plan::Body &body) {
  for (size_t i = 0; i < body.size(); ++i) {
    for (plan::Body *inner : {&body[i].prologue, &body[i].body, &body[i].epilogue, &body[i].orElse})
      rescaleEarly(*inner);
    if (body[i].kind == Kind::ScaleTensor)
      moveUp(body, i);
  }
}

bool isSame(const plan::Stmt &one, const plan::Stmt &other) {
  if (const auto *fence = one.getIf<plan::TensorFence>())
    return other.kind == one.kind && fence->afterBarrier == other.as<plan::TensorFence>().afterBarrier;
  return one.kind == other.kind && one.barrier()->barrier == other.barrier()->barrier;
}

/// Where the body of a pipelined loop and what comes after it begin by letting products begin, of what was rescaled
/// before: the end of the body and of what comes before it does so, at once.
void arriveAtOnce(plan::Stmt &loop) {
  if (loop.prologue.empty() || loop.body.empty() || loop.epilogue.empty())
    return;
  size_t count = 0;
  const auto arrives = [&] {
    return loop.body[count].kind == Kind::TensorFence || loop.body[count].kind == Kind::Arrive;
  };
  while (count < loop.body.size() && count < loop.epilogue.size() && arrives() &&
         isSame(loop.body[count], loop.epilogue[count]))
    ++count;
  const auto length = static_cast<std::ptrdiff_t>(count);
  const plan::Body first(loop.body.begin(), loop.body.begin() + length);
  loop.epilogue.erase(loop.epilogue.begin(), loop.epilogue.begin() + length);
  loop.body.erase(loop.body.begin(), loop.body.begin() + length);
  loop.body.insert(loop.body.end(), first.begin(), first.end());
  loop.prologue.insert(loop.prologue.end(), first.begin(), first.end());
}

/// Gathers runs of statements in Each. No run waits after it has let a product begin: other instances' are to begin
/// first.
class Gatherer {
public:
  Gatherer(const plan::Role &role, const std::string &empty) : role(role), empty(empty) {}

  plan::Body gather(plan::Body &body) {
    for (plan::Stmt &stmt : body)
      add(stmt);
    flush();
    return std::move(out);
  }

private:
  void add(plan::Stmt &stmt) {
    if (stmt.kind == Kind::For || stmt.kind == Kind::If) {
      flush();
      if (stmt.kind == Kind::For)
        arriveAtOnce(stmt);
      for (plan::Body *inner : stmt.bodies())
        *inner = Gatherer(role, empty).gather(*inner);
      out.push_back(std::move(stmt));
      return;
    }
    if (!stmt.dest.empty() && isScalar(role, stmt.dest)) {
      flush();
      out.push_back(std::move(stmt));
      return;
    }
    if (stmt.kind == Kind::Advance) {
      advances.push_back(std::move(stmt));
      return;
    }
    const auto moves = [&](const std::string &cursor) {
      return std::any_of(advances.begin(), advances.end(),
                         [&](const plan::Stmt &it) { return it.as<plan::Advance>().ring == cursor; });
    };
    const plan::BarrierRef *barrier = stmt.barrier();
    if ((barrier && moves(barrier->cursor)) || moves(stmt.ref.cursor) || (stmt.kind == Kind::Wait && hasArrived))
      flush();
    hasArrived |= stmt.kind == Kind::Arrive && barrier->barrier != empty;
    run.push_back(std::move(stmt));
  }

  void flush() {
    if (!run.empty())
      plan::append(out, Kind::Each, run.front().loc).body = std::move(run);
    out.insert(out.end(), advances.begin(), advances.end());
    run.clear();
    advances.clear();
    hasArrived = false;
  }

  const plan::Role &role;
  const std::string &empty;
  plan::Body out, run, advances;
  bool hasArrived = false; ///< the run has let a product begin
};

} // namespace

void takeInTurn(plan::Role &correction, const std::string &empty) {
  correction.serial = true;
  correction.body = Gatherer(correction, empty).gather(correction.body);
}

void rescaleEarly(plan::Role &role) { rescaleEarly(role.body); }

bool Correction::does(const plan::Stmt &stmt) const {
  if (stmt.isTensorProduct())
    return false;
  if (onlyRescales)
    return stmt.kind == Kind::ScaleTensor && isFor(stmt.ref.buffer);
  const bool reads = std::any_of(stmt.operands.begin(), stmt.operands.end(),
                                 [&](const std::string &operand) { return vars.count(operand) != 0; });
  return reads || (isAccess(stmt) && isFor(stmt.ref.buffer)) || (!stmt.dest.empty() && vars.count(stmt.dest) != 0) ||
         (stmt.kind == Kind::If && !stmt.map.empty() && doesIn(stmt));
}

bool Correction::doesIn(const plan::Stmt &stmt) const {
  const auto bodies = stmt.bodies();
  return std::any_of(bodies.begin(), bodies.end(), [&](const plan::Body *body) {
    return plan::any(*body, [&](const plan::Stmt &inner) { return does(inner); });
  });
}

std::string chooseCorrection(const Schedule &schedule, Placement &placement, std::string &why) {
  if (!schedule.correction.value_or(false))
    return {};
  if (!placement.usesTensorMemory() || placement.instances > mostRescaled)
    why = fmt::format("it is for products into tensor memory, of {} warpgroups at most", mostRescaled);
  else if (!placement.contested.empty())
    why = fmt::format("the block's own accesses of `{}` are to stay in order, which those of two roles would not",
                      (*placement.contested.begin())->view.tensor);
  if (!why.empty())
    return {};
  plan::Buffer buffer;
  buffer.name = placement.uniqueBuffer("factor");
  buffer.rows = 1;
  buffer.cols = static_cast<int64_t>(plan::instructionRows(placement.layout)) * placement.instances;
  buffer.elem = ElemType::F32;
  buffer.swizzle = plan::Swizzle::None;
  // Where no product is issued late, the next column is made of one that waits for what the last is for.
  buffer.stages = schedule.overlap.value_or(1) == 0 ? 1 : 2;
  placement.buffers.push_back(buffer);
  return buffer.name;
}

Correction findCorrection(const plan::Role &role) { return Finder(role).run(); }

bool storesByEngine(const plan::Role &role) {
  return plan::any(role.body, [](const plan::Stmt &stmt) { return stmt.kind == Kind::CopyOut; });
}

void dropUnusedVars(plan::Role &role) {
  std::set<std::string> used;
  const auto note = [&](const plan::Stmt &stmt) {
    used.insert({stmt.dest, plan::cursorOf(stmt), stmt.ref.cursor, stmt.aRef.cursor});
    used.insert(stmt.operands.begin(), stmt.operands.end());
  };
  plan::walk(role.body, note);
  plan::walk(role.finish, note);
  std::erase_if(role.vars, [&](const plan::Var &var) { return !used.count(var.name); });
}

} // namespace tkc::planner
