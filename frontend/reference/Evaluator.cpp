// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/reference/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <numeric>

namespace tkc::reference {
namespace {

/// A buffer, made when it is first asked for.
template <class T> T *roomIn(std::unique_ptr<T[]> &buffer, size_t count = maxLanes) {
  if (!buffer)
    buffer = std::make_unique<T[]>(count);
  return buffer.get();
}

} // namespace

Evaluator::Evaluator(const Model &model, const CompiledEquation &equation, const ErrorModel *errorModel)
    : model(model), equation(equation), errorModel(errorModel), buffers(equation.nodes.size()),
      variables(equation.variables.size() + 1), ownLanes(maxLanes) {}

double *Evaluator::valuesOf(const Node &node) { return roomIn(buffers[node.id].values); }
double *Evaluator::errorsOf(const Node &node) { return errorModel ? roomIn(buffers[node.id].errors) : nullptr; }
double *Evaluator::roundingsOf(const Node &node) { return roomIn(buffers[node.id].roundings); }
double *Evaluator::magnitudesOf(const Node &node) { return roomIn(buffers[node.id].magnitudes); }
double *Evaluator::growthsOf(const Node &node) { return roomIn(buffers[node.id].growths); }
int64_t *Evaluator::integersOf(const Node &node) { return roomIn(buffers[node.id].integers); }
int64_t *Evaluator::lanesOf(const Node &node) { return roomIn(buffers[node.id].lanes, 2 * maxLanes); }

void Evaluator::begin(const int64_t *indices, int lane, int count) {
  failed.reset();
  std::copy(indices, indices + equation.numIndices, variables.begin());
  lanes = {lane, ownLanes.data(), count, true};
  if (lane >= 0)
    std::iota(ownLanes.begin(), ownLanes.begin() + count, indices[lane]);
}

bool Evaluator::evaluate(const int64_t *indices, int lane, int count, double *values, double *errors) {
  begin(indices, lane, count);
  const Floats result = floats(*equation.value);
  for (int i = 0; i < count; ++i)
    values[i] = result.values[i * result.stride];
  for (int i = 0; errors && i < count; ++i)
    errors[i] = result.errorAt(i);
  return !failed;
}

bool Evaluator::evaluate(const int64_t *indices, int lane, int count, int64_t *values) {
  begin(indices, lane, count);
  const Integers result = integers(*equation.value);
  for (int i = 0; i < count; ++i)
    values[i] = result.values[i * result.stride];
  return !failed;
}

// ---- elements of tensors -------------------------------------------------------------------------------------------

/// Notes a failure where an element of an equation has no value.
bool Evaluator::isReady(const Node &node, const TensorSlot &tensor, int64_t element) {
  switch (static_cast<TensorSlot::State>(tensor.states[element])) {
  case TensorSlot::Done:
    return true;
  case TensorSlot::Unknown:
    fail({Failure::Missing, node.range, "", node.tensor, element});
    return false;
  case TensorSlot::Busy:
    fail({Failure::Cycle, node.range, "", node.tensor, element});
    return false;
  case TensorSlot::Failed:
    fail({Failure::Invalid, node.range, fmt::format("`{}` has no value here", tensor.name), node.tensor, element});
    return false;
  }
  return false;
}

/// Calls `read(first, step, addresses)`: addresses are `first + lane * step`, or in the array where it is not null.
/// Does not call it after a failure.
template <class Read> void Evaluator::forEachElement(const Node &node, Read read) {
  const TensorSlot &tensor = *model.tensors[node.tensor];
  const int lanesHere = count(node);
  const auto outside = [&](size_t d, int64_t index) {
    fail({Failure::Invalid, node.range,
          fmt::format("index {} is outside dim {} of `{}`, which has {} elements", index, d + 1, tensor.name,
                      tensor.dims[d])});
  };
  int64_t first = 0, step = 0;
  int64_t *addresses = nullptr;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    const Node &index = *node.children[d];
    const int64_t lo = tensor.origin[d], hi = lo + tensor.dims[d], stride = tensor.strides[d];
    if (index.kind == NodeKind::Variable && index.variable == lanes.variable && lanes.isContiguous) {
      const int64_t begin = lanes.values[0], last = begin + lanesHere - 1;
      if (begin < lo || last >= hi)
        return outside(d, begin < lo ? begin : std::max(begin, hi));
      first += (begin - lo) * stride;
      step += stride;
      continue;
    }
    const Integers at = integers(index);
    if (failed)
      return;
    if (at.stride == 0) {
      if (at.values[0] < lo || at.values[0] >= hi)
        return outside(d, at.values[0]);
      first += (at.values[0] - lo) * stride;
      continue;
    }
    if (!addresses) {
      addresses = lanesOf(node);
      std::fill_n(addresses, lanesHere, 0);
    }
    for (int i = 0; i < lanesHere; ++i) {
      if (at.values[i] < lo || at.values[i] >= hi)
        return outside(d, at.values[i]);
      addresses[i] += (at.values[i] - lo) * stride;
    }
  }
  for (int i = 0; addresses && i < lanesHere; ++i)
    addresses[i] += first + i * step;
  if (tensor.isRecursive || tensor.hasFailed)
    for (int i = 0; i < lanesHere; ++i)
      if (!isReady(node, tensor, addresses ? addresses[i] : first + i * step))
        return;
  read(first, step, addresses, lanesHere);
}

Floats Evaluator::accessFloats(const Node &node) {
  const TensorSlot &tensor = *model.tensors[node.tensor];
  Floats result{valuesOf(node), nullptr, isUniform(node) ? 0 : 1};
  forEachElement(node, [&](int64_t first, int64_t step, const int64_t *addresses, int count) {
    const auto gather = [&](const double *data, double *out) -> const double * {
      if (!addresses && (step == 1 || count == 1))
        return data + first;
      for (int i = 0; i < count; ++i)
        out[i] = data[addresses ? addresses[i] : first + i * step];
      return out;
    };
    result.values = gather(tensor.data, valuesOf(node));
    if (errorModel && tensor.error)
      result.errors = gather(tensor.error, errorsOf(node));
  });
  return result;
}

Integers Evaluator::accessIntegers(const Node &node) {
  const TensorSlot &tensor = *model.tensors[node.tensor];
  int64_t *out = integersOf(node);
  std::fill_n(out, count(node), 0);
  forEachElement(node, [&](int64_t first, int64_t step, const int64_t *addresses, int count) {
    for (int i = 0; i < count; ++i) {
      const int64_t at = addresses ? addresses[i] : first + i * step;
      out[i] = tensor.integers ? tensor.integers[at] : static_cast<int64_t>(tensor.data[at]);
    }
  });
  return {out, isUniform(node) ? 0 : 1};
}

// ---- choices -------------------------------------------------------------------------------------------------------

void Evaluator::selectLanes(Lanes &selected, const Lanes &from, const std::vector<int> &which, int64_t *storage) {
  for (size_t i = 0; i < which.size(); ++i)
    storage[i] = from.values[which[i]];
  const auto length = static_cast<int>(which.size());
  selected = {from.variable, storage, length, storage[length - 1] - storage[0] == length - 1};
}

/// Evaluates each branch for the lanes that take it, and no other.
template <class T, class Evaluate, class Store>
void Evaluator::choose(const Node &node, Evaluate evaluate, Store store) {
  const Integers condition = integers(*node.children[0]);
  if (failed)
    return;
  if (condition.stride == 0) {
    const T chosen = evaluate(*node.children[condition.values[0] ? 1 : 2]);
    for (int i = 0, n = count(node); i < n; ++i)
      store(i, chosen, i);
    return;
  }
  std::vector<int> which[2];
  for (int i = 0; i < lanes.count; ++i)
    which[condition.values[i] ? 0 : 1].push_back(i);
  const Lanes all = lanes;
  for (int branch = 0; branch < 2 && !failed; ++branch) {
    if (which[branch].empty())
      continue;
    selectLanes(lanes, all, which[branch], lanesOf(node) + branch * maxLanes);
    const T chosen = evaluate(*node.children[1 + branch]);
    for (size_t i = 0; i < which[branch].size(); ++i)
      store(which[branch][i], chosen, static_cast<int>(i));
  }
  lanes = all;
}

/// A kernel that computes in f32 has the nearest number of that type.
Floats Evaluator::constant(const Node &node) {
  const auto single = static_cast<float>(node.constant);
  if (!errorModel || errorModel->compute < 0x1p-24 || node.constant == single || !std::isfinite(single))
    return {&node.constant, nullptr, 0};
  errorsOf(node)[0] = std::fabs(node.constant - single);
  return {&node.constant, errorsOf(node), 0};
}

// ---- one node ------------------------------------------------------------------------------------------------------

Floats Evaluator::floats(const Node &node) {
  switch (node.kind) {
  case NodeKind::Constant:
    return constant(node);
  case NodeKind::Access:
    return accessFloats(node);
  case NodeKind::ToFloat: {
    const Integers x = integers(*node.children[0]);
    double *out = valuesOf(node);
    for (int i = 0, n = count(node); i < n; ++i)
      out[i] = static_cast<double>(x.values[i * x.stride]);
    return {out, nullptr, isUniform(node) ? 0 : 1};
  }
  case NodeKind::If: {
    double *values = valuesOf(node), *errors = errorsOf(node);
    choose<Floats>(
        node, [&](const Node &branch) { return floats(branch); },
        [&](int to, const Floats &from, int i) {
          values[to] = from.values[i * from.stride];
          if (errors)
            errors[to] = from.errorAt(i);
        });
    return {values, errors, isUniform(node) ? 0 : 1};
  }
  case NodeKind::Reduce:
    return reduceFloats(node);
  case NodeKind::Add:
  case NodeKind::Sub:
  case NodeKind::Mul:
  case NodeKind::Div:
  case NodeKind::Max:
  case NodeKind::Min:
    return binary(node);
  case NodeKind::Neg:
  case NodeKind::Abs:
  case NodeKind::Exp:
  case NodeKind::Exp2:
  case NodeKind::Log:
  case NodeKind::Log2:
  case NodeKind::Sqrt:
  case NodeKind::Rsqrt:
  case NodeKind::Rcp:
  case NodeKind::Tanh:
  case NodeKind::Sin:
  case NodeKind::Cos:
  case NodeKind::Erf:
  case NodeKind::Sigmoid:
  case NodeKind::Floor:
    return unary(node);
  case NodeKind::Cast:
    return castFloat(node);
  case NodeKind::Philox:
    return philox(node);
  case NodeKind::Variable:
  case NodeKind::Mod:
  case NodeKind::BitNot:
  case NodeKind::BitAnd:
  case NodeKind::BitOr:
  case NodeKind::BitXor:
  case NodeKind::Shl:
  case NodeKind::Shr:
  case NodeKind::Eq:
  case NodeKind::Ne:
  case NodeKind::Lt:
  case NodeKind::Le:
  case NodeKind::Gt:
  case NodeKind::Ge:
  case NodeKind::Not:
    break; // integers: the compiler put a ToFloat above
  }
  return {&node.constant, nullptr, 0};
}

Integers Evaluator::integers(const Node &node) {
  switch (node.kind) {
  case NodeKind::Constant:
    return {&node.integer, 0};
  case NodeKind::Variable:
    if (node.variable == lanes.variable)
      return {lanes.values, 1};
    return {&variables[node.variable], 0};
  case NodeKind::Access:
    return accessIntegers(node);
  case NodeKind::If: {
    int64_t *values = integersOf(node);
    std::fill_n(values, count(node), 0);
    choose<Integers>(
        node, [&](const Node &branch) { return integers(branch); },
        [&](int to, const Integers &from, int i) { values[to] = from.values[i * from.stride]; });
    return {values, isUniform(node) ? 0 : 1};
  }
  case NodeKind::Reduce:
    return reduceIntegers(node);
  case NodeKind::Neg:
  case NodeKind::Abs:
  case NodeKind::BitNot:
  case NodeKind::Not:
    return integerUnary(node);
  case NodeKind::Add:
  case NodeKind::Sub:
  case NodeKind::Mul:
  case NodeKind::Div:
  case NodeKind::Mod:
  case NodeKind::Max:
  case NodeKind::Min:
  case NodeKind::BitAnd:
  case NodeKind::BitOr:
  case NodeKind::BitXor:
  case NodeKind::Shl:
  case NodeKind::Shr:
    return integerBinary(node);
  case NodeKind::Eq:
  case NodeKind::Ne:
  case NodeKind::Lt:
  case NodeKind::Le:
  case NodeKind::Gt:
  case NodeKind::Ge:
    return compare(node);
  case NodeKind::Cast:
    return castInteger(node);
  case NodeKind::ToFloat:
  case NodeKind::Exp:
  case NodeKind::Exp2:
  case NodeKind::Log:
  case NodeKind::Log2:
  case NodeKind::Sqrt:
  case NodeKind::Rsqrt:
  case NodeKind::Rcp:
  case NodeKind::Tanh:
  case NodeKind::Sin:
  case NodeKind::Cos:
  case NodeKind::Erf:
  case NodeKind::Sigmoid:
  case NodeKind::Floor:
  case NodeKind::Philox:
    break; // floats
  }
  return {&node.integer, 0};
}

std::optional<int64_t> evaluateIntegerAt(const Model &model, const Node &node, const std::vector<int64_t> &variables) {
  CompiledEquation equation{nullptr, -1, {}, nullptr, {}, variables.size(), {}, {}};
  equation.variables.resize(variables.size());
  // The node keeps its number among its own equation's nodes: make room for as many.
  equation.nodes.resize(node.id + 1);
  equation.value = const_cast<Node *>(&node);
  int64_t value = 0;
  if (!Evaluator(model, equation, nullptr).evaluate(variables.data(), -1, 1, &value))
    return std::nullopt;
  return value;
}

int64_t evaluateInteger(const Model &model, const Node &node) { return evaluateIntegerAt(model, node, {}).value_or(0); }

} // namespace tkc::reference
