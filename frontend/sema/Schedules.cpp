// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules: which of them holds for an architecture and a specialisation, and what it sets. The keys are the backends'
// to check.
#include "frontend/Sema.h"
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/Report.h"

#include "llvm/Support/Casting.h"

#include <algorithm>

namespace tkc {
namespace sema {
namespace {

const std::vector<std::string> archNames = {"sm_80",     "sm_86",         "sm_89",  "sm_90a", "sm_100a", "sm_103a",
                                            "sm_120a",   "gfx90a",        "gfx942", "gfx950", "ampere",  "ada",
                                            "blackwell", "blackwell_rtx", "hopper", "cdna2",  "cdna3",   "cdna4"};

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

} // namespace

void checkSchedule(const ast::ScheduleDecl &decl, const Signature &signature, Reporter &reporter) {
  if (std::find(archNames.begin(), archNames.end(), decl.arch.text) == archNames.end())
    reportUnknown(reporter, "architecture", decl.arch.text, decl.arch.range, archNames);
  Specialization any = anySpecialization(signature);
  NameLookup lookup = lookupIn(any);
  const ast::Expr *culprit = nullptr;
  if (decl.when) {
    Val condition = evalConstant(decl.when, lookup, &culprit);
    if (condition.isError() && culprit && !llvm::isa<ast::ErrorExpr>(culprit))
      reporter.error(Diag::when_not_constant, culprit->range);
    else if (condition.isConst() && condition.elem != ElemType::Bool)
      reporter.error(Diag::condition_not_bool, decl.when->range, describe(condition));
  }
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

ScheduleSettings findSchedule(const std::vector<const ast::ScheduleDecl *> &schedules,
                              const std::vector<std::string> &archNames, const Specialization &specialization,
                              DiagnosticEngine &) {
  sema::NameLookup lookup = sema::lookupIn(specialization);
  for (const ast::ScheduleDecl *schedule : schedules) {
    if (std::find(archNames.begin(), archNames.end(), schedule->arch.text) == archNames.end())
      continue;
    if (schedule->when) {
      sema::Val condition = sema::evalConstant(schedule->when, lookup);
      if (!condition.isConst() || condition.number == 0)
        continue;
    }
    ScheduleSettings settings;
    for (auto &[key, expr] : schedule->settings)
      if (std::optional<ScheduleValue> value = sema::settingValue(expr, lookup))
        settings.try_emplace(key.text, *value);
    return settings;
  }
  return {};
}

} // namespace tkc
