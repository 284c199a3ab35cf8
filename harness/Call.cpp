// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Call.h"

#include "harness/CaseData.h"

#include "backends/emit/host/HostExpr.h"
#include "frontend/AST.h"
#include "frontend/Program.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace tkc::harness {
namespace {

class Binder {
public:
  Binder(const Signature &signature, OpenCall call, const SourceManager &sources)
      : signature(signature), sources(sources), call(std::move(call)) {}

  BoundCall run() {
    prepared.signature = &signature;
    takeTensors();
    bindTypes();
    bindSymbols();
    makeOutputs();
    checkDims();
    takeNumbers();
    if (refusal.empty())
      chooseSpecialization();
    takeAlignments();
    checkConditions();
    return {std::move(prepared), std::move(refusal)};
  }

private:
  template <class... Args> void refuse(fmt::format_string<Args...> format, Args &&...args) {
    if (refusal.empty())
      refusal = signature.name + ": " + fmt::format(format, std::forward<Args>(args)...);
  }

  const Tensor *find(const ir::Param &param) const {
    const auto found = prepared.arguments.tensors.find(param.name);
    return found == prepared.arguments.tensors.end() ? nullptr : &found->second;
  }

  void takeTensors() {
    for (const ir::Param &param : signature.params) {
      if (!param.isTensor)
        continue;
      const auto given = call.tensors.find(param.name);
      if (given == call.tensors.end()) {
        if (param.mode == ir::ParamMode::Out && !param.isOptional && call.makesOutputs)
          continue;
        if (!param.isOptional)
          refuse("`{}` is null", param.name);
        prepared.specialization.absent.insert(param.name);
        continue;
      }
      Tensor &tensor = given->second;
      if (tensor.dims.size() != param.dims.size())
        refuse("`{}` has {} dims, it needs {}", param.name, tensor.dims.size(), param.dims.size());
      for (size_t d = 0; d < tensor.dims.size(); ++d)
        if (tensor.dims[d] < 0 || tensor.dims[d] > INT32_MAX)
          refuse("dim {} of `{}` is {}; dims go up to 2147483647", d, param.name, tensor.dims[d]);
      if (refusal.empty() && isPacked(tensor.elem) && !tensor.dims.empty() &&
          tensor.dims.back() % groupElements(tensor.elem) != 0)
        refuse("elements of `{}` share bytes: its last dim and its other strides must be multiples of {}", param.name,
               groupElements(tensor.elem));
      prepared.arguments.tensors[param.name] = std::move(tensor);
    }
  }

  static ElemType stored(ElemType type) { return type == ElemType::TF32 ? ElemType::F32 : type; }

  /// Types of tensors that have a type parameter say what it is; the others have one.
  void bindTypes() {
    for (const auto &[name, choices] : signature.typeParams)
      bindType(name, choices);
    for (const ir::Param &param : signature.params)
      if (const Tensor *tensor = find(param); tensor && !signature.typeParamOf.count(param.name))
        if (tensor->elem != stored(param.elem))
          refuse("`{}` is {}, it must be {}", param.name, spelling(tensor->elem), spelling(stored(param.elem)));
  }

  void bindType(const std::string &name, const std::vector<ElemType> &choices) {
    std::optional<ElemType> type;
    for (const bool mayBeLeftOut : {false, true})
      for (const ir::Param &param : signature.params)
        if (const Tensor *tensor = find(param); tensor && param.isOptional == mayBeLeftOut)
          if (const auto of = signature.typeParamOf.find(param.name);
              of != signature.typeParamOf.end() && of->second == name) {
            if (!type)
              type = tensor->elem;
            if (tensor->elem != *type)
              refuse("`{}` is {}, it must be {}, as the other tensors of type `{}`", param.name, spelling(tensor->elem),
                     spelling(*type), name);
          }
    const auto chosen =
        std::find_if(choices.begin(), choices.end(), [&](ElemType choice) { return !type || stored(choice) == *type; });
    if (chosen == choices.end()) {
      std::vector<std::string_view> spellings;
      for (const ElemType choice : choices)
        spellings.push_back(spelling(choice));
      refuse("the kernel asks for `{} in {{{}}}`, which does not hold", name, fmt::join(spellings, ", "));
    }
    prepared.specialization.typeArgs.emplace_back(name, chosen == choices.end() ? choices.front() : *chosen);
  }

  ElemType typeOf(const ir::Param &param) const {
    const auto typeParam = signature.typeParamOf.find(param.name);
    for (const auto &[name, type] : prepared.specialization.typeArgs)
      if (typeParam != signature.typeParamOf.end() && typeParam->second == name)
        return type;
    return param.elem;
  }

  void bindSymbols() {
    for (const std::string &symbol : signature.symbols)
      for (const bool mayBeLeftOut : {false, true})
        for (const ir::Param &param : signature.params)
          if (const Tensor *tensor = find(param); tensor && param.isOptional == mayBeLeftOut)
            for (size_t d = 0; d < std::min(param.dims.size(), tensor->dims.size()); ++d)
              if (const std::optional<int64_t> offset = offsetFrom(param.dims[d], symbol))
                bindSymbol(symbol, param, d, tensor->dims[d], *offset);
    for (const auto &[name, choices] : signature.dimChoices) {
      const int64_t value = prepared.arguments.symbols.try_emplace(name, choices.front()).first->second;
      if (std::find(choices.begin(), choices.end(), value) == choices.end())
        wrongChoices.push_back(fmt::format("{} in {{{}}}", name, fmt::join(choices, ", ")));
    }
  }

  void bindSymbol(const std::string &symbol, const ir::Param &param, size_t d, int64_t dim, int64_t offset) {
    if (prepared.arguments.symbols.count(symbol))
      return;
    if (dim < offset)
      refuse("dim {} of `{}` is {}, it must be at least {}", d, param.name, dim, offset);
    prepared.arguments.symbols[symbol] = dim - offset;
  }

  /// What stands in dims.
  std::map<std::string, int64_t> namesInDims() const {
    std::map<std::string, int64_t> names = prepared.arguments.symbols;
    for (const ConstParam &param : signature.consts)
      if (const std::optional<int64_t> value = constant(param))
        names[param.name] = *value;
    return names;
  }

  void makeOutputs() {
    const std::map<std::string, int64_t> names = namesInDims();
    for (const ir::Param &param : signature.params) {
      if (!call.makesOutputs || !param.isTensor || param.mode != ir::ParamMode::Out || param.isOptional || find(param))
        continue;
      Tensor tensor{stored(typeOf(param)), {}, {}};
      for (const ir::DimExpr &dim : param.dims)
        tensor.dims.push_back(std::max<int64_t>(0, evaluateDim(dim, names).value_or(0)));
      prepared.arguments.tensors[param.name] = std::move(tensor);
    }
  }

  /// Of dense tensors, which begin where an allocation does.
  void takeAlignments() {
    for (const auto &[name, tensor] : prepared.arguments.tensors)
      prepared.arguments.alignments[name] = alignmentOf(tensor.elem, tensor.dims, stridesOf(tensor.dims, {}));
  }

  void checkDims() {
    const std::map<std::string, int64_t> names = namesInDims();
    for (const ir::Param &param : signature.params)
      if (const Tensor *tensor = find(param); tensor && refusal.empty())
        for (size_t d = 0; d < param.dims.size(); ++d)
          if (const int64_t expected = evaluateDim(param.dims[d], names).value_or(0); tensor->dims[d] != expected)
            refuse("dim {} of `{}` is {}, but `{}` is {} here", d, param.name, tensor->dims[d], param.dims[d].str(),
                   expected);
    for (const std::string &choice : wrongChoices)
      refuse("the kernel asks for `{}`, which does not hold", choice);
  }

  void takeNumbers() {
    for (const ir::Param &param : signature.params) {
      if (param.isTensor)
        continue;
      const auto given = call.numbers.find(param.name);
      const auto otherwise = signature.scalarDefaults.find(param.name);
      if (given == call.numbers.end() && otherwise == signature.scalarDefaults.end())
        refuse("`{}` is missing", param.name);
      else
        prepared.arguments.scalars[param.name] =
            roundTo(typeOf(param), given == call.numbers.end() ? Number(otherwise->second) : given->second);
      prepared.scalarTypes[param.name] = typeOf(param);
    }
  }

  std::optional<int64_t> constant(const ConstParam &param) const {
    const auto given = call.numbers.find(param.name);
    if (given == call.numbers.end())
      return param.defaultValue;
    const auto value = given->second.toInteger();
    return param.elem == ElemType::Bool ? value != 0 : value;
  }

  void chooseSpecialization() {
    Specialization &chosen = prepared.specialization;
    for (const auto &[name, choices] : signature.dimChoices)
      chosen.constants.emplace_back(name, prepared.arguments.symbols.at(name));
    for (const ConstParam &param : signature.consts) {
      const std::optional<int64_t> value = constant(param);
      if (!value)
        return refuse("`{}` is missing", param.name);
      if (!param.choices.empty() &&
          std::find(param.choices.begin(), param.choices.end(), *value) == param.choices.end())
        return refuse("the kernel asks for `{} in {{{}}}`, which does not hold", param.name,
                      fmt::join(param.choices, ", "));
      chosen.constants.emplace_back(param.name, *value);
      if (param.elem == ElemType::Bool)
        chosen.bools.insert(param.name);
    }
  }

  /// Conditions of `where` are judged as those of schedules are. One on a dim that no tensor of the call has is not
  /// asked.
  void checkConditions() {
    for (const ast::Expr *condition : signature.conditions) {
      const bool isUnasked =
          std::any_of(signature.symbols.begin(), signature.symbols.end(), [&](const std::string &symbol) {
            return !prepared.arguments.symbols.count(symbol) && mentions(*condition, symbol);
          });
      if (refusal.empty() && !isUnasked && !serves({{condition}}, prepared.specialization, prepared.arguments))
        refuse("the kernel asks for `{}`, which does not hold", sources.text(condition->range));
    }
  }

  const Signature &signature;
  const SourceManager &sources;
  OpenCall call;
  PreparedCase prepared;
  std::vector<std::string> wrongChoices;
  std::string refusal;
};

} // namespace

BoundCall bindCall(const Signature &signature, OpenCall call, const SourceManager &sources) {
  return Binder(signature, std::move(call), sources).run();
}

} // namespace tkc::harness
