// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with block scales as ordinary ones of bf16, for GPUs that have no instruction for them:
//   %sa = load sa[%m, %k / 32]
//   %c = dot_scaled %a, %sa, %b, %sb, %acc
// ⇒ %block = div (elements row %k), 32
//   %each = load sa[%m, gather %block]             a scale for each element
//   %wide = cast (mul (cast %a), (cast %each)) : bf16
//   %c = dot %wide, …, %acc
// An element times its scale has at most 5 bits (f4e2m1 · f8e4m3: 2 + 4, f8e4m3 · f8e8m0: 4), so it is a bf16 exactly
// where it is within bf16's range. Scales that are no loaded slices are left alone, and with them the product.
#include "ir/Effects.h"
#include "ir/passes/Passes.h"

namespace tkc::ir {
namespace {

class Lowering {
public:
  Lowering(Function &function, llvm::function_ref<bool(const Op &)> isWanted)
      : function(function), isWanted(isWanted) {}

  void run(Block &block) {
    for (auto next = block.ops.begin(); next != block.ops.end();) {
      Op &op = **next++;
      for (auto &body : op.bodies)
        run(*body);
      if (op.kind == OpKind::DotScaled && canSpread(op.operand(1)) && canSpread(op.operand(3)) && isWanted(op))
        lower(op);
    }
  }

private:
  Function &function;
  const llvm::function_ref<bool(const Op &)> isWanted;

  /// The load under a transposition.
  static Op *loadOf(const Value *scales) {
    if (Op *transpose = definedBy(scales, OpKind::Transpose))
      scales = transpose->operand(0);
    return definedBy(scales, OpKind::Load);
  }
  static bool canSpread(const Value *scales) {
    const Op *load = loadOf(scales);
    return load && !load->hasElse && !load->view.hasGather() && load->result()->type.isTile();
  }

  void lower(Op &op) {
    Builder builder(function, op.parent);
    builder.setInsertionPointBefore(&op);
    builder.setLoc(op.loc);
    Value *a = scaled(builder, op.operand(0), op.operand(1)), *b = scaled(builder, op.operand(2), op.operand(3));
    Value *product = builder.dot(a, b, op.operands().size() == 5 ? op.operand(4) : nullptr);
    product->name = op.result()->name;
    replaceAllUses(op.result(), product);
    erase(&op);
  }

  /// The selection between elements and zero, which no scale changes; null: x is none.
  static Op *maskOf(const Value *x) {
    Op *select = definedBy(x, OpKind::Select);
    const Op *otherwise = select ? select->operand(2)->definingOp : nullptr;
    return otherwise && otherwise->kind == OpKind::Const && otherwise->constant == 0 ? select : nullptr;
  }

  /// x times its scales, as it lies in memory where both are transposed.
  static Value *scaled(Builder &builder, Value *x, Value *scales) {
    if (Op *mask = maskOf(x)) {
      Value *wide = scaled(builder, mask->operand(1), scales);
      return builder.select(mask->operand(0), wide, builder.constant(ElemType::BF16, 0));
    }
    Op *load = loadOf(scales);
    const bool isTransposed = load->result() != scales;
    Value *stored = x;
    if (isTransposed)
      stored = definedBy(x, OpKind::Transpose) ? x->definingOp->operand(0) : builder.transpose(x);
    Value *each = spread(builder, *load, stored->type);
    Value *wide = builder.binary(OpKind::Mul, builder.cast(ElemType::F32, stored), builder.cast(ElemType::F32, each));
    wide = builder.cast(ElemType::BF16, wide);
    wide->name = x->name;
    return isTransposed ? builder.transpose(wide) : wide;
  }

  /// The scales loaded again, one for each element of a tile of this type.
  static Value *spread(Builder &builder, const Op &load, const Type &type) {
    const Type &blocks = load.result()->type;
    const int axis = blocks.cols != type.cols ? 1 : 0;
    const int64_t size = axis == 1 ? type.cols : type.rows, block = size / (axis == 1 ? blocks.cols : blocks.rows);
    View view = load.view;
    std::vector<Value *> operands = load.operands();
    int seen = 0;
    for (ViewIndex &index : view.indices) {
      if (index.kind == ViewIndex::Element || seen++ != axis)
        continue;
      const bool isTiled = index.kind == ViewIndex::Tiled;
      Value *places = isTiled     ? builder.elements(operands[index.operand], axis)
                      : axis == 0 ? builder.iota(size, 1)
                                  : builder.iota(1, size);
      places = builder.binary(OpKind::Div, places,
                              builder.constant(ElemType::I32, static_cast<double>(isTiled ? index.divisor : block)));
      if (!isTiled && index.lo != 0)
        places = builder.binary(OpKind::Add, places, builder.constant(ElemType::I32, static_cast<double>(index.lo)));
      index = {ViewIndex::Gather, isTiled ? index.operand : static_cast<unsigned>(operands.size()), 0, 0};
      if (isTiled)
        operands[index.operand] = places;
      else
        operands.push_back(places);
    }
    const std::optional<Type> result = viewType(blocks.elem, view, operands);
    Value *each = builder.load(std::move(view), operands, nullptr, *result);
    each->name = load.result()->name;
    return each;
  }
};

} // namespace

void lowerScales(Function &function) {
  lowerScales(function, [](const Op &) { return true; });
}

void lowerScales(Function &function, llvm::function_ref<bool(const Op &)> isWanted) {
  Lowering(function, isWanted).run(function.body);
}

} // namespace tkc::ir
