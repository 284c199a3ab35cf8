// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Programs.h"

#include "harness/CaseData.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::harness {
namespace {

/// Symbols, scalars and strides of a call, and what expressions of them are.
class Values {
public:
  explicit Values(const CallArguments &arguments) : scalars(arguments.scalars) {
    for (const auto &[name, value] : arguments.symbols)
      addName(name, static_cast<double>(value));
    for (const auto &[name, value] : arguments.scalars)
      addName(name, value.toDouble());
    for (const auto &[name, tensor] : arguments.tensors) {
      int64_t stride = 1;
      for (size_t d = tensor.dims.size(); d-- > 0; stride *= tensor.dims[d])
        addName(strideName(name, d), static_cast<double>(stride));
    }
  }

  int64_t dim(const ir::DimExpr &expr) const { return evaluateDim(expr, integers).value_or(0); }
  std::vector<int64_t> dims(const std::vector<ir::DimExpr> &exprs) const {
    std::vector<int64_t> values;
    for (const ir::DimExpr &expr : exprs)
      values.push_back(dim(expr));
    return values;
  }
  /// An argument that is handed on stays as it is, whatever a double holds.
  Number scalar(const ScalarExpr &expr) const {
    const auto argument = expr.kind == ScalarExpr::Name ? scalars.find(expr.name) : scalars.end();
    return argument == scalars.end() ? Number(evaluateScalar(expr, numbers).value_or(0)) : argument->second;
  }

  /// Of a launch, without its tensors.
  CallArguments callOf(const LaunchStep &step) const {
    CallArguments call;
    for (const auto &[name, symbol] : step.symbols)
      call.symbols[name] = dim(symbol);
    for (const auto &[name, value] : step.scalars)
      call.scalars[name] = scalar(value);
    for (const auto &[name, view] : step.tensors)
      call.alignments[name] = alignmentOf(view.elem, dims(view.dims), dims(view.strides), dim(view.offset));
    return call;
  }

private:
  void addName(const std::string &name, double value) {
    numbers[name] = value;
    integers[name] = static_cast<int64_t>(value);
  }

  const std::map<std::string, Number> scalars;
  std::map<std::string, int64_t> integers;
  std::map<std::string, double> numbers;
};

class ProgramRunner {
public:
  ProgramRunner(const ProgramPlan &plan, const FunctionFor &functionFor, CallArguments &arguments,
                const ir::InterpretOptions &options)
      : plan(plan), functionFor(functionFor), arguments(arguments), options(options), values(arguments) {}

  std::optional<ir::RuntimeError> run() {
    for (const ProgramCheck &check : plan.checks)
      if (dim(check.lhs) != dim(check.rhs))
        return ir::RuntimeError{check.loc, check.message};
    for (const ir::Param &param : plan.params)
      if (param.isTensor && param.mode == ir::ParamMode::Out && arguments.tensors.count(param.name))
        poison(arguments.tensors.at(param.name));
    for (const Workspace &workspace : plan.workspaces) {
      Tensor tensor{workspace.elem, dims(workspace.dims), {}};
      poison(tensor);
      workspaces[workspace.name] = std::move(tensor);
    }
    for (const ProgramStep &step : plan.steps) {
      std::optional<ir::RuntimeError> error;
      if (const auto *fillStep = std::get_if<FillStep>(&step))
        error = fill(*fillStep);
      else
        error = launch(std::get<LaunchStep>(step));
      if (error)
        return error;
    }
    return std::nullopt;
  }

private:
  int64_t dim(const ir::DimExpr &expr) const { return values.dim(expr); }
  std::vector<int64_t> dims(const std::vector<ir::DimExpr> &exprs) const {
    std::vector<int64_t> result;
    for (const ir::DimExpr &expr : exprs)
      result.push_back(dim(expr));
    return result;
  }

  /// What no kernel means to store, where nothing was stored yet.
  static void poison(Tensor &tensor) {
    tensor.resize(static_cast<size_t>(tensor.numElements()));
    tensor.poison();
  }

  Tensor &memoryOf(const TensorView &view) {
    auto workspace = workspaces.find(view.tensor);
    return workspace == workspaces.end() ? arguments.tensors.at(view.tensor) : workspace->second;
  }

  /// Calls `visit(element of the view, address in its tensor)` in row-major order. False where the view leaves the
  /// tensor.
  template <class Visit> bool forEachElement(const TensorView &view, Visit visit) {
    const std::vector<int64_t> sizes = dims(view.dims), strides = dims(view.strides);
    const int64_t offset = dim(view.offset), available = memoryOf(view).numElements();
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    std::vector<int64_t> indices(sizes.size());
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = offset;
      for (size_t d = 0; d < sizes.size(); ++d)
        at += indices[d] * strides[d];
      if (at < 0 || at >= available)
        return false;
      visit(static_cast<size_t>(i), static_cast<size_t>(at));
      for (size_t d = sizes.size(); d-- > 0 && ++indices[d] == sizes[d];)
        indices[d] = 0;
    }
    return true;
  }

  ir::RuntimeError leaves(const TensorView &view, SourceLoc loc) const {
    return {loc, fmt::format("this view leaves `{}`", view.tensor)};
  }

  std::optional<ir::RuntimeError> fill(const FillStep &step) {
    if (!workspaces.count(step.view.tensor) && !arguments.tensors.count(step.view.tensor))
      return std::nullopt; // it was left out
    Tensor &tensor = memoryOf(step.view);
    const Number value = values.scalar(step.value);
    const bool isInside = forEachElement(step.view, [&](size_t, size_t at) { tensor.set(at, value); });
    return isInside ? std::nullopt : std::optional(leaves(step.view, step.loc));
  }

  std::optional<ir::RuntimeError> launch(const LaunchStep &step) {
    const ir::Function *function = functionFor(step);
    if (!function)
      return ir::RuntimeError{step.loc, "this kernel does not compile"};
    CallArguments call = values.callOf(step);
    for (const auto &[name, view] : step.tensors) {
      Tensor tensor{view.elem, dims(view.dims), {}};
      tensor.resize(static_cast<size_t>(std::max<int64_t>(0, tensor.numElements())));
      const Tensor &memory = memoryOf(view);
      if (!forEachElement(view, [&](size_t i, size_t at) { tensor.copy(i, memory, at); }))
        return leaves(view, step.loc);
      call.tensors[name] = std::move(tensor);
    }
    if (std::optional<ir::RuntimeError> error = ir::interpret(*function, call, options))
      return error;
    for (const ir::Param &param : function->params) {
      auto view = step.tensors.find(param.name);
      if (param.mode == ir::ParamMode::In || view == step.tensors.end())
        continue;
      Tensor &memory = memoryOf(view->second);
      const Tensor &result = call.tensors.at(param.name);
      forEachElement(view->second, [&](size_t i, size_t at) { memory.copy(at, result, i); });
    }
    return std::nullopt;
  }

  const ProgramPlan &plan;
  const FunctionFor &functionFor;
  CallArguments &arguments;
  const ir::InterpretOptions &options;
  const Values values;
  std::map<std::string, Tensor> workspaces;
};

} // namespace

std::vector<const LaunchStep *> launchesOf(const ProgramPlan &plan) {
  std::vector<const LaunchStep *> launches;
  for (const ProgramStep &step : plan.steps)
    if (const auto *launch = std::get_if<LaunchStep>(&step))
      launches.push_back(launch);
  return launches;
}

std::vector<ElemType> workspaceTypes(const ProgramPlan &plan) {
  std::vector<ElemType> types;
  for (const Workspace &workspace : plan.workspaces)
    types.push_back(workspace.elem);
  return types;
}

CallArguments callOf(const LaunchStep &launch, const CallArguments &arguments) {
  return Values(arguments).callOf(launch);
}

std::optional<ir::RuntimeError> runProgram(const ProgramPlan &plan, const FunctionFor &functionFor,
                                           CallArguments &arguments, const ir::InterpretOptions &options) {
  return ProgramRunner(plan, functionFor, arguments, options).run();
}

} // namespace tkc::harness
