// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings are read in the order in which they may need each other: numbers, then lists and files, whose dims bind
// symbols, then every other input.
#include "harness/Cases.h"

#include "frontend/Program.h"
#include "harness/CaseData.h"
#include "harness/Inputs.h"
#include "harness/Random.h"
#include "support/Diagnostics.h"

#include "llvm/Support/Casting.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace tkc::harness {
namespace {

class CasePreparer {
public:
  CasePreparer(const Module &module, const Subject &subject, const ast::CaseDecl &decl, size_t index,
               const CaseOptions &options, DiagnosticEngine &diagnostics)
      : signature(*subject.signature), decl(decl), index(index), options(options), diagnostics(diagnostics) {
    names.module = &module;
    result.signature = subject.signature;
    result.decl = &decl;
    result.reference = subject.reference;
  }

  std::optional<PreparedCase> run() {
    const size_t errorsBefore = diagnostics.numErrors();
    readTypes();
    readNumbers();
    readLiterals();
    if (diagnostics.numErrors() != errorsBefore)
      return std::nullopt;
    chooseSpecialization();
    checkLeftOut();
    makeTensors();
    if (diagnostics.numErrors() != errorsBefore)
      return std::nullopt;
    result.arguments = std::move(names.arguments);
    result.scalarTypes = std::move(names.scalarTypes);
    return std::move(result);
  }

private:
  const ast::Equation *setting(const std::string &name) const {
    for (const ast::Equation &candidate : decl.settings)
      if (candidate.name.text == name)
        return &candidate;
    return nullptr;
  }
  const ir::Param *findParam(const std::string &name) const {
    for (const ir::Param &param : signature.params)
      if (param.name == name)
        return &param;
    return nullptr;
  }
  void describe(const std::string &name, const std::string &value) {
    result.description += (result.description.empty() ? "" : " ") + name + "=" + value;
  }

  void readTypes() {
    for (const auto &[name, choices] : signature.typeParams) {
      ElemType type = choices.front();
      const ast::Equation *given = setting(name);
      if (const auto *named = given ? llvm::dyn_cast<ast::NameExpr>(given->value) : nullptr)
        type = parseElemType(named->name).value_or(type);
      names.typeArgs[name] = type;
      describe(name, std::string(spelling(type)));
    }
  }

  ElemType elemOf(const ir::Param &param) const {
    auto typeParam = signature.typeParamOf.find(param.name);
    return typeParam == signature.typeParamOf.end() ? param.elem : names.typeArgs.at(typeParam->second);
  }

  /// Dims, constants, tunes and scalars, in the order of the case, so that each may use those before.
  void readNumbers() {
    for (const ConstParam &param : signature.consts)
      if (param.defaultValue && !setting(param.name))
        names.constants[param.name] = *param.defaultValue;
    for (const ast::Equation &given : decl.settings)
      if (given.indices.empty() && !options.sizes.count(given.name.text))
        readNumber(given);
    for (const auto &[name, value] : options.sizes)
      setNumber(name, value, decl.name.range);
    for (const ir::Param &param : signature.params) {
      if (param.isTensor || names.arguments.scalars.count(param.name))
        continue;
      auto fallback = signature.scalarDefaults.find(param.name);
      if (fallback == signature.scalarDefaults.end())
        diagnostics.report(Diag::case_lacks_scalar, decl.name.range, param.name);
      else
        setScalar(param, fallback->second);
    }
  }

  void setScalar(const ir::Param &param, Number value) {
    const ElemType elem = elemOf(param);
    names.arguments.scalars[param.name] = roundTo(elem, value);
    names.scalarTypes[param.name] = elem;
  }

  void readNumber(const ast::Equation &given) {
    const std::string &name = given.name.text;
    if (!isNumber(name))
      return;
    if (const std::optional<Number> value = evaluateNumber(*given.value, names, diagnostics))
      setNumber(name, *value, given.value->range);
  }

  bool isSymbol(const std::string &name) const {
    return std::count(signature.symbols.begin(), signature.symbols.end(), name) != 0;
  }
  bool isConst(const std::string &name) const {
    return std::any_of(signature.consts.begin(), signature.consts.end(),
                       [&](const ConstParam &param) { return param.name == name; });
  }
  bool isTune(const std::string &name) const {
    return std::any_of(signature.tunes.begin(), signature.tunes.end(),
                       [&](const auto &tune) { return tune.first == name; });
  }
  bool isNumber(const std::string &name) const {
    const ir::Param *param = findParam(name);
    return isSymbol(name) || isConst(name) || isTune(name) || name == "tolerance" || (param && !param->isTensor);
  }

  /// What a number of the call is of; dims and tunes are i32.
  ElemType typeOf(const std::string &name) const {
    if (name == "tolerance")
      return ElemType::F64;
    const auto isNamed = [&](const ConstParam &param) { return param.name == name; };
    if (const auto found = std::find_if(signature.consts.begin(), signature.consts.end(), isNamed);
        found != signature.consts.end())
      return found->elem;
    const ir::Param *param = findParam(name);
    return param ? elemOf(*param) : ElemType::I32;
  }

  /// Names of other kernels' are no numbers of this one's.
  void setNumber(const std::string &name, Number value, SourceRange where) {
    if (!isNumber(name))
      return;
    if (!isInRange(typeOf(name), value))
      diagnostics.report(Diag::case_number, where, name, outOfRange(typeOf(name), value));
    const int64_t integer = value.toInteger();
    if (name == "tolerance")
      result.tolerance = value.toDouble();
    else if (isSymbol(name))
      names.arguments.symbols[name] = integer;
    else if (isConst(name))
      names.constants[name] = integer;
    else if (isTune(name))
      result.tunes[name] = integer;
    else
      setScalar(*findParam(name), value);
    if (name != "tolerance")
      describe(name, value.str());
  }

  void readLiterals() {
    const size_t errorsBefore = diagnostics.numErrors();
    for (const ast::Equation &given : decl.settings) {
      const ir::Param *param = findParam(given.name.text);
      if (!param || !param->isTensor)
        continue;
      std::optional<Tensor> literal = readLiteral(given, elemOf(*param), names, diagnostics);
      if (!literal)
        continue;
      for (size_t d = 0; d < literal->dims.size() && d < param->dims.size(); ++d)
        for (const std::string &symbol : signature.symbols)
          if (const std::optional<int64_t> offset = offsetFrom(param->dims[d], symbol))
            names.arguments.symbols.emplace(symbol, literal->dims[d] - *offset);
      literals[param->name] = std::move(*literal);
    }
    if (diagnostics.numErrors() > errorsBefore)
      return; // a list or file that is wrong leaves its symbols open
    for (const std::string &symbol : signature.symbols)
      if (!names.arguments.symbols.count(symbol))
        diagnostics.report(Diag::case_lacks_scalar, decl.name.range, symbol);
  }

  void chooseSpecialization() {
    Specialization &chosen = result.specialization;
    for (const auto &[name, choices] : signature.typeParams)
      chosen.typeArgs.emplace_back(name, names.typeArgs.at(name));
    for (const auto &[name, choices] : signature.dimChoices)
      chosen.constants.emplace_back(name, names.arguments.symbols.at(name));
    for (const ConstParam &param : signature.consts) {
      chosen.constants.emplace_back(param.name, names.constants[param.name]);
      if (param.elem == ElemType::Bool)
        chosen.bools.insert(param.name);
    }
    for (const ir::Param &param : signature.params) {
      const ast::Equation *given = setting(param.name);
      if (param.isOptional && given && llvm::isa<ast::NoneExpr>(given->value)) {
        chosen.absent.insert(param.name);
        describe(param.name, "none");
      }
    }
  }

  /// What no tensor of the call says is the first of its choices.
  void checkLeftOut() {
    const auto &absent = result.specialization.absent;
    const auto refuse = [&](const std::string &name, const std::string &first) {
      const ast::Equation *given = setting(name);
      diagnostics.report(Diag::case_left_out, given ? given->range : decl.name.range, name, first);
    };
    for (const auto &[name, choices] : signature.typeParams)
      if (names.typeArgs.at(name) != choices.front() && !saysType(signature, name, absent))
        refuse(name, std::string(spelling(choices.front())));
    for (const auto &[name, choices] : signature.dimChoices)
      if (names.arguments.symbols.at(name) != choices.front() && !saysDim(signature, name, absent))
        refuse(name, std::to_string(choices.front()));
  }

  void makeTensors() {
    std::map<std::string, int64_t> numbers = names.constants;
    numbers.insert(names.arguments.symbols.begin(), names.arguments.symbols.end());
    for (const ir::Param &param : signature.params) {
      if (!param.isTensor || result.specialization.absent.count(param.name))
        continue;
      Tensor tensor{elemOf(param), {}, {}};
      for (const ir::DimExpr &dim : param.dims)
        tensor.dims.push_back(std::max<int64_t>(0, evaluateDim(dim, numbers).value_or(0)));
      const bool isMadeHere = param.mode == ir::ParamMode::Out ? !options.deviceMakesInputs : !isLeftToDevice(param);
      if (isMadeHere && isTooLarge(tensor)) {
        diagnostics.report(Diag::reference_too_large, decl.name.range, param.name);
        return;
      }
      if (param.mode == ir::ParamMode::Out)
        makeOutput(param, tensor);
      else
        makeTensor(param, tensor);
      names.arguments.alignments[param.name] =
          alignmentOf(tensor.elem, tensor.dims, stridesOf(tensor.dims, result.layouts[param.name]));
      names.arguments.tensors[param.name] = std::move(tensor);
    }
  }

  bool isLeftToDevice(const ir::Param &param) const { return options.deviceMakesInputs && !setting(param.name); }

  /// More than a gigabyte on the host.
  static bool isTooLarge(const Tensor &tensor) {
    double count = 1;
    for (int64_t dim : tensor.dims)
      count *= static_cast<double>(dim);
    return count > 0x1p27;
  }

  /// An output has no value, but a case may say how it lies in memory: `c = normal(pad = 8)`.
  void makeOutput(const ir::Param &param, Tensor &tensor) {
    if (const ast::Equation *given = setting(param.name)) {
      makeInput(*given, tensor, 0, names, result.layouts[param.name], diagnostics);
      tensor.resize(0);
    }
  }

  void makeTensor(const ir::Param &param, Tensor &tensor) {
    const uint64_t tensorSeed = seedFrom(signature.name + "." + param.name, options.seed * 1000003 + index);
    const ast::Equation *given = setting(param.name);
    if (auto literal = literals.find(param.name); literal != literals.end()) {
      if (literal->second.dims != tensor.dims)
        diagnostics.report(Diag::case_shape, given->range, param.name, fmt::format("{}", fmt::join(tensor.dims, ", ")),
                           fmt::format("{}", fmt::join(literal->second.dims, ", ")));
      tensor.data = std::move(literal->second.data);
      tensor.integers = std::move(literal->second.integers);
    } else if (given) {
      makeInput(*given, tensor, tensorSeed, names, result.layouts[param.name], diagnostics);
    } else if (isLeftToDevice(param)) {
      result.seeds[param.name] = tensorSeed;
    } else {
      makeDefaultInput(tensor, tensorSeed);
    }
  }

  const Signature &signature;
  const ast::CaseDecl &decl;
  size_t index;
  const CaseOptions &options;
  DiagnosticEngine &diagnostics;
  Names names;
  std::map<std::string, Tensor> literals;
  PreparedCase result;
};

} // namespace

std::vector<Subject> subjectsOf(const Module &module) {
  std::vector<Subject> subjects;
  const auto add = [&](const auto &info, bool isImported, const KernelInfo *kernel, const ProgramInfo *program) {
    if (!isImported || !info.mainCases.empty() || !info.mainBenches.empty())
      subjects.push_back({&info.signature, info.reference, &info.mainCases, &info.mainBenches, kernel, program});
  };
  for (size_t i = 0; i < module.kernels.size(); ++i)
    add(*module.kernels[i], i >= module.numMainKernels, module.kernels[i].get(), nullptr);
  for (size_t i = 0; i < module.programs.size(); ++i)
    add(*module.programs[i], i >= module.numMainPrograms, nullptr, module.programs[i].get());
  return subjects;
}

std::optional<PreparedCase> prepareCase(const Module &module, const Subject &subject, const ast::CaseDecl &decl,
                                        size_t index, const CaseOptions &options, DiagnosticEngine &diagnostics) {
  return CasePreparer(module, subject, decl, index, options, diagnostics).run();
}

} // namespace tkc::harness
