// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes equations whole, each after those it asks for, rows in parallel. Equations that ask for themselves are
// computed row by row (a *row* is what one index, the lane, runs over): a row that misses an element of another waits
// on an explicit stack until that one is there, and a row that misses elements of its own goes element by element. So
// the depth of a recursion costs memory but no native stack, and an element that waits for itself is a cycle.
#include "frontend/reference/Evaluator.h"

#include "support/Diagnostics.h"

#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

#include <algorithm>
#include <mutex>
#include <set>

namespace tkc::reference {
namespace {

/// An intermediate with more elements than this would fill a laptop's memory.
constexpr int64_t maxElements = int64_t{1} << 27;

/// How an equation is cut into rows.
struct Rows {
  const TensorSlot &tensor;
  int lane = -1; ///< the index that a row runs over; -1: a scalar
  int64_t laneSize = 1;
  int64_t laneStride = 1;
  int64_t chunksPerRow = 1; ///< a row longer than maxLanes is several
  int64_t count = 0;

  explicit Rows(const TensorSlot &tensor) : tensor(tensor) {
    const int rank = static_cast<int>(tensor.dims.size());
    // The last index, whose elements lie together, unless it is short and another is longer.
    for (int d = rank - 1; d >= 0; --d)
      if (lane < 0 || (tensor.dims[lane] < 16 && tensor.dims[d] > tensor.dims[lane]))
        lane = d;
    if (lane >= 0) {
      laneSize = tensor.dims[lane];
      laneStride = tensor.strides[lane];
    }
    chunksPerRow = (laneSize + maxLanes - 1) / maxLanes;
    count = laneSize == 0 ? 0 : tensor.numElements() / laneSize * chunksPerRow;
  }

  /// The indices of a row's first element; returns how many elements it has.
  int begin(int64_t row, std::vector<int64_t> &indices) const {
    const int64_t chunk = row % chunksPerRow;
    int64_t rest = row / chunksPerRow;
    indices.assign(tensor.origin.begin(), tensor.origin.end());
    for (int d = static_cast<int>(tensor.dims.size()) - 1; d >= 0; --d) {
      if (d == lane)
        continue;
      indices[d] += rest % tensor.dims[d];
      rest /= tensor.dims[d];
    }
    if (lane >= 0)
      indices[lane] += chunk * maxLanes;
    return static_cast<int>(std::min<int64_t>(maxLanes, laneSize - chunk * maxLanes));
  }
  int64_t address(const std::vector<int64_t> &indices) const {
    int64_t result = 0;
    for (size_t d = 0; d < indices.size(); ++d)
      result += (indices[d] - tensor.origin[d]) * tensor.strides[d];
    return result;
  }
  /// The row that an element lies in.
  int64_t rowOf(int64_t element) const {
    int64_t row = 0, inLane = 0;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const int64_t index = element / tensor.strides[d] % std::max<int64_t>(1, tensor.dims[d]);
      if (static_cast<int>(d) == lane)
        inLane = index;
      else
        row = row * tensor.dims[d] + index;
    }
    return row * chunksPerRow + inLane / maxLanes;
  }
  std::vector<int64_t> indicesOf(int64_t element) const {
    std::vector<int64_t> indices(tensor.origin);
    for (size_t d = 0; d < tensor.dims.size(); ++d)
      indices[d] += element / tensor.strides[d] % tensor.dims[d];
    return indices;
  }
};

class Runner {
public:
  Runner(Model &model, const ErrorModel *errorModel, DiagnosticEngine &diagnostics)
      : model(model), errorModel(errorModel), diagnostics(diagnostics), firstFailures(model.equations.size()) {}

  bool run(const std::vector<int> &outputs) {
    for (int output : outputs)
      visit(model.tensors[output]->equation);
    for (const std::vector<int> &group : groups)
      if (!runGroup(group))
        return false;
    for (int output : outputs)
      if (!complainAboutHoles(output))
        return false;
    return true;
  }

private:
  // ---- order: Tarjan's algorithm gives groups of equations that ask for each other, dependencies first --------------

  void visit(int equation) {
    if (state.empty())
      state.resize(model.equations.size());
    if (state[equation].number)
      return;
    state[equation] = {++counter, counter, true};
    stack.push_back(equation);
    for (const auto &node : model.equations[equation].nodes) {
      if (node->kind != NodeKind::Access)
        continue;
      const int other = model.tensors[node->tensor]->equation;
      if (other < 0)
        continue;
      visit(other);
      if (state[other].isOnStack)
        state[equation].low = std::min(state[equation].low, state[other].low);
    }
    if (state[equation].low != state[equation].number)
      return;
    std::vector<int> group;
    int member;
    do {
      member = stack.back();
      stack.pop_back();
      state[member].isOnStack = false;
      group.push_back(member);
    } while (member != equation);
    groups.push_back(std::move(group));
  }

  bool asksForItself(int equation) const {
    for (const auto &node : model.equations[equation].nodes)
      if (node->kind == NodeKind::Access && model.tensors[node->tensor]->equation == equation)
        return true;
    return false;
  }

  bool runGroup(const std::vector<int> &group) {
    const bool isRecursive = group.size() > 1 || asksForItself(group[0]);
    for (int equation : group)
      if (!prepare(equation, isRecursive))
        return false;
    if (!isRecursive) {
      runRows(group[0]);
      return true;
    }
    const bool ok = runRecursive(group);
    for (int equation : group)
      tensorOf(equation).isRecursive = false;
    return ok;
  }

  TensorSlot &tensorOf(int equation) { return *model.tensors[model.equations[equation].tensor]; }

  bool prepare(int equation, bool isRecursive) {
    TensorSlot &tensor = tensorOf(equation);
    int64_t count = 1;
    for (int64_t dim : tensor.dims)
      if (dim != 0 && count > maxElements / dim) {
        diagnostics.report(Diag::reference_too_large, model.equations[equation].source->name.range, tensor.name);
        return false;
      } else {
        count *= dim;
      }
    if (tensor.isInteger) {
      tensor.ownIntegers.assign(count, 0);
      tensor.integers = tensor.ownIntegers.data();
    } else {
      tensor.ownData.assign(count, 0);
      tensor.data = tensor.ownData.data();
    }
    tensor.states.assign(count, TensorSlot::Unknown);
    tensor.isRecursive = isRecursive;
    if (errorModel) {
      tensor.ownError.assign(count, 0);
      tensor.error = tensor.ownError.data();
    }
    return true;
  }

  // ---- equations that do not ask for themselves ---------------------------------------------------------------------

  void runRows(int equation) {
    const Rows rows(tensorOf(equation));
    std::atomic<int64_t> next = 0;
    const auto work = [&] {
      Evaluator evaluator(model, model.equations[equation], errorModel);
      std::vector<int64_t> indices;
      for (int64_t row = next++; row < rows.count; row = next++)
        if (!runRow(evaluator, equation, rows, row, indices))
          runElements(evaluator, equation, rows, row);
    };
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency());
    for (int64_t i = 0; i < std::min<int64_t>(pool.getMaxConcurrency(), rows.count); ++i)
      pool.async(work);
    pool.wait();
  }

  bool runRow(Evaluator &evaluator, int equation, const Rows &rows, int64_t row, std::vector<int64_t> &indices) {
    const int count = rows.begin(row, indices);
    return compute(evaluator, equation, rows, indices, rows.lane, count);
  }

  /// Evaluates and stores; says whether that went well.
  bool compute(Evaluator &evaluator, int equation, const Rows &rows, const std::vector<int64_t> &indices, int lane,
               int count) {
    TensorSlot &tensor = tensorOf(equation);
    double values[maxLanes], errors[maxLanes] = {};
    int64_t integers[maxLanes];
    if (tensor.isInteger ? !evaluator.evaluate(indices.data(), lane, count, integers)
                         : !evaluator.evaluate(indices.data(), lane, count, values, errorModel ? errors : nullptr))
      return false;
    const int64_t first = rows.address(indices);
    for (int i = 0; i < count; ++i) {
      const int64_t at = first + i * rows.laneStride;
      if (tensor.isInteger)
        tensor.ownIntegers[at] = integers[i];
      else
        tensor.ownData[at] = values[i];
      if (errorModel)
        tensor.ownError[at] = errors[i];
      tensor.states[at] = TensorSlot::Done;
    }
    return true;
  }

  /// A row of which some element has no value: the others do.
  void runElements(Evaluator &evaluator, int equation, const Rows &rows, int64_t row) {
    std::vector<int64_t> indices;
    const int count = rows.begin(row, indices);
    for (int i = 0; i < count; ++i) {
      if (!compute(evaluator, equation, rows, indices, -1, 1))
        noteHole(equation, rows.address(indices), *evaluator.failure());
      if (rows.lane >= 0)
        ++indices[rows.lane];
    }
  }

  /// An element without a value is an error only if somebody asks for it.
  void noteHole(int equation, int64_t element, const Failure &failure) {
    TensorSlot &tensor = tensorOf(equation);
    tensor.states[element] = TensorSlot::Failed;
    tensor.hasFailed = true;
    std::lock_guard lock(mutex);
    auto &first = firstFailures[equation];
    // Blame what the element itself asked for, not that somebody else had no value.
    if (failure.tensor >= 0 && failure.kind == Failure::Invalid)
      first = firstFailures[model.tensors[failure.tensor]->equation];
    else if (!first)
      first = failure;
  }

  bool complainAboutHoles(int output) {
    const TensorSlot &tensor = *model.tensors[output];
    if (!tensor.hasFailed)
      return true;
    const Failure &failure = *firstFailures[tensor.equation];
    diagnostics.report(Diag::reference_no_value, failure.range, failure.message);
    return false;
  }

  // ---- equations that do --------------------------------------------------------------------------------------------

  struct Recursion {
    std::vector<int> group;
    std::map<int, Rows> rows;
    std::map<int, std::unique_ptr<Evaluator>> evaluators;
  };

  bool runRecursive(const std::vector<int> &group) {
    Recursion recursion{group, {}, {}};
    for (int equation : group) {
      recursion.rows.emplace(equation, Rows(tensorOf(equation)));
      recursion.evaluators[equation] = std::make_unique<Evaluator>(model, model.equations[equation], errorModel);
    }
    for (int equation : group)
      for (int64_t row = 0; row < recursion.rows.at(equation).count; ++row)
        if (!resolveRow(recursion, equation, row))
          return false;
    return true;
  }

  using Place = std::pair<int, int64_t>; ///< an equation and one of its rows or elements

  bool isDone(const Rows &rows, int64_t row) {
    std::vector<int64_t> indices;
    const int count = rows.begin(row, indices);
    const int64_t first = rows.address(indices);
    for (int i = 0; i < count; ++i)
      if (rows.tensor.states[first + i * rows.laneStride] < TensorSlot::Done)
        return false;
    return true;
  }

  bool resolveRow(Recursion &recursion, int equation, int64_t row) {
    std::vector<Place> waiting{{equation, row}};
    std::set<Place> isWaiting{{equation, row}};
    std::vector<int64_t> indices;
    while (!waiting.empty()) {
      const auto [current, currentRow] = waiting.back();
      const Rows &rows = recursion.rows.at(current);
      Evaluator &evaluator = *recursion.evaluators.at(current);
      bool done = isDone(rows, currentRow) || runRow(evaluator, current, rows, currentRow, indices);
      if (!done && evaluator.failure()->kind == Failure::Missing) {
        const int other = model.tensors[evaluator.failure()->tensor]->equation;
        const Place missing{other, recursion.rows.at(other).rowOf(evaluator.failure()->element)};
        if (isWaiting.insert(missing).second) {
          waiting.push_back(missing);
          continue;
        }
      }
      if (!done && !resolveElements(recursion, current, currentRow))
        return false;
      isWaiting.erase(waiting.back());
      waiting.pop_back();
    }
    return true;
  }

  bool resolveElements(Recursion &recursion, int equation, int64_t row) {
    const Rows &rows = recursion.rows.at(equation);
    std::vector<int64_t> indices;
    const int count = rows.begin(row, indices);
    const int64_t first = rows.address(indices);
    for (int i = 0; i < count; ++i)
      if (!resolveElement(recursion, equation, first + i * rows.laneStride))
        return false;
    return true;
  }

  bool resolveElement(Recursion &recursion, int equation, int64_t element) {
    std::vector<Place> waiting{{equation, element}};
    while (!waiting.empty()) {
      const auto [current, at] = waiting.back();
      TensorSlot &tensor = tensorOf(current);
      const Rows &rows = recursion.rows.at(current);
      Evaluator &evaluator = *recursion.evaluators.at(current);
      if (tensor.states[at] >= TensorSlot::Done) {
        waiting.pop_back();
        continue;
      }
      tensor.states[at] = TensorSlot::Busy;
      if (compute(evaluator, current, rows, rows.indicesOf(at), -1, 1)) {
        waiting.pop_back();
        continue;
      }
      const Failure &failure = *evaluator.failure();
      switch (failure.kind) {
      case Failure::Missing:
        waiting.emplace_back(model.tensors[failure.tensor]->equation, failure.element);
        break;
      case Failure::Cycle:
        diagnostics.report(Diag::reference_cycle, failure.range, model.tensors[failure.tensor]->name);
        return false;
      case Failure::Invalid:
        noteHole(current, at, failure);
        waiting.pop_back();
        break;
      }
    }
    return true;
  }

  struct Visit {
    int number = 0;
    int low = 0;
    bool isOnStack = false;
  };

  Model &model;
  const ErrorModel *errorModel;
  DiagnosticEngine &diagnostics;
  std::vector<Visit> state;
  std::vector<int> stack;
  std::vector<std::vector<int>> groups;
  int counter = 0;
  std::mutex mutex;
  std::vector<std::optional<Failure>> firstFailures;
};

} // namespace

bool run(Model &model, const std::vector<int> &outputs, const ErrorModel *errors, DiagnosticEngine &diagnostics) {
  return Runner(model, errors, diagnostics).run(outputs);
}

} // namespace tkc::reference
