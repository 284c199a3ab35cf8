// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches: a kernel's parameters from a call's arguments, its symbols from the arguments' dims, and with these its
// specialisation.
#include "frontend/sema/Dims.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/ProgramPlanner.h"

#include "llvm/Support/Casting.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc {
namespace sema {

using ir::DimExpr;

void ProgramPlanner::launch(const ast::CallExpr &call) {
  auto *callee = llvm::dyn_cast<ast::NameExpr>(call.callee);
  const KernelInfo *kernel = callee ? module.findKernel(callee->name) : nullptr;
  if (!kernel) {
    std::vector<std::string> kernels;
    for (auto &known : module.kernels)
      kernels.push_back(known->signature.name);
    if (callee && module.findProgram(callee->name))
      reporter.error(Diag::launches_program, callee->range, callee->name);
    else if (callee)
      reportUnknown(reporter, "kernel", callee->name, callee->range, kernels);
    else
      reporter.error(Diag::program_statement, call.range);
    return;
  }
  Binding binding{kernel, {}, {}, {}, call.range};
  binding.step.kernel = kernel;
  binding.step.loc = call.range.begin;
  if (!kernel->signature.isSound || !placeArgs(binding, call))
    return;
  bindTypeArgs(binding);
  bool isGood = true;
  for (const ir::Param &param : kernel->signature.params)
    isGood = (param.isTensor ? bindTensor(binding, param) : bindScalar(binding, param)) && isGood;
  if (isGood && checkDims(binding) && specialize(binding))
    plan->steps.push_back(std::move(binding.step));
}

/// By place, then by name; type parameters by name only.
bool ProgramPlanner::placeArgs(Binding &binding, const ast::CallExpr &call) {
  const Signature &signature = binding.kernel->signature;
  std::vector<std::string> names = signature.order;
  for (auto &typeParam : signature.typeParams)
    names.push_back(typeParam.first);
  for (size_t i = 0; i < call.args.size(); ++i) {
    const ast::Argument &arg = call.args[i];
    if (arg.name.text.empty() && i >= signature.order.size()) {
      reporter.error(Diag::number_of_arguments, call.range, signature.name, signature.order.size(), call.args.size());
      return false;
    }
    const std::string &name = arg.name.text.empty() ? signature.order[i] : arg.name.text;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      reportUnknown(reporter, "parameter", name, arg.name.range, names);
      return false;
    }
    if (!binding.given.emplace(name, arg.value).second) {
      reporter.error(Diag::argument_twice, arg.value->range, name);
      return false;
    }
  }
  return true;
}

void ProgramPlanner::bindTypeArgs(Binding &binding) {
  for (auto &[name, choices] : binding.kernel->signature.typeParams) {
    auto given = binding.given.find(name);
    auto *typeName = given == binding.given.end() ? nullptr : llvm::dyn_cast<ast::NameExpr>(given->second);
    if (!typeName)
      continue;
    std::optional<ElemType> type = parseElemType(typeName->name);
    for (auto &[typeParam, bound] : specialization.typeArgs)
      if (typeParam == typeName->name)
        type = bound;
    if (type)
      binding.typeArgs[name] = *type;
    else
      reportUnknown(reporter, "type", typeName->name, typeName->range, {"f32", "f16", "bf16", "f8e4m3", "f8e5m2"});
  }
}

bool ProgramPlanner::bindTensor(Binding &binding, const ir::Param &param) {
  auto given = binding.given.find(param.name);
  Arg arg{Arg::None, {}, {}};
  SourceRange where = binding.call;
  if (given != binding.given.end()) {
    arg = expr(given->second);
    where = given->second->range;
  }
  if (arg.kind == Arg::Error)
    return false;
  const ir::Param *own = arg.kind == Arg::Tensor ? findParam(arg.view.tensor) : nullptr;
  if (own && !own->isPresent)
    arg.kind = Arg::None; // handed on as it came
  if (arg.kind == Arg::None) {
    if (!param.isOptional)
      reporter.error(Diag::program_argument_missing, where, binding.kernel->signature.name, param.name);
    binding.step.specialization.absent.insert(param.name);
    return param.isOptional;
  }
  if (arg.kind != Arg::Tensor) {
    reporter.error(Diag::program_wants_tensor, where, param.name);
    return false;
  }
  ElemType wanted = param.elem;
  const Signature &signature = binding.kernel->signature;
  if (auto typeParam = signature.typeParamOf.find(param.name); typeParam != signature.typeParamOf.end())
    wanted = binding.typeArgs.try_emplace(typeParam->second, arg.view.elem).first->second;
  if (wanted != arg.view.elem) {
    reporter.error(Diag::program_element, where, param.name, signature.name, spelling(wanted), spelling(arg.view.elem));
    return false;
  }
  if (!checkAccess(param, arg.view, where))
    return false;
  if (param.dims.size() != arg.view.dims.size()) {
    reporter.error(Diag::program_rank, where, param.name, signature.name, param.dims.size(), arg.view.dims.size());
    return false;
  }
  bindDims(binding, param, arg.view);
  binding.step.tensors[param.name] = std::move(arg.view);
  return true;
}

bool ProgramPlanner::checkAccess(const ir::Param &param, const TensorView &view, SourceRange where) {
  const ir::Param *own = findParam(view.tensor);
  bool writes = param.mode != ir::ParamMode::In, reads = param.mode != ir::ParamMode::Out;
  if (writes && own && own->mode == ir::ParamMode::In) {
    reporter.error(Diag::write_to_input, where, own->name)
        .note(Diag::note_declared_here, {own->loc, own->loc}, own->name);
    return false;
  }
  bool hasValue = (own && own->mode != ir::ParamMode::Out) || written.count(view.tensor);
  if (reads && !hasValue) {
    reporter.error(Diag::program_read_before_write, where, view.tensor);
    return false;
  }
  if (writes)
    written.insert(view.tensor);
  return true;
}

/// Dims of the form `N`, `N + 1` determine a symbol of the kernel, the first of them for good.
bool ProgramPlanner::bindDims(Binding &binding, const ir::Param &param, const TensorView &view) {
  for (size_t i = 0; i < param.dims.size(); ++i) {
    std::optional<std::string> symbol = boundSymbol(param.dims[i]);
    bool isSymbol =
        symbol && std::find(binding.kernel->signature.symbols.begin(), binding.kernel->signature.symbols.end(),
                            *symbol) != binding.kernel->signature.symbols.end();
    if (!isSymbol)
      continue;
    // `N + 1` is d, so N is d - 1.
    std::optional<int64_t> offset = evaluate(param.dims[i], {{*symbol, 0}});
    DimExpr value = view.dims[i];
    if (offset && *offset != 0)
      value = DimExpr::binary(DimExpr::Sub, value, DimExpr::constant(*offset));
    binding.step.symbols.try_emplace(*symbol, substitute(value, {}));
  }
  return true;
}

bool ProgramPlanner::bindScalar(Binding &binding, const ir::Param &param) {
  auto given = binding.given.find(param.name);
  const Signature &signature = binding.kernel->signature;
  if (given == binding.given.end()) {
    auto defaultValue = signature.scalarDefaults.find(param.name);
    if (defaultValue == signature.scalarDefaults.end()) {
      reporter.error(Diag::program_argument_missing, binding.call, signature.name, param.name);
      return false;
    }
    ScalarExpr scalar;
    scalar.elem = param.elem;
    scalar.value = defaultValue->second;
    binding.step.scalars[param.name] = scalar;
    return true;
  }
  Arg arg = expr(given->second);
  if (arg.kind == Arg::Error)
    return false;
  bool isLoss = arg.kind == Arg::Scalar && isFloat(arg.scalar.elem) && !isFloat(param.elem);
  if (arg.kind != Arg::Scalar || isLoss) {
    reporter.error(Diag::program_wants_scalar, given->second->range, param.name, spelling(param.elem));
    return false;
  }
  binding.step.scalars[param.name] = arg.scalar;
  return true;
}

/// Every dim of every argument agrees with what the symbols have become.
bool ProgramPlanner::checkDims(Binding &binding) {
  std::map<std::string, DimExpr> known = binding.step.symbols;
  for (const ConstParam &constant : binding.kernel->signature.consts)
    if (auto given = binding.given.find(constant.name); given != binding.given.end()) {
      Arg arg = expr(given->second);
      if (arg.kind == Arg::Scalar)
        if (std::optional<DimExpr> value = toDim(arg.scalar))
          known[constant.name] = *value;
    } else if (constant.defaultValue) {
      known[constant.name] = DimExpr::constant(*constant.defaultValue);
    }
  bool isGood = true;
  for (const ir::Param &param : binding.kernel->signature.params) {
    auto tensor = binding.step.tensors.find(param.name);
    if (tensor == binding.step.tensors.end())
      continue;
    auto given = binding.given.find(param.name);
    for (size_t i = 0; i < param.dims.size(); ++i)
      isGood = require(replaced(param.dims[i], known), tensor->second.dims[i], given->second->range,
                       fmt::format("dim {} of `{}` in `{}`, `{}`,", i, param.name, binding.kernel->signature.name,
                                   param.dims[i].str())) &&
               isGood;
  }
  return isGood;
}

/// The specialisation, in the order that specializations() has.
bool ProgramPlanner::specialize(Binding &binding) {
  const Signature &signature = binding.kernel->signature;
  Specialization &result = binding.step.specialization;
  bool isGood = true;
  for (auto &[name, choices] : signature.typeParams) {
    auto type = binding.typeArgs.find(name);
    if (type == binding.typeArgs.end()) {
      reporter.error(Diag::program_argument_missing, binding.call, signature.name, name);
      return false;
    }
    if (std::find(choices.begin(), choices.end(), type->second) == choices.end()) {
      reporter.error(Diag::program_type_choice, binding.call, name, signature.name, spelling(type->second));
      return false;
    }
    result.typeArgs.emplace_back(name, type->second);
  }
  auto choose = [&](const std::string &name, int64_t value, const std::vector<int64_t> &choices) {
    if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end()) {
      reporter.error(Diag::program_choice, binding.call, name, signature.name, value);
      isGood = false;
    }
    result.constants.emplace_back(name, value);
  };
  for (auto &[name, choices] : signature.dimChoices) {
    auto symbol = binding.step.symbols.find(name);
    if (symbol == binding.step.symbols.end() && !saysDim(signature, name, result.absent)) {
      choose(name, choices.front(), choices);
      continue;
    }
    if (symbol == binding.step.symbols.end() || !symbol->second.isConst()) {
      reporter.error(Diag::program_dim_unknown, binding.call, name, signature.name,
                     symbol == binding.step.symbols.end() ? name : symbol->second.str());
      return false;
    }
    choose(name, symbol->second.value, choices);
  }
  for (const ConstParam &param : signature.consts) {
    auto given = binding.given.find(param.name);
    if (param.elem == ElemType::Bool)
      result.bools.insert(param.name);
    if (given == binding.given.end()) {
      if (!param.defaultValue) {
        reporter.error(Diag::program_argument_missing, binding.call, signature.name, param.name);
        return false;
      }
      choose(param.name, *param.defaultValue, param.choices);
      continue;
    }
    Arg arg = expr(given->second);
    bool isConstant = arg.kind == Arg::Scalar && arg.scalar.kind == ScalarExpr::Number && arg.scalar.elem == param.elem;
    if (!isConstant) {
      if (arg.kind != Arg::Error)
        reporter.error(Diag::program_constant, given->second->range, fmt::format("`{}`", param.name));
      return false;
    }
    choose(param.name, static_cast<int64_t>(arg.scalar.value), param.choices);
  }
  return isGood;
}

} // namespace sema

// ---- text ----------------------------------------------------------------------------------------------------------

static std::string text(const TensorView &view) {
  std::string dims, strides;
  for (size_t i = 0; i < view.dims.size(); ++i) {
    dims += (i ? ", " : "") + view.dims[i].str();
    strides += (i ? ", " : "") + view.strides[i].str();
  }
  std::string offset = view.offset.isConst() && view.offset.value == 0 ? "" : " + " + view.offset.str();
  return fmt::format("{}{}[{}] by [{}]", view.tensor, offset, dims, strides);
}

std::string print(const ProgramPlan &plan) {
  std::string suffix = plan.specialization.suffix();
  std::string result =
      fmt::format("program @{}{}{}\n", plan.program->signature.name, suffix.empty() ? "" : " ", suffix);
  for (const Workspace &workspace : plan.workspaces) {
    std::string dims;
    for (const ir::DimExpr &dim : workspace.dims)
      dims += (dims.empty() ? "" : ", ") + dim.str();
    result += fmt::format("  workspace {}: {}[{}]\n", workspace.name, spelling(workspace.elem), dims);
  }
  for (const ProgramCheck &check : plan.checks)
    result += fmt::format("  check {} == {}: {}\n", check.lhs.str(), check.rhs.str(), check.message);
  for (const ProgramStep &step : plan.steps) {
    if (auto *fill = std::get_if<FillStep>(&step)) {
      result += fmt::format("  fill {} = {}\n", text(fill->view), fill->value.str());
      continue;
    }
    auto &launch = std::get<LaunchStep>(step);
    std::string name = launch.specialization.suffix();
    result += fmt::format("  launch @{}{}{}\n", launch.kernel->signature.name, name.empty() ? "" : " ", name);
    for (auto &[symbol, value] : launch.symbols)
      result += fmt::format("    {} = {}\n", symbol, value.str());
    for (const std::string &param : launch.kernel->signature.order) {
      if (auto tensor = launch.tensors.find(param); tensor != launch.tensors.end())
        result += fmt::format("    {}: {}\n", param, text(tensor->second));
      if (auto scalar = launch.scalars.find(param); scalar != launch.scalars.end())
        result += fmt::format("    {}: {}\n", param, scalar->second.str());
    }
  }
  return result;
}

} // namespace tkc
