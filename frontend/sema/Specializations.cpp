// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The specialisations of a kernel: every combination of what is fixed when compiling.
#include "frontend/Sema.h"
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/Dims.h"

#include "llvm/Support/Casting.h"

#include <algorithm>

namespace tkc {
namespace {

/// The default of an i32 constant without a `where … in` list, and the values that cases give it.
std::vector<int64_t> valuesInUse(const ConstParam &param, const std::vector<const ast::CaseDecl *> &cases) {
  std::vector<int64_t> values;
  auto add = [&](int64_t value) {
    if (std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
  };
  if (param.defaultValue)
    add(*param.defaultValue);
  for (const ast::CaseDecl *decl : cases)
    for (const ast::Equation &setting : decl->settings)
      if (setting.name.text == param.name) {
        sema::Val value = sema::evalConstant(setting.value, [](std::string_view) { return sema::Val::error(); });
        if (value.isInteger())
          add(static_cast<int64_t>(value.number));
      }
  return values;
}

/// Multiplies `list` by the choices: each element once with each choice.
template <class Choice, class Apply>
void combine(std::vector<Specialization> &list, const std::vector<Choice> &choices, Apply apply) {
  std::vector<Specialization> result;
  for (const Specialization &specialization : list)
    for (const Choice &choice : choices)
      apply(result.emplace_back(specialization), choice);
  list = std::move(result);
}

bool binds(const ir::Param &param, const std::string &symbol) {
  return std::any_of(param.dims.begin(), param.dims.end(),
                     [&](const ir::DimExpr &dim) { return offsetFrom(dim, symbol).has_value(); });
}

/// What a call does not say is the first of its choices.
bool isReachable(const Signature &signature, const Specialization &specialization) {
  const auto isOther = [&](const auto &choices, const auto &chosen) {
    return std::any_of(chosen.begin(), chosen.end(), [&](const auto &it) {
      return it.first == choices.first && it.second != choices.second.front();
    });
  };
  return std::none_of(signature.typeParams.begin(), signature.typeParams.end(),
                      [&](const auto &choices) {
                        return isOther(choices, specialization.typeArgs) &&
                               !saysType(signature, choices.first, specialization.absent);
                      }) &&
         std::none_of(signature.dimChoices.begin(), signature.dimChoices.end(), [&](const auto &choices) {
           return isOther(choices, specialization.constants) &&
                  !saysDim(signature, choices.first, specialization.absent);
         });
}

} // namespace

std::optional<int64_t> offsetFrom(const ir::DimExpr &dim, const std::string &symbol) {
  return sema::boundSymbol(dim) == symbol ? sema::evaluate(dim, {{symbol, 0}}) : std::nullopt;
}

bool saysDim(const Signature &signature, const std::string &symbol, const std::set<std::string> &absent) {
  return std::any_of(signature.params.begin(), signature.params.end(), [&](const ir::Param &param) {
    return param.isTensor && !absent.count(param.name) && binds(param, symbol);
  });
}

bool saysType(const Signature &signature, const std::string &name, const std::set<std::string> &absent) {
  bool any = false, says = false;
  for (const ir::Param &param : signature.params)
    if (const auto type = signature.typeParamOf.find(param.name);
        param.isTensor && type != signature.typeParamOf.end() && type->second == name)
      any = true, says |= !absent.count(param.name);
  return says || !any;
}

std::vector<std::string> optionalTensorsWith(const Signature &signature, const std::string &symbol) {
  std::vector<std::string> names;
  for (const ir::Param &param : signature.params)
    if (param.isTensor && binds(param, symbol)) {
      if (!param.isOptional)
        return {};
      names.push_back(param.name);
    }
  return names;
}

std::string Specialization::suffix() const {
  std::string result;
  auto append = [&](const std::string &part) { result += (result.empty() ? "" : "_") + part; };
  for (auto &[name, type] : typeArgs)
    append(std::string(spelling(type)));
  for (auto &[name, value] : constants) {
    // A bool is named where it is true.
    if (bools.count(name)) {
      if (value)
        append(name);
    } else {
      append(name + (value < 0 ? "m" : "") + std::to_string(value < 0 ? -value : value));
    }
  }
  for (const std::string &name : absent)
    append("no_" + name);
  return result;
}

bool hasTooManySpecializations(const Signature &signature, const std::vector<const ast::CaseDecl *> &cases) {
  double count = 1;
  for (auto &[name, choices] : signature.typeParams)
    count *= static_cast<double>(choices.size());
  for (auto &[name, choices] : signature.dimChoices)
    count *= static_cast<double>(choices.size());
  for (const ConstParam &param : signature.consts)
    count *= static_cast<double>(param.choices.empty() ? valuesInUse(param, cases).size() : param.choices.size());
  for (const ir::Param &param : signature.params)
    count *= param.isOptional ? 2 : 1;
  return count > maxSpecializations;
}

std::vector<Specialization> specializations(const Signature &signature,
                                            const std::vector<const ast::CaseDecl *> &cases) {
  if (hasTooManySpecializations(signature, cases))
    return {};
  std::vector<Specialization> list(1);
  for (auto &[name, choices] : signature.typeParams)
    combine(list, choices,
            [&, &name = name](Specialization &to, ElemType type) { to.typeArgs.emplace_back(name, type); });
  for (auto &[name, choices] : signature.dimChoices)
    combine(list, choices,
            [&, &name = name](Specialization &to, int64_t value) { to.constants.emplace_back(name, value); });
  for (const ConstParam &param : signature.consts) {
    std::vector<int64_t> choices = param.choices.empty() ? valuesInUse(param, cases) : param.choices;
    combine(list, choices, [&](Specialization &to, int64_t value) {
      to.constants.emplace_back(param.name, value);
      if (param.elem == ElemType::Bool)
        to.bools.insert(param.name);
    });
  }
  for (const ir::Param &param : signature.params)
    if (param.isOptional)
      combine(list, std::vector<bool>{true, false}, [&](Specialization &to, bool isPresent) {
        if (!isPresent)
          to.absent.insert(param.name);
      });
  std::erase_if(list, [&](const Specialization &each) { return !isReachable(signature, each); });
  return list;
}

} // namespace tkc
