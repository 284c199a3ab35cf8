// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases: every dim, type and constant that the inputs do not determine has to be given, and `where` has to hold.
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/Dims.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/Report.h"

#include "llvm/Support/Casting.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::sema {
namespace {

class CaseChecker {
public:
  CaseChecker(const ast::CaseDecl &decl, const Signature &signature, Reporter &reporter)
      : decl(decl), signature(signature), reporter(reporter) {}

  void check() {
    for (const ast::Equation &setting : decl.settings)
      checkSetting(setting);
    checkMissing();
    checkDimChoices();
    for (const ast::Expr *condition : signature.conditions)
      checkCondition(condition);
  }

private:
  bool isTune(const std::string &name) const {
    return std::any_of(signature.tunes.begin(), signature.tunes.end(),
                       [&](const auto &tune) { return tune.first == name; });
  }
  bool isSymbol(const std::string &name) const {
    return std::find(signature.symbols.begin(), signature.symbols.end(), name) != signature.symbols.end();
  }
  bool isTypeParam(const std::string &name) const {
    return std::any_of(signature.typeParams.begin(), signature.typeParams.end(),
                       [&](const auto &param) { return param.first == name; });
  }
  Val evaluate(const ast::Expr *expr) const {
    return evalConstant(expr, [&](std::string_view name) {
      auto known = numbers.find(std::string(name));
      return known == numbers.end() ? Val::error() : known->second;
    });
  }

  void checkSetting(const ast::Equation &setting) {
    const std::string &name = setting.name.text;
    if (setting.indices.empty()) {
      auto [previous, isNew] = given.try_emplace(name, setting.name.range);
      if (!isNew)
        reporter.error(Diag::set_twice, setting.name.range, name)
            .note(Diag::note_declared_here, previous->second, name);
    } else {
      given.try_emplace(name, setting.name.range);
    }
    if (const ir::Param *param = signature.findParam(name)) {
      checkInput(setting, *param);
      return;
    }
    if (isTypeParam(name)) {
      checkType(setting);
      return;
    }
    if (name == "tolerance")
      return;
    if (!isSymbol(name) && !signature.findConst(name) && !isTune(name)) {
      reportUnknown(reporter, "name", name, setting.name.range, knownNames());
      return;
    }
    checkNumber(setting);
  }

  void checkNumber(const ast::Equation &setting) {
    const std::string &name = setting.name.text;
    Val value = evaluate(setting.value);
    const ConstParam *constant = signature.findConst(name);
    bool isBool = constant && constant->elem == ElemType::Bool;
    if (value.isError() || (value.elem != ElemType::I32 && value.elem != ElemType::Bool) ||
        isBool != (value.elem == ElemType::Bool)) {
      if (!llvm::isa<ast::ErrorExpr>(setting.value))
        reporter.error(Diag::case_number, setting.value->range, name, isBool ? "`true` or `false`" : "an integer");
      return;
    }
    numbers[name] = value;
    if (isSymbol(name) && value.number < 0)
      reporter.error(Diag::dim_not_positive, setting.value->range, name, static_cast<int64_t>(value.number));
    if (isTune(name) && value.number < 1)
      reporter.error(Diag::tune_not_positive, setting.value->range, name);
    auto number = static_cast<int64_t>(value.number);
    if (constant && !constant->choices.empty() &&
        std::find(constant->choices.begin(), constant->choices.end(), number) == constant->choices.end())
      reporter.error(Diag::not_a_choice, setting.value->range, name, number, list(constant->choices));
  }

  void checkType(const ast::Equation &setting) {
    auto *name = llvm::dyn_cast<ast::NameExpr>(setting.value);
    for (auto &[typeParam, choices] : signature.typeParams) {
      if (typeParam != setting.name.text)
        continue;
      std::vector<std::string> names;
      for (ElemType choice : choices)
        names.emplace_back(spelling(choice));
      if (!name || std::find(names.begin(), names.end(), name->name) == names.end()) {
        std::string all;
        for (const std::string &choice : names)
          all += (all.empty() ? "" : ", ") + choice;
        reporter.error(Diag::case_type, setting.value->range, typeParam, all);
      }
    }
  }

  /// A list or a file gives the tensor's dims too.
  void checkInput(const ast::Equation &setting, const ir::Param &param) {
    if (param.isTensor && param.mode == ir::ParamMode::Out && !llvm::isa<ast::CallExpr>(setting.value))
      reporter.error(Diag::case_output, setting.name.range, param.name);
    if (param.isTensor && !setting.indices.empty() && setting.indices.size() != param.dims.size())
      reporter.error(Diag::number_of_indices, setting.range, param.name, param.dims.size(), setting.indices.size());
    auto *call = llvm::dyn_cast<ast::CallExpr>(setting.value);
    auto *callee = call ? llvm::dyn_cast<ast::NameExpr>(call->callee) : nullptr;
    bool isList = llvm::isa<ast::ListExpr>(setting.value);
    if (isList || (callee && callee->name == "file"))
      for (const ir::DimExpr &dim : param.dims)
        if (std::optional<std::string> symbol = boundSymbol(dim))
          inferred.push_back(*symbol);
    if (!param.isTensor) {
      Val value = evaluate(setting.value);
      if (value.isConst())
        numbers[param.name] = value;
    }
  }

  void checkMissing() {
    std::vector<std::string> missing;
    for (const std::string &symbol : signature.symbols)
      if (!given.count(symbol) && std::find(inferred.begin(), inferred.end(), symbol) == inferred.end())
        missing.push_back(symbol);
    for (auto &typeParam : signature.typeParams)
      if (!given.count(typeParam.first) && typeParam.second.size() > 1)
        missing.push_back(typeParam.first);
    for (const ConstParam &param : signature.consts) {
      if (param.defaultValue && !given.count(param.name))
        numbers[param.name] =
            param.elem == ElemType::Bool ? Val::boolean(*param.defaultValue != 0) : Val::integer(*param.defaultValue);
      else if (!given.count(param.name))
        missing.push_back(param.name);
    }
    if (missing.empty())
      return;
    std::string names;
    for (const std::string &name : missing)
      names += (names.empty() ? "`" : ", `") + name + "`";
    reporter.error(Diag::case_misses, decl.name.range, decl.name.text, names);
  }

  void checkDimChoices() {
    for (auto &[name, choices] : signature.dimChoices) {
      auto number = numbers.find(name);
      if (number == numbers.end())
        continue;
      auto value = static_cast<int64_t>(number->second.number);
      if (std::find(choices.begin(), choices.end(), value) == choices.end())
        reporter.error(Diag::not_a_choice, given[name], name, value, list(choices));
    }
  }

  void checkCondition(const ast::Expr *condition) {
    Val holds = evaluate(condition);
    if (holds.isConst() && holds.elem == ElemType::Bool && holds.number == 0)
      reporter.error(Diag::case_violates, decl.name.range, decl.name.text)
          .note(Diag::note_condition_here, condition->range);
  }

  static std::string list(const std::vector<int64_t> &choices) {
    std::string result;
    for (int64_t choice : choices)
      result += (result.empty() ? "" : ", ") + std::to_string(choice);
    return result;
  }

  std::vector<std::string> knownNames() const {
    std::vector<std::string> names = signature.order;
    names.insert(names.end(), signature.symbols.begin(), signature.symbols.end());
    for (auto &typeParam : signature.typeParams)
      names.push_back(typeParam.first);
    for (auto &tune : signature.tunes)
      names.push_back(tune.first);
    names.push_back("tolerance");
    return names;
  }

  const ast::CaseDecl &decl;
  const Signature &signature;
  Reporter &reporter;
  std::map<std::string, SourceRange> given;
  std::map<std::string, Val> numbers;
  std::vector<std::string> inferred;
};

} // namespace

void checkCase(const ast::CaseDecl &decl, const Signature &signature, Reporter &reporter) {
  CaseChecker(decl, signature, reporter).check();
}

} // namespace tkc::sema
