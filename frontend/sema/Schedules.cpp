// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules: which of them holds for an architecture and a specialisation, and what it sets. The keys are the backends'
// to check.
#include "frontend/Sema.h"
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/Report.h"
#include "support/NearestName.h"
#include "support/Tensor.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Casting.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>

namespace tkc {
namespace sema {
namespace {

const std::vector<std::string> archNames = {"sm_80",     "sm_86",         "sm_89",  "sm_90a", "sm_100a", "sm_103a",
                                            "sm_120a",   "gfx90a",        "gfx942", "gfx950", "ampere",  "ada",
                                            "blackwell", "blackwell_rtx", "hopper", "nvidia", "cdna2",   "cdna3",
                                            "cdna4",     "amd",           "all"};

/// Element types compare by their ordinal: `when T == bf16`.
Val typeOrdinal(ElemType type) { return Val::integer(static_cast<int64_t>(type)); }

NameLookup lookupIn(const Specialization &specialization) {
  return [&](std::string_view name) {
    for (auto &[constant, value] : specialization.constants)
      if (constant == name)
        return specialization.bools.count(constant) ? Val::boolean(value) : Val::integer(value);
    for (auto &[typeParam, type] : specialization.typeArgs)
      if (typeParam == name)
        return typeOrdinal(type);
    if (std::optional<ElemType> type = parseElemType(name))
      return typeOrdinal(*type);
    return Val::error();
  };
}

/// A number, or a word that the backend knows.
std::optional<ScheduleValue> settingValue(const ast::Expr *expr, const NameLookup &lookup) {
  ScheduleValue result;
  result.range = expr->range;
  Val value = evalConstant(expr, lookup);
  if (value.isConst())
    result.number = value.number;
  else if (auto *name = llvm::dyn_cast<ast::NameExpr>(expr))
    result.name = name->name;
  else if (llvm::isa<ast::NoneExpr>(expr))
    result.name = "none";
  else
    return std::nullopt;
  return result;
}

/// Any specialisation will do to see whether a condition is made of what is known when compiling.
Specialization anySpecialization(const Signature &signature) {
  Specialization result;
  for (auto &[name, choices] : signature.typeParams)
    result.typeArgs.emplace_back(name, choices.front());
  for (auto &[name, choices] : signature.dimChoices)
    result.constants.emplace_back(name, choices.front());
  for (const ConstParam &param : signature.consts) {
    result.constants.emplace_back(param.name, param.choices.empty() ? 1 : param.choices.front());
    if (param.elem == ElemType::Bool)
      result.bools.insert(param.name);
  }
  return result;
}

/// The operands of the outermost `&&`s.
void splitConjunction(const ast::Expr *expr, std::vector<const ast::Expr *> &parts) {
  if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr); binary && binary->op == ast::BinaryOp::And) {
    splitConjunction(binary->lhs, parts);
    splitConjunction(binary->rhs, parts);
  } else {
    parts.push_back(expr);
  }
}

/// `residual == none`, `residual != none`: the tensor's name and whether it has to be there.
std::optional<std::pair<std::string, bool>> presence(const ast::Expr *part) {
  auto *binary = llvm::dyn_cast<ast::BinaryExpr>(part);
  if (!binary || (binary->op != ast::BinaryOp::Eq && binary->op != ast::BinaryOp::Ne))
    return std::nullopt;
  auto *name = llvm::dyn_cast<ast::NameExpr>(binary->lhs);
  if (!name || !llvm::isa<ast::NoneExpr>(binary->rhs))
    return std::nullopt;
  return std::pair(name->name, binary->op == ast::BinaryOp::Ne);
}

Val scalarOf(double number) {
  return Val::constant(number == std::floor(number) ? ElemType::I32 : ElemType::F32, number);
}

/// The tensor of `alignment(x)`; empty: it is none of these.
std::string alignedTensor(llvm::StringRef text) {
  return text.consume_front("alignment(") && text.consume_back(")") ? text.str() : "";
}

/// Names of dims and scalars have values as well, and the words that conditions have. Both arguments outlive the
/// lookup.
NameLookup lookupIn(const Specialization &specialization, const CallArguments &call) {
  return [&, known = lookupIn(specialization)](std::string_view view) {
    const std::string name(view);
    if (Val value = known(name); !value.isError())
      return value;
    if (const auto symbol = call.symbols.find(name); symbol != call.symbols.end())
      return Val::integer(symbol->second);
    if (const auto scalar = call.scalars.find(name); scalar != call.scalars.end())
      return scalarOf(scalar->second.toDouble());
    const std::string tensor = alignedTensor(view);
    if (const auto alignment = call.alignments.find(tensor); alignment != call.alignments.end())
      return Val::integer(alignment->second);
    if (specialization.absent.count(tensor))
      return Val::integer(maxAlignment);
    return name == "multiprocessors" && call.multiprocessors > 0 ? Val::integer(call.multiprocessors) : Val::error();
  };
}

/// The word `aligned`, where nothing of the kernel has this name.
bool isAligned(const ast::Expr *part, const NameLookup &lookup) {
  auto *name = llvm::dyn_cast<ast::NameExpr>(part);
  return name && name->name == "aligned" && lookup(name->name).isError();
}

/// Any call will do to see whether a condition is made of what a call knows.
CallArguments anyCall(const Signature &signature) {
  CallArguments call;
  for (const std::string &symbol : signature.symbols)
    call.symbols[symbol] = 1;
  for (const ir::Param &param : signature.params)
    if (param.isTensor)
      call.alignments[param.name] = 1;
    else
      call.scalars[param.name] = 1;
  call.multiprocessors = 1 << 20; // by a quotient of it is divided
  return call;
}

/// What launchers can compute.
bool isForLaunchers(const ast::CallExpr &call) {
  auto *callee = llvm::dyn_cast<ast::NameExpr>(call.callee);
  return callee &&
         (callee->name == "alignment" || callee->name == "ceildiv" || callee->name == "min" || callee->name == "max");
}

/// The launcher compares numbers: a type in `part`, which a call decides, is reported.
void refuseTypes(const ast::Expr *part, const Signature &signature, Reporter &reporter) {
  if (auto *unary = llvm::dyn_cast<ast::UnaryExpr>(part)) {
    refuseTypes(unary->operand, signature, reporter);
  } else if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(part)) {
    refuseTypes(binary->lhs, signature, reporter);
    refuseTypes(binary->rhs, signature, reporter);
  } else if (auto *name = llvm::dyn_cast<ast::NameExpr>(part)) {
    const bool isType =
        parseElemType(name->name) || std::any_of(signature.typeParams.begin(), signature.typeParams.end(),
                                                 [&](const auto &param) { return param.first == name->name; });
    if (isType)
      reporter.error(Diag::when_mixes_types, name->range, name->name);
  } else if (auto *call = llvm::dyn_cast<ast::CallExpr>(part); call && isForLaunchers(*call)) {
    for (const ast::Argument &argument : call->args)
      refuseTypes(argument.value, signature, reporter);
  } else if (!llvm::isa<ast::NumberExpr>(part) && !llvm::isa<ast::BoolExpr>(part)) {
    reporter.error(Diag::when_unknown, part->range);
  }
}

/// What neither the call nor the compiler knows: a misspelt name or function, or something else.
void reportUnasked(const ast::Expr &culprit, const Signature &signature, const ast::Functions &functions,
                   Reporter &reporter) {
  const auto *call = llvm::dyn_cast<ast::CallExpr>(&culprit);
  const auto *name = llvm::dyn_cast<ast::NameExpr>(call ? call->callee : &culprit);
  std::vector<std::string> candidates{"multiprocessors"};
  if (call) {
    candidates = {"alignment", "ceildiv", "min", "max"};
    for (const auto &[function, decl] : functions)
      candidates.push_back(function);
  } else {
    candidates.insert(candidates.end(), signature.symbols.begin(), signature.symbols.end());
    for (const ir::Param &param : signature.params)
      if (!param.isTensor)
        candidates.push_back(param.name);
  }
  const bool isKnown = name && std::find(candidates.begin(), candidates.end(), name->name) != candidates.end();
  if (const auto nearest = name && !isKnown ? nearestName(name->name, candidates) : std::nullopt)
    reporter.error(Diag::unknown_name_near, name->range, call ? "function" : "name", name->name, *nearest)
        .fixIt(name->range, *nearest);
  else
    reporter.error(Diag::when_unknown, culprit.range);
}

/// Whether it is one that may be left out.
bool isOptional(const std::string &tensor, const Signature &signature) {
  return std::any_of(signature.params.begin(), signature.params.end(),
                     [&](const ir::Param &param) { return param.name == tensor && param.isOptional; });
}

/// One operand of the outermost `&&`s.
void checkPart(const ast::Expr *part, const Signature &signature, const ast::Functions &functions, Reporter &reporter) {
  if (const auto tensor = presence(part); tensor && isOptional(tensor->first, signature))
    return;
  const Specialization any = anySpecialization(signature);
  const ast::Expr *culprit = nullptr;
  const CallArguments call = anyCall(signature);
  const NameLookup lookup = lookupIn(any, call);
  if (isAligned(part, lookup))
    return;
  const Val condition = evalConstant(part, lookup, &culprit);
  if (condition.isError() && culprit && !llvm::isa<ast::ErrorExpr>(culprit))
    reportUnasked(*culprit, signature, functions, reporter);
  else if (condition.isConst() && condition.elem != ElemType::Bool)
    reporter.error(Diag::condition_not_bool, part->range, describe(condition));
  else if (condition.isConst() && !evalConstant(part, lookupIn(any)).isConst())
    refuseTypes(part, signature, reporter);
}

/// A number that launchers can compute.
void checkCost(const ast::Expr *cost, const Signature &signature, const ast::Functions &functions, Reporter &reporter) {
  const Specialization any = anySpecialization(signature);
  const CallArguments call = anyCall(signature);
  const ast::Expr *culprit = nullptr;
  const Val value = evalConstant(cost, lookupIn(any, call), &culprit);
  if (value.isError() && culprit && !llvm::isa<ast::ErrorExpr>(culprit))
    reportUnasked(*culprit, signature, functions, reporter);
  else if (value.isConst() && value.elem == ElemType::Bool)
    reporter.error(Diag::cost_not_number, cost->range, describe(value));
  else if (value.isConst())
    refuseTypes(cost, signature, reporter);
}

void checkCondition(const ast::Expr *when, const Signature &signature, const ast::Functions &functions,
                    Reporter &reporter) {
  std::vector<const ast::Expr *> parts;
  splitConjunction(when, parts);
  for (const ast::Expr *part : parts)
    checkPart(part, signature, functions, reporter);
}

} // namespace

void checkSchedule(const ast::ScheduleDecl &decl, const Signature &signature, Reporter &reporter) {
  if (std::find(archNames.begin(), archNames.end(), decl.arch.text) == archNames.end())
    reportUnknown(reporter, "architecture", decl.arch.text, decl.arch.range, archNames);
  Specialization any = anySpecialization(signature);
  NameLookup lookup = lookupIn(any);
  if (decl.when)
    checkCondition(decl.when, signature, *decl.functions, reporter);
  if (decl.cost)
    checkCost(decl.cost, signature, *decl.functions, reporter);
  std::map<std::string, SourceRange> seen;
  for (auto &[key, value] : decl.settings) {
    auto [previous, isNew] = seen.try_emplace(key.text, key.range);
    if (!isNew)
      reporter.error(Diag::set_twice, key.range, key.text).note(Diag::note_declared_here, previous->second, key.text);
    std::optional<ScheduleValue> setting = settingValue(value, lookup);
    if (!setting && !llvm::isa<ast::ErrorExpr>(value))
      reporter.error(Diag::schedule_value, value->range, key.text);
    bool isTune = std::any_of(signature.tunes.begin(), signature.tunes.end(),
                              [&, &key = key](const auto &tune) { return tune.first == key.text; });
    if (setting && isTune && (!setting->name.empty() || setting->number < 1))
      reporter.error(Diag::tune_not_positive, value->range, key.text);
  }
}

} // namespace sema

std::vector<ChosenSchedule> findSchedules(const std::vector<const ast::ScheduleDecl *> &schedules,
                                          const std::vector<std::string> &archNames,
                                          const Specialization &specialization) {
  const sema::NameLookup lookup = sema::lookupIn(specialization);
  std::vector<ChosenSchedule> found;
  bool servesAligned = false;       // all such calls
  std::optional<size_t> servingAll; // one that has a cost
  for (const ast::ScheduleDecl *schedule : schedules) {
    if (schedule->arch.text != "all" &&
        std::find(archNames.begin(), archNames.end(), schedule->arch.text) == archNames.end())
      continue;
    ChosenSchedule chosen;
    std::vector<const ast::Expr *> parts;
    if (schedule->when)
      sema::splitConjunction(schedule->when, parts);
    bool mayHold = true;
    for (const ast::Expr *part : parts)
      if (const auto tensor = sema::presence(part))
        mayHold &= (specialization.absent.count(tensor->first) == 0) == tensor->second;
      else if (const sema::Val value = sema::evalConstant(part, lookup); sema::isAligned(part, lookup))
        chosen.aligned = part;
      else if (!value.isConst())
        chosen.conditions.push_back(part);
      else
        mayHold &= value.number != 0;
    chosen.cost = schedule->cost;
    chosen.decl = schedule;
    if (servingAll && mayHold && !chosen.cost)
      break;
    if (!mayHold || (chosen.aligned && servesAligned))
      continue;
    servesAligned |= chosen.aligned && chosen.conditions.empty() && !chosen.cost;
    for (auto &[key, expr] : schedule->settings)
      if (std::optional<ScheduleValue> value = sema::settingValue(expr, lookup))
        chosen.settings.try_emplace(key.text, *value);
    const bool servesEveryCall = chosen.conditions.empty() && !chosen.aligned;
    if (servesEveryCall && chosen.cost)
      servingAll = found.size();
    found.push_back(std::move(chosen));
    if (servesEveryCall && !servingAll)
      break;
  }
  if (servingAll)
    std::rotate(found.begin() + *servingAll, found.begin() + *servingAll + 1, found.end());
  else if (found.empty() || !found.back().conditions.empty() || found.back().aligned)
    found.emplace_back();
  found.back().isLast = true;
  return found;
}

std::string ChosenSchedule::suffix() const {
  std::string result = aligned ? "aligned" : "";
  if (!isLast)
    for (const auto &[key, value] : settings)
      result += (result.empty() ? "" : "_") + key + (value.name.empty() ? fmt::format("{}", value.number) : value.name);
  return result;
}

bool serves(const ScheduleTerms &schedule, const Specialization &specialization, const CallArguments &call) {
  const sema::NameLookup lookup = sema::lookupIn(specialization, call);
  return std::all_of(schedule.conditions.begin(), schedule.conditions.end(), [&](const ast::Expr *part) {
    const sema::Val value = sema::evalConstant(part, lookup);
    return value.isConst() && value.number != 0;
  });
}

std::optional<size_t> takenOf(const std::vector<ScheduleTerms> &schedules, const Specialization &specialization,
                              const CallArguments &call, const std::function<bool(size_t)> &suits) {
  const sema::NameLookup lookup = sema::lookupIn(specialization, call);
  std::optional<size_t> cheapest;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < schedules.size(); ++i) {
    if (cheapest && !schedules[i].cost)
      break;
    if (!serves(schedules[i], specialization, call) || !suits(i))
      continue;
    if (!schedules[i].cost)
      return i;
    const sema::Val cost = sema::evalConstant(schedules[i].cost, lookup);
    if (cheapest && !(cost.isConst() && cost.number < least))
      continue;
    cheapest = i;
    if (cost.isConst())
      least = cost.number;
  }
  return cheapest;
}

} // namespace tkc
