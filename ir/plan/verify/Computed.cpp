// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is computed in registers: operands broadcast to the result as NumPy's shapes do, and each thread finds in them
// what it makes of them. So along every axis that an operand has, it is as long as the result, lies like it, and is
// shared out among instances like it.
#include "ir/Verifier.h"
#include "ir/plan/verify/Operands.h"

#include <algorithm>

namespace tkc::plan {
namespace {

using ir::OpKind;
using ir::ReduceKind;

bool isNumber(const VarType &type) { return type.kind == VarType::Scalar || isTile(type); }

std::string_view axisName(Division axis) { return axis == Division::Rows ? "rows" : "columns"; }

class Computed : OperandCheck {
public:
  Computed(const OperandCheck &role, const Stmt &stmt) : OperandCheck(role), stmt(stmt) {}

  void move() {
    const VarType &from = typeOf(stmt.operands[0]);
    if (from != to)
      refuse("`{}` is {}, `{}` is {}", stmt.operands[0], print(from), stmt.dest, print(to));
  }

  /// Each thread has the numbers of its elements.
  void lookUp() {
    wants(stmt.operands[0], ElemType::I32);
    if (stmt.hasElse && !isScalar(stmt.operands[1], to.elem))
      refuse("what is not in the table is a scalar of {}, and `{}` is {}", spelling(to.elem), stmt.operands[1],
             print(typeOf(stmt.operands[1])));
    broadcast();
  }

  void compute() {
    switch (stmt.op) {
    case OpKind::Const:
      return constant();
    case OpKind::Dim:
      return makes(ElemType::I32);
    case OpKind::Param:
      return parameter();
    case OpKind::Cast:
      return alike();
    case OpKind::Select:
      return select();
    case OpKind::Full:
      return full();
    case OpKind::Iota:
      if (!isNumber(to) || to.kind == VarType::Fragment || to.elem != ElemType::I32)
        refuse("numbers of rows are a column of i32, of columns a row, not {}", print(to));
      return;
    case OpKind::Begin:
    case OpKind::End:
    case OpKind::Index:
      ofTileIndex();
      return makes(ElemType::I32);
    case OpKind::Elements:
      return elements();
    case OpKind::Shift:
      return shift();
    case OpKind::ToScalar:
    case OpKind::AsCol:
    case OpKind::AsRow:
      return move();
    case OpKind::Reduce:
      return reduce();
    case OpKind::Cumsum:
      return cumsum();
    case OpKind::Philox:
      for (const std::string &operand : stmt.operands)
        wants(operand, ElemType::I32);
      gives(ElemType::F32);
      return broadcast();
    case OpKind::ExternCall:
      return broadcast();
    case OpKind::Transpose:
    case OpKind::Dot:
    case OpKind::DotScaled:
    case OpKind::Load:
    case OpKind::Store:
    case OpKind::Atomic:
    case OpKind::Parallel:
    case OpKind::For:
    case OpKind::If:
    case OpKind::Yield:
      return refuse("`{}` is a statement of its own", ir::spelling(stmt.op));
    default:
      return elementwise();
    }
  }

private:
  template <class... Args> void refuse(fmt::format_string<Args...> text, Args &&...args) {
    complain(stmt, text, std::forward<Args>(args)...);
  }

  void makes(ElemType elem) {
    if (to.kind != VarType::Scalar || to.elem != elem)
      refuse("`{}` is {}, and a scalar of {} is made", stmt.dest, print(to), spelling(elem));
  }

  void gives(ElemType elem) {
    if (isNumber(to) && to.elem != elem)
      refuse("gives {}, and `{}` is {}", spelling(elem), stmt.dest, print(to));
  }

  void wants(const std::string &operand, ElemType elem) {
    if (typeOf(operand).elem != elem)
      refuse("takes {}, and `{}` is {}", spelling(elem), operand, print(typeOf(operand)));
  }

  /// Along every axis that an operand has, the result is as long, lies alike, and is shared out alike; along every axis
  /// that the result has, an operand has it, too.
  void broadcast() {
    bool haveRows = false, haveCols = false;
    for (const std::string &operand : stmt.operands) {
      const VarType &from = typeOf(operand);
      if (!isNumber(from))
        return refuse("`{}` is {}, no number and no tile", operand, print(from));
      haveRows |= hasRows(from), haveCols |= hasCols(from);
      if (!spansAlike(operand, from))
        return;
    }
    if (!isNumber(to) || (hasRows(to) && !haveRows) || (hasCols(to) && !haveCols))
      refuse("its operands have no {}, and `{}` is {}",
             !isNumber(to) ? "such shape" : axisName(hasRows(to) && !haveRows ? Division::Rows : Division::Cols),
             stmt.dest, print(to));
  }

  bool spansAlike(const std::string &operand, const VarType &from) {
    for (const Division axis : {Division::Rows, Division::Cols}) {
      const bool has = axis == Division::Rows ? hasRows(from) : hasCols(from);
      if (!has)
        continue;
      if (axis == Division::Rows ? !hasRows(to) : !hasCols(to))
        return refuse("`{}` is {}, and `{}` has no {}", operand, print(from), stmt.dest, axisName(axis)), false;
      if (extentOf(from, axis) != extentOf(to, axis))
        return refuse("`{}` has {} {}, `{}` has {}", operand, extentOf(from, axis), axisName(axis), stmt.dest,
                      extentOf(to, axis)),
               false;
      if (isDivided(from, axis) != isDivided(to, axis))
        return refuse("an instance has {} of the {} of `{}`, and {} of those of `{}`", share(from, axis),
                      axisName(axis), operand, share(to, axis), stmt.dest),
               false;
    }
    if (isTile(from) && !liesAlike(from, to))
      return refuse("`{}` is {}, and `{}` lies in layout `{}`", operand, print(from), stmt.dest, print(to.layout)),
             false;
    return true;
  }

  std::string_view share(const VarType &type, Division axis) const { return isDivided(type, axis) ? "a part" : "all"; }

  void elementwise() {
    const ElemType elem = typeOf(stmt.operands[0]).elem;
    if (!ir::takesElements(stmt.op, elem))
      return refuse("takes no {}", spelling(elem));
    for (const std::string &operand : stmt.operands)
      wants(operand, elem);
    gives(ir::isCompare(stmt.op) ? ElemType::Bool : elem);
    broadcast();
  }

  void select() {
    wants(stmt.operands[0], ElemType::Bool);
    wants(stmt.operands[1], to.elem);
    wants(stmt.operands[2], to.elem);
    broadcast();
  }

  /// A cast of a tile.
  void alike() {
    VarType from = typeOf(stmt.operands[0]);
    from.elem = to.elem;
    if (!isNumber(from) || from != to)
      refuse("`{}` is {}, which a cast does not make {}", stmt.operands[0], print(typeOf(stmt.operands[0])), print(to));
  }

  void constant() {
    if (to.kind != VarType::Scalar)
      refuse("a constant is a scalar, `{}` is {}", stmt.dest, print(to));
  }

  void parameter() {
    const auto found = std::find_if(plan.params.begin(), plan.params.end(),
                                    [&](const ir::Param &param) { return param.name == stmt.name && !param.isTensor; });
    if (found == plan.params.end())
      return refuse("no scalar parameter `{}`", stmt.name);
    makes(found->elem);
  }

  void full() {
    const VarType &from = typeOf(stmt.operands[0]);
    if (from.kind != VarType::Scalar || from.elem != to.elem || !isTile(to))
      refuse("no {} is filled with {}", print(to), print(from));
  }

  void ofTileIndex() {
    if (typeOf(stmt.operands[0]).kind != VarType::TileIndex)
      refuse("takes a tile index, and `{}` is {}", stmt.operands[0], print(typeOf(stmt.operands[0])));
  }

  /// A column or row of a padded tile goes on beyond the tile index.
  void elements() {
    ofTileIndex();
    const VarType &tile = typeOf(stmt.operands[0]);
    const bool isOne = to.kind == VarType::Scalar && tile.rows == 1;
    const Division axis = stmt.axis == 0 ? Division::Rows : Division::Cols;
    const bool isLine = to.kind == (stmt.axis == 0 ? VarType::Column : VarType::Row) && extentOf(to, axis) >= tile.rows;
    if (to.elem != ElemType::I32 || (!isOne && !isLine))
      refuse("the {} elements of `{}` along its {} are i32, and `{}` is {}", tile.rows, stmt.operands[0],
             axisName(axis), stmt.dest, print(to));
  }

  void shift() {
    ofTileIndex();
    if (!isScalar(stmt.operands[1], ElemType::I32))
      refuse("moves by an i32, and `{}` is {}", stmt.operands[1], print(typeOf(stmt.operands[1])));
    if (to.kind != VarType::TileIndex || to.rows != typeOf(stmt.operands[0]).rows)
      refuse("`{}` is {}, `{}` is {}", stmt.operands[0], print(typeOf(stmt.operands[0])), stmt.dest, print(to));
  }

  bool isPlace() const {
    return stmt.op == OpKind::Reduce && (stmt.reduce == ReduceKind::ArgMax || stmt.reduce == ReduceKind::ArgMin);
  }

  /// What is left of a tile when one axis is combined; parts of threads are of the shape of the whole.
  void reduce() {
    const VarType &from = typeOf(stmt.operands[0]);
    const Division kept = stmt.axis == 1 ? Division::Rows : Division::Cols;
    const bool hasKept = kept == Division::Rows ? hasRows(from) : hasCols(from);
    const VarType::Kind wanted = !hasKept ? VarType::Scalar : stmt.axis == 1 ? VarType::Column : VarType::Row;
    if (!isNumber(from))
      return refuse("`{}` is {}, no tile", stmt.operands[0], print(from));
    const ElemType elem = isPlace() ? ElemType::I32 : arithmeticType(from.elem);
    const bool liesAlike =
        !hasKept || (stmt.axis == 1 ? to.layout == from.layout : spreadsColumnsAlike(to.layout, from.layout));
    if (to.kind != wanted || to.elem != elem || extentOf(to, kept) != extentOf(from, kept) || !liesAlike)
      return refuse("{} does not become {}", print(from), print(to));
    if (isDivided(from, kept) != isDivided(to, kept))
      return refuse("an instance has {} of the {} of `{}`, and {} of those of `{}`", share(from, kept), axisName(kept),
                    stmt.operands[0], share(to, kept), stmt.dest);
    if (stmt.colHi > extentOf(from, kept == Division::Rows ? Division::Cols : Division::Rows))
      return refuse("{} {} of {}", stmt.colHi, axisName(kept == Division::Rows ? Division::Cols : Division::Rows),
                    print(from));
    through(from);
  }

  void cumsum() {
    alike();
    gives(arithmeticType(typeOf(stmt.operands[0]).elem));
    through(typeOf(stmt.operands[0]));
  }

  /// Along the axis that is combined: whether it is one element, which every thread that wants the result has.
  bool isOne(const VarType &from) const { return stmt.axis == 1 ? !hasCols(from) : !hasRows(from); }

  /// What one warp has not got goes through a scratch buffer, of just the warps that have parts of it.
  void through(const VarType &from) {
    const bool isPart = stmt.byThreads && (from.kind == VarType::Fragment || from.kind == VarType::Row);
    if (isPart || (isOne(from) && !stmt.byThreads))
      return;
    const Division along = stmt.axis == 1 ? Division::Cols : Division::Rows;
    const bool areParts = stmt.byThreads && stmt.axis == 1; // of whatever an instance has columns of
    const bool isShared = areParts ? role.instances > 1 && from.division == along : isDivided(from, along);
    const int threads = isTile(from) ? from.layout.threads : threadsOf(role);
    const int ofRow = isTile(from) ? from.layout.threadsPerRow : threads;
    const bool crosses = stmt.axis == 1 ? ofRow > role.lanes : threads > std::max(ofRow, role.lanes);
    if (stmt.ref.buffer.empty()) {
      if (crosses || isShared)
        refuse("warps share the {} of `{}`, and no scratch buffer is named", axisName(along), stmt.operands[0]);
      return;
    }
    // Of other instances: where each has whole columns, they only meet.
    const bool others = stmt.meets.threads > threads;
    if (isShared ? !others : others && stmt.axis == 1)
      return refuse("{} threads combine the {} of `{}`, of which an instance of {} has {}", stmt.meets.threads,
                    axisName(along), stmt.operands[0], role.warps * role.lanes, share(from, along));
    if (crosses || others)
      hasRoom(from, crosses ? 1 : std::max(role.lanes / ofRow, 1), threads, ofRow);
  }

  /// Two halves, of 8 bytes for each number that a warp tells the others (tk/reduce.h), 16 for an f64 with its place:
  /// of a column, or of the `rows` of each of its row slots.
  void hasRoom(const VarType &from, int rows, int threads, int ofRow) {
    const int64_t bytes = isPlace() && from.elem == ElemType::F64 ? 16 : 8;
    const int64_t warps = stmt.meets.threads / role.lanes;
    const int64_t room = plan.findBuffer(stmt.ref.buffer)->totalBytes() / (2 * bytes * warps);
    const auto own = [&](Division axis) { return extentOf(from, axis) / (isDivided(from, axis) ? role.instances : 1); };
    const int64_t told = stmt.axis == 1 ? std::max<int64_t>(own(Division::Rows) * ofRow / threads, 1) * rows
                                        : own(Division::Cols) / std::max(ofRow / role.lanes, 1);
    if (room < told)
      refuse("each warp tells {} numbers, and `{}` has room for {}", told, stmt.ref.buffer, room);
  }

  const Stmt &stmt;
  const VarType &to = typeOf(stmt.dest);
};

} // namespace

void checkComputed(const OperandCheck &role, const Stmt &stmt) {
  Computed check(role, stmt);
  if (stmt.kind == StmtKind::Move)
    check.move();
  else if (stmt.kind == StmtKind::LookUp)
    check.lookUp();
  else
    check.compute();
}

} // namespace tkc::plan
