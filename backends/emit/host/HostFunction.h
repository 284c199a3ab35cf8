// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host functions of kernels and programs have in common: their parameters as C and as C++ see them, the checks
// of every argument that open them, and the branch to a specialisation.
#pragma once

#include "backends/emit/Names.h"
#include "backends/emit/host/HostExpr.h"
#include "backends/targets/Dialect.h"

#include <fmt/core.h>
#include <set>
#include <string>
#include <vector>

namespace tkc {
struct Signature;
class SourceManager;
struct Specialization;
} // namespace tkc

namespace tkc::cuda {

class Conditions;
struct Offer;
struct Quantity;
using Quantities = std::map<std::string, Quantity>;

/// Which parameters stand behind those of the signature.
enum class EntryKind : uint8_t {
  Kernel,        ///< the stream
  Program,       ///< workspace, its bytes, the stream
  WithWorkspace, ///< the same, of a kernel that may do without
  WorkspaceQuery ///< none
};

/// "tk::element::bf16": how callers name an element type; tf32 is stored as f32.
std::string hostElement(ElemType elem);

class HostFunction {
public:
  HostFunction(const Signature &signature, const SourceManager &sources, const Dialect &dialect,
               const FileNames &names);

  /// "tk_status gemm(const tk_tensor *a, …, struct CUstream_st *stream)"
  std::string declaration(EntryKind kind) const;
  /// The C++ overload: "tk_status gemm(const tk::tensor &a, …)". With the defaults of the source where only parameters
  /// with one follow.
  std::string overload(EntryKind kind, bool withDefaults) const;
  /// The overload's definition, which calls the C function.
  std::string overloadDefinition(EntryKind kind) const;

protected:
  template <class... Args> void line(fmt::format_string<Args...> format, Args &&...args) {
    text += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  std::string functionName(EntryKind kind) const;
  /// How C has a number: "float", "int32_t"; "int" of a const.
  std::string numberType(const std::string &name) const;
  /// "const tk_tensor *a", …, of the signature's parameters alone.
  std::vector<std::string> parameters() const;
  /// Types and names of what stands behind the signature's parameters.
  std::vector<std::pair<std::string, std::string>> trailing(EntryKind kind) const;

  /// A local name that nothing else has where it may be read.
  std::string fresh(std::string name);
  /// Whether a parameter or a symbol has the function's name.
  bool hidesItself() const;
  const ir::Param *findParam(const std::string &name) const;
  std::vector<const ir::Param *> tensors() const;
  /// The local variable of a tensor argument after its checks.
  const std::string &view(const std::string &name) const { return views.at(name); }

  /// Declares the call, every view, symbol and type parameter.
  void checkArguments();
  /// Declares the device, which must run the code for one of these GPUs, or, where there are none, may be any; of
  /// several its `code` says which. Returns where something was wrong.
  void findDevice(const Architectures &gpus);
  /// Long conditions are called as `functions`.
  void openBranch(const Specialization &specialization, const std::vector<const ast::Expr *> &conditions,
                  Conditions &functions);
  /// `also`: what has to be true besides, if anything.
  void openBranch(const Specialization &specialization, const std::string &also = "");
  /// The number of the cheapest of the offers, as a call of one of `functions`.
  std::string cheapestOf(const Specialization &specialization, const std::vector<Offer> &offers,
                         Conditions &functions) const;
  /// What is left where no branch was taken.
  void endWithoutSpecialization();

  const Signature &signature;
  const SourceManager &sources;
  const Dialect &dialect;
  const FileNames &names;
  std::set<std::string> taken;
  const std::string callName, deviceName, argumentsName, streamName, bytesName, workspaceName, availableName, codesName;
  std::string text;
  std::set<std::string> boundTypes;
  std::map<std::string, std::string> views; ///< by tensor

private:
  std::set<std::string> namesAround() const;
  std::string parameter(const std::string &name) const;
  std::string defaultOf(const std::string &name) const;
  bool isConst(const std::string &name) const;
  std::string listOfTensors() const;

  void takeTensors();
  void bindTypes();
  const ir::Param *bindType(const std::string &name);
  void requireChoice(const std::string &name);
  void bindSymbols();
  void checkDims();
  void checkConditions();
  std::string unasked(const ast::Expr &condition) const;
  void checkOverlap();
  std::string condition(const Specialization &specialization) const;
  Quantities quantities(const Specialization &specialization, const std::vector<const ast::Expr *> &conditions) const;
};

} // namespace tkc::cuda
