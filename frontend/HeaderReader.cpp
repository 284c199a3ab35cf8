// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/HeaderReader.h"
#include "frontend/Sema.h"
#include "support/Diagnostics.h"
#include "support/Files.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/Frontend/ASTUnit.h>
#include <clang/Tooling/Tooling.h>
#include <fmt/core.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

namespace tkc {
namespace {

/// What nvcc defines before a header's first line, as far as declarations need it.
constexpr const char *prelude = R"(
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
)";

/// Keeps the first error that Clang has to say.
class FirstError : public clang::DiagnosticConsumer {
public:
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic &info) override {
    if (level < clang::DiagnosticsEngine::Error || !text.empty())
      return;
    llvm::SmallString<128> message;
    info.FormatDiagnostic(message);
    unsigned line = info.getLocation().isValid() && info.hasSourceManager()
                        ? info.getSourceManager().getPresumedLineNumber(info.getLocation())
                        : 0;
    text = fmt::format("line {}: {}", line, std::string(message));
  }
  std::string text;
};

std::string cudaSpelling(ElemType elem) {
  switch (elem) {
  case ElemType::F64:
    return "double";
  case ElemType::F32:
  case ElemType::TF32:
    return "float";
  case ElemType::F16:
    return "__half";
  case ElemType::BF16:
    return "__nv_bfloat16";
  case ElemType::F8E4M3:
    return "__nv_fp8_e4m3";
  case ElemType::F8E5M2:
    return "__nv_fp8_e5m2";
  case ElemType::F8E8M0:
    return "__nv_fp8_e8m0";
  case ElemType::F4E2M1:
    return "__nv_fp4_e2m1";
  case ElemType::F6E2M3:
    return "__nv_fp6_e2m3";
  case ElemType::F6E3M2:
    return "__nv_fp6_e3m2";
  case ElemType::I64:
    return "long long";
  case ElemType::I32:
    return "int";
  case ElemType::I8:
    return "signed char";
  case ElemType::U8:
    return "unsigned char";
  case ElemType::Bool:
    return "bool";
  case ElemType::U4: // C++ has no such types
  case ElemType::I4:
    return std::string(spelling(elem));
  }
  return {};
}

std::string spell(clang::QualType type) {
  clang::PrintingPolicy policy{clang::LangOptions()};
  policy.Bool = true;
  policy.SuppressTagKeyword = true;
  type = type.getNonReferenceType().getCanonicalType().getUnqualifiedType();
  std::string text = type.getAsString(policy);
  return text == "long" ? "long long" : text;
}

struct Wanted {
  std::string result;
  std::vector<std::string> params;

  std::string text(const std::string &name) const {
    std::string list;
    for (const std::string &param : params)
      list += (list.empty() ? "" : ", ") + param;
    return fmt::format("{} {}({})", result, name, list);
  }
};

Wanted signatureOf(const clang::FunctionDecl &function) {
  Wanted result{spell(function.getReturnType()), {}};
  for (const clang::ParmVarDecl *param : function.parameters())
    result.params.push_back(spell(param->getType()));
  return result;
}

/// Nothing where a type is not one of the language's, which was reported before.
std::optional<Wanted> signatureOf(const ast::ExternFnDecl &decl) {
  Wanted wanted;
  std::optional<ElemType> result = parseElemType(decl.resultType.text);
  if (!result)
    return std::nullopt;
  wanted.result = cudaSpelling(*result);
  for (const ast::Param &param : decl.params) {
    std::optional<ElemType> elem = parseElemType(param.type.text);
    if (!elem)
      return std::nullopt;
    wanted.params.push_back(cudaSpelling(*elem));
  }
  return wanted;
}

class HeaderChecker {
public:
  HeaderChecker(const std::vector<std::string> &includePaths, DiagnosticEngine &diagnostics)
      : includePaths(includePaths), diagnostics(diagnostics) {}

  void check(const ast::ExternFnDecl &decl) {
    std::optional<Wanted> wanted = signatureOf(decl);
    if (!wanted)
      return;
    llvm::SmallString<256> path(decl.header);
    if (!llvm::sys::path::is_absolute(path)) {
      path = llvm::sys::path::parent_path(diagnostics.sourceManager().name(decl.headerRange.begin.buffer));
      llvm::sys::path::append(path, decl.header);
    }
    std::string problem;
    if (!readFile(std::string(path), problem)) {
      diagnostics.report(Diag::cannot_read_file, decl.headerRange, std::string(path), problem);
      return;
    }
    llvm::sys::fs::make_absolute(path);
    FirstError errors;
    std::unique_ptr<clang::ASTUnit> unit = read(std::string(path), errors);
    if (unit)
      compare(decl, *wanted, *unit, errors.text);
    else
      diagnostics.report(Diag::extern_header, decl.headerRange, decl.header, errors.text);
  }

private:
  std::unique_ptr<clang::ASTUnit> read(const std::string &path, FirstError &errors) {
    std::vector<std::string> args{"-xcuda",
                                  "--cuda-device-only",
                                  "--cuda-gpu-arch=sm_90a",
                                  "-nocudainc",
                                  "-nocudalib",
                                  "--no-cuda-version-check",
                                  "-std=c++17",
                                  "-Xclang",
                                  "-skip-function-bodies"};
    for (const std::string &include : includePaths)
      args.insert(args.end(), {"-isystem", include});
    std::string code = fmt::format("{}#include \"{}\"\n", prelude, path);
    return clang::tooling::buildASTFromCodeWithArgs(
        code, args, "extern.cu", "tkc", std::make_shared<clang::PCHContainerOperations>(),
        clang::tooling::getClangStripDependencyFileAdjuster(), clang::tooling::FileContentMappings(), &errors);
  }

  void compare(const ast::ExternFnDecl &decl, const Wanted &wanted, clang::ASTUnit &unit, const std::string &problem) {
    clang::ASTContext &context = unit.getASTContext();
    const std::string &name = decl.name.text;
    std::string found;
    for (clang::NamedDecl *candidate : context.getTranslationUnitDecl()->lookup(&context.Idents.get(name))) {
      if (llvm::isa<clang::FunctionTemplateDecl>(candidate))
        return; // instantiated where it is called
      auto *function = llvm::dyn_cast<clang::FunctionDecl>(candidate);
      if (!function)
        continue;
      Wanted signature = signatureOf(*function);
      found = signature.text(name);
      if (signature.result != wanted.result || signature.params != wanted.params)
        continue;
      if (!function->hasAttr<clang::CUDADeviceAttr>())
        diagnostics.report(Diag::extern_not_device, decl.name.range, name, decl.header);
      return;
    }
    if (!found.empty()) {
      diagnostics.report(Diag::extern_signature, decl.name.range, name, decl.header, found, wanted.text(name));
      return;
    }
    diagnostics.report(Diag::extern_missing, decl.name.range, decl.header, name);
    if (!problem.empty())
      diagnostics.report(Diag::note_extern_header, decl.headerRange, problem);
  }

  const std::vector<std::string> &includePaths;
  DiagnosticEngine &diagnostics;
};

} // namespace

void checkExternFunctions(const Module &module, const std::vector<std::string> &includePaths,
                          DiagnosticEngine &diagnostics) {
  HeaderChecker checker(includePaths, diagnostics);
  for (auto &[name, decl] : module.externs)
    checker.check(*decl);
}

} // namespace tkc
