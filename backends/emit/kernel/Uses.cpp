// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/kernel/Uses.h"

#include <algorithm>

namespace tkc::cuda {

using plan::Stmt;
using plan::StmtKind;
using plan::VarType;

bool isPure(const Stmt &stmt) {
  return (stmt.kind == StmtKind::Compute && stmt.ref.buffer.empty()) || stmt.kind == StmtKind::Move;
}

Uses::Uses(const plan::Role &role) : Uses(role.body, role.vars) {}

Uses::Uses(const plan::Body &body, const std::vector<plan::Var> &vars) {
  for (const plan::Var &var : vars)
    types[var.name] = var.type;
  dropInductions(body);
  std::vector<Frame> path;
  collect(body, path);
  for (const std::string &var : order)
    if (canInline(var, accessesOf[var]))
      inlined.insert(var);
  for (const std::string &var : order)
    if (!inlined.count(var))
      placeDeclaration(var, accessesOf[var]);
}

/// A loop declares its own variable.
void Uses::dropInductions(const plan::Body &body) {
  plan::walk(body, [&](const Stmt &stmt) {
    if (stmt.kind == StmtKind::For || stmt.kind == StmtKind::Ahead)
      types.erase(stmt.dest);
  });
}

void Uses::add(const Stmt &stmt, const std::vector<Frame> &path, const std::string &var, bool reads, bool writes) {
  const auto type = types.find(var);
  if (type == types.end() || type->second.kind == VarType::Cursor)
    return; // another's, or a cursor, which stands at the role's start
  std::vector<Access> &accesses = accessesOf[var];
  if (accesses.empty())
    order.push_back(var);
  if (!accesses.empty() && accesses.back().stmt == &stmt) {
    accesses.back().reads |= reads;
    accesses.back().writes |= writes;
    return;
  }
  accesses.push_back({&stmt, path, reads, writes});
}

void Uses::collect(const plan::Body &body, std::vector<Frame> &path) {
  for (size_t i = 0; i < body.size(); ++i) {
    const Stmt &stmt = body[i];
    path.push_back({&body, i});
    for (const std::string &operand : stmt.operands)
      add(stmt, path, operand, true, false);
    if (stmt.kind == StmtKind::Product)
      add(stmt, path, stmt.dest, stmt.accumulate, true);
    else if (!stmt.dest.empty() && stmt.kind != StmtKind::For && stmt.kind != StmtKind::Ahead)
      add(stmt, path, stmt.dest, false, true);
    for (const plan::Body *inner : stmt.bodies())
      collect(*inner, path);
    path.pop_back();
  }
}

bool Uses::isAssignedOnce(const std::string &var) const {
  const auto found = accessesOf.find(var);
  return found == accessesOf.end() ||
         std::count_if(found->second.begin(), found->second.end(), [](const Access &a) { return a.writes; }) <= 1;
}

bool Uses::isRead(const std::string &var) const {
  const auto found = accessesOf.find(var);
  return found != accessesOf.end() &&
         std::any_of(found->second.begin(), found->second.end(), [](const Access &a) { return a.reads; });
}

const Stmt *Uses::definition(const std::string &var) const {
  const auto found = accessesOf.find(var);
  if (found == accessesOf.end() || !isAssignedOnce(var))
    return nullptr;
  for (const Access &access : found->second)
    if (access.writes)
      return access.stmt;
  return nullptr;
}

void Uses::placeDeclaration(const std::string &var, const std::vector<Access> &accesses) {
  // The innermost body that all accesses share.
  const std::vector<Frame> &first = accesses.front().path;
  size_t depth = first.size();
  for (const Access &access : accesses) {
    depth = std::min(depth, access.path.size());
    for (size_t i = 0; i < depth; ++i)
      if (access.path[i].body != first[i].body) {
        depth = i;
        break;
      }
  }
  const auto assignsFirst = [&] { return accesses.front().writes && !accesses.front().reads && first.size() == depth; };
  // What is read before it is assigned in a loop's body comes from the iteration before: it lives outside.
  while (depth > 1 && accesses.front().reads && first[depth - 2].body->at(first[depth - 2].index).kind == StmtKind::For)
    --depth;
  if (assignsFirst())
    declaringStmt[var] = accesses.front().stmt;
  else
    declaredEarlier[&first[depth - 1].body->at(first[depth - 1].index)].push_back(var);
}

bool Uses::declaresAt(const Stmt &stmt, const std::string &var) const {
  const auto found = declaringStmt.find(var);
  return found != declaringStmt.end() && found->second == &stmt;
}

const std::vector<std::string> &Uses::declaredBefore(const Stmt &stmt) const {
  static const std::vector<std::string> none;
  const auto found = declaredEarlier.find(&stmt);
  return found == declaredEarlier.end() ? none : found->second;
}

namespace {

/// Values that cost nothing and read best in place.
bool isLeaf(const Stmt &stmt) {
  switch (stmt.op) {
  case ir::OpKind::Const:
  case ir::OpKind::Dim:
  case ir::OpKind::Param:
  case ir::OpKind::Begin:
  case ir::OpKind::End:
  case ir::OpKind::Index:
    return stmt.kind == StmtKind::Compute;
  default:
    return false;
  }
}

/// Names that the planner made up rather than the user: "mul_value", "acc_bf16".
bool isMadeUp(const std::string &var, const Stmt &stmt, ElemType elem) {
  if (var.find("_value") != std::string::npos)
    return true;
  return stmt.op == ir::OpKind::Cast && stmt.kind == StmtKind::Compute &&
         var.find("_" + std::string(spelling(elem))) != std::string::npos;
}

} // namespace

bool Uses::isUnchangedBetween(const Stmt &definition, const Access &from, const Access &to) const {
  for (const std::string &operand : definition.operands) {
    if (inlined.count(operand)) {
      const Stmt *deeper = this->definition(operand);
      if (deeper && !isUnchangedBetween(*deeper, from, to))
        return false;
      continue;
    }
    if (isAssignedOnce(operand))
      continue;
    const plan::Body &body = *from.path.back().body;
    for (const Access &access : accessesOf.at(operand))
      if (access.writes && access.path.size() >= from.path.size() && access.path[from.path.size() - 1].body == &body &&
          access.path[from.path.size() - 1].index > from.path.back().index &&
          access.path[from.path.size() - 1].index < to.path[from.path.size() - 1].index)
        return false;
  }
  return true;
}

bool Uses::canInline(const std::string &var, const std::vector<Access> &accesses) const {
  const Access &first = accesses.front();
  if (!first.writes || first.reads || !isPure(*first.stmt))
    return false;
  const VarType &type = types.at(var);
  const size_t depth = first.path.size();
  size_t reads = 0;
  for (size_t i = 1; i < accesses.size(); ++i) {
    const Access &access = accesses[i];
    const bool after = access.path.size() >= depth && access.path[depth - 1].body == first.path.back().body &&
                       access.path[depth - 1].index > first.path.back().index;
    if (access.writes || !after)
      return false;
    reads += std::count(access.stmt->operands.begin(), access.stmt->operands.end(), var);
  }
  const auto allUnchanged = [&] {
    return std::all_of(accesses.begin() + 1, accesses.end(),
                       [&](const Access &access) { return isUnchangedBetween(*first.stmt, first, access); });
  };
  if (isLeaf(*first.stmt))
    return allUnchanged();
  if (reads > 1 || !isMadeUp(var, *first.stmt, type.elem) || type.kind == VarType::TileIndex)
    return false;
  if (reads == 0)
    return true; // a value that nobody reads
  const Access &use = accesses.back();
  // What a tile is reduced to takes all threads, and one of them may be the only one that comes to where it is read.
  if (type.kind == VarType::Scalar)
    return (first.stmt->op != ir::OpKind::Reduce || first.stmt->byThreads) && allUnchanged();
  // Tiles: only into the next computations, so that nothing moves across a wait.
  if (use.path.size() != depth || use.stmt->kind == StmtKind::Product)
    return false;
  const plan::Body &body = *first.path.back().body;
  for (size_t i = first.path.back().index + 1; i < use.path.back().index; ++i)
    if (!isPure(body[i]))
      return false;
  return allUnchanged();
}

} // namespace tkc::cuda
