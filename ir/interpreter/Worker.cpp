// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow, the grid, and the ops that only move elements.
#include "ir/interpreter/Worker.h"

#include "support/Rounding.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <fmt/core.h>
#include <utility>

namespace tkc::ir::interpreter {

Worker::Worker(const Program &program, const Memory &memory, const CallArguments &arguments)
    : program(program), memory(memory), arguments(arguments),
      storage(std::make_unique<std::byte[]>(program.memoryBytes + 1)), pointers(program.slots.size()),
      positions(program.slots.size()) {
  for (size_t i = 0; i < program.slots.size(); ++i)
    pointers[i] = storage.get() + program.slots[i].offset;
  makeOwnMemory();
}

void Worker::makeOwnMemory() {
  for (TensorMemory &entry : memory.tensors) {
    if (!entry.param->isLocal)
      continue;
    auto tensor = std::make_unique<Tensor>();
    tensor->elem = entry.param->elem;
    for (const DimExpr &dim : entry.param->dims)
      tensor->dims.push_back(dim.value);
    const auto count = static_cast<size_t>(tensor->numElements());
    tensor->resize(count);
    entry.strides = rowMajor(tensor->dims);
    entry.owners = std::make_unique<std::atomic<uint32_t>[]>(count);
    entry.tensor = tensor.get();
    ownTensors.push_back(std::move(tensor));
  }
}

/// Nothing of it has a value when a block begins.
void Worker::forgetOwnMemory() {
  for (TensorMemory &entry : memory.tensors)
    if (entry.param->isLocal)
      for (int64_t i = 0; i < entry.tensor->numElements(); ++i)
        entry.owners[i] = 0;
}

bool Worker::fail(SourceLoc loc, std::string message) {
  failure = RuntimeError{loc, std::move(message)};
  return false;
}

// ---- the grid ------------------------------------------------------------------------------------------------------

namespace {

/// The positions of `lo..hi` in steps of a tile, or of one.
template <class Visit> bool forEachPosition(int64_t lo, int64_t hi, int64_t tileSize, Visit visit) {
  const int64_t step = tileSize ? tileSize : 1;
  int64_t index = 0;
  for (int64_t begin = lo; begin < hi; begin += step, ++index)
    if (!visit(Position{begin, std::min(begin + step, hi), index}))
      return false;
  return true;
}

} // namespace

void Worker::setInduction(int slot, const Position &position, int64_t tileSize) {
  if (tileSize)
    positions[slot] = position;
  else
    *data<int32_t>(slot) = static_cast<int32_t>(position.begin);
}

bool Worker::enumerateGrid(std::vector<Position> &blocks, size_t &depth) {
  if (!program.body.hasParallel)
    return true;
  depth = 0;
  for (const Sequence *sequence = &program.body; sequence && sequence->hasParallel;) {
    ++depth;
    const Sequence *inner = nullptr;
    for (const Step &step : sequence->steps)
      if (step.op->kind == OpKind::Parallel)
        inner = &step.bodies[0];
    sequence = inner;
  }
  std::vector<Position> prefix;
  return enumerate(program.body, prefix, blocks);
}

/// Runs what stands before an axis of the grid (its bounds may read tensors) and goes through the axis.
bool Worker::enumerate(const Sequence &sequence, std::vector<Position> &prefix, std::vector<Position> &blocks) {
  for (const Step &step : sequence.steps) {
    if (step.op->kind != OpKind::Parallel) {
      if (!execute(step))
        return false;
      continue;
    }
    const Sequence &body = step.bodies[0];
    return forEachPosition(integer(step.operands[0]), integer(step.operands[1]), step.op->tileSize,
                           [&](const Position &position) {
                             setInduction(body.args[0], position, step.op->tileSize);
                             prefix.push_back(position);
                             bool ok = true;
                             if (body.hasParallel)
                               ok = enumerate(body, prefix, blocks);
                             else
                               blocks.insert(blocks.end(), prefix.begin(), prefix.end());
                             prefix.pop_back();
                             return ok;
                           });
  }
  return true;
}

bool Worker::runBlock(const Position *blockCoordinates, uint32_t id) {
  coordinates = blockCoordinates;
  blockId = id;
  forgetOwnMemory();
  return run(program.body);
}

// ---- control flow --------------------------------------------------------------------------------------------------

bool Worker::run(const Sequence &sequence) {
  for (const Step &step : sequence.steps) {
    if (step.op->kind == OpKind::Parallel) {
      setInduction(step.bodies[0].args[0], *coordinates++, step.op->tileSize);
      return run(step.bodies[0]);
    }
    if (!execute(step))
      return false;
  }
  return true;
}

void Worker::copySlot(int from, int to) {
  if (info(to).storage == Storage::TileIndex)
    positions[to] = positions[from];
  else
    std::memcpy(pointers[to], pointers[from],
                static_cast<size_t>(info(to).rows * info(to).cols * storageBytes(info(to).storage)));
}

/// Moves what a loop's body yields into the carried arguments. A value that the body has just computed is swapped in;
/// one that is itself a carried argument is copied aside first, because arguments may change places.
void Worker::yieldInto(const Step &loop, const Step &yield) {
  const Sequence &body = loop.bodies[0];
  std::vector<std::vector<std::byte>> aside(yield.operands.size());
  const auto isArgument = [&](int slot) { return std::count(body.args.begin(), body.args.end(), slot) != 0; };
  const auto bytes = [&](int slot) {
    return static_cast<size_t>(info(slot).rows * info(slot).cols * storageBytes(info(slot).storage));
  };
  for (size_t i = 0; i < yield.operands.size(); ++i) {
    const int from = yield.operands[i];
    if (isArgument(from) && from != body.args[i + 1]) {
      const auto *begin = data<std::byte>(from);
      aside[i].assign(begin, begin + bytes(from));
    }
  }
  for (size_t i = 0; i < yield.operands.size(); ++i) {
    const int from = yield.operands[i];
    const int to = body.args[i + 1];
    if (from == to)
      continue;
    const Value *value = yield.op->operand(i);
    const bool isOwn = value->definingOp && value->definingOp->parent == yield.op->parent &&
                       std::count(yield.operands.begin(), yield.operands.end(), from) == 1;
    if (!aside[i].empty())
      std::memcpy(pointers[to], aside[i].data(), aside[i].size());
    else if (isOwn)
      std::swap(pointers[to], pointers[from]);
    else
      copySlot(from, to);
  }
}

bool Worker::runFor(const Step &step) {
  const Sequence &body = step.bodies[0];
  const size_t numCarried = body.args.size() - 1;
  for (size_t i = 0; i < numCarried; ++i)
    copySlot(step.operands[i + 2], body.args[i + 1]);
  const bool ok = forEachPosition(integer(step.operands[0]), integer(step.operands[1]), step.op->tileSize,
                                  [&](const Position &position) {
                                    setInduction(body.args[0], position, step.op->tileSize);
                                    if (!run(body))
                                      return false;
                                    if (numCarried)
                                      yieldInto(step, body.steps.back());
                                    return true;
                                  });
  for (size_t i = 0; ok && i < numCarried; ++i)
    std::swap(pointers[step.results[i]], pointers[body.args[i + 1]]);
  return ok;
}

bool Worker::runIf(const Step &step) {
  const Sequence &body = step.bodies[integer(step.operands[0]) ? 0 : 1];
  if (!run(body))
    return false;
  for (size_t i = 0; i < step.results.size(); ++i)
    copySlot(body.steps.back().operands[i], step.results[i]);
  return true;
}

// ---- one step ------------------------------------------------------------------------------------------------------

void Worker::full(const Step &step) {
  const int out = step.results[0];
  withStorage(info(out).storage, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(data<T>(out), info(out).rows * info(out).cols, *data<T>(step.operands[0]));
  });
}

void Worker::iota(const Step &step) {
  const int out = step.results[0];
  const int64_t count = info(out).rows * info(out).cols;
  for (int64_t i = 0; i < count; ++i)
    data<int32_t>(out)[i] = static_cast<int32_t>(i);
}

void Worker::elements(const Step &step) {
  const int out = step.results[0];
  const int64_t count = info(out).rows * info(out).cols;
  for (int64_t i = 0; i < count; ++i)
    data<int32_t>(out)[i] = static_cast<int32_t>(positions[step.operands[0]].begin + i);
}

void Worker::transpose(const Step &step) {
  const int in = step.operands[0];
  const int out = step.results[0];
  const int64_t numRows = rows(out), numCols = cols(out);
  const int64_t inStride = info(in).cols, outStride = info(out).cols;
  withStorage(info(out).storage, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t r = 0; r < numRows; ++r)
      for (int64_t c = 0; c < numCols; ++c)
        data<T>(out)[r * outStride + c] = data<T>(in)[c * inStride + r];
  });
}

namespace {

/// A number as an element of a slot.
void setElement(void *pointer, const Slot &slot, Number number) {
  const Number value = roundTo(slot.elem, number);
  if (slot.storage == Storage::I64)
    *static_cast<int64_t *>(pointer) = value.toInteger();
  else
    withStorage(slot.storage, [&](auto zero) {
      *static_cast<decltype(zero) *>(pointer) = static_cast<decltype(zero)>(value.toDouble());
    });
}

} // namespace

bool Worker::execute(const Step &step) {
  const Op &op = *step.op;
  const int out = step.results.empty() ? -1 : step.results[0];
  switch (op.kind) {
#define TKC_UNARY(kind, name, domain, summary) case OpKind::kind:
#include "ir/Ops.def"
    return unary(step), true;
#define TKC_BINARY(kind, name, domain, summary) case OpKind::kind:
#include "ir/Ops.def"
    return binary(step), true;
  case OpKind::Const:
    return setElement(pointers[out], info(out), op.constant), true;
  case OpKind::Dim:
    return setElement(pointers[out], info(out), Number::ofInteger(arguments.symbols.at(op.name))), true;
  case OpKind::Param:
    return setElement(pointers[out], info(out), arguments.scalars.at(op.name)), true;
  case OpKind::Cast:
    return cast(step), true;
  case OpKind::Select:
    return select(step), true;
  case OpKind::Full:
    return full(step), true;
  case OpKind::Iota:
    return iota(step), true;
  case OpKind::Begin:
    return *data<int32_t>(out) = static_cast<int32_t>(positions[step.operands[0]].begin), true;
  case OpKind::End:
    return *data<int32_t>(out) = static_cast<int32_t>(positions[step.operands[0]].end), true;
  case OpKind::Index:
    return *data<int32_t>(out) = static_cast<int32_t>(positions[step.operands[0]].index), true;
  case OpKind::Elements:
    return elements(step), true;
  case OpKind::Shift: {
    const int64_t by = integer(step.operands[1]);
    const Position &from = positions[step.operands[0]];
    positions[out] = {from.begin + by, from.end + by, from.index};
    return true;
  }
  case OpKind::ToScalar:
  case OpKind::AsCol:
  case OpKind::AsRow:
    return copySlot(step.operands[0], out), true;
  case OpKind::Reduce:
    return reduce(step), true;
  case OpKind::Cumsum:
    return cumsum(step), true;
  case OpKind::Transpose:
    return transpose(step), true;
  case OpKind::Dot:
    return dot(step), true;
  case OpKind::DotScaled:
    return dotScaled(step);
  case OpKind::Philox:
    return philox(step), true;
  case OpKind::Load:
    return load(step);
  case OpKind::Store:
    return store(step);
  case OpKind::Atomic:
    return atomic(step);
  case OpKind::ExternCall:
    return fail(op.loc, fmt::format("`{}` is a device function, which the interpreter cannot run", op.name));
  case OpKind::For:
    return runFor(step);
  case OpKind::If:
    return runIf(step);
  case OpKind::Parallel: // run() and enumerate() go into it
  case OpKind::Yield:    // whose loop or branch reads its operands
    return true;
  }
  return true;
}

} // namespace tkc::ir::interpreter
