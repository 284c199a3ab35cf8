// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/Rounding.h"

namespace tkc::plan {
namespace {

using ir::OpKind;

/// One result on every target, of operands that are equal there. Sums over an axis have several, as they come in
/// different orders.
bool isRoundedAlike(const Stmt &stmt) {
  if (stmt.kind == StmtKind::Move || stmt.kind == StmtKind::Spread)
    return true;
  if (stmt.kind != StmtKind::Compute)
    return false;
  switch (stmt.op) {
  case OpKind::Reduce:
    return stmt.reduce == ir::ReduceKind::Max || stmt.reduce == ir::ReduceKind::Min;
  case OpKind::Neg:
  case OpKind::Abs:
  case OpKind::Floor:
  case OpKind::Sqrt:
  case OpKind::Rsqrt:
  case OpKind::Rcp:
  case OpKind::Add:
  case OpKind::Sub:
  case OpKind::Mul:
  case OpKind::Div:
  case OpKind::Max:
  case OpKind::Min:
  case OpKind::Cast:
  case OpKind::Select:
  case OpKind::Full:
  case OpKind::ToScalar:
  case OpKind::AsCol:
  case OpKind::AsRow:
    return true;
  default: // approximations, and what is made of no float
    return false;
  }
}

class Finder {
public:
  explicit Finder(const Plan &plan) : plan(plan) {
    for (const Role &role : plan.roles)
      for (const Body *body : {&role.body, &role.finish})
        walk(*body, [&](const Stmt &stmt) { note(role, stmt); });
  }

  std::map<std::string, std::set<std::string>> find() {
    while (!open.empty()) {
      const Place place = open.back();
      open.pop_back();
      for (const Place &from : sources[place])
        reach(from);
    }
    std::map<std::string, std::set<std::string>> found;
    for (const Place &place : quotients)
      if (reached.count(place) != 0)
        found[place.first].insert(place.second);
    return found;
  }

private:
  /// A variable of a role, or of no role: a buffer.
  using Place = std::pair<std::string, std::string>;

  void note(const Role &role, const Stmt &stmt) {
    const Place made(role.name, stmt.dest), kept("", stmt.ref.buffer);
    if (isQuotientOrRoot(stmt) && elemOf(role, stmt.dest) == ElemType::F32)
      quotients.insert(made);
    if (stmt.kind == StmtKind::LoadShared || stmt.kind == StmtKind::LookUp || stmt.kind == StmtKind::LoadTensor)
      sources[made].push_back(kept);
    if (stmt.kind == StmtKind::StoreShared || stmt.kind == StmtKind::StoreTensor)
      sources[kept].emplace_back(role.name, stmt.operands[0]);
    if (isRoundedAlike(stmt))
      for (const std::string &operand : stmt.operands)
        sources[made].emplace_back(role.name, operand);
    if (roundsToFew(role, stmt))
      reach({role.name, stmt.operands[0]});
  }

  bool roundsToFew(const Role &role, const Stmt &stmt) const {
    if (stmt.kind != StmtKind::Compute || (stmt.op != OpKind::Cast && stmt.op != OpKind::Floor))
      return false;
    const std::optional<ElemType> from = elemOf(role, stmt.operands[0]), to = elemOf(role, stmt.dest);
    return stmt.op == OpKind::Floor || (from && to && isFloat(*from) && (!isFloat(*to) || bitWidth(*to) <= 8));
  }

  std::optional<ElemType> elemOf(const Role &role, const std::string &name) const {
    if (const Var *own = role.findVar(name))
      return own->type.elem;
    for (const Var &shared : plan.preludeVars)
      if (shared.name == name)
        return shared.type.elem;
    return std::nullopt; // an axis of the grid
  }

  void reach(const Place &place) {
    if (reached.insert(place).second)
      open.push_back(place);
  }

  const Plan &plan;
  std::map<Place, std::vector<Place>> sources;
  std::set<Place> quotients, reached;
  std::vector<Place> open;
};

} // namespace

std::map<std::string, std::set<std::string>> correctlyRounded(const Plan &plan) { return Finder(plan).find(); }

bool isQuotientOrRoot(const Stmt &stmt) {
  return stmt.kind == StmtKind::Compute &&
         (stmt.op == OpKind::Div || stmt.op == OpKind::Rcp || stmt.op == OpKind::Sqrt || stmt.op == OpKind::Rsqrt);
}

} // namespace tkc::plan
