// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names: scopes of variables over the kernel's constants and parameters. A function that is inlined sees its
// parameters only.
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/Elaborator.h"
#include "frontend/sema/ModulePhases.h"

#include <algorithm>

namespace tkc::sema {

/// A value keeps the first name that the source gives it; a load is named for its tensor until then.
static void nameValue(ir::Value *value, const std::string &name) {
  const ir::Op *op = value->definingOp;
  bool isLoad = op && op->kind == ir::OpKind::Load && value->name == op->view.tensor;
  if (value->name.empty() || isLoad)
    value->name = name;
}

Elaborator::VariableId Elaborator::define(const ast::Identifier &name, Val val, bool isVar) {
  Variable variable{name.text, name.range, std::move(val), isVar, {}, name.range};
  if (variable.val.isConst() || variable.val.isValue())
    variable.declaredType = variable.val.type();
  if (variable.val.isValue())
    nameValue(variable.val.value, name.text);
  variables.push_back(std::move(variable));
  scopes.back()[name.text] = variables.size() - 1;
  return variables.size() - 1;
}

std::optional<Elaborator::VariableId> Elaborator::findVariable(const std::string &name) const {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto found = scope->find(name); found != scope->end())
      return found->second;
  return std::nullopt;
}

Val Elaborator::lookup(const ast::NameExpr &name) {
  if (std::optional<VariableId> id = findVariable(name.name))
    return variables[*id].val;
  if (inlining.empty()) {
    if (const ir::Param *param = function->findParam(name.name))
      return param->isTensor ? Val::ofTensor(name.name) : Val::ofValue(builder.param(name.name));
    const std::vector<std::string> &symbols = kernel.signature.symbols;
    if (std::find(symbols.begin(), symbols.end(), name.name) != symbols.end())
      return isKnown(name.name, name.range) ? Val::ofValue(builder.dim(name.name)) : Val::error();
  }
  if (std::optional<Val> builtin = builtinConstant(name.name))
    return *builtin;
  reportUnknown(reporter, "name", name.name, name.range, visibleNames());
  return Val::error();
}

bool Elaborator::isKnown(const std::string &symbol, SourceRange use) {
  if (knownDims.count(symbol) || saysDim(kernel.signature, symbol, specialization.absent))
    return true;
  error(Diag::absent_dim, use, symbol, optionalTensorsWith(kernel.signature, symbol).front());
  return false;
}

std::vector<std::string> Elaborator::visibleNames() const {
  std::vector<std::string> names{"inf", "PI", "LOG2E", "LN2"};
  for (const Scope &scope : scopes)
    for (auto &entry : scope)
      names.push_back(entry.first);
  if (!inlining.empty())
    return names;
  for (const ir::Param &param : kernel.signature.params)
    names.push_back(param.name);
  names.insert(names.end(), kernel.signature.symbols.begin(), kernel.signature.symbols.end());
  return names;
}

std::vector<Val> Elaborator::snapshot() const {
  std::vector<Val> values;
  values.reserve(variables.size());
  for (const Variable &variable : variables)
    values.push_back(variable.val);
  return values;
}

void Elaborator::restore(const std::vector<Val> &values) {
  for (size_t i = 0; i < values.size(); ++i)
    variables[i].val = values[i];
}

std::optional<ElemType> Elaborator::findType(const std::string &name) const {
  for (auto &[typeParam, type] : specialization.typeArgs)
    if (typeParam == name)
      return type;
  return parseElemType(name);
}

} // namespace tkc::sema
