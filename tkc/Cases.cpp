// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/Cases.h"

#include "ir/passes/PassManager.h"
#include "ir/passes/Pipeline.h"
#include "tkc/CommandLine.h"
#include "tkc/Driver.h"
#include "tkc/Reproducer.h"

#include <algorithm>
#include <cstdlib>

#include <llvm/ADT/StringRef.h>

namespace tkc::driver {
namespace {

template <typename Predicate> bool anySignature(const Module &module, const Predicate &predicate) {
  const auto fits = [&](const auto &owner) { return predicate(owner->signature); };
  return std::any_of(module.kernels.begin(), module.kernels.end(), fits) ||
         std::any_of(module.programs.begin(), module.programs.end(), fits);
}

/// Tunes apart.
bool isNumberOf(const Signature &signature, const std::string &name) {
  return std::count(signature.symbols.begin(), signature.symbols.end(), name) > 0 ||
         std::any_of(signature.consts.begin(), signature.consts.end(),
                     [&](const ConstParam &param) { return param.name == name; }) ||
         std::any_of(signature.params.begin(), signature.params.end(),
                     [&](const ir::Param &param) { return !param.isTensor && param.name == name; });
}

bool isTypeOf(const Signature &signature, const std::string &name) {
  return std::any_of(signature.typeParams.begin(), signature.typeParams.end(),
                     [&](const auto &param) { return param.first == name; });
}

} // namespace

Input readInput(const std::string &path, const std::vector<std::string> &scheduleFiles, Session &session) {
  std::unique_ptr<Module> module = loadModule(path, scheduleFiles, session.sources, session.diagnostics);
  if (module->files.empty()) {
    session.finish();
    return {nullptr, CannotReadInput};
  }
  if (session.diagnostics.hasErrors())
    return {nullptr, session.finish()};
  return {std::move(module), Success};
}

void addSizeOption(Command &command, std::vector<std::string> &sizes) {
  command.add_option("--size", sizes, "dims, constants and scalars instead of what the file says, as in M=4096,N=4096")
      ->type_name("NAME=N,…")
      ->delimiter(',');
}

std::optional<std::map<std::string, double>> readNumbers(const char *option, const std::vector<std::string> &texts) {
  std::map<std::string, double> numbers;
  for (const std::string &text : texts) {
    const auto [name, word] = llvm::StringRef(text).split('=');
    double &value = numbers[name.str()];
    value = word == "true";
    if (name.empty() || (word != "true" && word != "false" && word.getAsDouble(value))) {
      complain(fmt::format("`{} {}` is not of the form NAME=NUMBER", option, text));
      return std::nullopt;
    }
  }
  return numbers;
}

bool takeNumbers(const std::vector<std::string> &sizes, const std::vector<std::string> &settings,
                 harness::RunOptions &options) {
  const auto dims = readNumbers("--size", sizes), tunes = readNumbers("--set", settings);
  if (!dims || !tunes)
    return false;
  options.sizes = *dims;
  options.tunes.insert(tunes->begin(), tunes->end());
  return true;
}

bool sizesAreKnown(const Module &module, const std::map<std::string, double> &sizes) {
  for (const auto &[name, value] : sizes)
    if (!anySignature(module, [&](const Signature &signature) { return isNumberOf(signature, name); })) {
      complain(fmt::format("`--size {}=…`: no kernel or program of this file has a dim or a number `{}`", name, name));
      return false;
    }
  return true;
}

bool typesAreKnown(const Module &module, const std::map<std::string, std::string> &types) {
  for (const auto &[name, type] : types)
    if (!anySignature(module, [&](const Signature &signature) { return isTypeOf(signature, name); })) {
      complain(
          fmt::format("`--size {}={}`: no kernel or program of this file has a type parameter `{}`", name, type, name));
      return false;
    }
  return true;
}

planner::PlanOptions plansFor(const arch::Description &target) {
  planner::PlanOptions plans;
  plans.arch = &target;
  plans.transform = [](ir::Function &function) {
    ir::runPasses(function, ir::tilePipeline(), {});
    return true;
  };
  plans.onUnsound = [](const plan::Plan &plan, const plan::Violation &violation) {
    std::exit(reportUnsound(plan, violation));
  };
  return plans;
}

} // namespace tkc::driver
