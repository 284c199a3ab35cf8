// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serial roles, whose warps are all of their instances. What depends on the instance stands in `each`; since its body
// runs again at once for the next instance, it moves no cursor, and leaves nothing in registers.
#include "ir/plan/Turns.h"
#include "ir/plan/verify/Verify.h"

#include <fmt/core.h>

namespace tkc::plan {
namespace {

class Serial {
public:
  Serial(const Plan &plan, const Role &role, Report &report) : plan(plan), role(role), report(report) {}

  void check(const Body &body) {
    for (const Stmt &stmt : body) {
      if (stmt.kind == StmtKind::Each) {
        each(stmt);
        continue;
      }
      if (role.serial && !isForAll(stmt))
        complain(stmt, "depends on the instance, of which the role's warps are all: it belongs in `each`");
      for (const Body *inner : stmt.bodies())
        check(*inner);
    }
  }

private:
  void complain(const Stmt &stmt, const std::string &what) {
    report.add(stmt.loc, fmt::format("`{}` of `{}`: {}", print(stmt), role.name, what));
  }

  bool isScalar(const std::string &name) const {
    const std::optional<VarType> type = typeOf(plan, role, name);
    return type && (type->kind == VarType::Scalar || type->kind == VarType::TileIndex);
  }

  /// Whether it is the same for all instances.
  bool isForAll(const Stmt &stmt) const {
    switch (stmt.kind) {
    case StmtKind::Compute:
    case StmtKind::Move:
    case StmtKind::Load:
      return isScalar(stmt.dest);
    case StmtKind::Wait:
    case StmtKind::Arrive:
      return plan.findBarrier(stmt.barrier()->barrier)->instances == 1;
    case StmtKind::If:
      return stmt.turn.empty();
    case StmtKind::For:
    case StmtKind::Advance:
      return !differsByTurn(stmt);
    case StmtKind::Each:
    case StmtKind::NextTile:
    case StmtKind::TensorFence:
    case StmtKind::FenceProxy:
    case StmtKind::ClusterSync:
    case StmtKind::Record:
    case StmtKind::WaitForPrevious:
      return true;
    case StmtKind::Spread:
    case StmtKind::Store:
    case StmtKind::Atomic:
    case StmtKind::LoadShared:
    case StmtKind::LookUp:
    case StmtKind::StoreShared:
    case StmtKind::LoadTensor:
    case StmtKind::StoreTensor:
    case StmtKind::ScaleTensor:
    case StmtKind::Sync:
    case StmtKind::Stagger:
    case StmtKind::Expect:
    case StmtKind::CopyIn:
    case StmtKind::CopyOut:
    case StmtKind::BulkCommit:
    case StmtKind::BulkWait:
    case StmtKind::Fetch:
    case StmtKind::Place:
    case StmtKind::CopyCommit:
    case StmtKind::CopyWait:
    case StmtKind::ProductFence:
    case StmtKind::Product:
    case StmtKind::ProductCommit:
    case StmtKind::ProductWait:
    case StmtKind::Claim:
    case StmtKind::Ahead:
      return false;
    }
    return false;
  }

  static bool mayStandInEach(const Stmt &stmt) {
    switch (stmt.kind) {
    case StmtKind::Compute:
      return stmt.ref.buffer.empty();
    case StmtKind::Move:
    case StmtKind::LoadShared:
    case StmtKind::LookUp:
    case StmtKind::StoreShared:
    case StmtKind::LoadTensor:
    case StmtKind::StoreTensor:
    case StmtKind::ScaleTensor:
    case StmtKind::TensorFence:
    case StmtKind::FenceProxy:
    case StmtKind::Wait:
    case StmtKind::Arrive:
    case StmtKind::Record:
      return true;
    case StmtKind::Spread:
    case StmtKind::Load:
    case StmtKind::Store:
    case StmtKind::Atomic:
    case StmtKind::Sync:
    case StmtKind::Stagger:
    case StmtKind::Expect:
    case StmtKind::CopyIn:
    case StmtKind::CopyOut:
    case StmtKind::BulkCommit:
    case StmtKind::BulkWait:
    case StmtKind::Fetch:
    case StmtKind::Place:
    case StmtKind::CopyCommit:
    case StmtKind::CopyWait:
    case StmtKind::ProductFence:
    case StmtKind::Product:
    case StmtKind::ProductCommit:
    case StmtKind::ProductWait:
    case StmtKind::Advance:
    case StmtKind::ClusterSync:
    case StmtKind::Claim:
    case StmtKind::NextTile:
    case StmtKind::WaitForPrevious:
    case StmtKind::For:
    case StmtKind::If:
    case StmtKind::Ahead:
    case StmtKind::Each:
      return false;
    }
    return false;
  }

  void each(const Stmt &stmt) {
    if (!role.serial)
      return complain(stmt, "the role is not serial: each instance runs all of it");
    std::set<std::string> made;
    for (const Stmt &inner : stmt.body) {
      if (!mayStandInEach(inner))
        complain(inner, "does not stand in `each`");
      for (const std::string &operand : inner.operands)
        if (!isScalar(operand) && !made.count(operand))
          complain(inner, fmt::format("`{}` is not made in the same `each`", operand));
      if (!inner.dest.empty() && isScalar(inner.dest))
        complain(inner, fmt::format("`{}` is a scalar, and the same for all instances", inner.dest));
      made.insert(inner.dest);
    }
  }

  const Plan &plan;
  const Role &role;
  Report &report;
};

} // namespace

void checkSerial(const Plan &plan, Report &report) {
  for (const Role &role : plan.roles) {
    Serial serial(plan, role, report);
    serial.check(role.body);
    serial.check(role.finish);
  }
}

} // namespace tkc::plan
