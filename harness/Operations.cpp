// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Operations.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace tkc::harness {
namespace {

using ir::OpKind;

class Counter {
public:
  Counter(const ir::Function &function, const CallArguments &arguments, const arch::Description *instructionsOf)
      : function(function), arguments(arguments), instructionsOf(instructionsOf) {}

  double run() {
    count(function.body);
    return stepsLeft > 0 ? operations : 0;
  }

private:
  /// A scalar, or the range that a tile index covers.
  struct Known {
    double value = 0, end = 0;
    double index = 0;
  };

  std::optional<Known> find(const ir::Value *value) const {
    const auto found = known.find(value);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  }

  void count(const ir::Block &block) {
    for (const auto &op : block.ops) {
      if (--stepsLeft <= 0)
        return;
      if (op->kind == OpKind::Parallel || op->kind == OpKind::For)
        loop(*op);
      else if (op->kind == OpKind::If)
        branch(*op);
      else if (op->kind == OpKind::Dot)
        product(op->operand(0)->type, op->operand(1)->type);
      else if (op->kind == OpKind::DotScaled)
        product(op->operand(0)->type, op->operand(2)->type);
      else if (const std::optional<Known> value = evaluate(*op))
        known[op->result()] = *value;
    }
  }

  void loop(const ir::Op &op) {
    const auto lo = find(op.operand(0)), hi = find(op.operand(1));
    if (!lo || !hi)
      return;
    const double size = static_cast<double>(std::max<int64_t>(op.tileSize, 1));
    double index = 0;
    for (double at = lo->value; at < hi->value && stepsLeft > 0; at += size, ++index) {
      known[op.body().args[0].get()] = {at, std::min(at + size, hi->value), index};
      count(op.body());
    }
  }

  void branch(const ir::Op &op) {
    const auto condition = find(op.operand(0));
    if (!condition || condition->value != 0)
      count(op.body(0));
    else if (op.bodies.size() > 1)
      count(op.body(1));
  }

  /// Elements along an axis: up to where its tile index ends.
  double extent(const ir::Value *end, int64_t size) const {
    const auto range = end && !instructionsOf ? find(end) : std::nullopt;
    return range ? range->end - range->value : static_cast<double>(size);
  }

  void product(const ir::Type &a, const ir::Type &b) {
    const double depth = std::min(extent(a.colEnd, a.cols), extent(b.rowEnd, b.rows));
    const Shape least = smallestInstruction(a.elem, b.elem);
    operations += 2 * filled(extent(a.rowEnd, a.rows), least.rows) * filled(extent(b.colEnd, b.cols), least.cols) *
                  filled(depth, least.depth);
  }

  struct Shape {
    int rows = 1, cols = 1, depth = 1;
  };
  Shape smallestInstruction(ElemType a, ElemType b) const {
    std::optional<Shape> least;
    if (instructionsOf)
      for (const arch::MatrixInstruction &each : instructionsOf->matrixInstructions)
        if (each.a == a && each.b == b)
          least = least ? Shape{std::min(least->rows, each.m), std::min(least->cols, each.n),
                                std::min(least->depth, each.k)}
                        : Shape{each.m, each.n, each.k};
    return least.value_or(Shape());
  }
  static double filled(double extent, int unit) { return std::ceil(extent / unit) * unit; }

  std::optional<Known> evaluate(const ir::Op &op) const {
    if (op.results.size() != 1)
      return std::nullopt;
    if (op.kind == OpKind::Const)
      return Known{op.constant, 0, 0};
    if (op.kind == OpKind::Dim) {
      const auto symbol = arguments.symbols.find(op.name);
      return symbol == arguments.symbols.end() ? std::nullopt
                                               : std::optional(Known{static_cast<double>(symbol->second), 0, 0});
    }
    if (op.kind == OpKind::Param) {
      const auto scalar = arguments.scalars.find(op.name);
      return scalar == arguments.scalars.end() ? std::nullopt : std::optional(Known{scalar->second.toDouble(), 0, 0});
    }
    std::vector<Known> x;
    for (const ir::Value *operand : op.operands()) {
      const auto value = find(operand);
      if (!value)
        return std::nullopt;
      x.push_back(*value);
    }
    switch (op.kind) {
    case OpKind::Begin:
      return x[0];
    case OpKind::End:
      return Known{x[0].end, 0, 0};
    case OpKind::Index:
      return Known{x[0].index, 0, 0};
    case OpKind::Shift:
      return Known{x[0].value + x[1].value, x[0].end + x[1].value, x[0].index};
    case OpKind::Add:
      return Known{x[0].value + x[1].value, 0, 0};
    case OpKind::Sub:
      return Known{x[0].value - x[1].value, 0, 0};
    case OpKind::Mul:
      return Known{x[0].value * x[1].value, 0, 0};
    case OpKind::Div:
      return x[1].value == 0 ? std::nullopt : std::optional(Known{std::floor(x[0].value / x[1].value), 0, 0});
    case OpKind::Mod:
      return x[1].value == 0
                 ? std::nullopt
                 : std::optional(Known{x[0].value - std::floor(x[0].value / x[1].value) * x[1].value, 0, 0});
    case OpKind::Min:
      return Known{std::min(x[0].value, x[1].value), 0, 0};
    case OpKind::Max:
      return Known{std::max(x[0].value, x[1].value), 0, 0};
    case OpKind::Select:
      return x[0].value != 0 ? x[1] : x[2];
    case OpKind::Lt:
      return Known{double(x[0].value < x[1].value), 0, 0};
    case OpKind::Le:
      return Known{double(x[0].value <= x[1].value), 0, 0};
    case OpKind::Gt:
      return Known{double(x[0].value > x[1].value), 0, 0};
    case OpKind::Ge:
      return Known{double(x[0].value >= x[1].value), 0, 0};
    case OpKind::Eq:
      return Known{double(x[0].value == x[1].value), 0, 0};
    case OpKind::Ne:
      return Known{double(x[0].value != x[1].value), 0, 0};
    default:
      return std::nullopt;
    }
  }

  const ir::Function &function;
  const CallArguments &arguments;
  const arch::Description *instructionsOf;
  std::unordered_map<const ir::Value *, Known> known;
  double operations = 0;
  int64_t stepsLeft = 100'000'000;
};

} // namespace

double countProductOperations(const ir::Function &function, const CallArguments &arguments,
                              const arch::Description *instructionsOf) {
  return Counter(function, arguments, instructionsOf).run();
}

double countBytes(const Signature &signature, const CallArguments &arguments) {
  double bytes = 0;
  for (const ir::Param &param : signature.params)
    if (auto tensor = arguments.tensors.find(param.name); tensor != arguments.tensors.end())
      bytes += (param.mode == ir::ParamMode::InOut ? 2.0 : 1.0) * static_cast<double>(tensor->second.numElements()) *
               bitWidth(tensor->second.elem) / 8;
  return bytes;
}

} // namespace tkc::harness
