// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices of tensors against what registers, or a stage of a buffer, hold of them. What a tile has beyond the slice is
// padding, which accesses by threads leave alone.
#include "ir/plan/verify/Operands.h"

#include <algorithm>

namespace tkc::plan {
namespace {

using ir::ViewIndex;

class Access : OperandCheck {
public:
  Access(const OperandCheck &role, const Stmt &stmt) : OperandCheck(role), stmt(stmt) {}

  void check() {
    const auto found = std::find_if(plan.params.begin(), plan.params.end(),
                                    [&](const ir::Param &each) { return each.name == stmt.view.tensor; });
    param = &*found;
    if (!param->isPresent)
      return refuse("`{}` is not there in this specialisation", param->name);
    if (writes() && param->mode == ir::ParamMode::In)
      return refuse("`{}` is only read", param->name);
    for (size_t d = 0; d < stmt.view.indices.size() && !failed; ++d)
      index(d);
    if (failed)
      return;
    switch (stmt.kind) {
    case StmtKind::Load:
      otherwise();
      return registers(stmt.dest);
    case StmtKind::Store:
    case StmtKind::Atomic:
      return registers(stmt.operands.back());
    default:
      return stage();
    }
  }

private:
  /// An axis that the slice keeps.
  struct Axis {
    int64_t size;
    size_t dim;
  };

  template <class... Args> void refuse(fmt::format_string<Args...> text, Args &&...args) {
    complain(stmt, text, std::forward<Args>(args)...);
    failed = true;
  }

  bool writes() const {
    return stmt.kind == StmtKind::Store || stmt.kind == StmtKind::Atomic || stmt.kind == StmtKind::CopyOut;
  }

  void index(size_t d) {
    const ViewIndex &index = stmt.view.indices[d];
    const bool isNamed =
        index.kind == ViewIndex::Element || index.kind == ViewIndex::Tiled || index.kind == ViewIndex::Gather;
    const VarType *type = isNamed ? &typeOf(stmt.operands[index.operand]) : nullptr;
    const auto wrong = [&](std::string_view wanted) {
      refuse("dim {} of `{}` takes {}, and `{}` is {}", d, param->name, wanted, stmt.operands[index.operand],
             print(*type));
    };
    switch (index.kind) {
    case ViewIndex::Element:
      if (type->kind != VarType::Scalar || !isInteger(type->elem))
        wrong("a whole number");
      return;
    case ViewIndex::Tiled:
      if (type->kind != VarType::TileIndex || index.divisor < 1 || type->rows % index.divisor != 0)
        return wrong(index.divisor == 1 ? "a tile index"
                                        : fmt::format("a tile index of multiples of {}", index.divisor));
      axes.push_back({type->rows / index.divisor, d});
      return;
    case ViewIndex::Gather:
      if ((type->kind != VarType::Scalar && !isTile(*type)) || !isInteger(type->elem))
        return wrong("a tile of whole numbers");
      return;
    case ViewIndex::All:
    case ViewIndex::Span:
      if (index.lo < 0 || index.hi <= index.lo || (param->dims[d].isConst() && index.hi > param->dims[d].value))
        return refuse("dim {} of `{}`, {}, has no elements {}..{}", d, param->name, param->dims[d].str(), index.lo,
                      index.hi);
      axes.push_back({index.hi - index.lo, d});
      return;
    }
  }

  void otherwise() {
    if (stmt.hasElse && !isScalar(stmt.operands.back(), param->elem))
      refuse("what lies outside is a scalar of {}, and `{}` is {}", spelling(param->elem), stmt.operands.back(),
             print(typeOf(stmt.operands.back())));
  }

  // ---- registers
  void registers(const std::string &name) {
    const VarType &type = typeOf(name);
    if (!isTile(type) && type.kind != VarType::Scalar)
      return refuse("`{}` is {}, no number and no tile", name, print(type));
    if (type.elem != param->elem)
      return refuse("`{}` is {}, and `{}` has elements of {}", name, print(type), param->name, spelling(param->elem));
    if (stmt.view.hasGather())
      return gathered(name, type);
    const bool isColumn = type.kind == VarType::Column;
    if (axes.size() > 2 || (axes.size() < 2 && type.kind == VarType::Fragment) || (axes.empty() && isTile(type)))
      return refuse("a slice with {} axes, and `{}` is {}", axes.size(), name, print(type));
    for (size_t i = 0; i < axes.size(); ++i) {
      const bool isRows = axes.size() == 2 ? i == 0 : isColumn;
      holds(name, type, isRows ? Division::Rows : Division::Cols, axes[i].size);
    }
  }

  void holds(const std::string &name, const VarType &type, Division axis, int64_t size) {
    if (extentOf(type, axis) < size)
      refuse("the slice has {} {}, and `{}` is {}", size, axis == Division::Rows ? "rows" : "columns", name,
             print(type));
  }

  /// A thread has the index of each of its elements.
  void gathered(const std::string &name, const VarType &type) {
    bool rowsGathered = false, colsGathered = false;
    for (const ViewIndex &index : stmt.view.indices) {
      if (index.kind != ViewIndex::Gather)
        continue;
      const std::string &indices = stmt.operands[index.operand];
      rowsGathered |= hasRows(typeOf(indices)), colsGathered |= hasCols(typeOf(indices));
      covers(indices, typeOf(indices), name, type);
    }
    if (failed)
      return;
    if (axes.size() + (rowsGathered ? 1 : 0) + (colsGathered ? 1 : 0) > 2)
      return refuse("a slice with more than two axes");
    bool rowsLeft = hasRows(type) && !rowsGathered;
    for (const Axis &axis : axes) {
      holds(name, type, rowsLeft ? Division::Rows : Division::Cols, axis.size);
      rowsLeft = false;
    }
  }

  void covers(const std::string &indices, const VarType &from, const std::string &name, const VarType &to) {
    for (const Division axis : {Division::Rows, Division::Cols}) {
      const bool has = axis == Division::Rows ? hasRows(from) : hasCols(from);
      if (has && (extentOf(from, axis) != extentOf(to, axis) || isDivided(from, axis) != isDivided(to, axis)))
        return refuse("an instance has the indices `{}`, {}, and of `{}`, {}, other {}", indices, print(from), name,
                      print(to), axis == Division::Rows ? "rows" : "columns");
    }
    if (isTile(from) && !liesAlike(from, to))
      refuse("the threads that have the indices `{}`, {}, do not have these elements of `{}`, {}", indices, print(from),
             name, print(to));
  }

  // ---- stages
  void stage() {
    const Buffer &buffer = *plan.findBuffer(stmt.ref.buffer);
    if (buffer.elem != param->elem)
      return refuse("`{}` has elements of {}, `{}` of {}", param->name, spelling(param->elem), buffer.name,
                    spelling(buffer.elem));
    if (stmt.view.hasGather())
      return gatheredRows(buffer);
    if (axes.empty() || axes.size() > 2)
      return refuse("copies rectangles of one or two axes");
    if (!stmt.map.empty())
      box(*plan.findMap(stmt.map));
    if (failed)
      return;
    const bool transposed = stmt.ref.transposed;
    along(Division::Rows, axes.size() == 2 ? axes[0].size : 1, transposed ? buffer.cols : buffer.rows);
    along(Division::Cols, axes.back().size, transposed ? buffer.rows : buffer.cols);
  }

  /// Rows by columns of indices, of which all threads of the role have some, and the last dim along the columns.
  void gatheredRows(const Buffer &buffer) {
    const bool isRun = axes.size() == 1 && axes.front().dim + 1 == stmt.view.indices.size();
    if (stmt.kind != StmtKind::CopyIn || !stmt.map.empty() || stmt.ref.transposed || isPacked(buffer.elem) || !isRun)
      return refuse("threads copy rows by index into a stage as they lie");
    const VarType *first = nullptr;
    for (const ViewIndex &index : stmt.view.indices) {
      if (index.kind != ViewIndex::Gather)
        continue;
      const std::string &name = stmt.operands[index.operand];
      const VarType &type = typeOf(name);
      first = first ? first : &type;
      if (type.kind != VarType::Column || type.layout.kind != Layout::Rows)
        return refuse("rows are picked by a column in a layout of rows, and `{}` is {}", name, print(type));
      if (type.rows != first->rows || !liesAlike(type, *first))
        return refuse("the threads that have the indices `{}`, {}, do not have those of {}", name, print(type),
                      print(*first));
      if (const int64_t rows = index.hi > 0 ? index.hi : type.rows; rows > buffer.rows)
        return refuse("`{}` picks {} rows, a stage of `{}` has {}", name, rows, buffer.name, buffer.rows);
    }
    along(Division::Cols, axes.back().size, buffer.cols);
  }

  /// The copy engine's box lies along the axes of the slice, and goes by elements.
  void box(const TensorMap &map) {
    const int rowDim = axes.size() == 2 ? static_cast<int>(axes[0].dim) : -1;
    const bool isWhole = std::all_of(stmt.view.indices.begin(), stmt.view.indices.end(), [](const ViewIndex &index) {
      return index.kind != ViewIndex::Tiled || index.divisor == 1;
    });
    if (map.rowDim != rowDim || map.colDim != static_cast<int>(axes.back().dim))
      refuse("the slice has axes along dims {} and {}, boxes of `{}` along {} and {}", rowDim, axes.back().dim,
             map.name, map.rowDim, map.colDim);
    else if (!isWhole || stmt.ref.transposed)
      refuse("the copy engine takes elements as they lie");
  }

  /// A stage has all that there is of the slice along an axis: of the columns that are named, of the share of this
  /// block of a pair. The copy engine copies as much as a stage has, be it beyond the slice.
  void along(Division axis, int64_t size, int64_t inStage) {
    const bool isPiece = stmt.kind == StmtKind::CopyOut && axis == Division::Cols && stmt.colHi > 0;
    if (isPiece && (stmt.colLo < 0 || stmt.colHi > size))
      return refuse("columns {}..{} of a slice of {}", stmt.colLo, stmt.colHi, size);
    if (isPiece)
      size = stmt.colHi - stmt.colLo;
    const bool isShare = stmt.toFirst && stmt.multicast == axis;
    const int64_t holds = inStage * (isShare ? plan.cluster : 1);
    if (stmt.map.empty() ? size > holds : size != holds)
      refuse("the slice has {} {}, {}a stage of `{}` {}", size, axis == Division::Rows ? "rows" : "columns",
             isShare ? "the blocks' shares of " : "", stmt.ref.buffer, holds);
  }

  const Stmt &stmt;
  const ir::Param *param = nullptr;
  std::vector<Axis> axes;
  bool failed = false;
};

} // namespace

void checkSlice(const OperandCheck &role, const Stmt &stmt) { Access(role, stmt).check(); }

} // namespace tkc::plan
