// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From syntax to tile IR. A kernel is checked and elaborated once for each specialisation: with type parameters,
// `where` dims, consts, tunes and the presence of optional tensors fixed, every shape is a number and every function is
// inlined.
#pragma once

#include "frontend/AST.h"
#include "ir/TileIR.h"
#include "support/Settings.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tkc {
class DiagnosticEngine;
class SourceManager;
struct CallArguments;

/// Everything fixed when compiling except tunes. Order as declared.
struct Specialization {
  std::vector<std::pair<std::string, ElemType>> typeArgs;
  std::vector<std::pair<std::string, int64_t>> constants; ///< `where` dims and const parameters; bool as 0, 1
  std::set<std::string> bools;                            ///< which of the constants are bool
  std::set<std::string> absent;                           ///< optional tensors that were left out

  /// "bf16_D128_causal", for names in emitted code. Empty when nothing is to choose.
  std::string suffix() const;
  friend bool operator==(const Specialization &, const Specialization &) = default;
};

/// A const parameter, for the launcher.
struct ConstParam {
  std::string name;
  ElemType elem; ///< Bool or I32
  std::optional<int64_t> defaultValue;
  std::vector<int64_t> choices; ///< bool: 0, 1; i32: its `where … in` list, else empty
};

/// A kernel or a program as callers see it: independent of the specialisation.
struct Signature {
  std::string name;
  std::string doc;
  SourceLoc loc;
  bool isProgram = false;
  bool isSound = true; ///< false after an error in it: there is nothing to elaborate
  std::vector<std::pair<std::string, std::vector<ElemType>>> typeParams;
  /// Run-time parameters in order of declaration, with the first choice of each type parameter; `typeParamOf` says
  /// which parameter has which.
  std::vector<ir::Param> params;
  std::map<std::string, std::string> typeParamOf;
  std::map<std::string, double> scalarDefaults;
  std::vector<ConstParam> consts;
  std::vector<std::string> order; ///< names of all parameters, run-time and const, as declared
  std::vector<std::pair<std::string, std::vector<int64_t>>> dimChoices; ///< `where D in {64, 128}` on symbols
  std::vector<std::string> symbols;          ///< dim symbols in order of first use, dimChoices included
  std::vector<const ast::Expr *> conditions; ///< other conditions in `where`
  /// With defaults as written; 0 where the default is an expression of constants.
  std::vector<std::pair<std::string, int64_t>> tunes;

  /// Null for what is none.
  const ir::Param *findParam(std::string_view parameter) const;
  const ConstParam *findConst(std::string_view parameter) const;
};

/// Gradients of a kernel or program, as a call of another one that computes them. Of a call the first serves whose
/// condition holds.
struct Gradient {
  struct Argument {
    std::string parameter; ///< of `backward`
    std::string value;     ///< a parameter of what it is the gradient of
    bool isGradient;       ///< `grad(value)`: of an output what callers bring, of an input what they get
  };
  std::string backward;
  std::vector<Argument> arguments; ///< as declared by `backward`, without parameters that keep their defaults
  const ast::Expr *when = nullptr; ///< of dims, constants and types
};

struct KernelInfo {
  const ast::KernelDecl *decl = nullptr;
  Signature signature;
  const ast::ReferenceDecl *reference = nullptr;
  std::vector<const ast::CaseDecl *> cases, benches;
  std::vector<const ast::CaseDecl *> mainCases, mainBenches; ///< of these, those that the main file declares
  std::vector<const ast::ScheduleDecl *> schedules;          ///< of .tks files, in order; then of the file
  std::vector<Gradient> gradients;
};
struct ProgramInfo {
  const ast::ProgramDecl *decl = nullptr;
  Signature signature;
  const ast::ReferenceDecl *reference = nullptr;
  std::vector<const ast::CaseDecl *> cases, benches, mainCases, mainBenches;
  std::vector<const ast::ScheduleDecl *> schedules;
  std::vector<Gradient> gradients;
};

/// A file with everything it imports, names resolved.
struct Module {
  std::vector<ast::File> files;                     ///< the main one first
  std::vector<std::unique_ptr<KernelInfo>> kernels; ///< of the main file first, then of imports
  std::vector<std::unique_ptr<ProgramInfo>> programs;
  ast::Functions functions;
  std::map<std::string, const ast::ExternFnDecl *> externs;
  ast::Arena expanded;       ///< conditions and costs of schedules, with functions inlined
  size_t numMainKernels = 0; ///< how many of `kernels` the main file declares
  size_t numMainPrograms = 0;

  KernelInfo *findKernel(std::string_view name) const;
  ProgramInfo *findProgram(std::string_view name) const;
  /// The names of all kernels and programs.
  std::vector<std::string> callables() const;
};

/// Reads `path` and its imports (relative to the importing file), parses them, and checks what needs no specialisation:
/// duplicate names, references and cases of nothing, equations, signatures. Extra .tks files add schedules,
/// which are tried before those of the kernel's file.
std::unique_ptr<Module> loadModule(const std::string &path, const std::vector<std::string> &scheduleFiles,
                                   SourceManager &sources, DiagnosticEngine &diagnostics);

/// More of one kernel or program than anybody could want compiled are an error, and specializations() gives none.
inline constexpr int maxSpecializations = 4096;
bool hasTooManySpecializations(const Signature &signature, const std::vector<const ast::CaseDecl *> &cases);
/// Of a dim that is `symbol` plus a number, that number: such a dim says what the symbol is.
std::optional<int64_t> offsetFrom(const ir::DimExpr &dim, const std::string &symbol);
/// Whether a call that leaves out `absent` says by its tensors' dims what `symbol` is. Where it does not, a dim with
/// choices is the first of them, and another one is not known.
bool saysDim(const Signature &signature, const std::string &symbol, const std::set<std::string> &absent);
/// The optional tensors that are needed for that.
std::vector<std::string> optionalTensorsWith(const Signature &signature, const std::string &symbol);
/// The same of a type parameter that tensors have.
bool saysType(const Signature &signature, const std::string &name, const std::set<std::string> &absent);

/// All combinations of type arguments, dim choices, const choices (an i32 const without choices: its default and the
/// values that cases use) and presence of optional tensors.
std::vector<Specialization> specializations(const Signature &signature,
                                            const std::vector<const ast::CaseDecl *> &cases);

/// Which calls a schedule is for.
struct ScheduleTerms {
  /// Parts of its `when` on what only a call knows: all have to hold.
  std::vector<const ast::Expr *> conditions;
  /// Of schedules that stand one after the other and have a cost, the one that serves the call and costs least is
  /// taken. Null: it is taken if it comes first.
  const ast::Expr *cost = nullptr;
  const ast::ScheduleDecl *decl = nullptr; ///< of a schedule with a cost: it has the cost as it is written
};
/// What a schedule sets, and for which calls.
struct ChosenSchedule : ScheduleTerms {
  ScheduleSettings settings;
  /// Its word `aligned`: only calls whose tensors the copy engine can take wherever the kernel leaves them to it.
  const ast::Expr *aligned = nullptr;
  bool isLast = false; ///< it serves every call that the others leave

  /// "BM64_stages8", for names in emitted code. Empty for the last.
  std::string suffix() const;
};
/// The schedules whose ARCH (name or family) matches and whose `when` may hold, in order. The last serves every call;
/// it sets nothing if no schedule does.
std::vector<ChosenSchedule> findSchedules(const std::vector<const ast::ScheduleDecl *> &schedules,
                                          const std::vector<std::string> &archNames,
                                          const Specialization &specialization);
/// Whether a schedule serves a call with these dims, scalars and alignments, if its tensors are `aligned`.
bool serves(const ScheduleTerms &schedule, const Specialization &specialization, const CallArguments &call);
/// Which of `schedules` launchers take for a call: their order is that of findSchedules. `suits`: whether one may serve
/// the call's tensors, if it has the word `aligned`.
std::optional<size_t> takenOf(const std::vector<ScheduleTerms> &schedules, const Specialization &specialization,
                              const CallArguments &call, const std::function<bool(size_t)> &suits);

/// Checks and elaborates one specialisation of a kernel with a sound signature. `tunes` override the defaults of `tune`
/// statements, and those of tiles whose sizes are written as numbers, by the digits (256: 64). `promised`: what holds
/// of every call besides the kernel's `where`. Returns null after reporting errors; the same error in two
/// specialisations is reported once.
std::unique_ptr<ir::Function> elaborate(const Module &module, const KernelInfo &kernel,
                                        const Specialization &specialization,
                                        const std::map<std::string, int64_t> &tunes,
                                        const std::vector<const ast::Expr *> &promised, DiagnosticEngine &diagnostics);

} // namespace tkc
