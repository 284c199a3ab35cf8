// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/interpreter/Program.h"

#include "ir/EdgeAnalysis.h"

#include <cassert>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tkc::ir::interpreter {

Storage storageOf(ElemType elem) {
  if (elem == ElemType::F64)
    return Storage::F64;
  if (elem == ElemType::I64)
    return Storage::I64;
  return isFloat(elem) ? Storage::F32 : Storage::I32;
}

namespace {

class Compiler {
public:
  Compiler(Program &program, const EdgeAnalysis *edges) : program(program), edges(edges) {}

  Sequence sequence(const Block &block) {
    Sequence result;
    for (const auto &arg : block.args)
      result.args.push_back(define(arg.get()));
    for (const auto &op : block.ops) {
      result.steps.push_back(step(*op));
      result.hasParallel |= op->kind == OpKind::Parallel;
    }
    return result;
  }

private:
  Step step(const Op &op) {
    Step result{&op, {}, {}, {}, -1};
    for (const Value *operand : op.operands())
      result.operands.push_back(slotOf.at(operand));
    for (const auto &body : op.bodies)
      result.bodies.push_back(sequence(*body));
    for (const auto &value : op.results)
      result.results.push_back(define(value.get()));
    if (op.kind == OpKind::Load || op.kind == OpKind::Store || op.kind == OpKind::Atomic)
      result.tensor = paramIndex(op.view.tensor);
    if (op.kind == OpKind::Load && edges)
      findPoison(result);
    return result;
  }

  void findPoison(Step &load) const {
    const Value *value = load.op->result();
    const auto isAnything = [&](int axis) { return !edges->beyond(value, axis).isWithin(Contents::finite()); };
    load.anyPastRows = value->type.rowEnd && isAnything(0);
    load.anyPastCols = value->type.colEnd && isAnything(1);
    if (value->type.kind == Type::Vector) // stands across
      std::swap(load.anyPastRows, load.anyPastCols);
  }

  int define(const Value *value) {
    const Type &type = value->type;
    Slot slot;
    slot.elem = type.elem;
    slot.storage = type.kind == Type::TileIndex ? Storage::TileIndex : storageOf(type.elem);
    if (type.kind == Type::Tile) {
      slot.rows = type.rows;
      slot.cols = type.cols;
      slot.rowEnd = endSlot(type.rowEnd);
      slot.colEnd = endSlot(type.colEnd);
      slot.rowStep = stepOf(type.rowEnd, type.rows);
      slot.colStep = stepOf(type.colEnd, type.cols);
    } else if (type.kind == Type::Vector) {
      slot.cols = type.rows;
      slot.colEnd = endSlot(type.rowEnd);
      slot.colStep = stepOf(type.rowEnd, type.rows);
    }
    slot.offset = program.memoryBytes;
    if (slot.storage != Storage::TileIndex)
      program.memoryBytes += (slot.rows * slot.cols * storageBytes(slot.storage) + 63) / 64 * 64;
    const int index = static_cast<int>(program.slots.size());
    program.slots.push_back(slot);
    slotOf[value] = index;
    return index;
  }

  int endSlot(const Value *tileIndex) const { return tileIndex ? slotOf.at(tileIndex) : -1; }

  int paramIndex(const std::string &name) const {
    const auto &params = program.function->params;
    for (size_t i = 0; i < params.size(); ++i)
      if (params[i].name == name)
        return static_cast<int>(i);
    assert(false && "a view names a parameter");
    return -1;
  }

  Program &program;
  const EdgeAnalysis *edges; ///< of padded tiles
  std::unordered_map<const Value *, int> slotOf;
};

} // namespace

Program compile(const Function &function, bool padded) {
  Program program{&function, {}, {}, 0, padded};
  std::optional<EdgeAnalysis> edges;
  if (padded)
    edges.emplace(function);
  program.body = Compiler(program, edges ? &*edges : nullptr).sequence(function.body);
  return program;
}

} // namespace tkc::ir::interpreter
