// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signatures: parameters with dims as expressions of symbols, constants with their choices. A symbol is bound by the
// dims that determine it (`N`, `N + 1`); one that only stands in expressions (`N / 2`) is an error.
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/Dims.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/Report.h"
#include "support/ForeignWords.h"
#include "support/NearestName.h"

#include "llvm/Support/Casting.h"

#include <algorithm>

namespace tkc::sema {
namespace {

const std::vector<std::string> &elemTypeNames() {
  static const std::vector<std::string> names = {"f64",    "f32",    "tf32",   "f16",    "bf16", "f8e4m3",
                                                 "f8e5m2", "i64",    "i32",    "i8",     "u8",   "bool",
                                                 "f8e8m0", "f4e2m1", "f6e2m3", "f6e3m2", "u4",   "i4"};
  return names;
}

template <class T> bool contains(const std::vector<T> &list, const T &value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

template <class Decl> class SignatureMaker {
public:
  SignatureMaker(const Decl &decl, Reporter &outer) : decl(decl), reporter(outer.diagnostics()) {}

  Signature make() {
    signature.name = decl.name.text;
    signature.doc = decl.doc;
    signature.loc = decl.name.range.begin;
    signature.isProgram = decl.kind == ast::DeclKind::Program;
    for (const ast::TypeParam &typeParam : decl.typeParams)
      addTypeParam(typeParam);
    for (const ast::Param &param : decl.params) {
      declare(param.name);
      signature.order.push_back(param.name.text);
      param.isConst ? addConst(param) : addParam(param);
    }
    for (const ast::TypeParam &typeParam : decl.typeParams)
      checkTypeIsBound(typeParam);
    bindSymbols();
    for (auto &[name, values] : decl.whereIn)
      addChoices(name, values);
    checkConstTypes();
    signature.conditions.assign(decl.where.begin(), decl.where.end());
    for (const ast::Expr *condition : signature.conditions)
      checkNames(condition);
    if constexpr (std::is_same_v<Decl, ast::KernelDecl>)
      addTunes();
    signature.isSound = !reporter.failed();
    return std::move(signature);
  }

private:
  /// Launchers ask what `where` says, of names that a call has.
  void checkNames(const ast::Expr *condition) {
    if (auto *unary = llvm::dyn_cast<ast::UnaryExpr>(condition)) {
      checkNames(unary->operand);
    } else if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(condition)) {
      checkNames(binary->lhs);
      checkNames(binary->rhs);
    } else if (auto *call = llvm::dyn_cast<ast::CallExpr>(condition)) {
      checkCall(*call);
    } else if (auto *name = llvm::dyn_cast<ast::NameExpr>(condition); name && !isKnown(name->name)) {
      std::vector<std::string> candidates = signature.symbols;
      candidates.insert(candidates.end(), signature.order.begin(), signature.order.end());
      reportUnknown(reporter, "name", name->name, name->range, candidates);
    }
  }

  void checkCall(const ast::CallExpr &call) {
    const std::vector<std::string> functions = {"min", "max", "ceildiv"};
    const auto *callee = llvm::dyn_cast<ast::NameExpr>(call.callee);
    if (callee && std::find(functions.begin(), functions.end(), callee->name) == functions.end())
      return reportUnknown(reporter, "function of `where`", callee->name, callee->range, functions);
    for (const ast::Argument &argument : call.args)
      checkNames(argument.value);
  }

  bool isKnown(const std::string &name) const {
    return declared.count(name) || parseElemType(name) ||
           std::find(signature.symbols.begin(), signature.symbols.end(), name) != signature.symbols.end();
  }

  void declare(const ast::Identifier &name) {
    if (name.text.empty()) // the parser has said that it is missing
      return reporter.fail();
    auto [previous, isNew] = declared.try_emplace(name.text, name.range);
    if (!isNew)
      reporter.error(Diag::redeclared, name.range, name.text)
          .note(Diag::note_declared_here, previous->second, name.text);
  }

  std::optional<ElemType> elemType(const ast::Identifier &type) {
    for (auto &[name, choices] : signature.typeParams)
      if (name == type.text)
        return choices.front();
    if (std::optional<ElemType> elem = parseElemType(type.text))
      return elem;
    std::vector<std::string> candidates = elemTypeNames();
    for (auto &typeParam : signature.typeParams)
      candidates.push_back(typeParam.first);
    reportUnknown(reporter, "type", type.text, type.range, candidates);
    return std::nullopt;
  }

  void addTypeParam(const ast::TypeParam &typeParam) {
    declare(typeParam.name);
    std::vector<ElemType> choices;
    for (const ast::Identifier &choice : typeParam.choices) {
      std::optional<ElemType> elem = parseElemType(choice.text);
      if (!elem)
        reportUnknown(reporter, "type", choice.text, choice.range, elemTypeNames());
      else if (contains(choices, *elem))
        reporter.error(Diag::repeated_choice, choice.range, choice.text, typeParam.name.text);
      else
        choices.push_back(*elem);
    }
    if (choices.empty())
      choices.push_back(ElemType::F32);
    signature.typeParams.emplace_back(typeParam.name.text, std::move(choices));
  }

  /// Launchers choose a type by those of the arguments.
  void checkTypeIsBound(const ast::TypeParam &typeParam) {
    const bool isBound = std::any_of(decl.params.begin(), decl.params.end(),
                                     [&](const ast::Param &param) { return param.type.text == typeParam.name.text; });
    if (!isBound && typeParam.choices.size() > 1)
      reporter.error(Diag::unbound_type, typeParam.name.range, typeParam.name.text);
  }

  void addConst(const ast::Param &param) {
    ConstParam result{param.name.text, ElemType::I32, std::nullopt, {}};
    if (param.isTensor || (param.type.text != "bool" && param.type.text != "i32"))
      reporter.error(Diag::const_type, param.type.range, param.name.text);
    else if (param.type.text == "bool")
      result.elem = ElemType::Bool, result.choices = {0, 1};
    if (param.mode != ast::ParamMode::In)
      reporter.error(Diag::scalar_out, param.name.range, param.name.text);
    if (param.defaultValue) {
      Val value = evalConstant(param.defaultValue, [](std::string_view) { return Val::error(); });
      if (value.isConst() && value.elem == result.elem)
        result.defaultValue = static_cast<int64_t>(value.number);
      else if (!llvm::isa<ast::ErrorExpr>(param.defaultValue))
        reporter.error(Diag::bad_default, param.defaultValue->range, param.name.text, spelling(result.elem));
    }
    signature.consts.push_back(std::move(result));
  }

  void addParam(const ast::Param &param) {
    ir::Param result;
    result.name = param.name.text;
    result.loc = param.name.range.begin;
    result.isTensor = param.isTensor;
    result.mode = param.mode == ast::ParamMode::In    ? ir::ParamMode::In
                  : param.mode == ast::ParamMode::Out ? ir::ParamMode::Out
                                                      : ir::ParamMode::InOut;
    if (std::optional<ElemType> elem = elemType(param.type)) {
      result.elem = *elem;
      if (!parseElemType(param.type.text))
        signature.typeParamOf[param.name.text] = param.type.text;
    }
    if (!param.isTensor && param.mode != ast::ParamMode::In)
      reporter.error(Diag::scalar_out, param.name.range, param.name.text);
    for (const ast::Expr *dim : param.dims)
      result.dims.push_back(parseDim(dim, reporter).value_or(ir::DimExpr::constant(1)));
    if (param.defaultValue)
      addDefault(param, result);
    signature.params.push_back(std::move(result));
  }

  void addDefault(const ast::Param &param, ir::Param &result) {
    if (llvm::isa<ast::NoneExpr>(param.defaultValue)) {
      if (param.isTensor)
        result.isOptional = true;
      else
        reporter.error(Diag::none_for_scalar, param.defaultValue->range, param.name.text);
      return;
    }
    if (llvm::isa<ast::ErrorExpr>(param.defaultValue))
      return;
    Val value = evalConstant(param.defaultValue, [](std::string_view) { return Val::error(); });
    if (param.isTensor)
      reporter.error(Diag::tensor_default, param.defaultValue->range, param.name.text);
    else if (!value.isConst() || (isFloat(value.elem) && !isFloat(result.elem)))
      reporter.error(Diag::bad_default, param.defaultValue->range, param.name.text, spelling(result.elem));
    else
      signature.scalarDefaults[param.name.text] = value.number;
  }

  bool isConstName(const std::string &name) const {
    return std::any_of(signature.consts.begin(), signature.consts.end(),
                       [&](const ConstParam &param) { return param.name == name; });
  }

  /// Symbols in order of first use, and an error for each that no dim determines.
  void bindSymbols() {
    std::vector<std::string> bound;
    for (const ir::Param &param : signature.params)
      for (const ir::DimExpr &dim : param.dims) {
        collectSymbols(dim, signature.symbols);
        if (std::optional<std::string> symbol = boundSymbol(dim))
          bound.push_back(*symbol);
      }
    std::erase_if(signature.symbols, [&](const std::string &symbol) { return isConstName(symbol); });
    for (const std::string &symbol : signature.symbols) {
      SourceRange use = firstUse(symbol);
      if (auto other = declared.find(symbol); other != declared.end())
        reporter.error(Diag::symbol_is_param, use, symbol).note(Diag::note_declared_here, other->second, symbol);
      else if (!contains(bound, symbol))
        reporter.error(Diag::unbound_symbol, use, symbol);
    }
  }

  /// Where in the dims a symbol first stands.
  SourceRange firstUse(const std::string &symbol) const {
    for (const ast::Param &param : decl.params)
      for (const ast::Expr *dim : param.dims)
        if (const ast::Expr *use = findName(dim, symbol))
          return use->range;
    return decl.name.range;
  }

  static const ast::Expr *findName(const ast::Expr *expr, const std::string &symbol) {
    if (auto *name = llvm::dyn_cast<ast::NameExpr>(expr))
      return name->name == symbol ? expr : nullptr;
    if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr)) {
      const ast::Expr *found = findName(binary->lhs, symbol);
      return found ? found : findName(binary->rhs, symbol);
    }
    return nullptr;
  }

  void addChoices(const ast::Identifier &name, const std::vector<ast::Expr *> &values) {
    std::vector<int64_t> choices;
    for (const ast::Expr *expr : values) {
      Val value = evalConstant(expr, [](std::string_view) { return Val::error(); });
      if (!value.isConst() || (value.elem != ElemType::I32 && value.elem != ElemType::Bool)) {
        reporter.error(Diag::where_in_value, expr->range, name.text);
        continue;
      }
      auto number = static_cast<int64_t>(value.number);
      if (contains(choices, number))
        reporter.error(Diag::repeated_choice, expr->range, number, name.text);
      else
        choices.push_back(number);
    }
    if (choices.empty())
      return;
    auto sameName = [&](const auto &other) { return other.first == name.text; };
    if (std::any_of(signature.dimChoices.begin(), signature.dimChoices.end(), sameName) ||
        contains(constsWithChoices, name.text)) {
      reporter.error(Diag::where_in_twice, name.range, name.text);
      return;
    }
    for (ConstParam &param : signature.consts)
      if (param.name == name.text) {
        param.choices = choices;
        constsWithChoices.push_back(name.text);
        if (param.defaultValue && !contains(choices, *param.defaultValue))
          reporter.error(Diag::default_not_chosen, name.range, name.text, *param.defaultValue);
        return;
      }
    if (contains(signature.symbols, name.text)) {
      for (int64_t choice : choices)
        if (choice < 1)
          reporter.error(Diag::dim_not_positive, name.range, name.text, choice);
      signature.dimChoices.emplace_back(name.text, std::move(choices));
      return;
    }
    std::vector<std::string> candidates = signature.symbols;
    for (const ConstParam &param : signature.consts)
      candidates.push_back(param.name);
    reportUnknown(reporter, "dim or constant", name.text, name.range, candidates);
  }

  /// A const bool that a dim uses makes no sense.
  void checkConstTypes() {
    for (const ast::Param &param : decl.params)
      for (const ast::Expr *dim : param.dims)
        for (const ConstParam &constant : signature.consts)
          if (constant.elem == ElemType::Bool)
            if (const ast::Expr *use = findName(dim, constant.name))
              reporter.error(Diag::bool_dim, use->range, constant.name);
  }

  void addTunes() {
    if (!decl.body)
      return;
    for (const ast::Stmt *stmt : decl.body->stmts)
      if (auto *tune = llvm::dyn_cast<ast::TuneStmt>(stmt))
        for (auto &[name, expr] : tune->values) {
          declare(name);
          Val value = evalConstant(expr, [](std::string_view) { return Val::error(); });
          signature.tunes.emplace_back(name.text, value.isInteger() ? static_cast<int64_t>(value.number) : 0);
        }
  }

  const Decl &decl;
  Reporter reporter;
  Signature signature;
  std::map<std::string, SourceRange> declared;
  std::vector<std::string> constsWithChoices;
};

} // namespace

Signature makeSignature(const ast::KernelDecl &decl, Reporter &reporter) {
  return SignatureMaker(decl, reporter).make();
}
Signature makeSignature(const ast::ProgramDecl &decl, Reporter &reporter) {
  return SignatureMaker(decl, reporter).make();
}

void reportUnknown(Reporter &reporter, std::string_view what, const std::string &name, SourceRange where,
                   const std::vector<std::string> &candidates) {
  if (name.empty()) // the parser has said that it is missing
    return reporter.fail();
  if (std::optional<std::string_view> type = what == "type" ? foreignType(name) : std::nullopt)
    reporter.error(Diag::unknown_name_near, where, what, name, *type).fixIt(where, std::string(*type));
  else if (std::optional<std::string_view> idea = what == "name" ? foreignIdea(name) : std::nullopt)
    reporter.error(Diag::foreign_idea, where, name, *idea);
  else if (std::optional<std::string> nearest = nearestName(name, candidates))
    reporter.error(Diag::unknown_name_near, where, what, name, *nearest).fixIt(where, *nearest);
  else
    reporter.error(Diag::unknown_name, where, what, name);
}

} // namespace tkc::sema
