// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/Signatures.h"

#include "backends/emit/kernel/Types.h"
#include "frontend/Sema.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <cmath>
#include <llvm/Support/Casting.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>

namespace tkc::driver {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// What readers of the JSON have to know; a field that is added leaves it as it is.
constexpr int version = 1;

/// JSON has no infinities: "inf", "-inf".
Value describe(double number) {
  if (std::isinf(number))
    return number < 0 ? "-inf" : "inf";
  return number;
}

/// A number, a symbol's name, or [operation, left, right].
Value describe(const ir::DimExpr &dim) {
  if (dim.isConst())
    return dim.value;
  if (dim.kind == ir::DimExpr::Symbol)
    return dim.symbol;
  return Array{std::string(ir::spelling(dim.kind)), describe(*dim.lhs), describe(*dim.rhs)};
}

template <class List> Array arrayOf(const List &list) {
  Array all;
  for (const auto &each : list)
    all.push_back(each);
  return all;
}

Array spellings(const std::vector<ElemType> &types) {
  Array all;
  for (const ElemType type : types)
    all.push_back(std::string(spelling(type)));
  return all;
}

const char *spellingOf(ir::ParamMode mode) {
  switch (mode) {
  case ir::ParamMode::In:
    return "in";
  case ir::ParamMode::Out:
    return "out";
  case ir::ParamMode::InOut:
    return "inout";
  }
  return "";
}

Object describe(const Signature &signature, const ir::Param &param) {
  const auto typeParam = signature.typeParamOf.find(param.name);
  Object object{
      {"name", param.name},
      {"kind", param.isTensor ? "tensor" : "scalar"},
      {"type", typeParam == signature.typeParamOf.end() ? std::string(spelling(param.elem)) : typeParam->second}};
  if (!param.isTensor) {
    if (const auto value = signature.scalarDefaults.find(param.name); value != signature.scalarDefaults.end())
      object["default"] = describe(value->second);
    return object;
  }
  Array dims, texts;
  for (const ir::DimExpr &dim : param.dims) {
    dims.push_back(describe(dim));
    texts.push_back(dim.str());
  }
  object["mode"] = spellingOf(param.mode);
  object["optional"] = param.isOptional;
  object["dims"] = std::move(dims);
  object["shape"] = std::move(texts);
  return object;
}

Object describe(const ConstParam &param) {
  Object object{{"name", param.name},
                {"kind", "const"},
                {"type", std::string(spelling(param.elem))},
                {"choices", arrayOf(param.choices)}};
  if (param.defaultValue)
    object["default"] = *param.defaultValue;
  return object;
}

/// Every parameter, as declared.
Array parameters(const Signature &signature) {
  Array all;
  for (const std::string &name : signature.order) {
    const auto isNamed = [&](const auto &param) { return param.name == name; };
    const auto param = std::find_if(signature.params.begin(), signature.params.end(), isNamed);
    if (param != signature.params.end())
      all.push_back(describe(signature, *param));
    else
      all.push_back(describe(*std::find_if(signature.consts.begin(), signature.consts.end(), isNamed)));
  }
  return all;
}

Object describe(const Specialization &specialization) {
  Object types, constants;
  for (const auto &[name, type] : specialization.typeArgs)
    types[name] = std::string(spelling(type));
  for (const auto &[name, value] : specialization.constants)
    constants[name] = value;
  return Object{
      {"types", std::move(types)}, {"constants", std::move(constants)}, {"absent", arrayOf(specialization.absent)}};
}

/// As a tree: a number, true or false, a name, or [operation, operand…].
Value describe(const ast::Expr *condition) {
  if (auto *unary = llvm::dyn_cast<ast::UnaryExpr>(condition))
    return Array{std::string(spelling(unary->op)), describe(unary->operand)};
  if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(condition))
    return Array{std::string(spelling(binary->op)), describe(binary->lhs), describe(binary->rhs)};
  if (auto *number = llvm::dyn_cast<ast::NumberExpr>(condition))
    return number->integer;
  if (auto *truth = llvm::dyn_cast<ast::BoolExpr>(condition))
    return truth->value;
  return llvm::cast<ast::NameExpr>(condition)->name;
}

/// With the file that declares what computes it.
Object describe(const Gradient &gradient, const Module &module, const SourceManager &sources) {
  const KernelInfo *kernel = module.findKernel(gradient.backward);
  const SourceLoc loc = (kernel ? kernel->signature : module.findProgram(gradient.backward)->signature).loc;
  Array arguments;
  for (const Gradient::Argument &argument : gradient.arguments)
    arguments.push_back(
        Object{{"parameter", argument.parameter}, {argument.isGradient ? "gradient" : "value", argument.value}});
  Object object{{"backward", gradient.backward},
                {"file", std::string(sources.name(loc.buffer))},
                {"arguments", std::move(arguments)}};
  if (gradient.when)
    object["when"] = describe(gradient.when);
  return object;
}

/// Of a kernel or a program.
template <class Info> Object describe(const Info &info, const Module &module, const SourceManager &sources) {
  const Signature &signature = info.signature;
  Object types, choices, tunes;
  for (const auto &[name, list] : signature.typeParams)
    types[name] = spellings(list);
  for (const auto &[name, list] : signature.dimChoices)
    choices[name] = arrayOf(list);
  for (const auto &[name, value] : signature.tunes)
    tunes[name] = value;
  Array conditions, all, gradients;
  for (const Gradient &gradient : info.gradients)
    gradients.push_back(describe(gradient, module, sources));
  for (const ast::Expr *condition : signature.conditions)
    conditions.push_back(std::string(sources.text(condition->range)));
  for (const Specialization &specialization : specializations(signature, info.cases))
    all.push_back(describe(specialization));
  return Object{{"name", signature.name},
                {"kind", signature.isProgram ? "program" : "kernel"},
                {"entry", cuda::entryName(signature.name)},
                {"doc", signature.doc},
                {"line", sources.lineColumn(signature.loc).line},
                {"hasReference", info.reference != nullptr},
                {"types", std::move(types)},
                {"symbols", arrayOf(signature.symbols)},
                {"choices", std::move(choices)},
                {"conditions", std::move(conditions)},
                {"tunes", std::move(tunes)},
                {"parameters", parameters(signature)},
                {"gradients", std::move(gradients)},
                {"specializations", std::move(all)}};
}

} // namespace

std::string printSignatures(const Module &module, const SourceManager &sources) {
  Array files, entries;
  for (uint32_t buffer = 1; buffer <= sources.numBuffers(); ++buffer)
    files.push_back(std::string(sources.name(buffer)));
  for (size_t i = 0; i < module.numMainKernels; ++i)
    entries.push_back(describe(*module.kernels[i], module, sources));
  for (size_t i = 0; i < module.numMainPrograms; ++i)
    entries.push_back(describe(*module.programs[i], module, sources));
  const Value all = Object{{"version", version}, {"files", std::move(files)}, {"entries", std::move(entries)}};
  return llvm::formatv("{0:2}", all).str() + "\n";
}

} // namespace tkc::driver
