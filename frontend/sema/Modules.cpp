// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a module together: declarations by name, references, cases, schedules and gradients with what they are about.
#include "frontend/Sema.h"
#include "frontend/sema/FunctionExpander.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/Report.h"

#include "llvm/Support/Casting.h"

namespace tkc {
namespace sema {
namespace {

class Assembler {
public:
  Assembler(Module &module, Reporter &reporter)
      : module(module), reporter(reporter), functions(module.functions, module.expanded, reporter) {}

  void assemble(size_t numFiles) {
    for (size_t i = 0; i < module.files.size(); ++i) {
      bool isScheduleFile = i >= numFiles;
      for (ast::Decl *decl : module.files[i].decls)
        isScheduleFile ? checkScheduleFile(*decl) : declare(*decl);
      if (i == 0) {
        module.numMainKernels = module.kernels.size();
        module.numMainPrograms = module.programs.size();
      }
    }
    // Schedule files are tried before the kernel's own: of a call the first schedule that holds is taken.
    for (size_t i = 0; i < module.files.size(); ++i) {
      const size_t file = (i + numFiles) % module.files.size();
      for (ast::Decl *decl : module.files[file].decls)
        attach(*decl, file == 0);
    }
    for (auto &kernel : module.kernels)
      check(*kernel);
    for (auto &program : module.programs)
      check(*program);
  }

private:
  bool declareName(const ast::Identifier &name) {
    auto [previous, isNew] = names.try_emplace(name.text, name.range);
    if (!isNew)
      reporter.error(Diag::redeclared, name.range, name.text)
          .note(Diag::note_declared_here, previous->second, name.text);
    return isNew;
  }

  void declare(ast::Decl &decl) {
    switch (decl.kind) {
    case ast::DeclKind::Kernel:
      declareCallable<KernelInfo>(llvm::cast<ast::KernelDecl>(decl), module.kernels);
      break;
    case ast::DeclKind::Program:
      declareCallable<ProgramInfo>(llvm::cast<ast::ProgramDecl>(decl), module.programs);
      break;
    case ast::DeclKind::Fn:
      if (declareName(decl.name))
        module.functions[decl.name.text] = llvm::cast<ast::FnDecl>(&decl);
      break;
    case ast::DeclKind::ExternFn:
      checkExtern(llvm::cast<ast::ExternFnDecl>(decl));
      if (declareName(decl.name))
        module.externs[decl.name.text] = llvm::cast<ast::ExternFnDecl>(&decl);
      break;
    case ast::DeclKind::Import:
    case ast::DeclKind::Reference:
    case ast::DeclKind::Case:
    case ast::DeclKind::Schedule:
    case ast::DeclKind::Gradient:
      break;
    }
  }

  void checkExtern(const ast::ExternFnDecl &decl) {
    auto checkType = [&](const ast::Identifier &type) {
      if (!parseElemType(type.text) && !type.text.empty())
        reportUnknown(reporter, "type", type.text, type.range, {"f64", "f32", "f16", "bf16", "i64", "i32", "bool"});
      if (const auto elem = parseElemType(type.text); elem && isPacked(*elem) && isInteger(*elem))
        reporter.error(Diag::packed_scalar, type.range, type.text);
    };
    for (const ast::Param &param : decl.params) {
      checkType(param.type);
      if (param.isTensor)
        reporter.error(Diag::extern_param, param.name.range, param.name.text);
    }
    checkType(decl.resultType);
  }

  template <class Info, class Decl> void declareCallable(Decl &decl, std::vector<std::unique_ptr<Info>> &list) {
    if (!declareName(decl.name))
      return;
    auto info = std::make_unique<Info>();
    info->decl = &decl;
    info->signature = makeSignature(decl, reporter);
    list.push_back(std::move(info));
  }

  void checkScheduleFile(const ast::Decl &decl) {
    if (decl.kind != ast::DeclKind::Schedule && decl.kind != ast::DeclKind::Import)
      reporter.error(Diag::schedule_file_decl, decl.range);
  }

  /// References, cases, schedules and gradients go to the kernel or program of that name.
  void attach(ast::Decl &decl, bool isMain) {
    bool isAbout = decl.kind == ast::DeclKind::Reference || decl.kind == ast::DeclKind::Case ||
                   decl.kind == ast::DeclKind::Schedule || decl.kind == ast::DeclKind::Gradient;
    if (!isAbout)
      return;
    if (KernelInfo *kernel = module.findKernel(decl.name.text))
      attachTo(*kernel, decl, isMain);
    else if (ProgramInfo *program = module.findProgram(decl.name.text))
      attachTo(*program, decl, isMain);
    else
      reportUnknown(reporter, "kernel or program", decl.name.text, decl.name.range, module.callables());
  }

  template <class Info> void attachTo(Info &info, ast::Decl &decl, bool isMain) {
    if (auto *reference = llvm::dyn_cast<ast::ReferenceDecl>(&decl)) {
      if (info.reference)
        reporter.error(Diag::second_reference, decl.name.range, decl.name.text)
            .note(Diag::note_declared_here, info.reference->name.range, decl.name.text);
      else
        info.reference = reference;
    } else if (auto *caseDecl = llvm::dyn_cast<ast::CaseDecl>(&decl)) {
      (caseDecl->isBench ? info.benches : info.cases).push_back(caseDecl);
      if (isMain)
        (caseDecl->isBench ? info.mainBenches : info.mainCases).push_back(caseDecl);
    } else if (auto *schedule = llvm::dyn_cast<ast::ScheduleDecl>(&decl)) {
      for (ast::Expr **expr : {&schedule->when, &schedule->cost})
        *expr = functions.expand(*expr);
      schedule->functions = &module.functions;
      info.schedules.push_back(schedule);
    } else if (auto *gradient = llvm::dyn_cast<ast::GradientDecl>(&decl)) {
      // The main file's come first, so that it may replace what an imported one says.
      const std::pair declared{decl.name.range.begin.buffer, decl.name.text};
      if (served.count(declared))
        reporter.error(Diag::gradient_unreachable, decl.name.range);
      if (std::optional<Gradient> checked = checkGradient(*gradient, info.signature, module, reporter)) {
        info.gradients.push_back(std::move(*checked));
        if (!gradient->when)
          served.insert(declared);
      }
    }
  }

  template <class Info> void check(const Info &info) {
    if (hasTooManySpecializations(info.signature, info.cases))
      reporter.error(Diag::too_many_specializations, {info.signature.loc, info.signature.loc}, info.signature.name,
                     maxSpecializations);
    if (info.reference)
      checkReference(*info.reference, info.signature, module, reporter);
    for (const auto *decls : {&info.cases, &info.benches})
      for (const ast::CaseDecl *decl : *decls)
        checkCase(*decl, info.signature, reporter);
    for (const ast::ScheduleDecl *decl : info.schedules)
      checkSchedule(*decl, info.signature, reporter);
  }

  Module &module;
  Reporter &reporter;
  FunctionExpander functions; ///< for what launchers compute
  std::map<std::string, SourceRange> names;
  std::set<std::pair<uint32_t, std::string>> served; ///< by a gradient for every call: in this file, this kernel
};

} // namespace
} // namespace sema

const ir::Param *Signature::findParam(std::string_view parameter) const {
  for (const ir::Param &param : params)
    if (param.name == parameter)
      return &param;
  return nullptr;
}

const ConstParam *Signature::findConst(std::string_view parameter) const {
  for (const ConstParam &param : consts)
    if (param.name == parameter)
      return &param;
  return nullptr;
}

KernelInfo *Module::findKernel(std::string_view name) const {
  for (auto &kernel : kernels)
    if (kernel->signature.name == name)
      return kernel.get();
  return nullptr;
}

ProgramInfo *Module::findProgram(std::string_view name) const {
  for (auto &program : programs)
    if (program->signature.name == name)
      return program.get();
  return nullptr;
}

std::vector<std::string> Module::callables() const {
  std::vector<std::string> result;
  for (auto &kernel : kernels)
    result.push_back(kernel->signature.name);
  for (auto &program : programs)
    result.push_back(program->signature.name);
  return result;
}

std::unique_ptr<Module> loadModule(const std::string &path, const std::vector<std::string> &scheduleFiles,
                                   SourceManager &sources, DiagnosticEngine &diagnostics) {
  sema::Reporter reporter(diagnostics);
  auto module = std::make_unique<Module>();
  size_t numFiles = sema::readFiles(path, scheduleFiles, sources, reporter, *module);
  sema::Assembler(*module, reporter).assemble(numFiles);
  return module;
}

} // namespace tkc
