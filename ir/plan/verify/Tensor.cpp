// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor memory: what its buffers may be, and which statements fit them. PTX ISA, "Tensor Memory", "tcgen05.mma":
// products of 64 or 128 rows, columns in steps of 16 up to 256, issued by one thread; a warp reaches the quarter of the
// lanes that its number modulo four says.
#include "ir/plan/verify/Verify.h"

#include <fmt/core.h>

namespace tkc::plan {
namespace {

/// Rows and columns of what an instance has of a tile.
struct Part {
  int64_t rows, cols;
  friend bool operator==(const Part &, const Part &) = default;
};

Part partOf(int64_t rows, int64_t cols, Division slice, int instances) {
  return {slice == Division::Rows ? rows / instances : rows, slice == Division::Cols ? cols / instances : cols};
}

class Statement {
public:
  Statement(const Plan &plan, const Role &role, const Stmt &stmt, Report &report)
      : plan(plan), role(role), stmt(stmt), report(report) {}

  void access() {
    const TensorBuffer *tensor = resolve(stmt.ref);
    if (!tensor)
      return;
    if (role.warps != 4 || role.firstWarp % 4 != 0)
      return complain("role `{}` has {} warps from warp {}: lanes are shared out among 4 warps from a multiple of 4",
                      role.name, role.warps, role.firstWarp);
    const VarType type = *typeOf(plan, role, stmt.kind == StmtKind::LoadTensor ? stmt.dest : stmt.operands[0]);
    if (stmt.kind == StmtKind::ScaleTensor)
      return scale(*tensor, type);
    const Layout::Kind wanted = tensor->instructionRows == 128 ? Layout::Tensor : Layout::Mma;
    if (type.kind != VarType::Fragment || type.layout.kind != wanted)
      complain("`{}` in slabs of {} rows takes fragments in layout `{}`, not {}", tensor->name, tensor->instructionRows,
               wanted == Layout::Tensor ? "tensor" : "mma", print(type));
    else if (type.elem != tensor->elem || type.rows != tensor->rows || type.cols != tensor->cols ||
             type.division != stmt.ref.slice)
      complain("{} does not fit `{}`: {} of {}x{}", print(type), tensor->name, spelling(tensor->elem), tensor->rows,
               tensor->cols);
  }

  void product() {
    const TensorBuffer *dest = resolve(stmt.destRef);
    if (!dest)
      return;
    if (!stmt.one)
      complain("is for `one` thread: it issues the whole product");
    if (!stmt.aShared || stmt.isSynchronous())
      return complain("takes operands in shared or tensor memory");
    const TensorBuffer *aTensor = plan.findTensor(stmt.aRef.buffer);
    const Buffer *a = aTensor ? resolve(stmt.aRef) : plan.findBuffer(stmt.aRef.buffer);
    const Buffer *b = plan.findBuffer(stmt.ref.buffer);
    if (!a || !b)
      return complain("no buffer `{}`", a ? stmt.ref.buffer : stmt.aRef.buffer);
    shapes(*dest, shapeOf(*a, stmt.aRef), shapeOf(*b, stmt.ref));
    if (aTensor && (aTensor->instructionRows != dest->instructionRows || stmt.aRef.transposed))
      complain("a left operand in tensor memory lies in the lanes of its product");
    types(*dest, *a, *b, aTensor != nullptr);
    if (!stmt.scales.empty())
      scales(*dest, *a, *b);
  }

private:
  template <class... Args> void complain(fmt::format_string<Args...> text, Args &&...args) {
    report.add(stmt.loc, fmt::format("`{}`: ", print(stmt)) + fmt::format(text, std::forward<Args>(args)...));
  }

  /// The buffer; cursors count its stages.
  const TensorBuffer *resolve(const BufferRef &ref) {
    const TensorBuffer *tensor = plan.findTensor(ref.buffer);
    if (!tensor) {
      complain("no buffer `{}` in tensor memory", ref.buffer);
      return nullptr;
    }
    const Var *cursor = role.findVar(ref.cursor);
    if (ref.cursor.empty() ? tensor->stages != 1
                           : !cursor || cursor->type.kind != VarType::Cursor || cursor->type.rows != tensor->stages)
      complain("`{}` has {} stages, and `{}` is no cursor that counts them", ref.buffer, tensor->stages, ref.cursor);
    const Part part = partOf(tensor->rows, tensor->cols, ref.slice, role.instances);
    if (ref.transposed || part.rows != tensor->instructionRows)
      complain("an instance has {} rows of `{}`, and a slab has {}", part.rows, tensor->name, tensor->instructionRows);
    return tensor;
  }

  void scale(const TensorBuffer &tensor, const VarType &by) {
    const bool isColumn = by.kind == VarType::Column && by.rows == tensor.rows &&
                          by.layout.kind == (tensor.instructionRows == 128 ? Layout::Tensor : Layout::Mma) &&
                          (by.division == Division::Rows) == (stmt.ref.slice == Division::Rows);
    if (by.elem != tensor.elem || (!isColumn && by.kind != VarType::Scalar))
      complain("{} is no factor of the rows of `{}`", print(by), tensor.name);
  }

  Part shapeOf(const Buffer &buffer, const BufferRef &ref) const {
    return ref.transposed ? partOf(buffer.cols, buffer.rows, ref.slice, role.instances)
                          : partOf(buffer.rows, buffer.cols, ref.slice, role.instances);
  }

  void shapes(const TensorBuffer &dest, Part a, Part b) {
    const Part made = partOf(dest.rows, dest.cols, stmt.destRef.slice, role.instances);
    if (stmt.byPair && (made.rows != 128 || made.cols % 32 != 0))
      return complain("{}x{}: a pair makes 128 rows in each block, and columns in steps of 32", made.rows, made.cols);
    b.cols *= stmt.byPair ? 2 : 1; // the other block has the other half
    if (a.cols != b.rows || made != Part{a.rows, b.cols})
      complain("{}x{} · {}x{} does not make {}x{}", a.rows, a.cols, b.rows, b.cols, made.rows, made.cols);
    else if (made.cols % 16 != 0 || made.cols > 256)
      complain("{} columns: products have steps of 16 up to 256", made.cols);
  }

  void types(const TensorBuffer &dest, const Buffer &a, const Buffer &b, bool inTensor) {
    const bool integers = a.elem == ElemType::I8 || a.elem == ElemType::U8;
    const bool packed = isPacked(a.elem) && !stmt.scales.empty();
    const bool floats = bitWidth(a.elem) == 16 || a.elem == ElemType::TF32 || isFloat8(a.elem) || packed;
    if (!canMultiply(stmt, a.elem, b.elem) || !(integers || floats) ||
        dest.elem != (integers ? ElemType::I32 : ElemType::F32))
      complain("no product of {} by {} makes {}", spelling(a.elem), spelling(b.elem), spelling(dest.elem));
    const bool contiguous = stmt.ref.transposed && (inTensor || !stmt.aRef.transposed);
    if (a.elem == ElemType::TF32 && !contiguous)
      complain("tf32 operands need the contracted axis contiguous");
    if ((!inTensor && a.swizzle == Swizzle::None) || b.swizzle == Swizzle::None)
      complain("operands in shared memory are swizzled");
  }

  /// Scales lie as they are copied: by 128 rows of four; the columns that they pass through hold those of both
  /// operands.
  void scales(const TensorBuffer &dest, const Buffer &a, const Buffer &b) {
    const TensorBuffer *through = stmt.scales.size() > 2 ? plan.findTensor(stmt.scales[2].buffer) : nullptr;
    const Buffer *left = plan.findBuffer(stmt.scales[0].buffer), *right = plan.findBuffer(stmt.scales[1].buffer);
    if (!through || !left || !right || !resolve(stmt.scales[2]))
      return complain("scales in shared memory pass through tensor memory");
    const int64_t bRows = b.rows * (stmt.byPair ? 2 : 1); // the other block has the other half, and each all scales
    if (!checkScales(plan, stmt, a.elem, {a.rows, a.cols}, {b.cols, bRows}, report))
      return;
    if (dest.instructionRows != 128 || stmt.aRef.transposed || !stmt.ref.transposed)
      complain("a product with scales has 128 rows, and operands with the contracted axis contiguous");
    const auto columns = [&](const Buffer &buffer, const BufferRef &ref) {
      const int64_t own = ref.slice == Division::Whole ? buffer.rows : buffer.rows / role.instances;
      return (own % 128 == 0 ? own : buffer.rows) / 32 * (buffer.cols / 4);
    };
    const int64_t wanted = columns(*left, stmt.scales[0]) + columns(*right, stmt.scales[1]);
    if (const Part part = partOf(through->rows, through->cols, stmt.scales[2].slice, role.instances);
        part.cols < wanted)
      complain("the scales take {} columns, `{}` has {}", wanted, through->name, part.cols);
    if (stmt.scales[1].slice == Division::Cols && right->rows != bRows)
      complain("instances share the scales of {} columns: whole groups of 128 are wanted", bRows);
  }

  const Plan &plan;
  const Role &role;
  const Stmt &stmt;
  Report &report;
};

void checkBuffer(const Plan &plan, const TensorBuffer &tensor, Report &report) {
  if ((tensor.instructionRows != 64 && tensor.instructionRows != 128) || tensor.rows % tensor.instructionRows != 0 ||
      tensor.stages < 1 || tensor.stages > 16 || bitWidth(tensor.elem) > 32 || bitWidth(tensor.elem) < 8 ||
      tensor.cols * bitWidth(tensor.elem) % 128 != 0)
    report.add(plan.loc, fmt::format("tensor memory `{}`: whole slabs of 64 or 128 rows, of whole groups of 4 columns "
                                     "of 32 bits, in 1 to 16 stages",
                                     tensor.name));
  else if (tensor.stride != 0 && tensor.stride < tensor.instructionColumns())
    report.add(plan.loc, fmt::format("tensor memory `{}`: slabs of {} columns every {}", tensor.name,
                                     tensor.instructionColumns(), tensor.stride));
  else if (tensor.offset + tensor.totalColumns() > plan.tensorColumns)
    report.add(plan.loc, fmt::format("tensor memory `{}` has columns {}..{}, the block allocates {}", tensor.name,
                                     tensor.offset, tensor.offset + tensor.totalColumns(), plan.tensorColumns));
}

void checkOverlap(const Plan &plan, const TensorBuffer &one, const TensorBuffer &other, Report &report) {
  if (one.name == other.name || plan.findBuffer(one.name))
    report.add(plan.loc, fmt::format("two buffers are called `{}`", one.name));
  const bool apart =
      one.offset >= other.offset + other.totalColumns() || other.offset >= one.offset + one.totalColumns();
  const auto host = [](const TensorBuffer &tensor) { return tensor.aliasOf.empty() ? tensor.name : tensor.aliasOf; };
  if (!apart && host(one) != host(other))
    report.add(plan.loc, fmt::format("`{}` and `{}` overlap in tensor memory, and neither is an alias of the other",
                                     one.name, other.name));
}

/// PTX ISA, "tcgen05", CTA pairs: all of a kernel's instructions are for one block, or all for two.
void checkPairs(const Plan &plan, Report &report) {
  const Stmt *alone = nullptr, *paired = nullptr;
  for (const Role &role : plan.roles)
    walk(role.body, [&](const Stmt &stmt) {
      if (stmt.isTensorProduct())
        (stmt.byPair ? paired : alone) = &stmt;
    });
  if (alone && paired)
    report.add(alone->loc, fmt::format("`{}` is by one block and `{}` by a pair", print(*alone), print(*paired)));
}

} // namespace

void checkTensors(const Plan &plan, const Budget &budget, Report &report) {
  if (plan.tensorColumns == 0 && plan.tensors.empty())
    return;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    checkBuffer(plan, plan.tensors[i], report);
    for (size_t j = 0; j < i; ++j)
      checkOverlap(plan, plan.tensors[i], plan.tensors[j], report);
  }
  checkPairs(plan, report);
  const int columns = plan.tensorColumns;
  if (columns > budget.tensorColumns)
    report.addOverBudget(plan.loc, fmt::format("asks for {} columns of tensor memory, {} has {}", columns, plan.arch,
                                               budget.tensorColumns));
  else if (columns < 32 || (columns & (columns - 1)) != 0)
    report.add(plan.loc, fmt::format("{} columns of tensor memory: a power of two, at least 32", columns));
}

void checkTensorStatement(const Plan &plan, const Role &role, const Stmt &stmt, Report &report) {
  Statement check(plan, role, stmt, report);
  if (stmt.kind == StmtKind::Product)
    check.product();
  else
    check.access();
}

} // namespace tkc::plan
