// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads, stores and atomics. The address of element (r, c) of a slice is a sum of what its row and its column each add,
// so an access works out one offset a row and one a column, checks them against the dims once, and then runs over the
// elements. A tile of indices adds an offset of its own to each element.
#include "ir/interpreter/Worker.h"

#include "support/Rounding.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>
#include <utility>

namespace tkc::ir::interpreter {

/// The addresses of one slice.
struct Access {
  static constexpr int64_t outside = -1;

  const Op &op;
  const TensorMemory &memory;
  std::vector<int64_t> rowOffsets; ///< elements from `base`, or `outside`
  std::vector<int64_t> colOffsets;
  std::vector<int64_t> tileOffsets; ///< row by row, what tiles of indices add; empty where there are none
  int64_t base = 0;
  bool hasGather = false;
  bool allOutside = false;  ///< an index that drops its dim is outside
  std::string firstOutside; ///< a sentence about one index that is outside; empty where none is

  /// Goes on past the edges: along ranges as far as the tensor goes, or where indices are gathered, by whatever stands
  /// there.
  bool beyondEdges = false;

  /// `rows`×`cols`: how many elements are wanted. `isVector` puts the only axis across.
  Access(const Worker &worker, const Step &step, int64_t rows, int64_t cols, const Slot &shape,
         bool beyondEdges = false)
      : op(*step.op), memory(worker.memory.tensors[step.tensor]), rowOffsets(rows, 0), colOffsets(cols, 0),
        beyondEdges(beyondEdges) {
    const std::vector<bool> isRowAxis = chooseAxes(worker, step, shape);
    for (const ViewIndex &index : step.op->view.indices)
      hasGather |= index.kind == ViewIndex::Gather;
    for (size_t dim = 0; dim < step.op->view.indices.size(); ++dim)
      addDim(worker, step, dim, isRowAxis[dim]);
  }

  /// How many rows and columns of the slice are written: those that exist; of gathered ones all that are computed.
  static std::pair<int64_t, int64_t> extent(const Worker &worker, const Step &step, const Slot &shape) {
    const std::vector<bool> isRowAxis = chooseAxes(worker, step, shape);
    int64_t rows = 1, cols = 1;
    for (size_t dim = 0; dim < isRowAxis.size(); ++dim) {
      const ViewIndex &index = step.op->view.indices[dim];
      int64_t &count = isRowAxis[dim] ? rows : cols;
      switch (index.kind) {
      case ViewIndex::Element:
        break;
      case ViewIndex::Tiled: {
        const Position &position = worker.positions[step.operands[index.operand]];
        count = (position.end - position.begin + index.divisor - 1) / index.divisor;
        break;
      }
      case ViewIndex::All:
      case ViewIndex::Span:
        count = index.hi - index.lo;
        break;
      case ViewIndex::Gather: {
        const int slot = step.operands[index.operand];
        if (isRowAxis[dim] || isTile(worker.info(slot)))
          rows = std::max(rows, worker.rows(slot));
        if (!isRowAxis[dim] || isTile(worker.info(slot)))
          cols = std::max(cols, worker.cols(slot));
        break;
      }
      }
    }
    return {rows, cols};
  }

  int64_t address(int64_t r, int64_t c) const {
    if (allOutside || rowOffsets[r] == outside || colOffsets[c] == outside)
      return outside;
    const int64_t at = base + rowOffsets[r] + colOffsets[c];
    if (tileOffsets.empty())
      return at;
    const int64_t more = tileOffsets[r * static_cast<int64_t>(colOffsets.size()) + c];
    return more == outside ? outside : at + more;
  }
  /// Column offsets are 0, 1, 2, … and nothing is outside.
  bool isContiguous() const {
    if (!firstOutside.empty() || !tileOffsets.empty())
      return false;
    for (size_t c = 0; c < colOffsets.size(); ++c)
      if (colOffsets[c] != static_cast<int64_t>(c))
        return false;
    return true;
  }

private:
  static bool isTile(const Slot &slot) { return slot.rows > 1 && slot.cols > 1; }

  /// Gathers by columns make the row axis and by rows the column axis; the other axes take what is left, in order.
  static std::vector<bool> chooseAxes(const Worker &worker, const Step &step, const Slot &shape) {
    const auto &indices = step.op->view.indices;
    bool rowTaken = false, colTaken = false;
    size_t numPlain = 0;
    for (const ViewIndex &index : indices) {
      if (index.kind == ViewIndex::Gather) {
        const Slot &slot = worker.info(step.operands[index.operand]);
        rowTaken |= slot.rows > 1;
        colTaken |= slot.cols > 1;
      } else if (index.kind != ViewIndex::Element) {
        ++numPlain;
      }
    }
    // A single axis beside a gather of one element, or of a vector, goes where the shape has room for it.
    if (numPlain == 1 && !colTaken && shape.rows == 1)
      rowTaken = true;
    std::vector<bool> isRowAxis;
    for (const ViewIndex &index : indices) {
      if (index.kind == ViewIndex::Gather) {
        isRowAxis.push_back(worker.info(step.operands[index.operand]).rows > 1);
      } else if (index.kind == ViewIndex::Element) {
        isRowAxis.push_back(false);
      } else {
        isRowAxis.push_back(!rowTaken);
        rowTaken = true;
      }
    }
    return isRowAxis;
  }

  void addDim(const Worker &worker, const Step &step, size_t dim, bool isRowAxis) {
    const ViewIndex &index = step.op->view.indices[dim];
    std::vector<int64_t> &offsets = isRowAxis ? rowOffsets : colOffsets;
    const int slot = index.kind == ViewIndex::All || index.kind == ViewIndex::Span ? -1 : step.operands[index.operand];
    switch (index.kind) {
    case ViewIndex::Element:
      return addElement(dim, worker.integer(slot));
    case ViewIndex::Tiled: {
      const Position &position = worker.positions[slot];
      return addRange(offsets, dim, position.begin / index.divisor,
                      (position.end - position.begin + index.divisor - 1) / index.divisor);
    }
    case ViewIndex::All:
    case ViewIndex::Span:
      return addRange(offsets, dim, index.lo, index.hi - index.lo);
    case ViewIndex::Gather: {
      const Slot &info = worker.info(slot);
      const int32_t *values = worker.data<int32_t>(slot);
      if (info.rows == 1 && info.cols == 1)
        return addElement(dim, *values);
      if (isTile(info))
        return addTile(worker, dim, slot);
      const int64_t existing = beyondEdges ? static_cast<int64_t>(offsets.size())
                               : isRowAxis ? worker.existingRows(slot)
                                           : worker.existingCols(slot);
      for (size_t i = 0; i < offsets.size(); ++i)
        add(offsets[i], dim, static_cast<int64_t>(i) < existing ? values[i] : outside);
      return;
    }
    }
  }

  void addTile(const Worker &worker, size_t dim, int slot) {
    const auto numRows = static_cast<int64_t>(rowOffsets.size()), numCols = static_cast<int64_t>(colOffsets.size());
    const int64_t existingRows = beyondEdges ? numRows : worker.existingRows(slot);
    const int64_t existingCols = beyondEdges ? numCols : worker.existingCols(slot);
    tileOffsets.resize(rowOffsets.size() * colOffsets.size());
    for (int64_t r = 0; r < numRows; ++r)
      for (int64_t c = 0; c < numCols; ++c) {
        const bool exists = r < existingRows && c < existingCols;
        add(tileOffsets[r * numCols + c], dim,
            exists ? worker.data<int32_t>(slot)[r * worker.info(slot).cols + c] : outside);
      }
  }
  void addElement(size_t dim, int64_t index) {
    if (isInside(dim, index))
      base += index * memory.strides[dim];
    else
      allOutside = true;
  }
  void addRange(std::vector<int64_t> &offsets, size_t dim, int64_t begin, int64_t existing) {
    const bool goesOn = beyondEdges && !hasGather;
    for (size_t i = 0; i < offsets.size(); ++i)
      add(offsets[i], dim, goesOn || static_cast<int64_t>(i) < existing ? begin + static_cast<int64_t>(i) : outside);
  }
  void add(int64_t &offset, size_t dim, int64_t index) {
    if (!isInside(dim, index))
      offset = outside;
    else if (offset != outside)
      offset += index * memory.strides[dim];
  }
  bool isInside(size_t dim, int64_t index) {
    const int64_t size = memory.tensor->dims[dim];
    if (index >= 0 && index < size)
      return true;
    if (firstOutside.empty() && !storesNothing(dim, index))
      firstOutside = fmt::format("index {} is outside dim {} of `{}`, which has {} elements", index, dim + 1,
                                 memory.param->name, size);
    return false;
  }
  /// A scatter leaves out what has the index -1.
  bool storesNothing(size_t dim, int64_t index) const {
    return op.kind != OpKind::Load && op.view.indices[dim].kind == ViewIndex::Gather && index == outside;
  }
};

namespace {

/// "c[3, 5]": the element at an address.
std::string elementName(const TensorMemory &tensor, int64_t at) {
  std::string text = tensor.param->name + "[";
  for (size_t dim = 0; dim < tensor.strides.size(); ++dim) {
    text += fmt::format("{}{}", dim ? ", " : "", at / tensor.strides[dim]);
    at %= tensor.strides[dim];
  }
  return text + "]";
}

} // namespace

namespace {

/// Where a tensor keeps elements that tiles keep as T.
template <class T> auto *elementsOf(Tensor &tensor) {
  if constexpr (std::is_same_v<T, int64_t>)
    return tensor.integers.data();
  else
    return tensor.data.data();
}

} // namespace

/// Reads an element of a tensor that this kernel writes.
template <class T> bool Worker::readOwned(const Op &op, const TensorMemory &tensor, int64_t at, T &value) {
  uint32_t owner = tensor.owners[at].load();
  if (owner == (blockId | TensorMemory::onlyAdds) && tensor.owners[at].compare_exchange_strong(owner, blockId))
    owner = blockId;
  if (owner == 0 && tensor.param->mode == ParamMode::Out)
    return fail(op.loc, fmt::format("`{}` is read before it was stored", elementName(tensor, at)));
  if (owner != 0 && owner != blockId)
    return fail(op.loc, fmt::format("`{}` is read here and written by another block", elementName(tensor, at)));
  value = static_cast<T>(std::atomic_ref(elementsOf<T>(*tensor.tensor)[at]).load(std::memory_order_relaxed));
  return true;
}

/// Calls `visit(tensor, address, value)` for every element that a store or an atomic writes, whose value is a double or
/// an int64_t, as the tensor keeps it. `visit` returns false where another block has the element.
template <class Visit> bool Worker::forEachStored(const Step &step, Visit visit) {
  const Op &op = *step.op;
  const int value = step.operands.back();
  const Slot &slot = info(value);
  const auto [numRows, numCols] = Access::extent(*this, step, slot);
  if (!memory.tensors[step.tensor].tensor) // an optional tensor that was left out
    return true;
  const Access access(*this, step, numRows, numCols, slot, program.padded);
  const TensorMemory &tensor = access.memory;
  if (!access.firstOutside.empty() && numRows && numCols && !program.padded)
    return fail(op.loc, access.firstOutside);
  bool ok = true;
  withStorage(slot.storage, [&](auto zero) {
    using T = decltype(zero);
    using Element = std::remove_pointer_t<decltype(elementsOf<T>(*tensor.tensor))>;
    const Strided<T> x = strided(data<T>(value), slot);
    for (int64_t r = 0; r < numRows && ok; ++r)
      for (int64_t c = 0; c < numCols && ok; ++c) {
        const int64_t at = access.address(r, c);
        if (at == Access::outside) // beyond an edge
          continue;
        ok = visit(tensor, at, static_cast<Element>(x.row(r)[c * x.colStride]));
        if (!ok)
          fail(op.loc, fmt::format("two blocks store `{}`", elementName(tensor, at)));
      }
  });
  return ok;
}

/// What stands beyond the edges of a loaded tile: what the tensor has there, or, where nobody promised that it is a
/// number, the worst; where the tensor has ended, what stands outside.
void Worker::loadPadding(const Step &step) {
  const int out = step.results[0];
  const Slot &slot = info(out);
  const int64_t numRows = std::max<int64_t>(existingRows(out), 0), numCols = std::max<int64_t>(existingCols(out), 0);
  const Access access(*this, step, slot.rows, slot.cols, slot, /*beyondEdges=*/true);
  const TensorMemory &tensor = access.memory;
  withStorage(slot.storage, [&](auto zero) {
    using T = decltype(zero);
    // The code 0 that engines fill with is no zero in f8e8m0.
    const T none = slot.elem == ElemType::F8E8M0 ? static_cast<T>(0x1p-127) : T{};
    const T otherwise = step.op->hasElse ? *data<T>(step.operands.back()) : none;
    const T worst = std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN() : T(-2147473711);
    for (int64_t r = 0; r < slot.rows; ++r)
      for (int64_t c = r < numRows ? numCols : 0; c < slot.cols; ++c) {
        const int64_t at = access.address(r, c);
        const bool isWorst = tensor.owners || (r >= numRows && step.anyPastRows) || (c >= numCols && step.anyPastCols);
        data<T>(out)[r * slot.cols + c] = at == Access::outside ? otherwise
                                          : isWorst             ? worst
                                                                : static_cast<T>(elementsOf<T>(*tensor.tensor)[at]);
      }
  });
}

bool Worker::load(const Step &step) {
  const Op &op = *step.op;
  const int out = step.results[0];
  const Slot &slot = info(out);
  const int64_t numRows = existingRows(out), numCols = existingCols(out);
  if (program.padded && (numRows < slot.rows || numCols < slot.cols))
    loadPadding(step);
  const Access access(*this, step, numRows, numCols, slot);
  if (!access.firstOutside.empty() && !op.hasElse && numRows && numCols)
    return fail(op.loc, access.firstOutside);
  const TensorMemory &tensor = access.memory;
  bool ok = true;
  withStorage(slot.storage, [&](auto zero) {
    using T = decltype(zero);
    const auto *source = elementsOf<T>(*tensor.tensor);
    const T otherwise = op.hasElse ? *data<T>(step.operands.back()) : T{};
    const bool contiguous = access.isContiguous() && !tensor.owners;
    for (int64_t r = 0; r < numRows && ok; ++r) {
      T *o = data<T>(out) + r * slot.cols;
      if (contiguous) {
        const auto *x = source + access.address(r, 0);
        for (int64_t c = 0; c < numCols; ++c)
          o[c] = static_cast<T>(x[c]);
        continue;
      }
      for (int64_t c = 0; c < numCols && ok; ++c) {
        const int64_t at = access.address(r, c);
        if (at == Access::outside)
          o[c] = otherwise;
        else if (tensor.owners)
          ok = readOwned(op, tensor, at, o[c]);
        else
          o[c] = static_cast<T>(source[at]);
      }
    }
  });
  return ok;
}

namespace {

/// A number of the tensor's type.
double rounded(ElemType elem, double value) { return roundTo(elem, value); }
int64_t rounded(ElemType, int64_t value) { return value; }

} // namespace

bool Worker::store(const Step &step) {
  return forEachStored(step, [&](const TensorMemory &tensor, int64_t at, auto value) {
    uint32_t owner = 0;
    std::atomic<uint32_t> &known = tensor.owners[at];
    if (!known.compare_exchange_strong(owner, blockId) && owner != blockId &&
        (owner != (blockId | TensorMemory::onlyAdds) || !known.compare_exchange_strong(owner, blockId)))
      return false;
    std::atomic_ref element(elementsOf<decltype(value)>(*tensor.tensor)[at]);
    element.store(rounded(tensor.tensor->elem, value), std::memory_order_relaxed);
    return true;
  });
}

namespace {

/// Whether a block may add to an element. It may go on with what it stored itself; an element that only sees additions
/// belongs to all.
bool mayAdd(std::atomic<uint32_t> &known, uint32_t blockId) {
  const uint32_t mine = blockId | TensorMemory::onlyAdds;
  for (uint32_t owner = known.load(); owner != mine && owner != blockId && owner != TensorMemory::addedBySeveral;) {
    if (owner != 0 && !(owner & TensorMemory::onlyAdds))
      return false;
    if (known.compare_exchange_weak(owner, owner == 0 ? mine : TensorMemory::addedBySeveral))
      break;
  }
  return true;
}

int64_t combine(AtomicKind kind, ElemType, int64_t x, int64_t y) {
  switch (kind) {
  case AtomicKind::Add:
    return wrappingAdd(x, y);
  case AtomicKind::Max:
    return std::max(x, y);
  case AtomicKind::Min:
    return std::min(x, y);
  }
  return x;
}

double combine(AtomicKind kind, ElemType elem, double x, double y) {
  switch (kind) {
  case AtomicKind::Add:
    // A cast to i32 saturates, its sums wrap.
    return elem == ElemType::I32 ? static_cast<int32_t>(static_cast<int64_t>(x + y)) : roundTo(elem, x + y);
  case AtomicKind::Max:
    return std::fmax(x, y);
  case AtomicKind::Min:
    return std::fmin(x, y);
  }
  return x;
}

} // namespace

bool Worker::atomic(const Step &step) {
  return forEachStored(step, [&](const TensorMemory &tensor, int64_t at, auto value) {
    if (!mayAdd(tensor.owners[at], blockId))
      return false;
    const ElemType elem = tensor.tensor->elem;
    std::atomic_ref element(elementsOf<decltype(value)>(*tensor.tensor)[at]);
    auto old = element.load();
    while (!element.compare_exchange_weak(old, combine(step.op->atomic, elem, old, rounded(elem, value))))
      ;
    return true;
  });
}

} // namespace tkc::ir::interpreter
