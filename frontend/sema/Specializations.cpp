// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The specialisations of a kernel: every combination of what is fixed when compiling.
#include "frontend/Sema.h"
#include "frontend/sema/ConstantExpr.h"

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

} // namespace

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
  return list;
}

} // namespace tkc
